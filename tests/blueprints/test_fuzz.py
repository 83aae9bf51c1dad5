"""No input of any shape ends in a traceback: whatever comes in, out comes a spec or a page of findings."""

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprints import document, finding, library, load, read
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
STARTER = library.find("starter").read_bytes()
SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], derandomize=True)

PATHS = [path for path in read.from_bytes(STARTER, file="starter").places if path]

WORDS = sorted(
    {
        *("name", "description", "scheduler", "software", "control", "access", "accounting", "network", "storage", "pools", "accounts", "users"),
        *("login_nodes", "database", "protect", "cidr", "kind", "mount", "default", "max_time", "accelerator", "gpus_per_node", "nodes"),
        *("cpus_per_node", "memory", "partition", "uid", "account", "ssh_keys", "slurm", "nfs", "/home", "10.0.0.0/20", "h100", "64 GiB"),
    }
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


def settle(content: bytes, overrides: dict[str, Any] | None = None) -> None:
    """Load, and show what is found; anything else but a spec or findings is the failure looked for."""
    try:
        source = read.from_bytes(content, file="fuzz.yaml")
        loaded = load.from_document(source, target="local", stack="fuzz", facts=FACTS, overrides=overrides)
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
@given(st.sampled_from(PATHS), STRUCTURES)
def test_the_starter_with_a_value_replaced(path: document.Path, value: Any) -> None:
    changed = read.from_bytes(STARTER, file="fuzz.yaml").with_setting(path, value, finding.Position("fuzz"))
    settle(yaml.safe_dump(changed.values, sort_keys=False).encode("utf-8", "replace"))


@SOME
@given(st.dictionaries(st.lists(st.one_of(st.sampled_from([*WORDS, "train", "ada"]), st.text(max_size=4)), max_size=4).map(".".join), STRUCTURES, max_size=4))
def test_settings(overrides: dict[str, Any]) -> None:
    settle(STARTER, overrides)
