"""A world whose cloud is the simulated EC2: the program with the adapter that real controllers run, against a Slurm that behaves as the real one was seen to, under the cloud's clock."""

import dataclasses
from pathlib import Path
from typing import Any

from components.elastic import act
from components.elastic.fleets.aws import Aws
from components.elastic.fleets.aws.inventory import LAUNCH_TAG, NODE_TAG, STACK_TAG
from components.elastic.fleets.aws.known import Shelf
from components.elastic.memory import Store
from components.elastic.table import NodeSet, Table
from tests.elastic.counted import Counted
from tests.elastic.values import node_set, table
from tests.elastic.world import Machine, World
from tests.simcloud.aws import images
from tests.simcloud.aws.client import REGION, Seen, SimulatedCloud

BIG, SMALL = "g6.48xlarge", "g6.12xlarge"
MARKETS = {"spot": "spot", "block": "capacity-block"}
TAGS = {STACK_TAG: "prod", "clusterwright:cluster": "starter", "clusterwright:part": "compute"}


@dataclasses.dataclass(frozen=True)
class Ground:
    """A network in the simulated cloud."""

    cloud: SimulatedCloud
    subnet: str
    group: str

    def row(self, name: str, *, machine: str = BIG, cards: int = 0, kind: str = "on-demand", capacity: str | None = None, **more: Any) -> NodeSet:
        """Make a launch template and give the node set that starts from it.

        Args:
            cards: network cards with an interface for EFA alone, beside the first interface of all.
        """
        place = {"subnetId": self.subnet, "securityGroups": [self.group]}
        fabric = [{"networkCardIndex": card, "deviceIndex": 1, "interfaceType": "efa-only", **place} for card in range(cards)]
        bought: dict[str, Any] = {"instanceMarketOptions": {"marketType": MARKETS[kind]}} if kind in MARKETS else {}
        if capacity:
            bought["capacityReservationSpecification"] = {"capacityReservationTarget": {"capacityReservationId": capacity}}
        template = self.cloud.make(
            "ec2.LaunchTemplate",
            name=name,
            imageId=str(next(images.public(REGION))["ImageId"]),
            instanceType=machine,
            networkInterfaces=[{"networkCardIndex": 0, "deviceIndex": 0, **place}, *fabric],
            tagSpecifications=[{"resourceType": "instance", "tags": TAGS}],
            **bought,
        )
        made: dict[str, Any] = {"machine": machine, "start": {"launch_template": template.id, "subnets": [self.subnet]}, "template": "1"}
        return node_set(name, kind=kind, capacity=capacity, boot_timeout_s=300.0, **{**made, **more})


def ground(cloud: SimulatedCloud) -> Ground:
    vpc = cloud.make("ec2.Vpc", cidrBlock="10.0.0.0/16").id
    subnet = cloud.make("ec2.Subnet", vpcId=vpc, cidrBlock="10.0.0.0/17", availabilityZone=f"{REGION}a").id
    return Ground(cloud, subnet, cloud.make("ec2.SecurityGroup", name="nodes", vpcId=vpc).id)


class Ec2World(World):
    """Its machines are the instances of the simulated cloud, whatever the API shows of them.

    Args:
        ec2: boto3's client.
    """

    def __init__(self, cloud: SimulatedCloud, ec2: Any, folder: Path, *rows: NodeSet):
        super().__init__(dataclasses.replace(table(*rows), cloud={"region": REGION}), folder)
        self.cloud, self._ec2, self._folder = cloud, ec2, folder
        self.use(self.table)
        self._pass(0)

    def use(self, using: Table) -> None:
        """Have the program go on with a fleet table, in a process of its own: all it knows is what it keeps."""
        self.table = using
        self.store = Store(self._folder)
        shelf = Shelf(self._folder, "here")
        fleet = Aws(using, client=self._ec2, shelf=shelf, now=lambda: self.now, pause=self._pause)
        self.actor = act.Actor(using, slurm=self, fleet=Counted(self, fleet), store=self.store, clock=lambda: self.now)

    def live(self, prefix: str = "") -> dict[str, Seen]:
        """Give the instances that live: node → instance, those without a node by their id."""
        found = self.cloud.things("ec2.Instance", tags={STACK_TAG: "prod"})
        return {one.tags.get(NODE_TAG, one.id): one for one in found if one.tags.get(NODE_TAG, "").startswith(prefix)}

    def started(self) -> list[str]:
        """Give the nodes of all instances that were ever started, those without one as an empty text."""
        self._refresh()
        return sorted(one.node for one in self.machines.values())

    def end_instance(self, identity: str) -> None:
        self.cloud.end(identity)
        self._refresh()

    def _pass(self, seconds: float) -> None:
        self.now = self.cloud.advance(seconds)
        self._refresh()

    def _pause(self, seconds: float) -> None:
        self._pass(seconds)

    def _refresh(self) -> None:
        self.machines = {}
        for one in self.cloud.things("ec2.Instance", tags={STACK_TAG: "prod"}, ended=True):
            began = float(one["api"]["LaunchTime"])
            self.machines[one.id] = Machine(one.id, one.tags.get(NODE_TAG, ""), one.tags.get(LAUNCH_TAG, ""), began, self.boots, one.properties.get("ended"))
