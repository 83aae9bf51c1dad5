"""No input of any shape ends in a traceback: whatever comes in, out comes a spec or a page of findings."""

from typing import Any, get_args

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprints import document, finding, language, library, load, read
from blueprints.facts import Facts
from blueprints.language import merge

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
STARTER = library.find("starter").read_bytes()
SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], derandomize=True)

PATHS = [path for path in read.from_bytes(STARTER, file="starter").places if path]

TARGETS = get_args(language.TargetName)


def words_of(schema: Any) -> set[str]:
    """Collect the keys and choices of the language from its own schema, however deep."""
    if isinstance(schema, list):
        return set().union(*(words_of(entry) for entry in schema))
    if not isinstance(schema, dict):
        return set()
    own = {*schema.get("properties", ()), *(choice for choice in schema.get("enum", ()) if isinstance(choice, str))}
    return own.union(*(words_of(entry) for entry in schema.values()))


WORDS = sorted(
    words_of(language.Blueprint.model_json_schema())
    | {"train", "ada", "research", "home", "h100", "gb200", "p5.48xlarge", "a3-megagpu-8g", "dgx-h100", "us-east-1", "us-east-1a", "cr-0123456789abcdef0"}
    | {"/home", "/scratch", "10.0.0.0/20", "0.0.0.0/0", "64 GiB", "14.4 TiB", "250 MB/s/TiB", "1g.10gb", "1-00:00:00", "02:00", "2027-01-31", "s3://bucket"}
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.sampled_from(WORDS))
STRUCTURES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), inner, max_size=5),
    max_leaves=25,
)
PIECES = st.sampled_from(
    [
        b"[",
        b"{",
        b"}",
        b"]",
        b": ",
        b"- ",
        b"\t",
        b"\n",
        b"&a ",
        b"*a",
        b"!!str ",
        b"|",
        b">",
        b"'",
        b'"',
        b"? ",
        b"---\n",
        b"...\n",
        b"%",
        b"@",
        b"\x00",
        b"\xff",
    ]
)


def settle(content: bytes, overrides: dict[str, Any] | None = None, *, target: str = "local") -> None:
    """Load, and show what is found; anything else but a spec or findings is the failure looked for."""
    try:
        source = read.from_bytes(content, file="fuzz.yaml")
        loaded = load.from_document(source, target=target, stack="fuzz", facts=FACTS, overrides=overrides)
        found, is_refused = loaded.findings, False
    except finding.Invalid as invalid:
        found, is_refused = invalid.findings, True
    assert finding.is_fatal(found) is is_refused
    page = finding.render(found, colour=False)
    assert all(character.isprintable() or character == "\n" for character in page)
    finding.render(found, colour=True)
    assert len([finding.as_record(one) for one in found]) == len(found)


@SOME
@given(st.binary(max_size=300))
def test_bytes(content: bytes) -> None:
    settle(content)


@SOME
@given(st.text(max_size=200))
def test_text(text: str) -> None:
    settle(text.encode("utf-8", "replace"))


@SOME
@given(st.lists(st.one_of(PIECES, st.sampled_from([word.encode() for word in WORDS])), max_size=40))
def test_pieces_of_yaml(pieces: list[bytes]) -> None:
    settle(b"".join(pieces))


@SOME
@given(st.integers(0, len(STARTER)), st.integers(0, 30), st.one_of(PIECES, st.binary(max_size=5)))
def test_the_starter_with_a_piece_replaced(start: int, length: int, piece: bytes) -> None:
    settle(STARTER[:start] + piece + STARTER[start + length :])


@SOME
@given(STRUCTURES)
def test_structures(value: Any) -> None:
    settle(yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "replace"))


@SOME
@given(st.dictionaries(st.sampled_from(WORDS), STRUCTURES, max_size=8))
def test_structures_under_the_words_of_the_language(value: dict[str, Any]) -> None:
    settle(yaml.safe_dump(value, sort_keys=False).encode())


@SOME
@given(st.dictionaries(st.sampled_from(sorted(language.Blueprint.model_fields)), STRUCTURES, max_size=8), st.sampled_from(TARGETS))
def test_structures_under_the_keys_of_a_blueprint(value: dict[str, Any], target: str) -> None:
    settle(yaml.safe_dump({"name": "fuzz", "pools": {"train": {"nodes": 2}}, **value}, sort_keys=False).encode(), target=target)


@SOME
@given(st.sampled_from(PATHS), STRUCTURES)
def test_the_starter_with_a_value_replaced(path: document.Path, value: Any) -> None:
    changed = read.from_bytes(STARTER, file="fuzz.yaml").with_setting(path, value, finding.Position("fuzz"))
    settle(yaml.safe_dump(changed.values, sort_keys=False).encode("utf-8", "replace"))


MERGED = {name: merge.settle(load.open_document(library.find(name)), "aws") for name in library.names()}


@pytest.mark.parametrize("name", sorted(MERGED))
@SOME
@given(st.data())
def test_each_blueprint_of_the_library_with_values_replaced(name: str, data: st.DataObject) -> None:
    changed = MERGED[name]
    paths = sorted((path for path in changed.places if path and not any(isinstance(step, int) for step in path)), key=str)
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=3)):
        try:
            changed = changed.with_setting(path, data.draw(STRUCTURES | SCALARS), finding.Position("fuzz"))
        except TypeError:  # an earlier replacement left no mapping around this place
            continue
    settle(yaml.safe_dump(changed.values, sort_keys=False).encode("utf-8", "replace"), target=data.draw(st.sampled_from(TARGETS)))


@SOME
@given(st.dictionaries(st.lists(st.one_of(st.sampled_from([*WORDS, "train", "ada"]), st.text(max_size=4)), max_size=4).map(".".join), STRUCTURES, max_size=4))
def test_settings(overrides: dict[str, Any]) -> None:
    settle(STARTER, overrides)
