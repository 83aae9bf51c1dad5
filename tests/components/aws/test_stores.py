"""What stores data, on the simulated cloud and driven by the real engine: it is taken as it is made, and what stays of it stays on purpose."""

from pathlib import Path
from typing import Any

import pytest

from tests.components.aws.standing import PROGRAM, Standing
from tests.simcloud.aws.client import SimulatedCloud

pytestmark = pytest.mark.engine

LUSTRE: dict[str, Any] = {"kind": "lustre", "mount": "/data", "size": "1200 GiB", "protect": False, "on_delete": "delete"}

OTHER_ROLES = """
from components import bake

bake.archive_name = lambda: "bundle-of-other-roles.zip"
"""
"""What a change of a role comes to: another archive."""


def test_servers_of_lustre_reach_each_other_and_their_clients(tmp_path: Path, cloud: SimulatedCloud) -> None:
    """FSx makes none whose servers can't (FSx for Lustre User Guide, "Creating an FSx for Lustre file system fails"); clients it loses later."""
    with Standing.of(tmp_path / "stack", cloud, "starter", **{"storage.data": LUSTRE, "storage.home.backup_days": 7}) as stack:
        stack.up()
        assert cloud.audit() == [], "nor does AWS Backup lack its role"
        stack.destroy()
    assert cloud.things() == []


def test_an_image_goes_with_its_snapshots_when_nothing_starts_from_it(tmp_path: Path, cloud: SimulatedCloud) -> None:
    """Image Builder leaves both, and each change of a role builds another (Image Builder API Reference, DeleteImage)."""
    with Standing.of(tmp_path / "stack", cloud, "starter") as stack:
        stack.up()
        former = cloud.thing("ec2.Ami")
        stack.set_program(OTHER_ROLES + PROGRAM)
        stack.up()
        present = cloud.thing("ec2.Ami")
        assert present.id != former.id
        assert cloud.thing("ebs.Snapshot").id == present["snapshotId"]
        theirs = cloud.make("ec2.LaunchTemplate", name="theirs", imageId=present.id, instanceType="m5.large")
        stack.destroy()
    assert {thing.id for thing in cloud.things()} == {theirs.id, present.id, present["snapshotId"]}, "what somebody else starts from stays"
