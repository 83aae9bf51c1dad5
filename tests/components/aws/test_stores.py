"""What stores data, on the simulated cloud and driven by the real engine: it is taken as it is made, and what stays of it stays on purpose."""

from pathlib import Path
from typing import Any

import pytest

from tests.components.aws.standing import PROGRAM, Standing
from tests.simcloud.aws.client import REGION, SimulatedCloud

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


def test_a_key_named_by_its_alias_or_id_encrypts_everything_and_stays(tmp_path: Path, cloud: SimulatedCloud) -> None:
    """The cloud refuses anything but an ARN there, as the provider's schemas do, and a second run finds nothing to change."""
    key = cloud.make("kms.Key", enableKeyRotation=True)
    cloud.make("kms.Alias", name="alias/research", targetKeyId=key.id)
    stores: dict[str, Any] = {
        "storage.home.key": "alias/research",
        "storage.home.backup_days": 7,
        "storage.data": LUSTRE | {"key": key.id},
        "storage.disk": {
            "kind": "block",
            "mount": "/disk",
            "size": "1 TiB",
            "key": f"arn:aws:kms:{REGION}:123456789012:alias/research",
            "protect": False,
            "on_delete": "delete",
        },
    }
    with Standing.of(tmp_path / "stack", cloud, "starter", **stores) as stack:
        stack.up()
        encrypted = [one for kind in ("fsx.LustreFileSystem", "efs.FileSystem", "ebs.Volume") for one in cloud.things(kind)]
        named = sorted(one["tags"]["Name"] for one in encrypted if one.properties.get("kmsKeyId") == key["arn"])
        assert named == ["starter-dev-data", "starter-dev-disk", "starter-dev-home"]
        assert [one["kmsKeyArn"] for one in cloud.things("backup.Vault")] == [key["arn"]]
        stack.up("--refresh", "--expect-no-changes")
        stack.destroy()
