"""What the elastic program needs to start and stop hosts of this machine: the adapter's part of the fleet table (`components/elastic/fleets/local.py`)."""

from collections.abc import Mapping
from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, HostGroup

from .. import contract, fleet_table
from ..provider.resource import OwnResource
from .machine.host import GUEST_DOOR
from .machine.names import SERVICE_SOCKET

BOOT_TIMEOUT_S = 300
"""From the call to a node that answers the scheduler. Seconds on an idle machine; many hosts on few cores take longer."""
IDLE_S = 60
"""A host here costs memory, and the next one is there in seconds: an idle one goes sooner than in a cloud."""
STOP_TIMEOUT_S = 20


def table(spec: ClusterSpec, stack: str, templates: Mapping[str, str]) -> dict[str, Any]:
    """Write the fleet table of the elastic pools of a stack on this machine. Pure.

    Args:
        templates: node set → mark of what its hosts start from.
    """
    rows = [
        fleet_table.Row(node_set, template=templates[node_set.hosts.name], boot_timeout_s=BOOT_TIMEOUT_S)
        for node_set in spec.node_sets
        if node_set.hosts.name in templates
    ]
    cloud = {"service": {"socket": f"{GUEST_DOOR}/{SERVICE_SOCKET}"}, "idle_s": IDLE_S, "stop_timeout_s": STOP_TIMEOUT_S}
    return fleet_table.fleet_table(spec, rows, stack=stack, cloud=cloud)


def coming_and_going(group: HostGroup, pool: OwnResource) -> contract.Hosts:
    """Describe an elastic pool: no host of it is known to the engine, and another template is another boot."""
    boots = pool.output("template").apply(lambda template: {group.hostlist: template})
    return contract.Hosts(group=group, described=pulumi.Output.from_input([]), boots=boots, resource=pool)
