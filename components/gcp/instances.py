"""Instances that carry a stack's name: those that the stack created, those that the elastic program started, and strays."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from . import rest
from .names import COMPUTE as COMPUTE
from .names import NODE_LABEL, NODE_SET_LABEL, OWNER_LABEL, PART_LABEL, STACK_LABEL, label

RUNNING = "RUNNING"
_FIELDS = "id,name,status,labels,creationTimestamp,machineType,zone,serviceAccounts/email,networkInterfaces/networkIP"


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """One instance as Compute Engine describes it."""

    id: str
    name: str
    machine: str
    state: str
    zone: str
    part: str
    node_set: str
    node: str
    """Of a controller or login node: its hostname; of others the name of the instance says it."""
    owner: str
    """The mark of its stack."""
    launched: dt.datetime
    account: str
    """Address of its service account; empty: it has none."""
    address: str
    """In the hosts' network; empty: none yet."""


def look(compute: rest.Compute, *, stack: str, zone: str, node_set: str | None = None) -> tuple[Instance, ...]:
    """List the instances of a zone that carry the stack's name.

    Args:
        node_set: only those of one node set.
    Raises:
        TargetUnanswered: Compute Engine does not answer, or refuses.
    """
    wanted = {STACK_LABEL: label(stack), **({NODE_SET_LABEL: node_set} if node_set else {})}
    query = {"filter": " AND ".join(f"(labels.{name} = {value})" for name, value in wanted.items()), "fields": f"nextPageToken,items({_FIELDS})"}
    return tuple(read(one) for one in compute.items(f"zones/{zone}/instances", query))


def read(found: Mapping[str, Any]) -> Instance:
    """Read an instance. Pure."""
    labels = found.get("labels", {})
    return Instance(
        id=str(found["id"]),
        name=found["name"],
        machine=found.get("machineType", "").rpartition("/")[2],
        state=found.get("status", ""),
        zone=found.get("zone", "").rpartition("/")[2],
        part=labels.get(PART_LABEL, ""),
        node_set=labels.get(NODE_SET_LABEL, ""),
        node=labels.get(NODE_LABEL, ""),
        owner=labels.get(OWNER_LABEL, ""),
        launched=dt.datetime.fromisoformat(found["creationTimestamp"]) if found.get("creationTimestamp") else dt.datetime.now(dt.UTC),
        account=next((str(one.get("email", "")) for one in found.get("serviceAccounts", ())), ""),
        address=next((str(one.get("networkIP", "")) for one in found.get("networkInterfaces", ())), ""),
    )
