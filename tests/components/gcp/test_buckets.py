"""Buckets of Cloud Storage: from the blueprint to the entry in fstab, and their life on the simulated Google Cloud."""

from pathlib import Path
from typing import Any

import pytest

from components import discovery as of_targets
from components.elastic import table as fleet_table
from components.gcp import attachments, discovery, names
from tests.components.gcp import programs
from tests.components.gcp.standing import Standing
from tests.components.project import STACK
from tests.simcloud.google.client import PROJECT, REGION, SimulatedCloud
from tests.simcloud.google.resources.keys import AGENTS

KEY = f"projects/keys-of-ours/locations/{REGION}/keyRings/ours/cryptoKeys/data"
SETS: dict[str, Any] = {"kind": "object", "mount": "/sets", "protect": False, "on_delete": "delete"}
SOFTWARE = "ubuntu-24.04-gcp"


def with_bucket(**more: Any) -> Any:
    return programs.program("starter", software=SOFTWARE, storage={"sets": {**SETS, **more}})


def test_every_host_mounts_the_bucket_with_the_rights_of_its_own_account() -> None:
    found = with_bucket()
    for one in (*programs.of(found, "compute:Instance"), *programs.of(found, "InstanceTemplate")):
        (row,) = [row for row in programs.user_data(one)["mounts"] if row[1] == "/sets"]
        assert row[0] == found.named("sets-bucket").inputs["name"], one.name
        assert row[2] == "gcsfuse", one.name
        assert {"_netdev", "nofail", "nosuid", "nodev", "allow_other"} <= {*row[3].split(",")}, one.name
    users = [one.inputs for one in programs.of(found, "BucketIAMMember")]
    assert {one["role"] for one in users} == {"roles/storage.objectUser"}, "no host changes who may read it"
    assert sorted(one["member"].partition("@")[0].rpartition("-")[2] for one in users) == ["access", "compute", "control"]
    assert {f"{part}-uses-sets" for part in ("control", "access", "compute")} <= found.all_needs("control-0"), "a host mounts it in its first seconds"


def test_nobody_outside_the_project_reads_it() -> None:
    said = with_bucket().named("sets-bucket").inputs
    assert (said["publicAccessPrevention"], said["uniformBucketLevelAccess"], said["location"]) == ("enforced", True, REGION)


@pytest.mark.parametrize(("on_delete", "kept", "emptied"), [("keep", True, False), ("snapshot", True, False), ("delete", False, True)])
def test_files_stay_unless_the_blueprint_deletes_them(on_delete: str, kept: bool, emptied: bool) -> None:
    bucket = with_bucket(on_delete=on_delete).named("sets-bucket")
    assert (bucket.keep, bucket.inputs["forceDestroy"], bucket.protect) == (kept, emptied, False)
    assert with_bucket(protect=True).named("sets-bucket").protect


def test_the_owner_s_key_encrypts_new_objects() -> None:
    assert with_bucket(key=KEY).named("sets-bucket").inputs["encryption"] == {"defaultKmsKeyName": KEY}
    assert "encryption" not in with_bucket().named("sets-bucket").inputs


def test_the_longest_name_of_a_bucket_fits() -> None:
    assert len(names.Names("c" * 40, "s" * 40).name("f" * 32, spare=names.MARK_ROOM)) + names.MARK_ROOM <= 63


@pytest.mark.engine
@pytest.mark.soak
def test_a_bucket_lives_from_up_to_destroy(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    cloud.set("kms_keys", {KEY: {"users": [*AGENTS.values()]}})
    with Standing.of(tmp_path / "stack", cloud, programs.CPU, software=SOFTWARE, storage__sets={**SETS, "key": KEY}) as stack:
        stack.up()
        (bucket,) = cloud.things("storage.buckets")
        name = bucket.properties["name"]
        assert (bucket.properties["location"], bucket.properties["encryption"]) == (REGION.upper(), {"defaultKmsKeyName": KEY})
        stack.succeed("up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")
        assert fleet_table.read(stack.fleet()).node_sets, "nodes start with it"

        recorded = _recorded(stack)
        assert attachments.unrecorded(attachments.look(recorded, project=PROJECT), recorded).found == (), "the members are the stack's own"
        policy = cloud.request("storage.googleapis.com", "GET", f"/storage/v1/b/{name}/iam").body
        policy["bindings"] = [*policy["bindings"], {"role": "roles/storage.objectViewer", "members": ["allAuthenticatedUsers", "projectViewer:our-project"]}]
        answer = cloud.request("storage.googleapis.com", "PUT", f"/storage/v1/b/{name}/iam", body=policy)
        assert answer.status == 200, answer.body
        assert [one.what for one in discovery.Discovery().attachments(recorded).found] == ["member of the bucket allAuthenticatedUsers"]

        stack.change(storage__sets={**SETS, "on_delete": "keep"})
        stack.up()
        (bucket,) = cloud.things("storage.buckets")
        assert "encryption" not in bucket.properties, "another key, or none, holds for new objects; the bucket and its files stay"
        stack.destroy()
        assert [one.properties["name"] for one in cloud.things("storage.buckets")] == [name]
        assert {one.kind for one in cloud.things()} == {"storage.buckets", "iam.policies"}, "with the members that others added"


def _recorded(stack: Standing) -> of_targets.Stack:
    resources = tuple(
        {"type": one["type"], "name": one["urn"].rpartition("::")[2], "id": one.get("id", ""), "outputs": one.get("outputs", {})} for one in stack.resources()
    )
    return of_targets.Stack(name=STACK, region=REGION, resources=resources, nodes={})
