"""Users, their accounts, and where they log in."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from . import cost


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    name: Annotated[str, cost.ACCOUNTING_SETTING]
    description: Annotated[str, cost.ACCOUNTING_SETTING]
    users: Annotated[
        tuple[str, ...], cost.in_place("who is new may use it at once; who left keeps it in Slurm's database until an administrator removes it there")
    ]
    parent: Annotated[str | None, cost.ACCOUNTING_SETTING] = None
    share: Annotated[int, cost.ACCOUNTING_SETTING] = 1
    most_gpus: Annotated[int | None, cost.ACCOUNTING_SETTING] = None
    most_nodes: Annotated[int | None, cost.ACCOUNTING_SETTING] = None
    most_jobs: Annotated[int | None, cost.ACCOUNTING_SETTING] = None
    qos: Annotated[tuple[str, ...], cost.ACCOUNTING_SETTING] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    name: Annotated[str, cost.in_place("the user can log in by the new name")]
    uid: Annotated[int, cost.in_place("files of the user keep the old number: `up` stops at the home until an administrator has changed its owner")]
    """Also the number of the user's own group."""
    default_account: Annotated[str, cost.ACCOUNTING_SETTING]
    ssh_keys: Annotated[tuple[str, ...], cost.in_place("keys of the blueprint in the user's home; the user's own stay")]
    """OpenSSH public keys. Empty: the stack makes a key pair for this user."""
    accounts: Annotated[tuple[str, ...], cost.ACCOUNTING_SETTING] = ()
    """Further ones that jobs may name."""
    admin: Annotated[bool, cost.in_place("rights from the next login on")] = False
    cloud_identity: Annotated[str, cost.in_place("who may log in, from the next login on")] = ""
    """The account by which the cloud knows the user, who logs in with its keys and rights; empty: with `ssh_keys`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Login:
    """Who may log in, and how."""

    load_balancer: Annotated[bool, cost.in_place("the address to log in at changes")] = True
    allowed_cidrs: Annotated[tuple[str, ...], cost.in_place("rules of the firewall; open sessions stay")] = ()
    ldap_uri: Annotated[str | None, cost.in_place("hosts ask the other directory")] = None
    ldap_base: Annotated[str | None, cost.in_place("hosts ask the other directory")] = None
    rest_api: Annotated[bool, cost.in_place("slurmctld and slurmdbd restart with the key of tokens; jobs run on")] = False
    """Slurm's REST API answers at the address of the login nodes."""
    tunnel: Annotated[bool, cost.in_place("the way to log in changes, and the load balancer comes or goes")] = False
    """People and `up` reach the first login node through the cloud's own tunnel."""
    os_login: Annotated[bool, cost.replaces_nodes("login nodes are created again; sessions on them end")] = False
    """The cloud decides who logs in to login nodes."""


def accounts_of_jobs(accounts: Sequence[Account]) -> tuple[Account, ...]:
    """Give the accounts that jobs run in: those with users, and those that no other account names as its parent."""
    parents = {one.parent for one in accounts}
    return tuple(one for one in accounts if one.users or one.name not in parents)
