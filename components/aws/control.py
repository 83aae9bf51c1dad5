"""Resources that outlive a controller's instance: its address, and the scheduler's state."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_aws import ebs, ec2

from blueprints.spec import HostGroup

from .. import contract
from ..resource_options import beneath
from .names import Names

STATE_GIB = 50
"""Job records of years: the accounting of 100,000 jobs a month takes some GiB a year."""
_FIRST_DEVICE = "f"
"""EC2 recommends names from /dev/sdf on; the host finds a disk by its volume id."""
_DISK = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"


@dataclasses.dataclass(frozen=True, slots=True)
class AddressesArgs:
    names: Names
    group: HostGroup | None
    """None: the stack has no controllers."""
    subnets: Sequence[pulumi.Input[str]]
    """Zones of the controllers, in order; the last one also holds all further controllers."""
    security_groups: Sequence[pulumi.Input[str]]


class Addresses(pulumi.ComponentResource):
    """The controllers' network interfaces: compute nodes know controllers by address, so the address outlives the instance."""

    interfaces: list[pulumi.Output[str]]
    addresses: list[pulumi.Output[str]]

    def __init__(self, name: str, args: AddressesArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Addresses", name, {}, opts)
        made = [
            ec2.NetworkInterface(
                f"{hostname}-interface",
                subnet_id=args.subnets[min(number, len(args.subnets) - 1)],
                security_groups=[*args.security_groups],
                description=f"{hostname} of cluster {args.names.cluster}",
                tags=args.names.tags("control", hostname),
                opts=beneath(self),
            )
            for number, hostname in enumerate(args.group.hostnames if args.group else ())
        ]
        self.interfaces, self.addresses = [one.id for one in made], [one.private_ip for one in made]
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeArgs:
    names: Names
    name: str
    part: str
    zone: pulumi.Input[str]
    size_gib: int
    mount: str
    protect: bool
    keep: bool = False
    snapshot: bool = False
    """Keep a final snapshot when the disk is deleted."""
    encrypted: bool = True
    key: str | None = None


class Volume(pulumi.ComponentResource):
    """A disk that outlives its instance."""

    mount: contract.Mount
    arn: pulumi.Output[str]

    def __init__(self, name: str, args: VolumeArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Volume", name, {}, opts)
        self._label = args.name
        self._volume = ebs.Volume(
            f"{args.name}-volume",
            # accepted CKV_AWS_189: `storage.<name>.key` names the owner's key; without it, and for the scheduler's state, AWS's key encrypts
            # accepted CKV2_AWS_9: `storage.<name>.backup_days` asks for backups; the scheduler's own disk leaves a final snapshot instead
            availability_zone=args.zone,
            size=args.size_gib,
            type="gp3",
            encrypted=args.encrypted,
            kms_key_id=args.key,
            final_snapshot=args.snapshot,
            tags=args.names.tags(args.part, args.name),
            # The zone is chosen once; an answer that is not known yet must not look like another zone.
            opts=beneath(self, protect=args.protect, keep=args.keep, ignore=("availabilityZone",)),
        )
        self.arn = self._volume.arn
        self.mount = contract.Mount(
            source=self._volume.id.apply(lambda volume_id: f"{_DISK}{volume_id.replace('-', '')}"),
            incarnation=self._volume.id,
            target=args.mount,
            resource=self._volume,
            kind="xfs",
            # An empty disk is formatted by the first host that mounts it (systemd.mount(5)).
            options=("nofail", "noatime", "x-systemd.makefs", "x-systemd.device-timeout=600"),
        )
        self.register_outputs({})

    def attach(self, instance: ec2.Instance, *, number: int) -> ec2.VolumeAttachment:
        """Attach the disk under a number; the instance stops before its replacement, so that the file system is unmounted cleanly."""
        return ec2.VolumeAttachment(
            f"{self._label}-attachment",
            device_name=f"/dev/sd{chr(ord(_FIRST_DEVICE) + number)}",
            instance_id=instance.id,
            volume_id=self._volume.id,
            stop_instance_before_detaching=True,
            opts=beneath(self, replace_first=True),
        )
