"""Read one object of the account each, in the types of blueprints/live/account.py; None: it does not exist."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from blueprints.live import account
from blueprints.spec import CapacityKind

from .session import Session, code

_ORDINARY = "availability-zone"
_NO_QUOTA = "NoSuchResourceException"
_USABLE = ("opt-in-not-required", "opted-in")
_BLOCK = "capacity-block"
_NO_FILE_SYSTEM = ("FileSystemNotFound", "BadRequest", "ValidationException", "InvalidParameterValue")
"""The last three: no object can have such an id."""
_NO_BUCKET, _FORBIDDEN = ("404", "NoSuchBucket"), "403"
_EVERYWHERE = "0.0.0.0/0"
_MIB_PER_GIB = 1024


def zones(session: Session) -> tuple[account.Zone, ...]:
    """List the zones of the region, those included that the account has not opted in to."""
    found = session.call("ec2", "describe_availability_zones", AllAvailabilityZones=True)["AvailabilityZones"]
    return tuple(_zone(one) for one in sorted(found, key=lambda one: str(one["ZoneName"])))


def _zone(one: Mapping[str, Any]) -> account.Zone:
    opted, state = str(one.get("OptInStatus", _USABLE[0])), str(one["State"])
    is_usable = opted in _USABLE and state == "available"
    return account.Zone(str(one["ZoneName"]), one.get("ZoneType", _ORDINARY) != _ORDINARY, is_usable, state if opted in _USABLE else opted)


def offered(session: Session, machines: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the zones that offer each machine; none for a machine that no zone offers."""
    wanted = sorted(machines)
    if not wanted:
        return {}
    filters = [{"Name": "instance-type", "Values": wanted}]
    found: dict[str, set[str]] = {name: set() for name in wanted}
    for one in session.pages("ec2", "describe_instance_type_offerings", "InstanceTypeOfferings", LocationType="availability-zone", Filters=filters):
        found.setdefault(str(one["InstanceType"]), set()).add(str(one["Location"]))
    return {name: frozenset(places) for name, places in found.items()}


def machines(session: Session, names: Iterable[str]) -> dict[str, account.OfferedMachine]:
    """Describe machines; omit those that the region lacks."""
    wanted = sorted(names)
    if not wanted:
        return {}
    found = session.pages("ec2", "describe_instance_types", "InstanceTypes", Filters=[{"Name": "instance-type", "Values": wanted}])
    return {str(one["InstanceType"]): _machine(one) for one in found}


def _machine(one: Mapping[str, Any]) -> account.OfferedMachine:
    network = one["NetworkInfo"]
    return account.OfferedMachine(
        name=str(one["InstanceType"]),
        arch=tuple(map(str, one["ProcessorInfo"]["SupportedArchitectures"])),
        vcpus=int(one["VCpuInfo"]["DefaultVCpus"]),
        memory_gib=int(one["MemoryInfo"]["SizeInMiB"]) / _MIB_PER_GIB,
        gpus=sum(int(gpu["Count"]) for gpu in one.get("GpuInfo", {}).get("Gpus", [])),
        cards=int(network["MaximumNetworkCards"]),
        fabric_nics=int(network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)),
    )


def quota(session: Session, service: str, number: str) -> float:
    """Return the quota's value for the account; for a quota that was never changed, AWS may know the default only."""
    import botocore.exceptions

    names = {"ServiceCode": service, "QuotaCode": number}
    try:
        return float(session.call("service-quotas", "get_service_quota", **names)["Quota"]["Value"])
    except botocore.exceptions.ClientError as error:
        if code(error) != _NO_QUOTA:
            raise
        return float(session.call("service-quotas", "get_aws_default_service_quota", **names)["Quota"]["Value"])


def network(session: Session, ident: str) -> account.Network | None:
    found = _or_none(lambda: session.call("ec2", "describe_vpcs", VpcIds=[ident])["Vpcs"][0], "InvalidVpcID")
    if found is None:
        return None
    resolves = [_attribute(session, ident, name) for name in ("enableDnsSupport", "enableDnsHostnames")]
    cidrs = [str(one["CidrBlock"]) for one in found.get("CidrBlockAssociationSet", []) if one.get("CidrBlockState", {}).get("State") == "associated"]
    return account.Network(ident, tuple(cidrs or [str(found["CidrBlock"])]), all(resolves))


def _attribute(session: Session, ident: str, name: str) -> bool:
    said = session.call("ec2", "describe_vpc_attribute", VpcId=ident, Attribute=name)
    return bool(said[name[0].upper() + name[1:]]["Value"])


def subnet(session: Session, ident: str) -> account.Subnet | None:
    found = _or_none(lambda: session.call("ec2", "describe_subnets", SubnetIds=[ident])["Subnets"][0], "InvalidSubnetID")
    return None if found is None else described_subnet(session, found)


def described_subnet(session: Session, found: Mapping[str, Any]) -> account.Subnet:
    """Read one subnet of an answer, and the target of its routes."""
    ident, vpc = str(found["SubnetId"]), str(found["VpcId"])
    return account.Subnet(
        ident,
        vpc,
        str(found["AvailabilityZone"]),
        str(found["CidrBlock"]),
        int(found["AvailableIpAddressCount"]),
        _way_out(session, ident, vpc),
        tags(found).get("Name", ""),
    )


def _way_out(session: Session, ident: str, vpc: str) -> str:
    """Return the target of a subnet's default route; a subnet without its own route table uses its network's."""
    own = list(session.pages("ec2", "describe_route_tables", "RouteTables", Filters=[{"Name": "association.subnet-id", "Values": [ident]}]))
    if not own:
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
        own = list(session.pages("ec2", "describe_route_tables", "RouteTables", Filters=filters))
    for table in own:
        for route in table.get("Routes", []):
            if route.get("DestinationCidrBlock") == _EVERYWHERE and route.get("State", "active") == "active":
                return "internet" if str(route.get("GatewayId", "")).startswith("igw-") else "nat"
    return "none"


def reservation(session: Session, ident: str) -> account.Reservation | None:
    found = _or_none(
        lambda: session.call("ec2", "describe_capacity_reservations", CapacityReservationIds=[ident])["CapacityReservations"][0], "InvalidCapacityReservationId"
    )
    return None if found is None else described_reservation(found)


def described_reservation(found: Mapping[str, Any]) -> account.Reservation:
    return account.Reservation(
        id=str(found["CapacityReservationId"]),
        machine=str(found["InstanceType"]),
        zone=str(found["AvailabilityZone"]),
        kind=CapacityKind.BLOCK if found.get("ReservationType") == _BLOCK else CapacityKind.RESERVED,
        state=str(found["State"]),
        total=int(found["TotalInstanceCount"]),
        free=int(found["AvailableInstanceCount"]),
        starts=moment(found.get("StartDate")),
        ends=moment(found.get("EndDate")),
    )


def key(session: Session, ident: str) -> account.Key | None:
    found = _or_none(lambda: session.call("kms", "describe_key", KeyId=ident)["KeyMetadata"], "NotFoundException", "InvalidArnException")
    return None if found is None else account.Key(ident, found.get("KeyState") == "Enabled", found.get("KeyUsage") == "ENCRYPT_DECRYPT")


def file_system(session: Session, ident: str) -> account.FileSystem | None:
    """Look for a file system in EFS, then in FSx, whose names have the same form."""
    of_efs = _or_none(lambda: session.call("efs", "describe_file_systems", FileSystemId=ident)["FileSystems"][0], *_NO_FILE_SYSTEM)
    if of_efs is not None:
        return described_efs(session, of_efs)
    of_fsx = _or_none(lambda: session.call("fsx", "describe_file_systems", FileSystemIds=[ident])["FileSystems"][0], *_NO_FILE_SYSTEM)
    return None if of_fsx is None else described_fsx(of_fsx)


def described_efs(session: Session, found: Mapping[str, Any]) -> account.FileSystem:
    targets = session.call("efs", "describe_mount_targets", FileSystemId=found["FileSystemId"])["MountTargets"]
    networks = {str(one["VpcId"]) for one in targets if one.get("VpcId")}
    state = str(found["LifeCycleState"])
    zones = tuple(sorted(str(one["AvailabilityZoneName"]) for one in targets if one.get("AvailabilityZoneName")))
    return account.FileSystem(str(found["FileSystemId"]), state == "available", state, next(iter(sorted(networks)), None), zones)


def described_fsx(found: Mapping[str, Any]) -> account.FileSystem:
    state = str(found["Lifecycle"])
    return account.FileSystem(str(found["FileSystemId"]), state == "AVAILABLE", state.lower(), str(found["VpcId"]), None)


def image(session: Session, ident: str) -> account.Image | None:
    found = _or_none(lambda: next(iter(session.call("ec2", "describe_images", ImageIds=[ident])["Images"]), None), "InvalidAMIID")
    return None if found is None else described_image(found)


def described_image(found: Mapping[str, Any]) -> account.Image:
    made = str(found.get("CreationDate", ""))
    return account.Image(str(found["ImageId"]), str(found["Architecture"]), found.get("State") == "available", str(found.get("Name", "")), made)


def has_bucket(session: Session, name: str) -> bool:
    """Return whether a bucket of this name exists, also when the caller may not read it (S3 API Reference, HeadBucket: 403 and 404)."""
    import botocore.exceptions

    try:
        session.call("s3", "head_bucket", Bucket=name)
    except botocore.exceptions.ClientError as error:
        if code(error) in _NO_BUCKET:
            return False
        if code(error) != _FORBIDDEN:
            raise
    return True


def parameter(session: Session, name: str) -> str | None:
    """Return the value of a parameter of Systems Manager."""
    found = _or_none(lambda: session.call("ssm", "get_parameter", Name=name)["Parameter"]["Value"], "ParameterNotFound")
    return None if found is None else str(found)


def tags(found: Mapping[str, Any]) -> dict[str, str]:
    return {str(one["Key"]): str(one["Value"]) for one in found.get("Tags", [])}


def moment(value: Any) -> str:
    """Format a time of an answer in UTC; empty: the answer has none."""
    return value.astimezone(dt.UTC).isoformat(timespec="minutes") if isinstance(value, dt.datetime) else ""


def _or_none(ask: Callable[[], Any], *missing: str) -> Any:
    """Query one object; None: the service does not have it, or no object can have this name (`InvalidVpcID.NotFound`, `InvalidVpcID.Malformed`)."""
    import botocore.exceptions

    try:
        return ask()
    except botocore.exceptions.ClientError as error:
        if code(error).startswith(missing):
            return None
        raise
    except botocore.exceptions.ParamValidationError:  # no name can have this length
        return None
