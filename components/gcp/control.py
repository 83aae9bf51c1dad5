"""Addresses of controllers: compute nodes know controllers by address, so the address outlives the instance."""

import dataclasses

import pulumi
from pulumi_gcp import compute

from blueprints.spec import HostGroup

from ..resource_options import beneath
from .names import Names

STATE_GIB = 50
"""Job records of years: the accounting of 100,000 jobs a month takes some GiB a year."""
CLUSTER_GIB = 10
"""Tables of users and hosts; the least size of a disk."""


@dataclasses.dataclass(frozen=True, slots=True)
class AddressesArgs:
    names: Names
    group: HostGroup
    region: str
    subnet: pulumi.Input[str]


class Addresses(pulumi.ComponentResource):
    """The controllers' addresses in the hosts' subnet."""

    addresses: list[pulumi.Output[str]]

    def __init__(self, name: str, args: AddressesArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Addresses", name, {}, opts)
        made = [
            compute.Address(
                f"{hostname}-address",
                name=args.names.name(hostname),
                description=args.names.description(f"Address of {hostname}"),
                address_type="INTERNAL",
                subnetwork=args.subnet,
                region=args.region,
                labels=args.names.labels("control"),
                opts=beneath(self, replace_first=True),
            )
            for hostname in args.group.hostnames
        ]
        self.addresses = [one.address for one in made]
        self.register_outputs({})
