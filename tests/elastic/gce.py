"""A world whose cloud is the simulated Compute Engine: the program with the adapter that real controllers run, under the cloud's clock."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.elastic import act
from components.elastic.fleets.gcp import Gcp
from components.elastic.fleets.gcp.inventory import moment
from components.elastic.fleets.gcp.rest import Compute
from components.elastic.memory import Store
from components.elastic.table import NodeSet, Table
from tests.elastic.counted import Counted
from tests.elastic.google import OWNER, PREFIX, ZONE, fleet_table
from tests.elastic.values import node_set
from tests.elastic.world import Machine, World
from tests.simcloud.core.faults import Fault
from tests.simcloud.core.store import Thing
from tests.simcloud.google import happenings
from tests.simcloud.google.cloud import Cloud

MACHINE, SMALL = "n2-standard-4", "n2-standard-2"
SUBNET = "regions/us-central1/subnetworks/hosts"
LABELS = {"clusterwright-stack": "prod", "clusterwright-owner": OWNER, "clusterwright-part": "compute"}
GROUPS = "regions/us-central1/instanceGroupManagers"
_ENDS = {"automaticRestart": False, "onHostMaintenance": "TERMINATE", "instanceTerminationAction": "DELETE"}
BOUGHT: Mapping[str, Mapping[str, Any]] = {
    "spot": {"scheduling": {**_ENDS, "provisioningModel": "SPOT", "preemptible": True}},
    "flex": {
        "scheduling": {**_ENDS, "provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": "86400"}},
        "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
    },
}
"""Capacity kind → what the template says of it."""


def ask(cloud: Cloud, method: str, path: str, body: Any = None, **query: str) -> Mapping[str, Any]:
    """Make a request of the project's owner, which is granted."""
    answer = cloud.request("compute.googleapis.com", method, f"/compute/v1/projects/proj/{path}", query, body)
    assert answer.status == 200, answer.body
    found: Mapping[str, Any] = answer.body
    return found


def ground(cloud: Cloud) -> None:
    """Make a network."""
    ask(cloud, "POST", "global/networks", {"name": "net", "autoCreateSubnetworks": False})
    ask(cloud, "POST", "regions/us-central1/subnetworks", {"name": "hosts", "network": "global/networks/net", "ipCidrRange": "10.0.0.0/16"})


def properties(machine: str = MACHINE, **more: Any) -> dict[str, Any]:
    disk = {
        "boot": True,
        "autoDelete": True,
        "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12", "diskType": "pd-balanced"},
    }
    return {"machineType": machine, "disks": [disk], "networkInterfaces": [{"subnetwork": SUBNET}], "labels": LABELS, **more}


def row(
    cloud: Cloud, name: str, *, machine: str = MACHINE, kind: str = "on-demand", template: str = "", scheduling: Any = None, bought: str = "", **more: Any
) -> NodeSet:
    """Make an instance template, and for flex-start a group of it, and give the node set that starts from it."""
    template = template or f"{name}-1"
    ask(
        cloud,
        "POST",
        "global/instanceTemplates",
        {"name": template, "properties": properties(machine, **BOUGHT.get(bought or kind, {"scheduling": scheduling or {}}))},
    )
    start: dict[str, Any] = {"instance_template": f"projects/proj/global/instanceTemplates/{template}", "labels": LABELS}
    if kind in BOUGHT:
        start["provisioning_model"] = BOUGHT[kind]["scheduling"]["provisioningModel"]
    if kind == "flex":
        place = {"targetShape": "ANY_SINGLE_ZONE", "zones": [{"zone": f"zones/{ZONE}"}]}
        group = {
            "name": name,
            "baseInstanceName": name,
            "instanceTemplate": f"global/instanceTemplates/{template}",
            "targetSize": 0,
            "distributionPolicy": place,
        }
        ask(cloud, "POST", GROUPS, {**group, "updatePolicy": {"instanceRedistributionType": "NONE"}})
        start = {**start, "group": f"{GROUPS}/{name}", "run_s": 86400}
    return node_set(name, **{"machine": machine, "kind": kind, "template": template, "start": start, "boot_timeout_s": 300.0, **more})


class GceWorld(World):
    """Its machines are the instances of the simulated cloud, whatever the API shows of them."""

    def __init__(self, cloud: Cloud, folder: Path, *rows: NodeSet):
        super().__init__(fleet_table(*rows), folder)
        self.cloud, self._folder = cloud, folder
        self.use(self.table)
        self._pass(0)

    def use(self, using: Table) -> None:
        """Have the program go on with a fleet table, in a process of its own: all it knows is what it keeps."""
        self.table = using
        self.store = Store(self._folder)
        fleet = Gcp(using, compute=Compute("proj", send=self._send, pause=self._pass), now=lambda: self.now, pause=self._pass)
        self.actor = act.Actor(using, slurm=self, fleet=Counted(self, fleet), store=self.store, clock=lambda: self.now, at_a_time=1)

    def live(self, prefix: str = "") -> dict[str, str]:
        """Give the nodes that have an instance, with its id."""
        self._refresh()
        return {one.node: one.id for one in self.machines.values() if one.ended_at is None and one.node.startswith(prefix)}

    def started(self) -> list[str]:
        """Give the nodes of all instances that were ever started."""
        self._refresh()
        return sorted(one.node for one in self.machines.values())

    def set(self, name: str, value: Any) -> None:
        self.cloud.store.set_setting(name, value)

    def fault(self, match: str, **more: Any) -> None:
        self.cloud.world.faults.add(Fault(match, **more))

    def instance(self, node: str) -> Thing:
        return self.cloud.need(f"projects/proj/zones/{ZONE}/instances/{PREFIX}{node}", "compute.instances")

    def lose(self, node: str) -> None:
        """Take an instance away, as a failed host or a person does."""
        self.cloud.drop("compute.instances", self.instance(node).id)
        self._refresh()

    def _pass(self, seconds: float) -> None:
        self.cloud.store.set_clock(self.cloud.store.clock.offset_s + seconds)
        self.now = self.cloud.store.clock.now_s()
        self._refresh()

    def _send(self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None) -> tuple[int, Mapping[str, Any]]:
        answer = self.cloud.request("compute.googleapis.com", method, f"/compute/v1/{path}", query, body)
        return answer.status, answer.body

    def _refresh(self) -> None:
        happenings.by_time(self.cloud)
        there = {}
        for thing in self.cloud.store.all("compute.instances"):
            name = str(thing["name"])
            if name.startswith(PREFIX) and thing.get("labels", {}).get("clusterwright-owner") == OWNER:
                there[f"{ZONE}/{name}/{thing['id']}"] = thing
        for identity, thing in there.items():
            if identity not in self.machines:
                labels, node = thing["labels"], str(thing["name"]).removeprefix(PREFIX)
                began = moment(thing["creationTimestamp"])
                self.machines[identity] = Machine(identity, node, labels.get("clusterwright-launch", ""), began, self.boots)
        for identity, machine in self.machines.items():
            is_live = identity in there and there[identity]["status"] in ("PROVISIONING", "STAGING", "RUNNING")
            machine.ended_at = None if is_live else machine.ended_at or self.now
