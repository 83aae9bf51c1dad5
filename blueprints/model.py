"""The language: what a blueprint may say. Each key is written once, here; schema, reference and messages derive from it.

Pydantic is used at this edge only. `parse` turns a document into a Blueprint, or raises Invalid with everything that is wrong.
"""

import dataclasses
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from . import document, finding, names, refusals, values


class Section(pydantic.BaseModel):
    """A mapping of the language. Keys that it doesn't have are refused, types are never converted, and a key left empty means `{}`.

    A section's docstring is its description, for messages, schema and reference alike.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _empty(cls, given: Any) -> Any:
        return {} if given is None else given


def _minutes_as_text(given: Any) -> Any:
    """YAML reads `60` as a number; Slurm reads it as minutes."""
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _memory(text: str) -> str:
    values.memory_mib(text)
    return text


Text = Annotated[str, pydantic.AfterValidator(values.plain_text)]
TimeLimit = Annotated[str, pydantic.BeforeValidator(_minutes_as_text), pydantic.AfterValidator(values.time_limit)]
Memory = Annotated[str, pydantic.AfterValidator(_memory)]
MountPoint = Annotated[str, pydantic.AfterValidator(values.mount_point)]
Cidr = Annotated[str, pydantic.AfterValidator(values.network)]
PublicKey = Annotated[str, pydantic.AfterValidator(values.public_key)]
Uid = Annotated[int, pydantic.AfterValidator(names.uid)]
ClusterName = Annotated[str, pydantic.AfterValidator(names.cluster)]
PoolName = Annotated[str, pydantic.AfterValidator(names.pool)]
StorageName = Annotated[str, pydantic.AfterValidator(names.storage)]
AccountName = Annotated[str, pydantic.AfterValidator(names.account)]
UserName = Annotated[str, pydantic.AfterValidator(names.user)]


class Control(Section):
    """The scheduler's own hosts."""


class Access(Section):
    """Where people log in."""

    login_nodes: int = Field(default=1, ge=1, le=32, description="Login nodes behind the load balancer.")


class Accounting(Section):
    """The scheduler's record of jobs, accounts and users."""

    database: Literal["embedded", "managed"] = Field(
        default="embedded", description="Where its database runs: on the controller (`embedded`) or as the cloud's service (`managed`)."
    )
    protect: bool = Field(default=True, description="Refuse changes that would delete or replace the database.")


class Network(Section):
    """The addresses of the hosts."""

    cidr: Cidr | None = Field(default=None, description="The hosts' private IPv4 network. Left out, it is chosen from the stack's name.")


class Storage(Section):
    """A file system that all hosts share."""

    kind: Literal["nfs", "lustre"] = Field(description="What serves it.")
    mount: MountPoint = Field(description="Where every host mounts it.")
    protect: bool = Field(default=True, description="Refuse changes that would delete or replace it.")


class Partition(Section):
    """The Slurm partition that holds a pool's nodes; it has the pool's name."""

    default: bool | None = Field(
        default=None, description="Jobs that name no partition go here. If no pool says so, the first pool that doesn't say `false` is it."
    )
    max_time: TimeLimit = Field(default="UNLIMITED", description="The longest a job may run, in Slurm's words: `1-00:00:00` is one day, `60` an hour.")


class Pool(Section):
    """Compute nodes of one kind."""

    accelerator: str | None = Field(default=None, description="The GPU, by its name in the catalogue (`h100`). Left out, nodes have none.")
    gpus_per_node: int | None = Field(default=None, ge=1, le=16, description="GPUs in each node.")
    nodes: int = Field(ge=1, le=50_000, description="How many nodes.")
    cpus_per_node: int | None = Field(
        default=None, ge=1, le=4096, description="On the target `local`: logical processors to declare, to rehearse other machines."
    )
    memory: Memory | None = Field(default=None, description="On the target `local`: memory of each node to declare (`2 TiB`), to rehearse other machines.")
    partition: Partition = Field(default=Partition())


class Account(Section):
    """An account of the scheduler: who is charged and limited together."""

    description: Text = Field(default="", description="One line for reports.")


class User(Section):
    """A person with the same user number on every host."""

    uid: Uid = Field(description="The user's and the user's group's number.")
    account: str = Field(description="The account that jobs are charged to unless they name another.")
    ssh_keys: tuple[PublicKey, ...] = Field(default=(), description="OpenSSH public keys, one line each. With none, the stack makes a key pair.", strict=False)


class Blueprint(Section):
    """What a cluster should be, in words that hold on every target."""

    name: ClusterName = Field(description="The cluster's name.")
    description: Text = Field(default="", description="One line that says what it is for.")
    scheduler: Literal["slurm", "kubernetes", "both"] = Field(default="slurm", description="What places work on nodes.")
    software: str = Field(default="debian-13", description="The software profile: one tested set of versions.")
    control: Control = Field(default=Control())
    access: Access = Field(default=Access())
    accounting: Accounting = Field(default=Accounting())
    network: Network = Field(default=Network())
    storage: dict[StorageName, Storage] = Field(default={}, description="File systems that all hosts share, by name.")
    pools: dict[PoolName, Pool] = Field(min_length=1, description="Compute nodes, by name.")
    accounts: dict[AccountName, Account] = Field(default={}, description="Accounts of the scheduler, by name.")
    users: dict[UserName, User] = Field(default={}, description="People, by name.")


@dataclasses.dataclass(frozen=True, slots=True)
class Parsed:
    """What parsing came to. With findings, the blueprint lacks what they are about and is good for further checks only."""

    blueprint: Blueprint | None
    findings: tuple[finding.Finding, ...]


def parse(source: document.Document) -> Blueprint:
    """Turn a document into a Blueprint.

    Raises:
        finding.Invalid: with every key and value that the language doesn't have.
    """
    parsed = parse_most(source)
    if parsed.blueprint is None or parsed.findings:
        raise finding.Invalid(parsed.findings)
    return parsed.blueprint


def parse_most(source: document.Document) -> Parsed:
    """Parse what can be parsed, so that the rest of the blueprint is checked in the same run."""
    try:
        return Parsed(Blueprint.model_validate(source.values), ())
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False)
    findings = refusals.explain(faults, Blueprint, source)
    rest = _without([fault["loc"] for fault in faults], source.values)
    try:
        return Parsed(Blueprint.model_validate(rest), findings)
    except pydantic.ValidationError:
        return Parsed(None, findings)


_NAMED = ("storage", "pools", "accounts", "users")
_STAND_INS: dict[str, Any] = {"name": "unnamed", "pools": {"unnamed": {"nodes": 1}}}


def _without(refused: Iterable[document.Path], given: Any) -> Any:
    """Take out what was refused: the pool, file system, account or user, or the whole section; stand-ins take the place of what must be there."""
    if not isinstance(given, dict):
        return given
    rest = {key: dict(entry) if key in _NAMED and isinstance(entry, dict) else entry for key, entry in given.items()}
    for path in refused:
        if len(path) > 1 and path[0] in _NAMED:
            rest.get(str(path[0]), {}).pop(path[1], None)
        elif path:
            rest.pop(str(path[0]), None)
    for key, stand_in in _STAND_INS.items():
        if not rest.get(key):
            rest[key] = stand_in
    return rest
