"""File systems, disks, buckets and the database: made as the spec says, encrypted, and kept."""

import dataclasses
import re
from typing import Any

import pulumi
import pytest

from blueprints import catalog, spec
from components.aws import storage
from tests.components.aws import programs
from tests.components.registered import Registered

HOLDING_DATA = ("Bucket", "FileSystem", "LustreFileSystem", "Volume")
LUSTRE = {"kind": "lustre", "mount": "/data", "size": "4800 GiB", "throughput": "250 MB/s/TiB"}


def encrypted(one: Registered) -> bool:
    match one.type.rpartition(":")[2]:
        case "Volume" | "FileSystem":
            return one.inputs["encrypted"] is True
        case "Instance" if one.type.startswith("aws:rds"):
            return one.inputs["storageEncrypted"] is True
        case "Instance":
            return bool(one.inputs["rootBlockDevice"]["encrypted"])
        case "LaunchTemplate":
            return all(disk["ebs"]["encrypted"] == "true" for disk in one.inputs["blockDeviceMappings"])
        case "ImageRecipe":
            return all(disk["ebs"]["encrypted"] == "true" for disk in one.inputs["blockDeviceMappings"])
    return True  # FSx and S3 store nothing in the clear


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_everything_is_encrypted_at_rest(blueprint: str) -> None:
    assert [one.name for one in programs.aws(programs.library(blueprint)) if not encrypted(one)] == []


@pytest.mark.parametrize("kind", ["nfs", "lustre", "block", "object"])
@pytest.mark.parametrize(("keys", "keep"), [({}, True), ({"protect": False}, True), ({"protect": False, "on_delete": "delete"}, False)])
def test_data_is_kept_as_the_blueprint_says(kind: str, keys: dict[str, Any], keep: bool) -> None:
    sizes: dict[str, Any] = {"lustre": {"size": "4800 GiB"}, "block": {"size": "1 TiB"}}.get(kind, {})
    found = programs.program("starter", storage__more={"kind": kind, "mount": "/more", **sizes, **keys})
    (made,) = [one for one in programs.aws(found) if one.type.rpartition(":")[2] in HOLDING_DATA and one.name.startswith("more-")]
    assert made.keep is keep


@pytest.mark.parametrize(
    ("kind", "on_delete", "durability", "expected"),
    [
        ("nfs", "snapshot", "persistent", True),
        ("lustre", "snapshot", "persistent", False),
        ("block", "snapshot", "persistent", False),
        ("object", "snapshot", "persistent", True),
        ("nfs", "delete", "persistent", False),
        ("lustre", "keep", "persistent", True),
    ],
)
def test_what_has_no_last_snapshot_stays_itself(kind: str, on_delete: str, durability: str, expected: bool) -> None:
    wanted = spec.FileSystem("more", kind, "/more", protect=False, simulated=False, on_delete=on_delete, durability=durability)
    assert storage.keeps(wanted) is expected


def test_a_last_snapshot_is_taken_where_it_is_asked_for() -> None:
    asked = {"protect": False, "on_delete": "snapshot"}
    found = programs.program("starter", storage__data={**LUSTRE, **asked}, storage__disk={"kind": "block", "mount": "/disk", "size": "1 TiB", **asked})
    (lustre,) = programs.of(found, "LustreFileSystem")
    assert (lustre.inputs["skipFinalBackup"], lustre.inputs["finalBackupTags"]["clusterwright:cluster"]) == (False, "starter")
    assert programs.one(found, "Volume", "disk-volume").inputs["finalSnapshot"] is True


def test_a_lustre_that_stays_keeps_the_network_that_it_stands_in() -> None:
    """Deleting the network would fail, half done, as long as the file system has addresses in it."""
    found = programs.program("starter", storage__data={**LUSTRE, "protect": False})
    kept = {one.name for one in programs.aws(found) if one.keep}
    assert {"vpc", "cluster-subnet", "hosts-security-group", "storage-security-group", "data-file-system"} <= kept
    assert not kept & {"public-1-subnet", "nat-gateway", "login-security-group"}
    gone = programs.program("starter", storage__data={**LUSTRE, "protect": False, "on_delete": "delete"})
    assert not {one.name for one in programs.aws(gone) if one.keep} & {"vpc", "cluster-subnet"}


# Lustre


@pytest.mark.parametrize("blueprint", ["llm-pretraining", "research-shared", "scale-7500", "gb200-nvl72"])
def test_lustre_is_as_the_spec_says(blueprint: str) -> None:
    (wanted,) = [one for one in programs.resolved(blueprint).storage if one.kind == "lustre"]
    (made,) = programs.of(programs.library(blueprint), "LustreFileSystem")
    assert (made.inputs["deploymentType"], made.inputs["storageType"]) == ("PERSISTENT_2", "SSD")
    assert (made.inputs["storageCapacity"], made.inputs["perUnitStorageThroughput"]) == (wanted.size_gib, wanted.throughput_mbs_per_tib)
    assert made.inputs["automaticBackupRetentionDays"] == wanted.backup_days
    assert made.inputs["metadataConfiguration"] == {"mode": "AUTOMATIC"}
    assert made.inputs["subnetIds"] == "Subnet/cluster-subnet"
    assert made.inputs["securityGroupIds"] == ["SecurityGroup/storage-security-group"]


@pytest.mark.parametrize(("fabric", "expected"), [("efa", True), ("", None)])
def test_lustre_carries_efa_where_the_spec_says_so(fabric: str, expected: bool | None) -> None:
    (made,) = programs.of(programs.program("llm-pretraining", spec=over("llm-pretraining", fabric)), "LustreFileSystem")
    assert made.inputs.get("efaEnabled") is expected
    assert made.ignores == {"efaEnabled"}


def over(blueprint: str, fabric: str) -> spec.ClusterSpec:
    """Give a cluster whose Lustre is reached over a fabric."""
    cluster = programs.resolved(blueprint)
    return dataclasses.replace(cluster, storage=tuple(dataclasses.replace(one, fabric=fabric) if one.kind == "lustre" else one for one in cluster.storage))


def test_scratch_has_neither_backups_nor_metadata_servers_of_its_own() -> None:
    found = programs.program("starter", storage__data={"kind": "lustre", "mount": "/data", "size": "4800 GiB", "durability": "scratch"})
    (made,) = programs.of(found, "LustreFileSystem")
    assert made.inputs["deploymentType"] == "SCRATCH_2"
    assert not {"automaticBackupRetentionDays", "metadataConfiguration", "perUnitStorageThroughput", "copyTagsToBackups"} & made.inputs.keys()


@pytest.mark.parametrize(
    ("exchange", "policies"),
    [
        ({}, {"autoImportPolicy"}),
        ({"export_files": True}, {"autoImportPolicy", "autoExportPolicy"}),
        ({"import_files": False, "export_files": True}, {"autoExportPolicy"}),
    ],
)
def test_a_bucket_is_shown_and_written_as_asked(exchange: dict[str, Any], policies: set[str]) -> None:
    found = programs.program("starter", storage__data={**LUSTRE, "exchange": {"bucket": "s3://sets/imagenet", **exchange}})
    (made,) = programs.of(found, "DataRepositoryAssociation")
    assert made.inputs["dataRepositoryPath"] == "s3://sets/imagenet"
    assert made.inputs["s3"].keys() == policies
    assert made.inputs["deleteDataInFilesystem"] is False


# Others


def test_efs_stands_in_the_hosts_subnet() -> None:
    found = programs.library("starter")
    targets = {one.name: one.inputs for one in programs.of(found, "MountTarget")}
    assert targets.keys() == {"cluster-mount-target", "home-mount-target", "shared-mount-target"}
    assert {one["subnetId"] for one in targets.values()} == {"Subnet/cluster-subnet"}
    assert all(one["securityGroups"] == ["SecurityGroup/storage-security-group"] for one in targets.values())


def test_a_disk_is_attached_to_the_first_controller_which_exports_it() -> None:
    found = programs.program("starter", storage__disk={"kind": "block", "mount": "/disk", "size": "1 TiB"})
    attached = programs.one(found, "VolumeAttachment", "disk-attachment").inputs
    assert (attached["instanceId"], attached["volumeId"], attached["stopInstanceBeforeDetaching"]) == ("Instance/control-0", "Volume/disk-volume", True)
    assert attached["deviceName"] != programs.one(found, "VolumeAttachment", "state-attachment").inputs["deviceName"]
    on_control = programs.user_data(programs.one(found, "Instance", "control-0"))
    files = {file["path"]: file["content"] for file in on_control["write_files"]}
    assert "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_Volume/diskvolume /disk xfs" in files["/etc/fstab"]
    assert files["/etc/exports.d/clusterwright.exports"].startswith(f"/disk {programs.resolved('starter').network.cidr}(rw,")
    (template,) = programs.of(found, "LaunchTemplate")
    assert ("address of control-0-interface:/disk", "/disk", "nfs4") in [tuple(row[:3]) for row in programs.user_data(template)["mounts"]]


def test_a_bucket_is_private_and_mounted() -> None:
    found = programs.program(
        "starter", storage__sets={"kind": "object", "mount": "/sets", "key": "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"}
    )
    (block,) = [one for one in programs.of(found, "BucketPublicAccessBlock") if one.name == "sets-bucket"]
    assert all(block.inputs[name] for name in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"))
    (policy,) = [one for one in programs.of(found, "BucketPolicy") if one.name == "sets-bucket"]
    (statement,) = programs.statements(policy.inputs["policy"])
    assert (statement["Effect"], statement["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    (by_key,) = programs.of(found, "BucketServerSideEncryptionConfiguration")
    assert (
        by_key.inputs["rules"][0]["applyServerSideEncryptionByDefault"]["kmsMasterKeyId"]
        == "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"
    )
    (template,) = programs.of(found, "LaunchTemplate")
    assert ("s3://Bucket/sets-bucket", "/sets", "mount-s3") in [tuple(row[:3]) for row in programs.user_data(template)["mounts"]]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("fs-0123456789abcdef0", ("fs-0123456789abcdef0.efs.us-east-1.amazonaws.com:/", "nfs4")),
        ("10.0.0.5:/export", ("10.0.0.5:/export", "nfs4")),
        ("fs-0123.fsx.us-east-1.amazonaws.com@tcp:/abcd", ("fs-0123.fsx.us-east-1.amazonaws.com@tcp:/abcd", "lustre")),
        ("10.20.0.5@o2ib:/data", ("10.20.0.5@o2ib:/data", "lustre")),
    ],
)
def test_the_source_tells_what_is_there_already(source: str, expected: tuple[str, str]) -> None:
    assert storage.source_of(source, "us-east-1") == expected


def test_what_is_there_already_is_mounted_and_not_made() -> None:
    before = programs.library("starter")
    found = programs.program("starter", storage__old={"kind": "existing", "mount": "/old", "source": "fs-0123456789abcdef0"})
    assert {(one.type, one.name) for one in programs.aws(found)} == {(one.type, one.name) for one in programs.aws(before)}
    (template,) = programs.of(found, "LaunchTemplate")
    assert "/old" in [row[1] for row in programs.user_data(template)["mounts"]]


def test_backups_are_kept_as_many_days_as_asked() -> None:
    found = programs.program("starter", storage__home__backup_days=14, storage__disk={"kind": "block", "mount": "/disk", "size": "1 TiB", "backup_days": 7})
    kept = {one.name: one.inputs["rules"][0]["lifecycle"]["deleteAfter"] for one in programs.of(found, "Plan")}
    assert kept == {"backups-14-days": 14, "backups-7-days": 7}
    chosen = {one.name: one.inputs["resources"] for one in programs.of(found, "Selection")}
    assert chosen["backups-14-days"] == ["arn:aws:service:us-east-1:123456789012:FileSystem/home-file-system"]
    assert chosen["backups-7-days"] == ["arn:aws:service:us-east-1:123456789012:Volume/disk-volume"]


def test_backups_are_encrypted_with_the_key_of_what_they_are_of() -> None:
    key = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"
    found = programs.program("starter", storage__home={"backup_days": 14, "key": key}, storage__more={"kind": "nfs", "mount": "/more", "backup_days": 14})
    vaults = {one.inputs["name"]: one.inputs.get("kmsKeyArn") for one in programs.of(found, "Vault")}
    assert sorted(vaults.values(), key=str) == [None, key]
    plans = {programs.ident(one): vaults[one.inputs["rules"][0]["targetVaultName"]] for one in programs.of(found, "Plan")}
    used = {one.inputs["resources"][0].rpartition("/")[2]: plans[one.inputs["planId"]] for one in programs.of(found, "Selection")}
    assert used == {"home-file-system": key, "more-file-system": None}
    assert len({one.inputs["name"] for one in programs.of(found, "Plan")}) == 2


@pytest.mark.parametrize(
    ("keys", "expected"),
    [({}, (True, True, False)), ({"protect": False}, (False, True, False)), ({"protect": False, "on_delete": "delete"}, (False, False, True))],
)
def test_backups_are_as_safe_as_what_they_are_of(keys: dict[str, Any], expected: tuple[bool, bool, bool]) -> None:
    found = programs.program("starter", storage__disk={"kind": "block", "mount": "/disk", "size": "1 TiB", "backup_days": 7, **keys})
    (vault,) = programs.of(found, "Vault")
    assert (vault.protect, vault.keep, vault.inputs["forceDestroy"]) == expected
    ending = [one for one in programs.aws(found) if one.name == "backups" and one.type.startswith("aws:iam")]
    assert [one.keep for one in ending] == [vault.keep, vault.keep], "AWS Backup ends them as the role that made them"


@pytest.mark.parametrize("is_pair", [False, True])
def test_as_many_disks_as_a_blueprint_may_have_get_device_names_that_ec2_has(is_pair: bool) -> None:
    """EC2 User Guide, "Device names for volumes on Amazon EC2 instances"; the scheduler's own disk is one of them."""
    most = catalog.limit("aws", "controller_disks")
    assert most is not None
    disks: dict[str, Any] = {f"storage__disk-{number}": {"kind": "block", "mount": f"/disks/n{number}", "size": "100 GiB"} for number in range(most.value)}
    found = programs.program("starter", control__highly_available=is_pair, **disks)
    names = [one.inputs["deviceName"] for one in programs.of(found, "VolumeAttachment")]
    assert len(set(names)) == len(names) == most.value + 1
    assert all(re.fullmatch("/dev/sd[f-z]", name) for name in names)
    assert max(names) == "/dev/sdz"


@pytest.mark.parametrize("key", ["alias/research", "00000000-0000-0000-0000-000000000001", "arn:aws:kms:us-east-1:210987654321:alias/theirs"])
def test_a_key_of_any_form_reaches_services_as_the_arn_of_a_key(key: str) -> None:
    """The provider refuses anything else on EFS, FSx, EBS and backup vaults; an alias's ARN would differ from what these services report, and replace the data."""
    overrides: dict[str, Any] = {
        "storage__home": {"key": key, "backup_days": 14},
        "storage__disk": {"kind": "block", "mount": "/disk", "size": "1 TiB", "key": key},
        "storage__fast": {"kind": "lustre", "mount": "/fast", "size": "1200 GiB", "key": key},
        "storage__sets": {"kind": "object", "mount": "/sets", "key": key},
    }
    account = programs.Account()
    found = programs.program("starter", account=account, **overrides)
    arn = f"arn:aws:kms:us-east-1:123456789012:key/of-{key}"
    of_kinds = {
        one.name: one.inputs.get("kmsKeyId") or one.inputs.get("kmsKeyArn") for one in programs.aws(found) if {"kmsKeyId", "kmsKeyArn"} & one.inputs.keys()
    }
    vaults = {one.name for one in programs.of(found, "Vault")}
    assert of_kinds.keys() == {"home-file-system", "disk-volume", "fast-file-system", *vaults}
    assert set(of_kinds.values()) == {arn}
    assert account.asked.count("aws:kms/getKey:getKey") == 1
    (rule,) = programs.of(found, "BucketServerSideEncryptionConfiguration")[0].inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"]["kmsMasterKeyId"] == key, "S3 takes every form, and buckets that run already keep theirs"


def test_the_arn_of_a_key_is_taken_without_a_question() -> None:
    account, key = programs.Account(), "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"
    found = programs.program("starter", account=account, storage__home__key=key)
    assert programs.one(found, "FileSystem", "home-file-system").inputs["kmsKeyId"] == key
    assert "aws:kms/getKey:getKey" not in account.asked


def test_a_key_is_resolved_in_a_preview_too() -> None:
    """Left open, the key of a file system that runs already would show as a replacement."""
    found = programs.program("starter", preview=True, storage__home__key="alias/research")
    assert programs.one(found, "FileSystem", "home-file-system").inputs["kmsKeyId"] == "arn:aws:kms:us-east-1:123456789012:key/of-alias/research"


def test_a_key_that_the_account_does_not_describe_is_a_page() -> None:
    class Without(programs.Account):
        def call(self, args: Any) -> Any:
            if args.token == "aws:kms/getKey:getKey":
                return {}, [("keyId", "NotFoundException: Alias arn:aws:kms:us-east-1:123456789012:alias/research is not found.")]
            return super().call(args)

    with pytest.raises(pulumi.RunError) as failed:
        programs.program("starter", account=Without(), storage__home__key="alias/research")
    assert "alias/research can't be resolved" in str(failed.value)
    assert "is not found" in str(failed.value)
    assert "kms:DescribeKey" in str(failed.value)


# The accounting database


def test_a_managed_database_has_a_standby_backups_and_a_guard() -> None:
    found = programs.library("scale-7500")
    (database,) = [one for one in programs.of(found, "Instance") if one.type.startswith("aws:rds")]
    told = database.inputs
    assert (told["multiAz"], told["storageEncrypted"], told["publiclyAccessible"], told["deletionProtection"]) == (True, True, False, True)
    assert database.protect
    assert told["finalSnapshotIdentifier"].endswith("-owner of clusterwright:aws:Site"), "no other stack's last snapshot has its name"
    (parameters,) = programs.of(found, "ParameterGroup")
    assert {"name": "require_secure_transport", "value": "1"} in parameters.inputs["parameters"]
    assert "password" in database.secret_inputs
    assert told["vpcSecurityGroupIds"] == ["SecurityGroup/database-security-group"]
    assert found.named("finish-control").inputs["provided"]["database"] == "accounting.rds"
    errors = programs.one(found, "LogGroup", "accounting-errors")
    assert (errors.inputs["name"], errors.inputs["retentionInDays"]) == (f"/aws/rds/instance/{told['identifier']}/error", 30)
    assert errors.name in database.needs, "RDS makes the group itself, for ever, where it finds none"
    (subnets,) = programs.of(found, "SubnetGroup")
    zones = {programs.ident(one): one.inputs["availabilityZone"] for one in programs.of(found, "Subnet")}
    assert len({zones[subnet] for subnet in subnets.inputs["subnetIds"]}) == 2


def test_an_embedded_database_is_on_a_disk_that_outlives_its_host() -> None:
    found = programs.library("llm-pretraining")
    volume = programs.one(found, "Volume", "state-volume")
    assert (volume.protect, volume.inputs["encrypted"], volume.inputs["finalSnapshot"]) == (True, True, True)
    assert programs.one(found, "VolumeAttachment", "state-attachment").inputs["instanceId"] == "Instance/control-0"
    assert "control-0" not in volume.needs
