"""Hosts of AWS that are rebuilt: the engine replaces their instances, also those that only the stack may terminate, and what outlives an instance stays."""

from pathlib import Path

import pytest

from components.aws import rebuild
from tests.components.aws.standing import Standing
from tests.simcloud.aws.client import SimulatedCloud

pytestmark = pytest.mark.engine

OF_AN_INSTANCE = ("ec2.VolumeAttachment", "lb.TargetGroupAttachment")


def test_the_engine_replaces_the_instances_and_nothing_that_outlives_them(tmp_path: Path, cloud: SimulatedCloud) -> None:
    with Standing.of(tmp_path / "stack", cloud, "starter", **{"accounting.protect": True}) as stack:
        stack.up()
        before = {(thing.kind, thing.id) for thing in cloud.things()}
        recorded = stack.resources()
        urns = rebuild.Rebuild().replaced(["control-0", "login-0"], recorded)
        assert [urn.rpartition("::")[2] for urn in sorted(urns)] == ["control-0", "login-0"]

        stack.up("--refresh", *(word for urn in urns for word in ("--replace", urn)))

        after = {(thing.kind, thing.id) for thing in cloud.things()}
        gone = {kind for kind, _ in before - after}
        assert "ec2.Instance" in gone
        assert gone <= {"ec2.Instance", *OF_AN_INSTANCE}, "disks, addresses and names stay"
        assert len([kind for kind, _ in before - after if kind == "ec2.Instance"]) == 2
        assert sorted(kind for kind, _ in before) == sorted(kind for kind, _ in after)
        stack.up("--refresh", "--expect-no-changes")
