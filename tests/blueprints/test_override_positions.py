"""A mistake in a blueprint that extends another, or in its part for a target, is found at the line that makes it, and not at the line of what is extended."""

import pathlib

import pytest

from blueprints import finding, load, read
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
WHOLE = """name: trial
access: {login_nodes: 1, allowed_cidrs: [203.0.113.7/32]}
accounts: {research: {}}
users: {ada: {uid: 2001, account: research, admin: true}}
storage:
  home: {kind: nfs, mount: /home}
pools:
  train: {accelerator: h100, gpus_per_node: 8, nodes: 4, partition: {default: true, max_time: 1-00:00:00}}
network: {region: us-east-1, zones: [us-east-1a]}
targets:
  aws:
"""
LINE_OF_PART = 1 + WHOLE.count("\n")


def findings(path: pathlib.Path, text: str, *, target: str) -> tuple[finding.Finding, ...]:
    path.write_text(text)
    try:
        return load.examine(str(path), target=target, stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        return invalid.findings


def errors(path: pathlib.Path, text: str, *, target: str) -> list[finding.Finding]:
    return [one for one in findings(path, text, target=target) if one.level is finding.Level.ERROR]


@pytest.mark.parametrize(
    ("parent", "entry", "target", "code", "column"),
    [
        ("llm-pretraining", "pools: {train: {machine: p4d.24xlarge}}", "aws", Code.MACHINE_CONTRADICTION, 26),
        ("llm-pretraining", "network: {region: eu-west-1}", "aws", Code.MACHINE_MISSING, 19),
        ("llm-pretraining", "accounts: {research: }", "aws", Code.ACCOUNT_UNKNOWN, 12),
        ("llm-pretraining", "storage: {home: }", "aws", Code.HOME_MISSING, 11),
        ("research-shared", "qos: {idle: }", "aws", Code.QOS_UNKNOWN, 7),
        ("starter", "pools: {train: }", "local", Code.EMPTY, 9),
    ],
)
def test_a_mistake_over_an_extended_blueprint_is_found_in_the_blueprint_that_makes_it(
    parent: str, entry: str, target: str, code: Code, column: int, tmp_path: pathlib.Path
) -> None:
    found = errors(tmp_path / "mine.yaml", f"name: mine\nextends: {parent}\n{entry}\n", target=target)
    assert {one.code for one in found} == {code}
    assert {(pathlib.Path(one.where.file).name, one.where.line, one.where.column) for one in found if one.where} == {("mine.yaml", 3, column)}


@pytest.mark.parametrize(
    ("part", "code", "line"),
    [
        ("    pools:\n      train: {machine: p4d.24xlarge}\n", Code.MACHINE_CONTRADICTION, LINE_OF_PART + 1),
        ("    storage:\n      home:\n", Code.HOME_MISSING, LINE_OF_PART + 1),
        ("    accounts:\n      research:\n", Code.ACCOUNT_UNKNOWN, LINE_OF_PART + 1),
        ("    network: {zones: [us-east-1a, us-east-1a]}\n    pools: {train: {machine: p4d.24xlarge}}\n", Code.MACHINE_CONTRADICTION, LINE_OF_PART + 1),
    ],
)
def test_a_mistake_of_a_part_for_a_target_is_found_there_beside_its_other_mistakes(part: str, code: Code, line: int, tmp_path: pathlib.Path) -> None:
    assert not errors(tmp_path / "mine.yaml", f"{WHOLE}    tags: {{team: a}}\n", target="aws")
    found = [one for one in errors(tmp_path / "mine.yaml", WHOLE + part, target="aws") if one.code is code]
    assert [one.where.line for one in found if one.where] == [line]


@pytest.mark.parametrize(
    ("parent", "entry"), [("llm-pretraining", "accounts: {research: }"), ("research-shared", "storage: {home: }"), ("research-shared", "qos: {idle: }")]
)
def test_removing_the_empty_entry_as_advised_leaves_no_error(parent: str, entry: str, tmp_path: pathlib.Path) -> None:
    path, text = tmp_path / "mine.yaml", f"name: mine\nextends: {parent}\n{entry}\n"
    found = errors(path, text, target="aws")
    assert found
    assert all(one.remedy.startswith("remove the empty `") for one in found)
    assert not errors(path, text.replace(entry, ""), target="aws")


def test_what_is_wrong_without_an_override_stays_where_it_is_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "below.yaml").write_text("name: below\npools: {a: {nodes: 1}}\nusers: {ada: {uid: 2001, account: nobody}}\n")
    found = errors(tmp_path / "mine.yaml", "name: mine\nextends: below.yaml\npools: {a: {nodes: 2}}\n", target="local")
    assert {(pathlib.Path(one.where.file).name, one.where.line) for one in found if one.where} == {("below.yaml", 3)}


def test_the_place_that_a_suppression_names_stays_that_of_the_inherited_value(tmp_path: pathlib.Path) -> None:
    (tmp_path / "below.yaml").write_text("name: below\npools: {a: {nodes: 2, fabric: required, placement: packed, machine: p5.48xlarge}}\n")
    over = "name: mine\nextends: below.yaml\npools: {a: {placement: none}}\n"
    [warned] = [one for one in findings(tmp_path / "mine.yaml", over, target="aws") if one.code is Code.PLACEMENT_AGAINST_FABRIC]
    assert warned.where is not None
    at = ".".join(str(step) for step in warned.where.path or ())
    suppressed = f"{over}suppress: [{{code: {warned.code}, at: {at}, reason: A test of the network, until: 2999-01-01}}]\n"
    assert not [one for one in findings(tmp_path / "mine.yaml", suppressed, target="aws") if one.code is Code.PLACEMENT_AGAINST_FABRIC]


def test_an_entry_is_taken_out_of_a_document_with_its_places() -> None:
    document = read.from_bytes(b"name: a\npools: {b: {nodes: 1}, c: {nodes: 2}}\n", file="a.yaml").without(("pools", "b"))
    assert document.values == {"name": "a", "pools": {"c": {"nodes": 2}}}
    assert not [path for path in document.places if path[:2] == ("pools", "b")]
