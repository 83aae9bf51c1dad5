"""Which hosts of elastic pools this machine runs now (`components/discovery.py`)."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from .. import discovery, host_folders
from .elastic import fleet
from .machine import host as hosts
from .machine.names import StackNames


class Discovery:
    """Implements `discovery.Discovery`."""

    leases_end = False

    def mounts(self, role: str, *, controllers: int) -> tuple[str, ...]:
        """Every host mounts the cluster's folder. Each of two controllers mounts the folder that one has."""
        state = (host_folders.STATE,) if role == "control" else ()
        return (host_folders.CLUSTER, *state)

    def running_nodes(self, stack: discovery.Stack) -> discovery.RunningNodes:
        """List the running hosts of the stack's elastic pools."""
        names = StackNames(stack.name)
        if not names.hosts.is_dir():
            return discovery.RunningNodes(reason="the stack's hosts run on another machine, and only that machine can list elastic nodes")
        try:
            listed = [one for one in fleet.listed(names) if one["life"] == "live" and one["node_set"] in stack.nodes]
            found = [_node(names, one) for one in listed]
        except OSError as error:
            return discovery.RunningNodes(reason=f"elastic nodes can't be listed: {error}")
        return discovery.RunningNodes(tuple(sorted((one for one in found if one.host_key), key=lambda one: one.name)))

    def instances(self, stack: discovery.Stack) -> discovery.Instances:
        """Find nothing: every host on this machine has a record here, and `down` removes what has none."""
        return discovery.Instances()

    def added_policies(self, kind: str, outputs: Mapping[str, Any], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Find nothing: this machine has no roles."""
        return ()

    def attachments(self, stack: discovery.Stack) -> discovery.Attachments:
        """Find nothing: nobody attaches resources to a host on this machine."""
        return discovery.Attachments()


def _node(names: StackNames, record: dict[str, str | float]) -> discovery.RunningNode:
    node = str(record["node"])
    return discovery.RunningNode(
        name=node,
        node_set=str(record["node_set"]),
        address=str(record["address"]),
        id=str(record["id"]),
        host_key=hosts.host_key(names.host(node)),
        launched=dt.datetime.fromtimestamp(float(record["launched_at"]), dt.UTC),
    )
