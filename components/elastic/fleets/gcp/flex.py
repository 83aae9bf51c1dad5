"""Requests that wait in Compute Engine's queue for flex-start capacity: resize requests of the node set's managed instance group, which has no other instances.

A request is all or nothing, so each node of a launch that may start alone has one of its own. Its name says the launch, so that a repeated launch finds it.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...decide.answers import Refusal
from ...memory import PART, Launch
from ...model import Queued
from ...table import NodeSet, Table
from . import answers
from .answers import Why
from .inventory import Inventory, moment
from .rest import Compute, Failed, request_id

PREFIX = "launch-"
"""Names begin with a letter (RFC 1035); tokens need not."""
WAITING = frozenset({"CREATING", "ACCEPTED"})
KEPT_S = 86_400.0
"""A request that is over says of which launch its instances are. After a day no launch is remembered."""
DELETED_AT_ONCE = 20
CONFLICT, NOT_FOUND = 409, 404


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A resize request."""

    name: str
    group: str
    """Path of its group in the project."""
    state: str
    nodes: tuple[str, ...]
    began: float
    why: Why | None
    """Why it failed, or has not got anything yet."""

    @property
    def launch(self) -> str:
        """The launch, or the part of one, that it is for."""
        return self.name.removeprefix(PREFIX)

    @property
    def path(self) -> str:
        return f"{self.group}/resizeRequests/{self.name}"


class Queue:
    """The resize requests of all flex-start node sets.

    Args:
        now: seconds since 1970.
    """

    def __init__(self, compute: Compute, inventory: Inventory, table: Table, now: Callable[[], float]):
        self._compute, self._inventory, self._table, self._now = compute, inventory, table, now

    def requests(self, node_set: NodeSet) -> list[Request]:
        group = group_of(node_set)
        return [self._request(group, one) for one in self._compute.listed(f"{group}/resizeRequests")]

    def all(self) -> list[Request]:
        return [request for node_set in self._table.node_sets if is_queued(node_set) for request in self.requests(node_set)]

    def waiting(self, requests: list[Request]) -> tuple[Queued, ...]:
        return tuple(Queued(one.path, one.launch, one.nodes) for one in requests if one.state in WAITING)

    def launches(self, requests: list[Request]) -> Mapping[str, str]:
        """Instance name → launch, of the last request for it."""
        return {self._inventory.name(node): one.launch for one in sorted(requests, key=lambda one: one.began) for node in one.nodes}

    def submit(self, launch: Launch, node_set: NodeSet) -> list[Request]:
        """Make the requests of a launch that are not made, and give all of them.

        Raises:
            Failed: Compute Engine refuses one, or does not answer.
        """
        group, wanted = group_of(node_set), dict(_parts(launch, node_set))
        there = {one.name: one for one in self.requests(node_set)}
        taken: dict[str, Why] = {}
        for name, nodes in wanted.items():
            if name not in there and (why := self._insert(group, name, nodes, node_set)):
                taken[name] = why
        self._forget([*there.values()])
        found = {one.name: one for one in self.requests(node_set)} if set(wanted) - set(there) else there
        made = Why(Refusal.QUEUED, "CREATING")
        return [found.get(name) or Request(name, group, "CREATING", nodes, self._now(), taken.get(name, made)) for name, nodes in wanted.items()]

    def withdraw(self, path: str) -> None:
        """Cancel a request; one that is over is no error.

        Raises:
            Failed: Compute Engine refuses, or does not answer.
        """
        try:
            self._compute.call("POST", f"{path}/cancel", {"requestId": request_id("cancel", path)})
        except Failed as failure:
            if failure.status != NOT_FOUND:
                raise

    def _insert(self, group: str, name: str, nodes: tuple[str, ...], node_set: NodeSet) -> Why | None:
        """Make a request; give a refusal because something exists already: the request itself, or an instance of a node."""
        lasts_s = node_set.start.get("run_s")
        body = {
            "name": name,
            "instances": [{"name": self._inventory.name(node)} for node in nodes],
            **({"requestedRunDuration": {"seconds": str(lasts_s)}} if lasts_s else {}),
        }
        try:
            self._compute.call("POST", f"{group}/resizeRequests", {"requestId": request_id("queue", group, name)}, body)
        except Failed as failure:
            if failure.status != CONFLICT:
                raise
            return answers.refused(failure)
        return None

    def _forget(self, requests: list[Request]) -> None:
        """Delete requests that were over long ago: a group takes only so many."""
        old = [one for one in requests if one.state not in WAITING and self._now() - one.began > KEPT_S]
        for one in old[:DELETED_AT_ONCE]:
            self._compute.call("DELETE", one.path, {"requestId": request_id("delete", one.path)})

    def _request(self, group: str, found: Mapping[str, Any]) -> Request:
        names = [str(one["name"]) for one in found.get("instances", ())]
        return Request(
            name=found["name"],
            group=group,
            state=found.get("state", ""),
            nodes=tuple(node for name in names if (node := self._inventory.node(name))),
            began=moment(found.get("creationTimestamp", "")),
            why=_why(found),
        )


def is_queued(node_set: NodeSet) -> bool:
    return node_set.capacity_kind == "flex" and bool(node_set.start.get("group"))


def group_of(node_set: NodeSet) -> str:
    """Give the path of the group that provides a node set, such as `regions/us-central1/instanceGroupManagers/starter-train`."""
    return str(node_set.start["group"])


def _parts(launch: Launch, node_set: NodeSet) -> Iterator[tuple[str, tuple[str, ...]]]:
    if launch.is_whole or len(launch.nodes) == 1:
        yield PREFIX + launch.token, launch.nodes
        return
    for node in launch.nodes:
        yield f"{PREFIX}{launch.token}{PART}{node_set.number(node)}", (node,)


def _why(found: Mapping[str, Any]) -> Why | None:
    """Say why a request failed, or that it waits, with what came of the last attempt."""
    state, status = found.get("state", ""), found.get("status", {})
    if state in WAITING:
        last = answers.errors(status.get("lastAttempt", {}).get("error"))
        return Why(Refusal.QUEUED, str(last[0].get("code", state)) if last else state)
    if state == "SUCCEEDED":
        return None
    fatal = answers.errors(status.get("error"))
    return answers.failed(fatal) if fatal else Why(Refusal.ERROR, f"the resize request {found['name']} is {state}")
