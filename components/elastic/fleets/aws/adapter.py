"""Start, name and terminate EC2 instances of the stack's launch templates.

Each launch carries a token. EC2 makes a launch whose answer was lost only once when it is repeated, and its instances carry the token as a tag. Another tag assigns a node to each instance afterwards, and
the instance reads it at boot as its name: no call of EC2 gives each of several instances a tag of its own.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import botocore.config
import botocore.exceptions

from ...act import Unended, Unreachable
from ...decide.answers import Answer, Refusal
from ...memory import PART, Launch
from ...model import Cloud, Fault, Instance, Lease, Life
from ...table import NodeSet, Table
from .answers import code, refused
from .inventory import CLUSTER_TAG, COMPUTE, LAUNCH_TAG, NODE_SET_TAG, NODE_TAG, OWNER_TAG, PART_TAG, STACK_TAG, Inventory
from .known import Shelf
from .termination import terminate

LAUNCH_AT_ONCE = 500  # aws-parallelcluster-node, launch_max_batch_size
TAG_AT_A_TIME = 8
REPEATED_AFTER_S = 20.0
"""EC2 may already know a launch that was requested this long ago."""
BOUGHT_BY_TEMPLATE = ("spot", "block")
"""The launch template contains how these are bought, in the form of RunInstances; CreateFleet has another form for it and refuses such a template."""
FAILURES = (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError)
NAME_AGAIN_AFTER_S = (1.0, 2.0, 4.0)
"""After that, the next `sync` continues."""


class Aws:
    """The instances of one stack.

    Args:
        client: boto3's EC2 client; None: one for the table's region, with credentials and endpoint from the environment.
        shelf: keeps what was read; None: nothing is kept.
        now: seconds since 1970.
        pause: lets seconds pass.
    """

    def __init__(
        self, table: Table, *, client: Any = None, shelf: Shelf | None = None, now: Callable[[], float] = time.time, pause: Callable[[float], None] = time.sleep
    ):
        self._table = table
        # Adaptive retries slow down when EC2 says so, and go on for about a minute.
        settings = botocore.config.Config(retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=70)
        self._ec2 = client or boto3.client("ec2", region_name=table.cloud.get("region"), config=settings)
        self._inventory = Inventory(self._ec2, table, shelf or Shelf(None, ""), now)
        self._now, self._pause = now, pause

    def view(self, *, is_brief: bool = False) -> Cloud:
        try:
            instances = self._inventory.instances()
        except FAILURES as error:
            raise Unreachable(f"EC2 did not list the instances: {error}") from error
        if is_brief:
            return Cloud(instances, None)
        # What is beside the instances may fail for itself: nothing that is to end waits for it.
        unknown: list[str] = []
        noticed: set[str] = set()
        leases: dict[str, Lease] | None = None
        try:
            noticed = self._inventory.noticed() if any(node_set.capacity_kind == "spot" for node_set in self._table.node_sets) else set()
        except FAILURES as error:
            unknown.append(f"EC2 did not list the spot instances that it takes back: {error}")
        try:
            leases = dict(self._inventory.leases())
        except FAILURES as error:
            unknown.append(f"EC2 did not say when capacity starts and ends, so reservations stay as they are: {error}")
        return Cloud(tuple(dataclasses.replace(one, has_notice=one.id in noticed) for one in instances), leases, tuple(unknown))

    def launch(self, launch: Launch) -> Answer:
        node_set = self._table.by_name(launch.node_set)
        if node_set is None:
            return Answer((), Refusal.ERROR, f"{launch.node_set} is not in the fleet table")
        instances: list[Instance] = []
        for number, start in enumerate(range(0, len(launch.nodes), LAUNCH_AT_ONCE)):
            part = dataclasses.replace(
                launch, nodes=launch.nodes[start : start + LAUNCH_AT_ONCE], token=launch.token if number == 0 else f"{launch.token}{PART}{number}"
            )
            answer = self._launch(part, node_set)
            instances += answer.instances
            if answer.refusal:
                return Answer(tuple(instances), answer.refusal, answer.detail)
        return Answer(tuple(instances))

    def terminate(self, instances: Sequence[str]) -> None:
        if kept := terminate(self._ec2, instances):
            raise Unended(kept)

    def withdraw(self, requests: Sequence[str]) -> None:
        """Do nothing: EC2 has no queue."""

    def report(self, instance: str, fault: Fault, why: str, *, waits: bool = True) -> None:
        raise Unreachable("EC2 takes no reports of faulty hosts")

    def console(self, instance: str) -> str:
        try:
            return str(self._ec2.get_console_output(InstanceId=instance).get("Output", ""))
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            return f"EC2 did not return it: {error}"

    def _launch(self, launch: Launch, node_set: NodeSet) -> Answer:
        try:
            live = dict(self._inventory.launched(launch)) if self._is_repeated(launch) else {}
            if live:
                # What is not shown may be on its way: a part of a launch is no answer yet (Developer Guide, "Eventual consistency in the Amazon EC2 API").
                is_part = len(live) < len(launch.nodes)
                refusal, detail = (Refusal.LATER, f"EC2 shows {len(live)} of {len(launch.nodes)} instances") if is_part else (None, "")
                identities = [*live]
            else:
                identities, refusal, detail = (
                    self._run(launch, node_set) if node_set.capacity_kind in BOUGHT_BY_TEMPLATE else self._create_fleet(launch, node_set)
                )
            named = {known.node: one for one, known in live.items() if known.node in launch.nodes}
            return Answer(self._named(launch, identities, named), refusal, detail)
        except botocore.exceptions.ClientError as error:
            return refused(code(error), error.response.get("Error", {}).get("Message", str(error)))
        except botocore.exceptions.BotoCoreError as error:
            return Answer((), Refusal.LATER, str(error))

    def _is_repeated(self, launch: Launch) -> bool:
        return self._now() - launch.requested_at > REPEATED_AFTER_S

    def _create_fleet(self, launch: Launch, node_set: NodeSet) -> tuple[list[str], Refusal | None, str]:
        """Start all of it in one zone; at least one node, where the job's nodes don't depend on each other."""
        count = len(launch.nodes)
        # A template with interfaces of its own has its subnet there; only a choice between several is said here.
        subnets = node_set.start.get("subnets", ())
        overrides = [{"SubnetId": subnet, "InstanceType": node_set.machine} for subnet in subnets] if len(subnets) > 1 else []
        answer = self._ec2.create_fleet(
            ClientToken=launch.token,
            Type="instant",
            LaunchTemplateConfigs=[{"LaunchTemplateSpecification": _template(node_set), **({"Overrides": overrides} if overrides else {})}],
            TargetCapacitySpecification={"TotalTargetCapacity": count, "DefaultTargetCapacityType": "on-demand"},
            OnDemandOptions={"MinTargetCapacity": count if launch.is_whole else 1, "SingleInstanceType": True, "SingleAvailabilityZone": True},
            TagSpecifications=[{"ResourceType": "fleet", "Tags": self._tags(launch)}, {"ResourceType": "instance", "Tags": self._tags(launch)}],
        )
        identities = [identity for one in answer.get("Instances", ()) for identity in one["InstanceIds"]]
        errors = answer.get("Errors", ())
        if len(identities) >= count or not errors:
            return identities, None, ""
        failure = refused(errors[0].get("ErrorCode", ""), errors[0].get("ErrorMessage", ""))
        return identities, failure.refusal, failure.detail

    def _run(self, launch: Launch, node_set: NodeSet) -> tuple[list[str], Refusal | None, str]:
        answer = self._ec2.run_instances(
            ClientToken=launch.token,
            LaunchTemplate=_template(node_set),
            MinCount=len(launch.nodes) if launch.is_whole else 1,
            MaxCount=len(launch.nodes),
            TagSpecifications=[{"ResourceType": "instance", "Tags": self._tags(launch)}],
        )
        return [one["InstanceId"] for one in answer["Instances"]], None, ""

    def _tags(self, launch: Launch) -> list[dict[str, str]]:
        tags = {STACK_TAG: self._table.stack, CLUSTER_TAG: self._table.cluster, PART_TAG: COMPUTE, NODE_SET_TAG: launch.node_set, LAUNCH_TAG: launch.token}
        owner = self._table.cloud.get("owner")
        marked = tags | ({OWNER_TAG: owner} if owner else {})
        return [{"Key": key, "Value": value} for key, value in marked.items()]

    def _named(self, launch: Launch, identities: Sequence[str], named: Mapping[str, str]) -> tuple[Instance, ...]:
        """Assign a node to each instance; assigned instances keep theirs."""
        free = sorted(set(identities) - set(named.values()))
        unnamed = dict(zip((node for node in launch.nodes if node not in named), free, strict=False))
        with ThreadPoolExecutor(max_workers=TAG_AT_A_TIME) as several:
            list(several.map(lambda pair: self._name(*pair), unnamed.items()))
        return tuple(
            Instance(identity, node, Life.LIVE, launched_at=launch.requested_at, launch=launch.token) for node, identity in {**named, **unnamed}.items()
        )

    def _name(self, node: str, identity: str) -> None:
        shown = f"{self._table.cluster}-{self._table.stack}-{node}"
        for pause_s in (*NAME_AGAIN_AFTER_S, None):
            try:
                self._ec2.create_tags(Resources=[identity], Tags=[{"Key": NODE_TAG, "Value": node}, {"Key": "Name", "Value": shown}])
                return
            except botocore.exceptions.ClientError as error:
                if pause_s is None or code(error) != "InvalidInstanceID.NotFound":
                    raise
                self._pause(pause_s)


def _template(node_set: NodeSet) -> dict[str, str]:
    return {"LaunchTemplateId": node_set.start.get("launch_template", ""), "Version": node_set.template}
