"""Sources of existing file systems, as people write them."""

import pytest

from blueprints import mount_sources

FORMS = {
    "10.0.0.5:/export": mount_sources.NFS,
    "filer.example.org:/": mount_sources.NFS,
    "[fd00::5]:/export/home": mount_sources.NFS,
    "10.20.0.5@o2ib:/data": mount_sources.LUSTRE,
    "mds-1@tcp0:mds-2@tcp0:/data": mount_sources.LUSTRE,
    "10.0.0.5@tcp,10.1.0.5@o2ib:10.0.0.6@tcp,10.1.0.6@o2ib:/scratch/projects": mount_sources.LUSTRE,
    "cluster@.training=/": mount_sources.CEPH,
    "cluster@07fe3187-00d9-42a3-814b-72a4d5e7d5be.training=/projects": mount_sources.CEPH,
    "10.0.0.5:6789,10.0.0.6:6789:/": mount_sources.CEPH,
    "weka-1,weka-2/training": mount_sources.WEKA,
    "/srv/site": mount_sources.BIND,
    "/data": mount_sources.PRESENT,
}


@pytest.mark.parametrize("source", FORMS)
def test_each_form_names_its_kind(source: str) -> None:
    found = mount_sources.read(source, mount="/data")
    assert found is not None
    assert found.kind == FORMS[source]


@pytest.mark.parametrize(
    "source", ["fs-0123456789abcdef0", "data", "10.0.0.5", "10.0.0.5:export", "10.0.0.5@o2ib:/a-name-too-long", "weka-1/", "user@training"]
)
def test_other_texts_are_no_source(source: str) -> None:
    assert mount_sources.read(source, mount="/data") is None


@pytest.mark.parametrize("form", mount_sources.FORMS)
def test_the_forms_in_messages_are_read(form: str) -> None:
    for example in form.split("`")[1::2]:
        assert mount_sources.read(example, mount="/data") is not None
