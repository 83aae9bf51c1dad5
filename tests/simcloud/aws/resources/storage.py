"""File systems and buckets.

Sources: FSx for Lustre user guide ("Deployment and storage class options", "Managing storage capacity", "File system access control with Amazon VPC",
"Lustre metadata performance") and API reference (CreateFileSystem); EFS API reference; S3 user guide ("Bucket naming rules").
"""

import re
from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from ..cloud import Cloud, same
from ..rules import Rules, Want, of
from . import groups, network

# MB/s a TiB that a deployment type offers, by storage type; none for scratch.
THROUGHPUTS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("PERSISTENT_1", "SSD"): (50, 100, 200), ("PERSISTENT_1", "HDD"): (12, 40), ("PERSISTENT_2", "SSD"): (125, 250, 500, 1000),
    ("SCRATCH_1", "SSD"): (), ("SCRATCH_2", "SSD"): (), ("PERSISTENT_2", "INTELLIGENT_TIERING"): (),
}  # fmt: skip
HDD_STEPS_GIB = {12: 6000, 40: 1800}
FIRST_GIB, STEP_GIB, SCRATCH_1_STEP_GIB = 1200, 2400, 3600
METADATA_IOPS = (1500, 3000, 6000, 12000)
METADATA_STEP, METADATA_MOST = 12000, 192000
LUSTRE_PORTS = ((988, 988), (1018, 1023))
EFA_LEAST_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}  # FSx user guide, "EFA-enabled file systems": what a file system must have for it
BUCKET = re.compile(r"(?!xn--)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
ASSOCIATIONS_MOST = 8  # of a file system: FSx user guide, "Quotas"


@of("fsx.LustreFileSystem")
class LustreFileSystem(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        deployment, storage, rate = want["deploymentType"], want["storageType"], want.get("perUnitStorageThroughput")
        rates = THROUGHPUTS.get((deployment, storage))
        if rates is None:
            raise Refused("BadRequest", f"{deployment} file systems have no {storage} storage")
        if rates and rate not in rates:
            raise Refused("BadRequest", f"PerUnitStorageThroughput of {deployment} {storage} is one of {', '.join(map(str, rates))}, not {rate}")
        if not rates and rate is not None:
            raise Refused("BadRequest", f"PerUnitStorageThroughput can't be given for {deployment}")
        if storage != "INTELLIGENT_TIERING":
            _check_capacity(want, deployment, storage, rate)
        if (storage == "HDD") is not bool(want.get("driveCacheType")):
            raise Refused("BadRequest", "DriveCacheType is required for HDD storage, and only there")
        if want["automaticBackupRetentionDays"] and deployment.startswith("SCRATCH"):
            raise Refused("BadRequest", "Backups are not supported on scratch file systems")
        if want.get("kmsKeyId") and deployment.startswith("SCRATCH"):
            raise Refused("BadRequest", "KmsKeyId is for persistent file systems")
        _check_metadata(want, deployment)
        _check_fabric(want, deployment, storage, rate)
        vpc = network.vpc_of(cloud, want["subnetIds"])
        network.refuse_foreign_groups(cloud, want.get("securityGroupIds", ()), vpc, code="InvalidNetworkSettings")
        if want.former is None:
            _check_groups(cloud, want, vpc)
        if want.former and want["storageCapacity"] < want.former["storageCapacity"]:
            raise Refused("BadRequest", "Storage capacity can't be made smaller")

    def replaced_by(self, olds: Mapping[str, Any], news: Mapping[str, Any]) -> frozenset[str]:
        replaced = set(super().replaced_by(olds, news))
        old, new = olds.get("storageCapacity"), news.get("storageCapacity")
        if isinstance(old, int) and isinstance(new, int) and (new < old or (olds.get("deploymentType") == "SCRATCH_1" and new != old)):
            replaced.add("storageCapacity")
        return frozenset(replaced)

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        """Take addresses: one a metadata server and one an object server, of which there is one each 2.4 TiB here (the service's own number is not published)."""
        number = 1 + max(1, want.get("storageCapacity", FIRST_GIB) // STEP_GIB)
        kept = want.former.interfaces if want.former else ()
        taken = {one.address for one in kept if one.address}
        made = list(kept)
        while len(made) < number:
            made.append(network.new_interface(cloud, want["subnetIds"], want.get("securityGroupIds", ()), taken=taken))
            taken.add(made[-1].address or "")
        return tuple(made)

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        name = want.former["mountName"] if want.former else "fsx" if want["deploymentType"] == "SCRATCH_1" else cloud.store.new_hex(8)
        return {"mountName": name, "vpcId": network.vpc_of(cloud, want["subnetIds"]), "fileSystemTypeVersion": want.get("fileSystemTypeVersion", "2.15")}

    def made(self, cloud: Cloud, thing: Thing) -> None:
        cloud.note(thing, networkInterfaceIds=[one.id for one in thing.interfaces])


@of("fsx.DataRepositoryAssociation")
class DataRepositoryAssociation(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        system = cloud.need("fsx.LustreFileSystem", want["fileSystemId"])
        if system["deploymentType"] == "SCRATCH_1":
            raise Refused("BadRequest", "Data repository associations are not supported on SCRATCH_1")
        if system.get("automaticBackupRetentionDays"):
            # FSx for Lustre User Guide, "Working with backups": of file systems that are not linked to a data repository.
            raise Refused("BadRequest", "Data repository associations are not supported on file systems with automatic backups")
        if system.get("importPath") or system.get("exportPath"):
            raise Refused("BadRequest", "Data repository associations can't be combined with ImportPath or ExportPath")
        if not want["fileSystemPath"].startswith("/"):
            raise Refused("BadRequest", f"Invalid file system path: {want['fileSystemPath']}")
        if not want["dataRepositoryPath"].startswith("s3://"):
            raise Refused("BadRequest", f"Invalid data repository path: {want['dataRepositoryPath']}")
        bucket = want["dataRepositoryPath"].removeprefix("s3://").partition("/")[0]
        if not cloud.store.get("s3.Bucket", bucket) and bucket not in cloud.store.settings.get("foreign_buckets", ()):
            raise Refused("InvalidDataRepositoryType", f"Amazon FSx is unable to access the bucket {bucket}")
        others = [one for one in cloud.store.all("fsx.DataRepositoryAssociation") if one["fileSystemId"] == system.id and one is not want.former]
        if len(others) >= ASSOCIATIONS_MOST:
            raise Refused("ServiceLimitExceeded", f"A file system has at most {ASSOCIATIONS_MOST} data repository associations")
        for other in others:
            one, two = (path.rstrip("/") + "/" for path in (other["fileSystemPath"], want["fileSystemPath"]))
            if one.startswith(two) or two.startswith(one):
                raise Refused("BadRequest", f"The file system path {want['fileSystemPath']} overlaps with {other['fileSystemPath']}")


@of("efs.FileSystem")
class ElasticFileSystem(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if want.get("kmsKeyId") and not want["encrypted"]:
            raise Refused("BadRequest", "KmsKeyId needs encrypted")
        if (want["throughputMode"] == "provisioned") is not (want.get("provisionedThroughputInMibps") is not None):
            raise Refused("BadRequest", "provisionedThroughputInMibps goes with the throughput mode provisioned, and only with it")
        if want["throughputMode"] == "elastic" and want["performanceMode"] == "maxIO":
            raise Refused("BadRequest", "Elastic throughput can't be used with maxIO")

    def made(self, cloud: Cloud, thing: Thing) -> None:
        cloud.note(thing, creationToken=thing.get("creationToken", f"terraform-{thing.id}"), name=thing.tags.get("Name", ""))

    def observed(self, cloud: Cloud, thing: Thing) -> Mapping[str, Any]:
        number = sum(1 for target in cloud.store.all("efs.MountTarget") if target["fileSystemId"] == thing.id)
        return {**thing.properties, "numberOfMountTargets": number}


@of("efs.MountTarget")
class MountTarget(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        home = cloud.need("ec2.Subnet", want["subnetId"])
        network.refuse_foreign_groups(cloud, want.get("securityGroups", ()), home["vpcId"], code="SecurityGroupNotFound")
        for other in cloud.store.all("efs.MountTarget"):
            if other["fileSystemId"] != want["fileSystemId"] or other is want.former:
                continue
            there = cloud.need("ec2.Subnet", other["subnetId"])
            if there["availabilityZone"] == home["availabilityZone"]:
                raise Refused("MountTargetConflict", f"mount target already exists in this AZ: {other.id} in {home['availabilityZone']}")
            if there["vpcId"] != home["vpcId"]:
                raise Refused("MountTargetConflict", f"requested subnet for new mount target is not in the same VPC as {other.id}")

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        groups = tuple(want.get("securityGroups", ()))
        if want.former:
            return tuple(Interface(one.subnet, one.address, groups, one.id) for one in want.former.interfaces)
        return (network.new_interface(cloud, want["subnetId"], groups, address=want.get("ipAddress")),)

    def made(self, cloud: Cloud, thing: Thing) -> None:
        home = cloud.need("ec2.Subnet", thing["subnetId"])
        (interface,) = thing.interfaces
        zone = {"availabilityZoneName": home["availabilityZone"], "availabilityZoneId": home["availabilityZoneId"]}
        cloud.note(thing, ipAddress=interface.address, networkInterfaceId=interface.id, securityGroups=thing.get("securityGroups", []), **zone)


@of("s3.Bucket")
class Bucket(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if not BUCKET.fullmatch(want["bucket"]) or re.fullmatch(r"\d+\.\d+\.\d+\.\d+", want["bucket"]):
            raise Refused("InvalidBucketName", f"The specified bucket is not valid: {want['bucket']}")
        if want["bucket"] in cloud.store.settings.get("foreign_buckets", ()) and want.former is None:
            raise Refused("BucketAlreadyExists", "The requested bucket name is not available")

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        if thing.get("objects") and not thing.get("forceDestroy"):
            raise Refused("BucketNotEmpty", "The bucket you tried to delete is not empty")


@of(
    "s3.BucketVersioning",
    "s3.BucketServerSideEncryptionConfiguration",
    "s3.BucketPublicAccessBlock",
    "s3.BucketLifecycleConfiguration",
    "s3.BucketPolicy",
    "s3.BucketLogging",
)
class BucketPart(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if want.former is None and same(want.get("bucket"), ""):
            raise Refused("InvalidRequest", "bucket is empty")


def _check_groups(cloud: Cloud, want: Want, vpc: str) -> None:
    """Refuse groups behind which servers can't speak with each other: FSx for Lustre User Guide, "Creating an FSx for Lustre file system fails"."""
    names, home = list(want.get("securityGroupIds") or [cloud.need("ec2.Vpc", vpc)["defaultSecurityGroupId"]]), cloud.need("ec2.Subnet", want["subnetIds"])
    for ports in LUSTRE_PORTS:
        if not all(groups.lets(cloud, names, ports, direction=direction, peers=names, network=home["cidrBlock"]) for direction in groups.DIRECTIONS):
            raise Refused(
                "InvalidNetworkSettings",
                "The file system cannot be created because the default security group in the subnet provided or the provided security groups "
                f"do not permit Lustre LNET network traffic on port {ports[0]}",
            )
    if want.get("efaEnabled") and not all(groups.lets(cloud, names, groups.EVERYTHING, direction=direction, peers=names) for direction in groups.DIRECTIONS):
        raise Refused(
            "InvalidNetworkSettings",
            "Insufficient security group permissions to create an EFA-enabled file system. Update security group to allow all internal inbound and outbound traffic.",
        )


def _check_capacity(want: Want, deployment: str, storage: str, rate: int | None) -> None:
    size = want.get("storageCapacity")
    if size is None:
        raise Refused("BadRequest", "StorageCapacity is required")
    if storage == "HDD":
        step = HDD_STEPS_GIB[rate or 12]
        fits, words = size > 0 and size % step == 0, f"a multiple of {step}"
    elif deployment == "SCRATCH_1":
        fits, words = (
            size in (FIRST_GIB, STEP_GIB) or (size > 0 and size % SCRATCH_1_STEP_GIB == 0),
            f"{FIRST_GIB}, {STEP_GIB} or a multiple of {SCRATCH_1_STEP_GIB}",
        )
    else:
        fits, words = size == FIRST_GIB or (size > 0 and size % STEP_GIB == 0), f"{FIRST_GIB} or a multiple of {STEP_GIB}"
    if not fits:
        raise Refused("BadRequest", f"Invalid storage capacity {size} GiB for {deployment} {storage}: it must be {words}")


def _check_metadata(want: Want, deployment: str) -> None:
    metadata = want.get("metadataConfiguration")
    if not metadata:
        return
    if deployment != "PERSISTENT_2":
        raise Refused("BadRequest", "MetadataConfiguration is for PERSISTENT_2")
    iops = metadata.get("iops")
    if (metadata.get("mode") == "USER_PROVISIONED") is not (iops is not None) and want.former is None:
        raise Refused("BadRequest", "Metadata IOPS go with the mode USER_PROVISIONED, and only with it")
    if iops is not None and iops not in METADATA_IOPS and not (iops % METADATA_STEP == 0 and iops <= METADATA_MOST):
        raise Refused("BadRequest", f"Metadata IOPS are 1500, 3000, 6000 or a multiple of {METADATA_STEP} up to {METADATA_MOST}, not {iops}")


def _check_fabric(want: Want, deployment: str, storage: str, rate: int | None) -> None:
    if not want.get("efaEnabled"):
        return
    if deployment != "PERSISTENT_2":
        raise Refused("BadRequest", "EfaEnabled is for PERSISTENT_2")
    if not want.get("metadataConfiguration"):
        raise Refused("BadRequest", "EfaEnabled needs a MetadataConfiguration")
    least = EFA_LEAST_GIB.get(rate or 0)
    if storage == "SSD" and least and want["storageCapacity"] < least:
        raise Refused("BadRequest", f"EFA-enabled file systems with {rate} MB/s/TiB have at least {least} GiB")
    if not want.get("securityGroupIds"):
        raise Refused("InvalidNetworkSettings", "An EFA-enabled file system needs a security group that lets all its own traffic through")
