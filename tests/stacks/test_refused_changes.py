"""What `up` says of a changed blueprint before it touches the cluster that stands: its record is a real stack's, and the account the simulated one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import load
from blueprints.spec import ClusterSpec, as_record
from components import this_machine
from stacks.cli import main, options
from stacks.engine import preflight
from tests.components.project import STACK, Project, project
from tests.simcloud.aws import client

pytestmark = pytest.mark.engine

BLUEPRINT = """\
name: sweep
software: debian-13-aws
control: {highly_available: true}
access: {allowed_cidrs: [203.0.113.7/32]}
accounting: {protect: true}
network: {region: us-east-1, zones: [us-east-1a, us-east-1b], cidr: 10.80.0.0/16}
storage: {home: {kind: nfs, mount: /home}, sets: {kind: nfs, mount: /sets, protect: true}}
pools: {cpu: {machine: m7i.large, nodes: {min: 0, max: 4}}}
accounts: {research: {}}
users: {ada: {uid: 2001, account: research}}
"""
PROGRAM = "import json, pathlib, pulumi\npulumi.export('spec', json.loads(pathlib.Path('spec.json').read_text()))\n"
MANAGED = {"accounting: {": "accounting: {database: managed, "}
PLAIN = {"protect: true": "protect: false", "mount: /home": "mount: /home, protect: false"}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A stack on AWS that has recorded nothing yet, in an environment with keys."""
    for name in ("cloud", "project"):
        (tmp_path / name).mkdir()
    settings = tmp_path / f"Pulumi.{STACK}.yaml"
    settings.write_text(json.dumps({"config": {"clusterwright:target": "aws", "clusterwright:blueprint": str(tmp_path / "sweep.yaml")}}))
    monkeypatch.setattr(options, "stack_file", lambda _: settings)
    with client.started(tmp_path / "cloud") as cloud, project(tmp_path / "project") as one:
        for name, value in {**one.environment, **cloud.environment}.items():
            monkeypatch.setenv(name, value)
        yield one


def written(stack: Project, **replaced: str) -> ClusterSpec:
    """Write the blueprint with texts replaced, and give what it resolves to."""
    text = BLUEPRINT
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    file = stack.folder.parent / "sweep.yaml"
    file.write_text(text)
    return load.examine(str(file), target="aws", stack=STACK, facts=this_machine.facts()).spec


def stands(stack: Project, **replaced: str) -> None:
    """Record a blueprint as an `up` that came to its end does."""
    (stack.folder / "spec.json").write_text(json.dumps(as_record(written(stack, **replaced))))
    (stack.folder / "__main__.py").write_text(PROGRAM)
    stack.up()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (MANAGED, {}, ("would lose protected data: database", "accounting.database, managed → embedded", "accounting.protect")),
        (
            {},
            {"highly_available: true": "highly_available: false"},
            ("would lose protected data: state, database", "slurm.control.count, 2 → 1", "set accounting.protect to false"),
        ),
        ({}, {", sets: {kind: nfs, mount: /sets, protect: true}": ""}, ("would lose protected data: storage.sets", "storage.sets", "storage.sets.protect")),
        ({}, PLAIN | MANAGED, ("would lose protected data: database", "accounting.database", "with that change alone")),
        (
            PLAIN,
            PLAIN | {"10.80.0.0/16": "10.81.0.0/16"},
            ("can't be changed like this while it runs", "network.cidr, 10.80.0.0/16 → 10.81.0.0/16", "clusterwright down"),
        ),
    ],
)
def test_up_refuses_before_anything_is_done(
    stack: Project, capsys: pytest.CaptureFixture[str], before: dict[str, str], after: dict[str, str], said: tuple[str, ...]
) -> None:
    stands(stack, **before)
    written(stack, **after)
    recorded = stack.state()
    assert main.main(["up", "--stack", STACK]) == 1
    page = capsys.readouterr().err
    _, what, rest = page.partition("error: ")
    assert what
    head, _, rest = rest.partition("\n  why: ")
    why, _, remedy = rest.partition("\n  do:  ")
    assert [words in part for words, part in zip(said, (head, why, remedy), strict=True)] == [True] * 3, page
    assert head.endswith("nothing was changed")
    assert stack.state() == recorded


def test_what_is_lost_and_not_protected_is_said_and_done(stack: Project, capsys: pytest.CaptureFixture[str]) -> None:
    stands(stack, **PLAIN)
    preflight.refuse_changes(STACK, written(stack, **PLAIN | MANAGED))
    said = capsys.readouterr().out
    assert "this change deletes unprotected data of stack dev" in said
    assert "accounting.database, embedded → managed: a new database is made, and the records of the old one are not carried over" in said


def test_what_keeps_all_data_is_said_nothing_of(stack: Project, capsys: pytest.CaptureFixture[str]) -> None:
    stands(stack)
    for after in ({}, {"max: 4": "max: 8"}, PLAIN):
        preflight.refuse_changes(STACK, written(stack, **after))
        assert capsys.readouterr().out == ""


def test_a_stack_that_has_no_record_is_not_compared(stack: Project) -> None:
    preflight.refuse_changes(STACK, written(stack))
    preflight.refuse_changes("nobody", written(stack))
