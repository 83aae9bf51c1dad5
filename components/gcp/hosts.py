"""Controllers and login nodes: hosts that always run, each an instance of the stack with a known host key."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_gcp import compute

from blueprints.spec import HostGroup

from .. import contract
from ..resource_options import beneath
from . import machines
from .identity import SCOPE
from .names import NODE_LABEL, Names
from .storage import Volume

ROOT_GIB = 100
"""System, driver, CUDA, containers' runtime; users' files and images lie elsewhere."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostsArgs:
    names: Names
    group: HostGroup
    zone: pulumi.Input[str]
    image: pulumi.Input[str]
    subnet: pulumi.Input[str]
    account: pulumi.Input[str]
    """Address of the service account."""
    user_data: Sequence[pulumi.Output[str]]
    """Host by host."""
    host_key: pulumi.Input[str]
    """Public."""
    jump_key: pulumi.Input[str]
    """Public host key of the jump host."""
    addresses: Sequence[pulumi.Output[str]] = ()
    """Addresses that outlive the instances; none: each instance takes its own."""
    disks: Sequence[Volume] = ()
    """Of the first host."""
    needs: Sequence[pulumi.Resource] = ()
    os_login: bool = False
    """Google Cloud decides who logs in."""


class Instances(pulumi.ComponentResource):
    """The instances of one group of hosts."""

    instances: list[compute.Instance]
    addresses: list[pulumi.Output[str]]

    def __init__(self, name: str, args: HostsArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Instances", name, {}, opts)
        self._args = args
        self.instances = [self._instance(number) for number in range(args.group.count)]
        self.addresses = [one.network_interfaces.apply(lambda found: str(found[0].network_ip)) for one in self.instances]
        self.register_outputs({})

    def described(self, *, jump: pulumi.Input[str], jump_command: pulumi.Input[str], after: Sequence[pulumi.CustomResource]) -> contract.Hosts:
        """Describe the hosts for finishing.

        Args:
            jump: the host that they are reached through; empty: they are reached directly.
            jump_command: what carries the connection to it; empty: the network.
            after: resources that must exist before the hosts are reached.
        """
        args = self._args
        known = [one.id for one in after]
        hosts = [self._describe(number, jump=jump, jump_command=jump_command, after=known) for number in range(args.group.count)]
        boots = {args.group.hostname(number): instance.instance_id for number, instance in enumerate(self.instances)}
        return contract.Hosts(group=args.group, described=pulumi.Output.all(*hosts), boots=pulumi.Output.all(**boots), resource=self)

    def _describe(
        self, number: int, *, jump: pulumi.Input[str], jump_command: pulumi.Input[str], after: Sequence[pulumi.Output[str]]
    ) -> pulumi.Output[dict[str, Any]]:
        args = self._args
        known: pulumi.Output[dict[str, Any]] = pulumi.Output.all(
            address=self.addresses[number],
            incarnation=self.instances[number].instance_id,
            host_key=args.host_key,
            jump=jump,
            jump_key=args.jump_key,
            jump_command=jump_command,
            after=list(after),
        )
        return known.apply(lambda values: _described(args.group.hostname(number), values))

    def _instance(self, number: int) -> compute.Instance:
        args, hostname = self._args, self._args.group.hostname(number)
        family = machines.family(args.group.machine.name)
        labels = args.names.labels(args.group.role)
        disk = compute.InstanceBootDiskInitializeParamsArgs(image=args.image, size=ROOT_GIB, type=family.disk, labels=labels)
        interface = compute.InstanceNetworkInterfaceArgs(
            subnetwork=args.subnet, network_ip=args.addresses[number] if args.addresses else None, nic_type=machines.NETWORK_CARDS["gvnic"]
        )
        attached = [compute.InstanceAttachedDiskArgs(source=one.link, device_name=one.device, mode="READ_WRITE") for one in (args.disks if number == 0 else ())]
        options = pulumi.ResourceOptions(
            depends_on=[*args.needs],
            # cloud-init reads user data once in an instance's life: changed user data replaces the host. Its data is on other disks.
            replace_on_changes=["metadata"],
            # Labels of a boot disk can't be changed here without a new instance: it keeps those that it was created with.
            ignore_changes=["bootDisk.initializeParams.labels"],
        )
        return compute.Instance(
            hostname,
            name=args.names.instance(hostname),
            description=args.names.description(hostname),
            zone=args.zone,
            machine_type=args.group.machine.name,
            boot_disk=compute.InstanceBootDiskArgs(auto_delete=True, initialize_params=disk),
            attached_disks=attached,
            network_interfaces=[interface],
            service_account=compute.InstanceServiceAccountArgs(email=args.account, scopes=[SCOPE]),
            metadata=metadata(args.user_data[number], os_login=args.os_login),
            scheduling=compute.InstanceSchedulingArgs(automatic_restart=True, on_host_maintenance="MIGRATE" if family.migrates else "TERMINATE"),
            shielded_instance_config=compute.InstanceShieldedInstanceConfigArgs(
                # Kernel modules that the roles build are not signed, so that secure boot would refuse them.
                enable_secure_boot=False,
                enable_vtpm=True,
                enable_integrity_monitoring=True,
            ),
            allow_stopping_for_update=True,
            labels=labels | {NODE_LABEL: hostname},
            opts=pulumi.ResourceOptions.merge(beneath(self, replace_first=True), options),
        )


def metadata(user_data: pulumi.Input[str], *, os_login: bool = False) -> Mapping[str, pulumi.Input[str]]:
    """Give the metadata of a host: what cloud-init reads, and no way in beside the cluster's own users and, where it is asked for, OS Login."""
    return {"user-data": user_data, "enable-oslogin": "TRUE" if os_login else "FALSE", "block-project-ssh-keys": "TRUE", "serial-port-enable": "FALSE"}


def _described(name: str, known: dict[str, Any]) -> dict[str, Any]:
    described = {key: known[key] for key in ("address", "incarnation", "host_key")}
    through = {"jump": known["jump"], "jump_key": known["jump_key"]} if known["jump"] else {}
    carried = {"jump_command": known["jump_command"]} if known["jump_command"] else {}
    return {"name": name, **described, **through, **carried}
