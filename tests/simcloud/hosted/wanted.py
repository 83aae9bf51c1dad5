"""What of the cloud has a body on this machine, read out of the store. Called with its lock held; what it gives needs no lock."""

import dataclasses
from collections.abc import Mapping

from ..aws import instances, layout, machines
from ..aws.cloud import Cloud
from ..core.store import Thing


@dataclasses.dataclass(frozen=True, slots=True)
class Guest:
    """An instance that has or should have a host."""

    id: str
    address: str
    vpc: str
    cidr: str
    """Of its VPC."""
    image: str
    gpus: int
    """NVIDIA GPUs of its instance type, less those that it comes without."""
    efa: int
    """Its EFA interfaces, likewise."""
    made_s: float
    """On the cloud's clock."""


@dataclasses.dataclass(frozen=True, slots=True)
class Disk:
    """A volume; `instance` is the one that it is attached to, as device `number`, counted from 1."""

    id: str
    size_gib: int
    link: str
    """Name below /dev/disk/by-id."""
    instance: str | None = None
    number: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Listener:
    port: int
    targets: tuple[tuple[str, str, int], ...]
    """(instance, address, port)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Front:
    """A load balancer with what stands behind it."""

    name: str
    address: str
    vpc: str
    cidr: str
    listeners: tuple[Listener, ...]

    @property
    def has_targets(self) -> bool:
        return any(listener.targets for listener in self.listeners)


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """All that should have a body."""

    guests: Mapping[str, Guest]
    disks: Mapping[str, Disk]
    fronts: Mapping[str, Front]
    file_systems: frozenset[str]
    public: Mapping[str, str]
    """Public address → private one."""
    now_s: float
    """On the cloud's clock."""

    @property
    def has_bodies(self) -> bool:
        return bool(self.guests or self.disks or self.fronts or self.file_systems)


def wanted(cloud: Cloud) -> Wanted:
    """Read the store."""
    guests = {thing.id: _guest(cloud, thing) for thing in cloud.store.all("ec2.Instance") if not thing.get("ended") and not thing.get("stopped")}
    attached = sorted((one for one in cloud.store.all("ec2.VolumeAttachment") if one["instanceId"] in guests), key=lambda one: str(one["deviceName"]))
    disks = {
        thing.id: Disk(thing.id, int(thing.get("size", 1)), f"nvme-Amazon_Elastic_Block_Store_{thing.id.replace('-', '')}")
        for thing in cloud.store.all("ebs.Volume")
    }
    numbers: dict[str, int] = {}
    for one in attached:
        numbers[one["instanceId"]] = numbers.get(one["instanceId"], 0) + 1
        disks[one["volumeId"]] = dataclasses.replace(disks[one["volumeId"]], instance=one["instanceId"], number=numbers[one["instanceId"]])
    fronts = {str(thing["name"]): _front(cloud, thing, guests) for thing in cloud.store.all("lb.LoadBalancer")}
    return Wanted(guests, disks, fronts, frozenset(thing.id for thing in _file_systems(cloud)), _public(cloud, guests), cloud.store.clock.now_s())


def address(cloud: Cloud, thing: Thing) -> str:
    """Give an instance's first private address."""
    return str(instances.address(cloud, thing.interfaces[0]))


def guest_at(cloud: Cloud, source: str) -> Thing | None:
    """Find the living instance that has an address."""
    living = (thing for thing in cloud.store.all("ec2.Instance") if not thing.get("ended") and thing.interfaces)
    return next((thing for thing in living if address(cloud, thing) == source), None)


def _guest(cloud: Cloud, thing: Thing) -> Guest:
    vpc = str(thing["vpcId"])
    api, cidr, short = thing["api"], str(cloud.need("ec2.Vpc", vpc)["cidrBlock"]), thing.get("short", {})
    gpus = machines.gpus(api["InstanceType"]) - short.get("gpus", 0)
    efa = sum(one.fabric in layout.FABRICS for one in thing.interfaces) - short.get("efa", 0)
    return Guest(thing.id, address(cloud, thing), vpc, cidr, str(api["ImageId"]), gpus, efa, thing.made_s)


def _front(cloud: Cloud, thing: Thing, guests: Mapping[str, Guest]) -> Front:
    listeners = [one for one in cloud.store.all("lb.Listener") if one["loadBalancerArn"] == thing.id]
    shown = tuple(Listener(int(one["port"]), _targets(cloud, one, guests)) for one in sorted(listeners, key=lambda one: int(one["port"])))
    vpc = str(thing["vpcId"])
    return Front(str(thing["name"]), str(thing.interfaces[0].address), vpc, str(cloud.need("ec2.Vpc", vpc)["cidrBlock"]), shown)


def _targets(cloud: Cloud, listener: Thing, guests: Mapping[str, Guest]) -> tuple[tuple[str, str, int], ...]:
    arns = {action.get("targetGroupArn") for action in listener["defaultActions"]}
    found = []
    for one in cloud.store.all("lb.TargetGroupAttachment"):
        guest = guests.get(one["targetId"])
        if guest and one["targetGroupArn"] in arns:
            port = one.get("port") or cloud.need("lb.TargetGroup", one["targetGroupArn"])["port"]
            found.append((guest.id, guest.address, int(port)))
    return tuple(sorted(found))


def _file_systems(cloud: Cloud) -> list[Thing]:
    return [*cloud.store.all("efs.FileSystem"), *cloud.store.all("fsx.LustreFileSystem")]


def _public(cloud: Cloud, guests: Mapping[str, Guest]) -> dict[str, str]:
    found = {}
    for thing in cloud.store.all("ec2.Instance"):
        if thing.id in guests and thing.get("publicIp"):
            found[str(thing["publicIp"])] = guests[thing.id].address
    for thing in [*cloud.store.all("ec2.Eip"), *cloud.store.all("ec2.EipAssociation")]:
        instance = thing.get("instance") or thing.get("instanceId")
        if instance in guests:
            found[str(thing["publicIp"])] = guests[instance].address
    return found
