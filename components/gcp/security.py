"""Firewall rules. They name service accounts, not tags: whoever may change a tag of an instance must not change who reaches it."""

import dataclasses
import ipaddress
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_gcp import compute

from blueprints import addresses, spec

from ..resource_options import beneath
from . import tunnel
from .names import Names
from .network import Network

SSH = "22"
CHECKS = ("35.191.0.0/16", "130.211.0.0/22", "209.85.152.0/22", "209.85.204.0/22")
"""Where health checks of pass-through load balancers come from (Cloud Load Balancing documentation, "Health checks overview", probe IP ranges)."""


@dataclasses.dataclass(frozen=True, slots=True)
class FirewallArgs:
    names: Names
    network: Network
    login: spec.Login
    accounts: Mapping[str, pulumi.Input[str]]
    """Part (`control`, `access`, `compute`) → address of its service account."""
    has_balancer: bool


class Firewall(pulumi.ComponentResource):
    """What may reach the hosts: each other, and on login nodes the networks that the blueprint names. Google Cloud refuses everything else by default."""

    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: FirewallArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Firewall", name, {}, opts)
        self._args, self.ready = args, []
        if args.network.is_shared:  # the rules of its network are its owner's
            self.register_outputs({})
            return
        hosts, login = [*args.accounts.values()], [args.accounts["access"]]
        own = args.network.hosts.network
        # Slurm's daemons, `srun` and MPI use any port.
        self._between("hosts", own, hosts, what="All hosts reach each other")
        for fabric, network in args.network.plain:
            self._between(fabric, network, [args.accounts["compute"]], what=f"Nodes reach each other over {fabric}")
        if args.login.allowed_cidrs:
            self._ssh("login", own, login, ranges=args.login.allowed_cidrs, what="SSH to login nodes")
        if args.login.tunnel:
            self._ssh("tunnel", own, login, ranges=[tunnel.RANGE], what="SSH to login nodes through Identity-Aware Proxy")
        if args.has_balancer:
            self._ssh("checks", own, login, ranges=CHECKS, what="Health checks of login nodes")
        self.register_outputs({})

    def _between(self, name: str, network: pulumi.Output[str], accounts: Sequence[pulumi.Input[str]], *, what: str) -> None:
        rule = compute.Firewall(
            f"{name}-firewall",
            name=self._args.names.name("allow", name),
            description=self._args.names.description(what),
            network=network,
            direction="INGRESS",
            allows=[compute.FirewallAllowArgs(protocol="all")],
            source_service_accounts=[*accounts],
            target_service_accounts=[*accounts],
            opts=beneath(self, replace_first=True),
        )
        self.ready.append(rule)

    def _ssh(self, name: str, network: pulumi.Output[str], accounts: Sequence[pulumi.Input[str]], *, ranges: Sequence[str], what: str) -> None:
        rule = compute.Firewall(
            f"{name}-firewall",
            name=self._args.names.name("allow", name),
            description=self._args.names.description(what),
            network=network,
            direction="INGRESS",
            allows=[compute.FirewallAllowArgs(protocol="tcp", ports=[SSH])],
            source_ranges=[*ranges],
            target_service_accounts=[*accounts],
            opts=beneath(self, replace_first=True),
        )
        self.ready.append(rule)


def is_public(login: spec.Login) -> bool:
    """Return whether the login nodes are reachable from the Internet: only if the blueprint allows a public network. Pure."""
    return any(not addresses.is_private(ipaddress.IPv4Network(cidr)) for cidr in login.allowed_cidrs)
