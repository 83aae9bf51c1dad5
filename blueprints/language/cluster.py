"""The blueprint itself, and its sections beside pools, storage and people."""

from typing import Any, Literal

from pydantic import Field

from .people import Account, Qos, User
from .pools import Pool
from .section import (
    AccountName,
    Cidr,
    ClockTime,
    ClusterName,
    Date,
    DottedPath,
    FindingCode,
    Identifier,
    PoolName,
    QosName,
    Section,
    StorageName,
    TagKey,
    Text,
    UserName,
)
from .storage import Storage

TargetName = Literal["aws", "gcp", "metal", "local"]


class Control(Section):
    """The scheduler's own hosts."""

    size: Literal["auto", "small", "medium", "large"] = Field(default="auto", description="How large they are; `auto` goes by the number of nodes.")
    machine: Identifier | None = Field(default=None, description="One machine of the target's catalogue, instead of a size.")
    highly_available: bool = Field(default=False, description="A second host takes over when the first is lost.")
    managed: bool = Field(default=False, description="The scheduler is the cloud's service, where the target has one, and no host of yours.")


class Ldap(Section):
    """A directory that users come from, read by SSSD."""

    uri: Text = Field(description="Where it answers (`ldaps://ldap.example.org`).")
    base: Text = Field(description="Where people are in it (`dc=example,dc=org`).")


class Access(Section):
    """Where people log in."""

    login_nodes: int = Field(default=1, ge=0, le=32, description="Login nodes behind the load balancer; 0 for clusters that only Kubernetes schedules.")
    machine: Identifier | None = Field(default=None, description="One machine of the target's catalogue; left out, the target's usual one.")
    load_balancer: bool = Field(default=True, description="One address in front of all login nodes.")
    allowed_cidrs: tuple[Cidr, ...] = Field(
        default=(), strict=False, max_length=1_000, description="Networks from which logging in is allowed; with none, the cluster's own network only."
    )
    ldap: Ldap | None = Field(default=None, description="A directory that further users come from; left out, users are those of the blueprint.")


class Accounting(Section):
    """The scheduler's record of jobs, accounts and users."""

    database: Literal["embedded", "managed"] = Field(
        default="embedded", description="Where its database runs: on the controller (`embedded`) or as the cloud's service (`managed`)."
    )
    protect: bool = Field(default=True, description="Refuse changes that would delete or replace the database.")


class Network(Section):
    """The addresses of the hosts, and where in the world they are."""

    cidr: Cidr | None = Field(default=None, description="The hosts' private IPv4 network. Left out, it is chosen from the stack's name.")
    region: Identifier | None = Field(default=None, description="The cloud's region; left out, the target's usual one. Belongs under `targets`.")
    zones: tuple[Identifier, ...] = Field(
        default=(),
        strict=False,
        max_length=10,
        description="Zones of the region, the compute nodes' first. Left out, the first that offers the pools' machines, or that of the capacity bought.",
    )
    existing: Identifier | None = Field(default=None, description="A network that is there (a VPC's identifier); left out, one is made.")
    subnets: tuple[Identifier, ...] = Field(
        default=(), strict=False, max_length=100, description="Subnets of the existing network for the hosts, the compute nodes' first."
    )
    egress: Literal["nat", "none"] = Field(default="nat", description="How hosts reach the Internet: through address translation, or not at all.")
    private_endpoints: bool = Field(default=False, description="Reach the cloud's own services inside the network; needed with `egress: none`.")


class Maintenance(Section):
    """A time when hosts may be updated; the scheduler keeps it free of jobs."""

    weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = Field(description="The day it begins on.")
    start: ClockTime = Field(description="When it begins, in UTC (`02:00`).")
    hours: int = Field(ge=1, le=48, description="How long it lasts.")
    week: Literal["every", "first", "second", "third", "fourth", "last"] = Field(default="every", description="Which such day of the month.")


class Monitoring(Section):
    """What watches the cluster."""

    metrics: bool = Field(default=False, description="Collect figures of hosts, GPUs and the scheduler.")
    retention_days: int = Field(default=30, ge=1, le=3650, description="How long they are kept.")
    dashboards: bool = Field(default=True, description="Show them on pages, where metrics are collected.")


class Acceptance(Section):
    """What a cluster must prove before `up` ends well."""

    gate: tuple[Literal["nodes", "gpus", "jobs", "accounting", "collectives", "storage"], ...] = Field(
        default=("nodes", "gpus", "jobs", "accounting", "collectives", "storage"),
        strict=False,
        max_length=100,
        description="Tests that must pass; others run and are reported.",
    )


class Suppression(Section):
    """A warning that is known and accepted for a time."""

    code: FindingCode = Field(description="The finding's code (`CW520`).")
    at: DottedPath = Field(description="Where in the blueprint it is accepted, with all below (`pools.train`).")
    reason: Text = Field(description="Why it is accepted.")
    until: Date = Field(description="The last day it is (`2027-03-31`); after that the warning comes back.")


class Blueprint(Section):
    """What a cluster should be, in words that hold on every target."""

    name: ClusterName = Field(description="The cluster's name.")
    description: Text = Field(default="", description="One line that says what it is.")
    audience: Text = Field(default="", description="One line that says for whom.")
    extends: Text | None = Field(default=None, description="The blueprint that this one is a variant of: of the library, or a .yaml file in this folder.")
    scheduler: Literal["slurm", "kubernetes", "both"] = Field(default="slurm", description="What places work on nodes.")
    software: Identifier | None = Field(default=None, description="The software profile: one tested set of versions. Left out, the target's usual one.")
    control: Control = Field(default=Control())
    access: Access = Field(default=Access())
    accounting: Accounting = Field(default=Accounting())
    network: Network = Field(default=Network())
    storage: dict[StorageName, Storage] = Field(default={}, max_length=100, description="File systems that all hosts share, by name.")
    pools: dict[PoolName, Pool] = Field(min_length=1, max_length=1_000, description="Compute nodes, by name.")
    accounts: dict[AccountName, Account] = Field(default={}, max_length=2_000, description="Accounts of the scheduler, by name.")
    qos: dict[QosName, Qos] = Field(default={}, max_length=200, description="Qualities of service, by name.")
    users: dict[UserName, User] = Field(default={}, max_length=10_000, description="People, by name.")
    maintenance: tuple[Maintenance, ...] = Field(default=(), strict=False, max_length=100, description="Times when hosts may be updated.")
    monitoring: Monitoring = Field(default=Monitoring())
    acceptance: Acceptance = Field(default=Acceptance())
    tags: dict[TagKey, Text] = Field(default={}, max_length=100, description="Put on everything in the cloud that can carry tags (labels on Google Cloud).")
    targets: dict[TargetName, dict[str, Any]] = Field(
        default={}, description="What is different on one target: the same keys as above, put over them when the stack lands there."
    )
    suppress: tuple[Suppression, ...] = Field(default=(), strict=False, max_length=1_000, description="Warnings that are known and accepted for a time.")

    def scheduler_of(self, pool: Pool) -> str:
        """Say which scheduler has a pool's nodes: one of two where the pool says so, and Slurm where it doesn't."""
        return (pool.scheduler or "slurm") if self.scheduler == "both" else self.scheduler

    def nodes_of(self, scheduler: str) -> int:
        """Count the compute nodes that a scheduler (`slurm`, `kubernetes`) can come to have."""
        return sum(pool.range.max for pool in self.pools.values() if self.scheduler_of(pool) == scheduler)
