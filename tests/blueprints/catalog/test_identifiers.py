"""The forms of identifiers: each holds for its own example, has a source, and is told from those of other targets."""

import pytest

from blueprints import catalog
from blueprints.catalog import files
from blueprints.language import values

FORMS = [form for target in ("aws", "gcp") for form in catalog.identifier_forms(target)]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.target}-{form.like}")
def test_a_form_holds_for_its_example_which_the_language_takes(form: catalog.IdentifierForm) -> None:
    assert form.parts(form.like) is not None
    assert values.identifier(form.like) == form.like
    assert form.source in catalog.sources()


@pytest.mark.parametrize("form", [form for form in FORMS if form.target != "any"], ids=lambda form: f"{form.target}-{form.like}")
def test_no_other_target_takes_an_example_but_as_a_plain_word(form: catalog.IdentifierForm) -> None:
    others = [one for name in catalog.target_names() if name != form.target for one in catalog.identifier_forms(name) if one.target not in ("any", form.target)]
    assert [one.like for one in others if not one.is_plain and one.keys == form.keys and one.parts(form.like) is not None] == []


@pytest.mark.parametrize(
    ("target", "region", "partition"),
    [
        ("aws", "us-east-1", "aws"),
        ("aws", "cn-north-1", "aws-cn"),
        ("aws", "us-gov-west-1", "aws-us-gov"),
        ("aws", "eusc-de-east-1", "aws-eusc"),
        ("aws", "us-iso-east-1", "aws-iso"),
        ("aws", "us-isob-east-1", "aws-iso-b"),
        ("aws", "us-central1", None),
        ("gcp", "us-central1", ""),
        ("gcp", "us-east-1", None),
        ("metal", "us-east-1", None),
    ],
)
def test_the_partition_of_a_region(target: str, region: str, partition: str | None) -> None:
    assert catalog.partition_of(target, region) == partition


@pytest.mark.parametrize("target", ["aws", "gcp"])
def test_every_region_of_the_catalogue_is_in_one_partition(target: str) -> None:
    regions = {*catalog.target(target).regions, *(region for machine in catalog.machines(target).values() for region in machine.regions)}
    for region in regions:
        assert [name for name, pattern in catalog.partitions(target).items() if pattern.fullmatch(region)] == [catalog.partition_of(target, region)]


def test_partitions_are_those_of_the_sdk() -> None:
    botocore = pytest.importorskip("botocore.session")
    assert set(catalog.partitions("aws")) == set(botocore.get_session().get_available_partitions())
    assert files.mapping("identifiers")["aws"]["regions_source"] in catalog.sources()


def test_what_stands_in_an_identifier() -> None:
    arn = next(form for form in catalog.identifier_forms("aws") if "resource-groups" in form.like)
    assert arn.parts(arn.like) == {"partition": "aws", "region": "us-east-1", "account": "123456789012", "group": "h100"}
    path = next(form for form in catalog.identifier_forms("gcp") if "/zones/" in form.like)
    assert path.parts(path.like) == {"project": "our-project", "zone": "us-central1-a"}
