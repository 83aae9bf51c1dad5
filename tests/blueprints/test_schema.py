"""The schema for editors and the language say the same, as far as a schema can see."""

import json
import pathlib
import re
import typing
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import validators

from blueprints import document, finding, language, library, project, read
from blueprints.codes import Code
from blueprints.language import examples, merge, reference, schema
from blueprints.language.cluster import TargetName

DOCS = project.project_root() / "docs"
BROKEN = pathlib.Path(__file__).parent / "broken"
SEEN = frozenset(
    {
        *(Code.KEY_UNKNOWN, Code.KEY_MISSING, Code.TYPE_WRONG, Code.CHOICE_UNKNOWN, Code.NUMBER_OUT_OF_RANGE, Code.EMPTY),
        *(Code.NAME_FORM, Code.NAME_LENGTH, Code.NAME_RESERVED, Code.MOUNT_FORM, Code.MOUNT_RESERVED, Code.UID_RESERVED),
        *(Code.CLOCK_FORM, Code.BUCKET_FORM, Code.IDENTIFIER_FORM, Code.MIG_FORM, Code.LABEL_FORM, Code.PATH_FORM),
    }
)
"""Faults that the schema sees wherever they stand; of other forms it sees some."""
AFTER_MERGING = frozenset({Code.KEY_MISSING, Code.EMPTY})
"""What a part for one target lacks may stand in the blueprint around it."""


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[jsonschema.ValidationError]:
    """Read `$` as JSON Schema means it: the end of the text, and not the place before a last line break."""
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"\Z"), instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


VALIDATOR = validators.extend(jsonschema.Draft202012Validator, {"pattern": _pattern})(schema.schema())  # type: ignore[no-untyped-call]


def parsed(values: Any) -> document.Document:
    """Give a document as the reader would, of values that are plain."""
    return read.from_bytes(json.dumps(values, ensure_ascii=False).encode(), file="blueprint.yaml")


def faults(source: document.Document) -> Iterator[finding.Finding]:
    """Find what the language says of a blueprint wherever it may land."""
    yield from language.parse_most(source).findings
    for target in typing.get_args(TargetName):
        if isinstance(source.at("targets", target), dict):
            refined = merge.refine(source, target)
            yield from refined.findings
            yield from (found for found in language.parse_most(refined).findings if found.code not in AFTER_MERGING)


def agree(source: document.Document) -> None:
    """Demand both: the schema refuses nothing that the language accepts, and accepts nothing with a fault that it can see."""
    refused = [error.message for error in VALIDATOR.iter_errors(source.values)]
    found = list(faults(source))
    if not found:
        assert refused == []
    if not refused and not has_whole_float(source.values):
        assert [one.what for one in found if one.code in SEEN] == []


def has_whole_float(value: Any) -> bool:
    """Say whether a number is written like 16.0, which JSON Schema takes for a whole one."""
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (isinstance(value, float) and value.is_integer()) or any(has_whole_float(entry) for entry in entries)


def extends(source: document.Document) -> bool:
    return isinstance(source.at("extends"), str)


def readable(paths: Iterator[pathlib.Path]) -> Iterator[tuple[str, document.Document]]:
    for path in paths:
        try:
            yield path.stem, read.read(path)
        except finding.Invalid:
            continue


CORPUS = dict(readable(iter(sorted(BROKEN.glob("*.yaml")))))
EXAMPLE = read.read(examples.EXAMPLE)
WHOLE: dict[str, Any] = {key: value for key, value in EXAMPLE.values.items() if key != "extends"}
PATHS = [path for path in parsed(WHOLE).places if path]


def test_the_schema_is_one_in_the_dialect_that_it_names_and_in_draft_7() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.schema())
    jsonschema.Draft7Validator.check_schema(schema.schema())
    assert schema.schema()["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


def test_the_stored_schema_and_page_are_those_of_the_language() -> None:
    """Renew them: `clusterwright schema --output docs/blueprint.schema.json`, `clusterwright schema --reference --output docs/blueprint.md`."""
    assert json.loads((DOCS / "blueprint.schema.json").read_text()) == schema.schema()
    assert (DOCS / "blueprint.md").read_text() == reference.reference()


@pytest.mark.parametrize("name", library.names())
def test_every_blueprint_of_the_library_fits_the_schema(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(read.read(library.find(name)).values)] == []


@pytest.mark.parametrize("name", [name for name, source in CORPUS.items() if not extends(source)])
def test_broken_blueprints_are_refused_where_a_schema_can_see_the_fault_and_accepted_where_there_is_none(name: str) -> None:
    agree(CORPUS[name])


def test_many_broken_blueprints_are_refused() -> None:
    refused = [name for name, source in CORPUS.items() if not VALIDATOR.is_valid(source.values)]
    assert len(refused) > 50


@pytest.mark.parametrize(
    ("values", "is_fit"),
    [
        ({"name": "a", "pools": {"p": {"nodes": 1}}}, True),
        ({"name": "a", "pools": {"p": {"nodes": 1}}, "control": None}, True),
        ({"name": "a", "pools": {"p": {"nodes": 1}}, "accounts": {"x": None}}, True),
        ({"name": "a", "pools": {"p": None}}, False),
        ({"name": "a", "pools": {"p": {"nodes": {"max": 2}}}}, False),
        ({"name": "a", "pools": {"p": {"nodes": True}}}, False),
        ({"name": "a", "pools": {}}, False),
        ({"name": "a"}, False),
        ({"name": "a\n", "pools": {"p": {"nodes": 1}}}, False),
        # What extends another needs to say only what is different.
        ({"extends": "starter"}, True),
        ({"extends": "starter", "pools": {"p": {"nodes": {"max": 2}}}}, True),
        ({"extends": "starter", "pools": {"p": None}}, True),
        ({"extends": "starter", "pools": {"p": {"node": 2}}}, False),
        ({"extends": "starter", "pools": {"p": {"capacity": {"id": "cr-1"}}}}, False),
        ({"extends": None, "name": "a"}, False),
        # As does the part for one target.
        ({"name": "a", "pools": {"p": {"nodes": 1}}, "targets": {"aws": {"pools": {"p": {"machine": "p5.48xlarge"}}}}}, True),
        ({"name": "a", "pools": {"p": {"nodes": 1}}, "targets": {"aws": {"pools": {"p": None}, "users": {"ada": {"uid": 2000}}}}}, True),
        ({"name": "a", "pools": {"p": {"nodes": 1}}, "targets": {"aws": {"pools": {"p": {"machin": "p5.48xlarge"}}}}}, False),
        ({"name": "a", "pools": {"p": {"nodes": 1}}, "targets": {"azure": {}}}, False),
        *(({"name": "a", "pools": {"p": {"nodes": 1}}, "targets": {"gcp": {key: WHOLE.get(key, "x")}}}, False) for key in merge.SAME_EVERYWHERE),
    ],
)
def test_what_is_required_depends_on_where_it_stands(values: Any, is_fit: bool) -> None:
    assert VALIDATOR.is_valid(values) is is_fit


def test_every_key_of_the_language_is_in_the_schema_and_once_in_the_example() -> None:
    agree(parsed(WHOLE))
    assert VALIDATOR.is_valid(EXAMPLE.values)
    definitions = schema.schema()["$defs"]
    for model in language.Section.__subclasses__():
        assert set(definitions[model.__name__]["properties"]) == set(model.model_fields)
    lines = [line for line in reference.reference().splitlines() if line.startswith("| `")]
    missing = [line.split("`")[1] for line in lines if line.endswith("|  |")]
    # Long sections have their examples in tables of their own.
    assert set(missing) <= {
        "archives",
        "inventory",
        "hosts",
        "interfaces",
        "ranges",
        "bmc",
        "kubernetes",
        "monitoring",
        "control",
        "access",
        "network",
        "storage",
        "pools",
        "accounts",
        "qos",
        "users",
        "partition",
        "targets",
        "suppress",
    }


def test_the_example_accepts_what_can_be_accepted() -> None:
    for entry in read.read(examples.EXAMPLE).values["suppress"]:
        assert finding.Level.ERROR not in next(code for code in Code if code == entry["code"]).levels


def test_the_page_links_to_headings_that_it_has() -> None:
    page = reference.reference()
    headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
    anchors = {re.sub("[^a-z0-9_-]", "", heading.lower().replace(" ", "-")) for heading in headings}
    links = set(re.findall(r"\]\(#([^)]*)\)", page))
    assert links
    assert links <= anchors


def test_descriptions_say_what_every_key_means() -> None:
    for section in schema.schema()["$defs"].values():
        for key, entry in section["properties"].items():
            assert entry.get("description") or "$ref" in entry, key


def changed(values: Any, path: document.Path, value: Any) -> Any:
    """Put a value at a path, if the path is still there."""
    if not path:
        return value
    if isinstance(values, list):
        return [changed(entry, path[1:], value) if place == path[0] else entry for place, entry in enumerate(values)]
    if isinstance(values, dict):
        return {key: changed(entry, path[1:], value) if key == path[0] else entry for key, entry in values.items()}
    return values


def renamed(values: Any, path: document.Path, name: str) -> Any:
    """Give the key at the end of a path another name; without one, take it out."""
    parent: Any = values
    for step in path[:-1]:
        parent = parent[step]
    if not isinstance(parent, dict):
        return values
    return changed(values, path[:-1], {(name if key == path[-1] else key): entry for key, entry in parent.items() if key != path[-1] or name})


@pytest.mark.parametrize("value", [None, 0, "", [], {}], ids=repr)
def test_schema_and_language_agree_on_each_place_left_empty(value: Any) -> None:
    for path in PATHS:
        agree(parsed(changed(WHOLE, path, value)))


SOME = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], derandomize=True)
WORDS = ["auto", "spot", "16", "2 TiB", "/home", "/var/x", "root", "normal", "a" * 64, "2027-02-31", "10.0.0.0/8", "a/b", "p\n"]
TEXTS = st.text(st.characters(exclude_categories=["C"]), max_size=8) | st.sampled_from(WORDS)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 70_000), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["nodes", "min", "max", "kind", "id", "mount", "ada", "1g.10gb"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@SOME
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=3))
@example([(("pools", "train", "nodes"), 0)])
@example([(("pools", "train", "partition", "max_time"), 0)])
@example([(("users",), {"root": None})])
def test_schema_and_language_agree_on_changed_values(changes: list[tuple[document.Path, Any]]) -> None:
    values: Any = WHOLE
    for path, value in changes:
        values = changed(values, path, value)
    agree(parsed(values))


@SOME
@given(st.sampled_from(PATHS), TEXTS)
def test_schema_and_language_agree_on_renamed_and_missing_keys(path: document.Path, name: str) -> None:
    agree(parsed(renamed(WHOLE, path, name)))


def _types(written: Any) -> Iterator[frozenset[str]]:
    if isinstance(written, dict) and isinstance(written.get("type"), list):
        yield frozenset(written["type"])
    for entry in written.values() if isinstance(written, dict) else written if isinstance(written, list) else ():
        yield from _types(entry)


def test_no_value_is_of_two_types() -> None:
    """Strict validators (ajv) refuse to read a schema that says `type: [string, integer]`; with null it is one type that may be left empty."""
    assert {len(types - {"null"}) for types in _types(schema.schema())} == {1}
