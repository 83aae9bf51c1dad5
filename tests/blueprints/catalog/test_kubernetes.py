"""Versions of Kubernetes and add-ons: known sources, names that exist, and releases that have what is called built."""

import tomllib

import pytest
import yaml

from blueprints import catalog
from blueprints.catalog import files
from blueprints.project import project_root


def test_built_versions_are_those_that_have_a_release() -> None:
    releases = tomllib.loads((project_root() / "tools/kubernetes/releases.toml").read_text())["releases"]
    assert {one.name for one in catalog.kubernetes_versions().values() if one.built} == {*releases}


@pytest.mark.parametrize(
    ("wanted", "found"), [("", "1.34.4"), ("1.34", "1.34.4"), ("1.34.4", "1.34.4"), ("1.34.5", None), ("1.3", None), ("1.35", "1.35.4"), ("1.29", None)]
)
def test_which_version_is_meant(wanted: str, found: str | None) -> None:
    version = catalog.kubernetes_version(wanted)
    assert (version and version.name) == found


def test_every_entry_names_a_known_source() -> None:
    versions, addons = catalog.kubernetes_versions().values(), catalog.addons().values()
    runtimes = [entry["source"] for entry in files.mapping("kubernetes")["containerd"].values()]
    rules = (catalog.kubernetes_skew().source, catalog.kubernetes_ranges().source)
    assert {*(one.source for one in versions), *(one.source for one in addons), *runtimes, *rules} <= catalog.sources().keys()


def test_add_ons_exclude_each_other_and_need_add_ons_that_exist() -> None:
    known = catalog.addons()
    for one in known.values():
        assert {*one.excludes, *one.needs} <= known.keys() - {one.name}
        assert all(one.name in known[other].excludes for other in one.excludes), one.name


def test_images_are_named_with_their_registry_and_a_tag() -> None:
    of_versions = [image for one in catalog.kubernetes_versions().values() for image in one.images]
    for image in [*of_versions, *(image for one in catalog.addons().values() for image in one.images)]:
        registry, _, rest = image.partition("/")
        assert "." in registry
        assert ":" in rest


def test_the_namespaces_of_an_add_on_are_those_that_its_own_manifests_create() -> None:
    parts = project_root() / "tools" / "kubernetes" / "parts"
    found = {}
    for path in parts.glob("*/*.yaml"):
        objects = [one for one in yaml.safe_load_all(path.read_text()) if one and "kind" in one]
        if objects:
            found[path.parent.name] = {one["metadata"]["name"] for one in objects if one["kind"] == "Namespace"}
    assert found
    assert found == {name: set(catalog.addons()[name].namespaces) for name in found}
