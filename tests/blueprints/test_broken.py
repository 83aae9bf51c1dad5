"""Broken blueprints: each gives exactly the codes it must, at the lines it must. The files of broken/ say both in their first line, and on which target.

A code that findings have with several levels stands there with its level (`CW523 error at 5`); test_levels.py compares all others.

Notes are worth knowing and nothing is wrong with them, and what is not built yet is no fault of a file: both are looked for only where one says so. The files of fitting/ stand on the other side of the limits,
and say which codes they must not give.
"""

import dataclasses
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import pytest

from blueprints import finding, load, read, resolve
from blueprints import language as model
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
FOLDER = pathlib.Path(__file__).parent / "broken"
FITTING = pathlib.Path(__file__).parent / "fitting"
TINY = b"name: tiny\npools: {train: {nodes: 1}}\n"


@dataclasses.dataclass(frozen=True)
class Case:
    """A blueprint, how it is loaded, and what must be found: codes with lines, 0 where a file has no lines."""

    name: str
    content: bytes
    expected: frozenset[tuple[str, int]]
    target: str = "local"
    levels: Mapping[tuple[str, int], str] = dataclasses.field(default_factory=dict)
    """Of codes that findings have with several levels."""
    overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def stored(path: pathlib.Path) -> Case:
    content = path.read_bytes()
    first_line = content.decode().splitlines()[0]
    said = {(code, int(line)): level for code, level, line in re.findall(r"(CW\d+)(?: (error|warning|note))? at (\d+)", first_line)}
    target = re.search(r"target (\w+)", first_line)
    return Case(path.stem, content, frozenset(said), target[1] if target else "local", {place: level for place, level in said.items() if level})


def made(name: str, content: bytes, *expected: tuple[Code, int], target: str = "local", overrides: Mapping[str, Any] | None = None) -> Case:
    return Case(name, content, frozenset((str(code), line) for code, line in expected), target, overrides=overrides or {})


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else []


STORED = [stored(path) for path in sorted(FOLDER.glob("*.yaml"))]
MADE = [
    made("empty", b"", (Code.FILE_EMPTY, 1)),
    made("blank lines", b"\n\n \n", (Code.FILE_EMPTY, 1)),
    made("only a document mark", b"---\n", (Code.FILE_EMPTY, 1)),
    made("UTF-16", "name: tiny\n".encode("utf-16"), (Code.ENCODING, 1)),
    made("Latin-1", "name: tiny\ndescription: größer\n".encode("latin-1"), (Code.ENCODING, 2)),
    made("cut UTF-8", "name: größer".encode()[:-5], (Code.ENCODING, 1)),
    made("ELF", b"\x7fELF\x02\x01\x01\x00", (Code.CONTROL_CHARACTER, 1)),
    made("NUL", b"name: tiny\nsoftware: de\x00bian\n", (Code.CONTROL_CHARACTER, 2)),
    made("escape", b"name: tiny\nsoftware: \x1b[31mred\n", (Code.CONTROL_CHARACTER, 2)),
    made("byte order mark before a fault", b"\xef\xbb\xbfname: tiny\npool: {}\n", (Code.BYTE_ORDER_MARK, 1), (Code.KEY_UNKNOWN, 2), (Code.EMPTY, 2)),
    made("unknown target", TINY, (Code.TARGET_UNKNOWN, 0), target="locl"),
    made("target metal", TINY, (Code.HOSTS_UNNAMED, 1), target="metal"),
    made("setting of an unknown pool", TINY, (Code.OVERRIDE_PATH, 0), overrides={"pools.trian.nodes": 2}),
    made("setting inside a number", TINY, (Code.OVERRIDE_PATH, 0), overrides={"pools.train.nodes.min": 2}),
    made("setting without a name", TINY, (Code.OVERRIDE_PATH, 0), overrides={"pools..nodes": 2}),
    made("setting of a target's own part", TINY, (Code.OVERRIDE_PATH, 0), overrides={"targets.aws.pools.train.nodes": 2}),
    made("setting of what is extended", TINY, (Code.OVERRIDE_PATH, 0), overrides={"extends": "starter"}),
    made("setting with an empty path", TINY, (Code.OVERRIDE_PATH, 0), overrides={"": 2}),
    made("setting that is no plain value", TINY, (Code.OVERRIDE_VALUE, 0), overrides={"description": object()}),
    made("setting that is nested too deep", TINY, (Code.OVERRIDE_VALUE, 0), overrides={"description": nested(100)}),
    made("setting of the wrong type", TINY, (Code.TYPE_WRONG, 0), overrides={"pools.train.nodes": "2"}),
    made("setting of an unknown key", TINY, (Code.KEY_UNKNOWN, 0), overrides={"pools.train.node": 2}),
    made("setting that takes what is required", TINY, (Code.KEY_MISSING, 0), overrides={"pools.train.nodes": None}),
    made("two wrong settings", TINY, (Code.OVERRIDE_PATH, 0), (Code.NUMBER_OUT_OF_RANGE, 0), overrides={"pools.a.nodes": 1, "pools.train.nodes": 0}),
    made("setting and file", b"name: T\npools: {a: {nodes: 1}}\n", (Code.NAME_FORM, 1), (Code.TYPE_WRONG, 0), overrides={"access": 1}),
]


def findings(case: Case, folder: pathlib.Path) -> tuple[finding.Finding, ...]:
    path = folder / "blueprint.yaml"
    path.write_bytes(case.content)
    try:
        return load.examine(str(path), target=case.target, stack="test", facts=FACTS, overrides=case.overrides).findings
    except finding.Invalid as invalid:
        return invalid.findings


def place(one: finding.Finding) -> tuple[str, int]:
    return str(one.code), one.where.line if one.where else 0


@pytest.mark.parametrize("case", STORED + MADE, ids=lambda case: case.name)
def test_every_fault_is_found_with_its_code_and_line_and_nothing_else(case: Case, tmp_path: pathlib.Path) -> None:
    found = findings(case, tmp_path)
    wrong = {place(one) for one in found if one.level is not finding.Level.NOTE and one.code is not Code.FEATURE_NOT_BUILT}
    assert wrong | ({place(one) for one in found} & case.expected) == case.expected


SEVERAL_LEVELS = {str(code) for code in Code if len(code.levels) > 1}


@pytest.mark.parametrize("case", [case for case in STORED if {code for code, _ in case.expected} & SEVERAL_LEVELS], ids=lambda case: case.name)
def test_a_code_with_several_levels_has_the_one_that_fits(case: Case, tmp_path: pathlib.Path) -> None:
    levels = {place(one): one.level.value for one in findings(case, tmp_path) if one.code in SEVERAL_LEVELS}
    assert {at: level for at, level in levels.items() if at in case.expected} == case.levels


@pytest.mark.parametrize("case", STORED + MADE, ids=lambda case: case.name)
def test_every_finding_says_what_why_and_what_to_do_in_whole_words(case: Case, tmp_path: pathlib.Path) -> None:
    for one in findings(case, tmp_path):
        assert one.what
        assert one.why
        assert one.remedy
        assert not {one.what[-1], one.why[-1], one.remedy[-1]} & set(". \n")
        assert "pydantic" not in f"{one.what}{one.why}{one.remedy}"
        assert len(finding.render([one])) < 2000


@pytest.mark.parametrize("path", sorted(FITTING.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_stands_within_a_limit_is_not_found(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    case = stored(path)
    unwanted = set(re.findall(r"CW\d+", case.content.decode().splitlines()[0]))
    found = findings(case, tmp_path)
    assert unwanted
    assert unwanted <= set(Code)
    assert [(one.code, one.what) for one in found if one.code in unwanted or one.level is finding.Level.ERROR] == []


def test_the_corpus_is_large_and_every_check_has_both_sides() -> None:
    assert len(STORED) >= 150
    fitting = {code for path in FITTING.glob("*.yaml") for code in re.findall(r"CW\d+", path.read_text().splitlines()[0])}
    of_checks = {str(code) for code in Code if "CW300" < code < "CW640"}
    # Two users of one number and two default partitions have no limit: any other number, and one, are in nearly every file.
    assert of_checks - fitting <= {Code.UID_DUPLICATE, Code.DEFAULT_PARTITIONS}


def test_every_code_is_found_at_least_once(tmp_path: pathlib.Path) -> None:
    expected = {code for case in STORED + MADE for code, _ in case.expected}
    # What the system must say about a file is found in test_read.py, the name of a blueprint in test_load.py.
    elsewhere = {Code.FILE_MISSING, Code.FILE_UNREADABLE, Code.FILE_TOO_LARGE, Code.BLUEPRINT_UNKNOWN}
    # What accounts say is found in test_live.py.
    elsewhere |= {code for code in Code if code.startswith("CW8")}
    assert expected | elsewhere == set(Code)
    assert not expected & elsewhere


def test_codes_and_their_meanings_are_given_once() -> None:
    assert all(re.fullmatch(r"CW[1-68]\d\d", code) for code in Code)
    assert len({code.meaning for code in Code}) == len(list(Code))


def test_parse_and_resolve_alone_raise_what_they_find() -> None:
    with pytest.raises(finding.Invalid) as unparsed:
        model.parse(read.from_bytes(b"name: tiny\n", file="tiny.yaml"))
    assert [one.code for one in unparsed.value.findings] == [Code.KEY_MISSING]

    blueprint = model.parse(read.from_bytes(TINY, file="tiny.yaml"))
    with pytest.raises(finding.Invalid) as unresolved:
        resolve.resolve(blueprint, target="elsewhere", stack="test", facts=FACTS)
    assert [one.code for one in unresolved.value.findings] == [Code.TARGET_UNKNOWN]
