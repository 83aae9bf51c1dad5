"""Keys of Cloud KMS encrypt what a blueprint says: file systems, disks, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from tests.components.gcp import programs
from tests.components.gcp.standing import Standing
from tests.simcloud.google.client import PROJECT, SimulatedCloud
from tests.simcloud.google.resources.keys import AGENTS

KEY = "projects/keys-of-ours/locations/us-central1/keyRings/ours/cryptoKeys/data"
HOME = {"kind": "nfs", "mount": "/home", "protect": False, "on_delete": "delete", "key": KEY}
DATA = {"kind": "block", "mount": "/data", "size": "1 TiB", "protect": False, "on_delete": "delete", "key": KEY}
FAST = {"kind": "lustre", "mount": "/fast", "size": "9000 GiB", "throughput": "1000 MB/s/TiB", "protect": False, "key": KEY}


def test_each_kind_of_storage_is_encrypted_with_the_key_that_it_names() -> None:
    plain = {name: value for name, value in DATA.items() if name != "key"} | {"mount": "/plain"}
    found = programs.program("starter", software="ubuntu-24.04-gcp", storage={"home": HOME, "data": DATA, "fast": FAST, "plain": plain})
    assert found.named("home-file-system").inputs["kmsKeyName"] == KEY
    assert found.named("fast-file-system").inputs["kmsKey"] == KEY
    assert found.named("data-disk").inputs["diskEncryptionKey"] == {"kmsKeySelfLink": KEY}
    assert "diskEncryptionKey" not in found.named("plain-disk").inputs
    assert "diskEncryptionKey" not in found.named("cluster-disk").inputs


def created(cloud: SimulatedCloud, zone: str, **key: Any) -> tuple[int, str]:
    """Create an empty disk of 10 GB over REST; give status and message."""
    body = {"name": "data", "sizeGb": "10", "diskEncryptionKey": {"kmsKeyName": KEY}}
    cloud.set("kms_keys", {KEY: key} if key else {})
    answer = cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/zones/{zone}/disks", body=body)
    return answer.status, str(answer.body)


def test_a_key_has_to_be_there_in_the_region_and_granted_to_the_service(cloud: SimulatedCloud) -> None:
    agent = AGENTS["compute.disks"]
    assert created(cloud, "us-central1-a")[0] == 403
    assert created(cloud, "us-central1-a", users=[AGENTS["file.instances"]])[0] == 403
    assert "must be in us-east4" in created(cloud, "us-east4-a", users=[agent])[1]
    assert "is not enabled" in created(cloud, "us-central1-a", users=[agent], state="DISABLED")[1]
    assert created(cloud, "us-central1-a", users=[agent])[0] == 200


@pytest.mark.engine
@pytest.mark.soak
def test_a_key_is_no_change_later_and_another_one_replaces_the_data(tmp_path: Path, cloud: SimulatedCloud) -> None:
    cloud.set("kms_keys", {KEY: {"users": [*AGENTS.values()]}})
    with Standing.of(tmp_path / "stack", cloud, programs.CPU, storage={"home": HOME, "data": DATA}) as stack:
        stack.up()
        assert [one.properties["kmsKeyName"] for one in cloud.things("file.instances")] == [KEY]
        encrypted = [one.properties["diskEncryptionKey"] for one in cloud.things("compute.disks") if "diskEncryptionKey" in one.properties]
        assert encrypted == [{"kmsKeyName": f"{KEY}/cryptoKeyVersions/1"}]
        stack.succeed("up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")
        other = KEY.replace("cryptoKeys/data", "cryptoKeys/other")
        stack.change(storage={"home": {**HOME, "key": other}, "data": DATA})
        assert "home-file-system" in stack.changes()["replace"]
        stack.destroy()
        assert cloud.things() == []
