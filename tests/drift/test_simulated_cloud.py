"""The cloud layer on a whole stack of the AWS target: the real engine against the simulated cloud, with hosts that only pretend."""

import fnmatch
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.elastic import table as fleet_table
from components.elastic.fleets.aws import Aws
from components.elastic.memory import Launch
from components.inspection.layer import Layer
from stacks.cli.drift import status
from stacks.drift import detect
from stacks.drift.report import Report, Result, texts
from tests.components.aws.standing import Standing
from tests.drift import planted_in_cloud
from tests.drift.simulated import PROGRAM
from tests.simcloud.aws import client
from tests.simcloud.aws.client import SimulatedCloud
from tests.simcloud.aws.deployment import STACK

pytestmark = pytest.mark.engine

KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
MORE: dict[str, Any] = {
    "storage.home.backup_days": 7,
    "storage.data": {
        "kind": "lustre",
        "mount": "/data",
        "size": "4800 GiB",
        "throughput": "500 MB/s/TiB",
        "backup_days": 7,
        "protect": False,
        "on_delete": "delete",
    },
    "storage.sets": {"kind": "object", "mount": "/sets", "key": KEY, "protect": False, "on_delete": "delete"},
    "accounting.database": "managed",
    "accounting.protect": True,
    "access.allowed_cidrs": ["192.0.2.0/24"],
    "pools.pack": {"accelerator": "h100", "gpus_per_node": 8, "nodes": {"min": 0, "max": 4}},
    "pools.spare": {"accelerator": "l4", "gpus_per_node": 1, "fabric": "none", "nodes": {"min": 0, "max": 4}},
}
"""Over the starter's values: something of every kind that the target makes."""


@pytest.fixture(scope="module")
def standing_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """A stack that stands, brought up once for all tests of this module."""
    with client.started(tmp_path_factory.mktemp("cloud")) as cloud, Standing.of(tmp_path_factory.mktemp("stack") / "it", cloud, "starter", **MORE) as one:
        one.set_program(PROGRAM)
        one.up()
        yield one


@pytest.fixture(scope="module")
def kept(standing_stack: Standing, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the cloud and of the stack's record as they are when nobody has touched them."""
    folder = tmp_path_factory.mktemp("kept")
    shutil.copytree(standing_stack.cloud.folder, folder / "cloud")
    shutil.copytree(standing_stack.state_folder, folder / "state")
    return folder


@pytest.fixture
def stack(standing_stack: Standing, kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standing]:
    """The stack with cloud and record as they were after `up`, in the environment of whoever runs the check."""
    cloud = standing_stack.cloud
    cloud.kill()
    for copy, place in ((kept / "cloud", cloud.folder), (kept / "state", standing_stack.state_folder)):
        shutil.rmtree(place)
        shutil.copytree(copy, place)
    cloud.start()
    standing_stack.set_program(PROGRAM)
    standing_stack.change(**{name.replace(".", "__"): value for name, value in MORE.items()})
    for name, value in standing_stack.environment.items():
        monkeypatch.setenv(name, value)
    yield standing_stack
    standing_stack.overrides.pop("pools.late", None)


@pytest.fixture
def cloud(stack: Standing) -> SimulatedCloud:
    return stack.cloud


def look(stack: Standing) -> Report:
    return detect.detect(STACK, layers=[Layer.CLOUD], folder=stack.folder).report


def lines(report: Report) -> list[str]:
    return [f"{one.level} {one.code} {one.place}" for one in report.findings]


def only(report: Report) -> Result:
    [result] = report.results
    return result


def mismatch(found: list[str], expected: list[str]) -> tuple[list[str], list[str]]:
    """Give (what was found and not expected, what was expected and not found)."""
    extra = [one for one in found if not any(one == pattern or fnmatch.fnmatchcase(one, pattern) for pattern in expected)]
    return extra, [pattern for pattern in expected if not any(one == pattern or fnmatch.fnmatchcase(one, pattern) for one in found)]


def files_of(stack: Standing) -> dict[str, tuple[int, bytes]]:
    """Everything in the backend's folder and in the engine's home that says which stack is chosen, with its times."""
    folders = (stack.state_folder, stack.folder / "home" / "workspaces")
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()}


def writes(cloud: SimulatedCloud) -> dict[str, int]:
    """Give the calls that are not for looking."""
    looks = ("read ", "invoke ", "ec2.Describe", "elbv2.Describe", "efs.Describe", "sts.Get")
    return {name: number for name, number in cloud.calls().items() if not name.startswith(looks)}


def launch(*nodes: str, of: str, token: str) -> Launch:
    return Launch(token=token, node_set=of, nodes=nodes, group=token, jobs=(), requested_at=0.0, is_whole=True)


def test_an_untouched_stack_has_no_drift_also_while_nodes_come_and_go_and_a_check_leaves_no_trace(stack: Standing, cloud: SimulatedCloud) -> None:
    fleet = Aws(fleet_table.read(stack.fleet()))
    for number in range(3):
        if number:
            started = [
                fleet.launch(launch(f"{name}-{number}", of=name, token=f"{name}-{number}")) for name in ("train", "pack") if number == 1 or name == "pack"
            ]
            assert [one.refusal for one in started] == [None] * len(started)
        if number == 2:
            fleet.terminate([one.id for one in fleet.view().instances if one.node in ("train-1", "pack-1")])
        before, written = files_of(stack), writes(cloud)
        report = look(stack)
        assert (lines(report), only(report).failure, status(report)) == ([], "", 0)
        assert files_of(stack) == before
        assert writes(cloud) == written
        cloud.advance(60)
    assert cloud.things("ec2.Instance", tags={"clusterwright:node-set": "pack"})


@pytest.mark.soak
def test_twenty_checks_while_nodes_come_and_go_find_nothing(stack: Standing, cloud: SimulatedCloud) -> None:
    fleet = Aws(fleet_table.read(stack.fleet()))
    for number in range(20):
        started = [fleet.launch(launch(f"{name}-{number % 2}", of=name, token=f"{name}-{number}")) for name in ("train", "pack")]
        assert [one.refusal for one in started] == [None, None]
        report = look(stack)
        assert (lines(report), only(report).failure) == ([], "")
        fleet.terminate([one.id for one in fleet.view().instances])
        cloud.advance(60)


@pytest.mark.parametrize("batch", planted_in_cloud.BATCHES)
def test_planted_drift_is_found_exactly_with_credentials_that_may_only_read(stack: Standing, cloud: SimulatedCloud, batch: str) -> None:
    plants = planted_in_cloud.BATCHES[batch]
    for plant in plants:
        plant.act(cloud)
    cloud.deny_writes()
    report = look(stack)
    found = lines(report)
    assert mismatch(found, [line for plant in plants for line in plant.expected]) == ([], [])
    assert (len(found), only(report).failure, status(report)) == (len(set(found)), "", 7)


def test_instances_that_are_nobodys_are_told_from_nodes(stack: Standing, cloud: SimulatedCloud) -> None:
    node = planted_in_cloud.start(cloud, "train", node="train-0")
    strangers = [planted_in_cloud.start(cloud, "train", node="train-99"), planted_in_cloud.start(cloud, "pack", **{"node-set": "gone"})]
    unnamed = planted_in_cloud.start(cloud, "spare")
    report = look(stack)
    assert set(lines(report)) == {f"warning CW706 instance {one}" for one in strangers}
    assert [one.where for one in report.unchecked] == [f"instance {unnamed}"]
    [interface] = [thing for thing in cloud.things("ec2.Instance") if thing.id == node]
    opened = {"GroupId": planted_in_cloud.named(cloud, "ec2.SecurityGroup", "login").id}
    api = interface["api"]
    cloud.drift(node, api={**api, "NetworkInterfaces": [{**one, "Groups": [*one["Groups"], opened]} for one in api["NetworkInterfaces"]]})
    found = lines(look(stack))
    assert set(found) == {*(f"warning CW706 instance {one}" for one in strangers), f"error CW707 instance {node} (train-0): security groups"}


def test_changed_code_and_a_changed_world_are_told_apart(stack: Standing, cloud: SimulatedCloud) -> None:
    cloud.drift(cloud.thing("fsx.LustreFileSystem").id, storageCapacity=9600)
    stack.change(storage__data={**MORE["storage.data"], "size": "7200 GiB"})
    report = look(stack)
    kind = "aws:fsx/lustreFileSystem:LustreFileSystem data-file-system"
    assert set(lines(report)) == {f"warning CW702 {kind}: storageCapacity", f"note CW703 {kind}"}
    world, code = report.findings
    assert texts(world) == ("7200", "4800", "9600")
    assert (texts(code).desired, texts(code).recorded) == ("7200", "4800")


def test_a_program_that_is_broken_hides_nothing_of_the_world(stack: Standing, cloud: SimulatedCloud) -> None:
    cloud.lose(cloud.thing("ec2.FlowLog").id)
    stack.set_program("raise RuntimeError('not today')")
    report = look(stack)
    assert lines(report) == ["error CW701 aws:ec2/flowLog:FlowLog flow-log"]
    assert [one.where for one in report.unchecked] == ["changes of the program and the blueprint"]
    assert "not today" in report.unchecked[0].why


def test_expired_credentials_are_said_once_with_what_to_do(stack: Standing, cloud: SimulatedCloud) -> None:
    cloud.expire_credentials()
    report = look(stack)
    assert (lines(report), status(report)) == ([], 1)
    said = only(report).failure
    assert said.count("ExpiredToken") == 1
    assert "log in to the cloud again" in said
    assert len(report.unchecked) <= 2, "not one line for each resource"


def test_what_may_not_be_read_hides_nothing_else(stack: Standing, cloud: SimulatedCloud) -> None:
    cloud.lose(cloud.thing("ec2.FlowLog").id)
    cloud.fault("read rds.Instance", code="AccessDenied", message="not authorized to perform: rds:DescribeDBInstances", times=None)
    cloud.fault("ec2.DescribeInstances", code="UnauthorizedOperation", message="You are not authorized to perform this operation.", times=None)
    cloud.fault("elbv2.DescribeListeners", code="AccessDenied", message="not authorized to perform: elasticloadbalancing:DescribeListeners", times=None)
    planted_in_cloud.share_homes(cloud)
    report = look(stack)
    home = "aws:efs/fileSystem:FileSystem home-file-system: file system policy"
    assert (lines(report), status(report)) == (["error CW701 aws:ec2/flowLog:FlowLog flow-log", f"error CW708 {home}"], 1)
    said = only(report).failure
    assert "1 resource could not be inspected" in said
    assert "rds:DescribeDBInstances" in said
    assert "the instances under the stack's name could not be listed" in said
    assert "ReadOnlyAccess" in said
    assert "elasticloadbalancing:DescribeListeners" in said
    assert [one.where for one in report.unchecked] == ["aws:rds/instance:Instance accounting-database", "unrecorded listener"]


def test_a_wrong_passphrase_and_a_stack_that_is_not_there_are_told_apart(stack: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = detect.detect("nosuch", folder=stack.folder).report
    assert {("no stack named 'nosuch'" in result.failure, "`pulumi stack ls`" in result.failure) for result in missing.results} == {(True, True)}
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "wrong")
    wrong = look(stack)
    assert "incorrect passphrase" in only(wrong).failure
    assert "PULUMI_CONFIG_PASSPHRASE" in only(wrong).failure.splitlines()[-1]
    assert (status(missing), status(wrong)) == (1, 1)


def test_an_update_that_was_cut_off_is_said_beside_what_could_be_checked(stack: Standing, cloud: SimulatedCloud) -> None:
    stack.change(pools__late=MORE["pools.spare"])
    cloud.fault("create ec2.LaunchTemplate", "kill-engine")
    stack.run("up", "--yes", "--skip-preview")
    report = look(stack)
    assert "error CW704 pending late-template" in lines(report)
    assert only(report).failure == ""


def test_enough_kinds_are_planted() -> None:
    plants = [plant for batch in planted_in_cloud.BATCHES.values() for plant in batch]
    assert len(plants) >= 40
    assert len({plant.name for plant in plants}) == len(plants)
