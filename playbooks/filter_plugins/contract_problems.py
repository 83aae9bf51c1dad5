"""What contradicts itself in inventory and variables, in words. Pure."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from blueprints import hostlist

Record = Mapping[str, Any]

PEOPLE = range(1000, 60_001)
"""User ids of people; those below belong to the system."""
MUNGE_KEY_LETTERS = 44
"""munged refuses a key of less than 32 bytes; 44 characters of base64 are at least 31 bytes and at most 33."""
BASE64 = re.compile(r"[A-Za-z0-9+/]+=*")
DATABASE_PASSWORD = re.compile(r"[A-Za-z0-9._~-]{12,}")
"""slurmdbd.conf has no quoting."""


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"contract_problems": contract_problems}


def contract_problems(spec: Record, secrets: Record, *, groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Record], versions: Record) -> list[str]:
    """Return a sentence for each thing that is not as the playbooks expect.

    Args:
        groups: Ansible's groups of the inventory.
        hostvars: Ansible's variables of its hosts.
        versions: the versions of Slurm that the playbooks know.
    """
    return [*_scheduler(spec, versions), *_hosts(spec, groups, hostvars), *_partitions(spec), *_people(spec), *_secrets(secrets)]


def _scheduler(spec: Record, versions: Record) -> Iterator[str]:
    software, controllers = spec["software"], spec["slurm"]["control"]["count"]
    if software["slurm"] not in versions:
        yield f"Slurm {software['slurm']} of profile {software['profile']} is unknown to the playbooks: they know {' and '.join(sorted(versions))}."
    if controllers < 1:
        yield f"A Slurm cluster needs a controller, and spec.slurm.control.count is {controllers}."


def _hosts(spec: Record, groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Record]) -> Iterator[str]:
    all_hosts = [spec["slurm"]["control"], spec["access"], *(one["hosts"] for one in spec["slurm"]["node_sets"])]
    prefixes = [one["prefix"] for one in all_hosts if not one.get("members")]
    for number, prefix in enumerate(prefixes):
        if prefix in prefixes[:number]:
            yield f"Two groups of hosts are named {prefix}-0 and on."
    expected = {("compute" if one["role"] == "compute" else one["name"], name) for one in all_hosts for name in _names(one)}
    for group in ("control", "access", "compute"):
        hosts = groups.get(group, ())
        yield from (f"Inventory group {group} has host {host}, which the spec does not have there." for host in hosts if (group, host) not in expected)
        yield from (f"Inventory host {host} has no ansible_host." for host in hosts if "ansible_host" not in hostvars[host])


def _names(hosts: Record) -> Sequence[str]:
    return hostlist.of_group(hosts["prefix"], hosts["count"], hosts.get("members") or "")


def _partitions(spec: Record) -> Iterator[str]:
    def name(one: Record) -> str:
        return str(one["partition"]["name"])

    for partition, found in itertools.groupby(sorted(spec["slurm"]["node_sets"], key=name), key=name):
        node_sets = list(found)
        if any(one["partition"] != node_sets[0]["partition"] for one in node_sets):
            yield f"Partition {partition} is described in two ways, by pools {' and '.join(one['pool'] for one in node_sets)}."
    if len({name(one) for one in spec["slurm"]["node_sets"] if one["partition"]["default"]}) > 1:
        yield "More than one partition is the default one."


def _people(spec: Record) -> Iterator[str]:
    if not any(one["mount"] == "/home" for one in spec["storage"]):
        yield "No file system is mounted at /home: a user's files would differ from host to host."
    users_of = {one["name"]: one["users"] for one in spec["accounts"]}
    for user in spec["users"]:
        if user["uid"] not in PEOPLE:
            yield f"User {user['name']} has uid {user['uid']}; numbers from {PEOPLE.start} to {PEOPLE.stop - 1} belong to people."
        if user["name"] not in users_of.get(user["default_account"], ()):
            yield f"User {user['name']} has default account {user['default_account']} but is not one of its users."
    if len({one["uid"] for one in spec["users"]}) != len(spec["users"]):
        yield "Two users have the same uid."
    known = {one["name"] for one in spec["users"]}
    for account in spec["accounts"]:
        yield from (f"Account {account['name']} has user {user}, who is not described." for user in account["users"] if user not in known)


def _secrets(secrets: Record) -> Iterator[str]:
    if len(secrets["munge_key"]) < MUNGE_KEY_LETTERS or not BASE64.fullmatch(secrets["munge_key"]):
        yield "secrets.munge_key is not the base64 form of at least 32 bytes."
    if not DATABASE_PASSWORD.fullmatch(secrets["database_password"]):
        yield "secrets.database_password has less than 12 characters, or others than letters, digits and ._~-"
