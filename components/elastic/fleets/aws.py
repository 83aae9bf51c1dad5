"""EC2: instances of the stack's launch templates, told apart by tags.

Launches carry a token, so that one whose answer was lost is repeated without being made twice, and the instances carry it as a tag. Nodes are assigned to instances afterwards by another tag, which
the instance reads at boot as its name: no call of EC2 gives each of several instances a tag of its own.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import botocore.client
import botocore.config
import botocore.exceptions

from ..act import Unreachable
from ..decide.resume import Answer, Refusal
from ..memory import Launch
from ..model import Cloud, Instance, Lease, Life, NodeSet, Table

STACK_TAG, CLUSTER_TAG, PART_TAG = "clusterwright:stack", "clusterwright:cluster", "clusterwright:part"
NODE_TAG, NODE_SET_TAG, LAUNCH_TAG = "clusterwright:node", "clusterwright:node-set", "clusterwright:launch"
TEMPLATE_VERSION_TAG = "aws:ec2launchtemplate:version"
"""Put there by EC2 itself."""
COMPUTE = "compute"
LAUNCH_AT_ONCE = 500  # aws-parallelcluster-node, launch_max_batch_size
TERMINATE_AT_ONCE = 1000  # aws-parallelcluster-node, terminate_max_batch_size
TAG_AT_A_TIME = 8
REPEATED_AFTER_S = 20.0
"""A launch that was asked for so long ago may be known to EC2 already."""
BLOCK_ENDS_EARLY_S = 1800.0
"""EC2 ends the instances of a capacity block 30 minutes before the block (EC2 User Guide, "Capacity Blocks for ML")."""
LIVE_STATES = ("pending", "running")
BOUGHT_BY_TEMPLATE = ("spot", "block")
"""How these are bought stands in the launch template, as RunInstances takes it; CreateFleet has words of its own for it and refuses such a template."""
CAPACITY_CODES = frozenset(
    {
        "InsufficientCapacity",
        "InsufficientCapacityOnHost",
        "InsufficientFreeAddressesInSubnet",
        "InsufficientHostCapacity",
        "InsufficientInstanceCapacity",
        "InsufficientReservedInstanceCapacity",
        "ReservationCapacityExceeded",
        "SpotMaxPriceTooLow",
        "UnfulfillableCapacity",
        "Unsupported",
    }
)
LIMIT_CODES = frozenset(
    {"InstanceLimitExceeded", "LimitExceeded", "MaxSpotInstanceCountExceeded", "RequestResourceCountExceeded", "SpotInstanceCountExceeded", "VcpuLimitExceeded"}
)
LATER_CODES = frozenset(
    {
        "EC2ThrottledException",
        "InternalError",
        "InternalFailure",
        "InvalidInstanceID.NotFound",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
        "Unavailable",
    }
)
"""Amazon EC2 API Reference, "Error codes". An instance that was just started may not be found yet ("Eventual consistency")."""
NAME_AGAIN_AFTER_S = (1.0, 2.0, 4.0)
"""Then the next `sync` goes on."""


class Aws:
    """The instances of one stack.

    Args:
        client: boto3's EC2 client; None: one for the table's region, with credentials and endpoint from the environment.
        now: seconds since 1970.
        pause: lets seconds pass.
    """

    def __init__(self, table: Table, *, client: Any = None, now: Callable[[], float] = time.time, pause: Callable[[float], None] = time.sleep):
        self._table = table
        # Adaptive retries slow down when EC2 says so, and go on for about a minute.
        settings = botocore.config.Config(retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=70)
        self._ec2 = client or boto3.client("ec2", region_name=table.region, config=settings)
        self._now, self._pause = now, pause

    def view(self) -> Cloud:
        try:
            instances = tuple(self._instances([_filter(f"tag:{STACK_TAG}", self._table.stack), _filter(f"tag:{PART_TAG}", COMPUTE)]))
            noticed = self._noticed() if any(node_set.capacity_kind == "spot" for node_set in self._table.node_sets) else set()
            leases = dict(self._leases())
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            raise Unreachable(f"EC2 can't be asked what runs: {error}") from error
        return Cloud(tuple(dataclasses.replace(one, has_notice=one.id in noticed) for one in instances), leases)

    def launch(self, launch: Launch) -> Answer:
        node_set = self._table.by_name(launch.node_set)
        if node_set is None:
            return Answer((), Refusal.ERROR, f"{launch.node_set} is not in the fleet table")
        instances: list[Instance] = []
        for number, start in enumerate(range(0, len(launch.nodes), LAUNCH_AT_ONCE)):
            part = dataclasses.replace(
                launch, nodes=launch.nodes[start : start + LAUNCH_AT_ONCE], token=launch.token if number == 0 else f"{launch.token}-{number}"
            )
            answer = self._launch(part, node_set)
            instances += answer.instances
            if answer.refusal:
                return Answer(tuple(instances), answer.refusal, answer.detail)
        return Answer(tuple(instances))

    def terminate(self, instances: Sequence[str]) -> None:
        for start in range(0, len(instances), TERMINATE_AT_ONCE):
            self._terminate(list(instances[start : start + TERMINATE_AT_ONCE]))

    def console(self, instance: str) -> str:
        try:
            return str(self._ec2.get_console_output(InstanceId=instance).get("Output", ""))
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            return f"EC2 does not give it: {error}"

    def _instances(self, filters: list[dict[str, Any]]) -> Iterator[Instance]:
        owners = self._table.owners()
        for page in self._ec2.get_paginator("describe_instances").paginate(Filters=filters, PaginationConfig={"PageSize": 1000}):
            for reservation in page["Reservations"]:
                for found in reservation["Instances"]:
                    yield _instance(found, owners)

    def _noticed(self) -> set[str]:
        """Spot instances that EC2 has said it will take back."""
        found = self._ec2.get_paginator("describe_spot_instance_requests").paginate(Filters=[_filter("status-code", "marked-for-termination")])
        return {request["InstanceId"] for page in found for request in page["SpotInstanceRequests"] if "InstanceId" in request}

    def _leases(self) -> Iterator[tuple[str, Lease]]:
        blocks = {node_set.capacity_id: node_set for node_set in self._table.node_sets if node_set.capacity_kind == "block" and node_set.capacity_id}
        if not blocks:
            return
        for found in self._ec2.describe_capacity_reservations(CapacityReservationIds=[*blocks])["CapacityReservations"]:
            node_set = blocks.get(found["CapacityReservationId"])
            if node_set and found.get("EndDate"):
                yield node_set.name, Lease(found["StartDate"].timestamp(), found["EndDate"].timestamp() - BLOCK_ENDS_EARLY_S)

    def _launch(self, launch: Launch, node_set: NodeSet) -> Answer:
        try:
            known = [*self._instances([_filter(f"tag:{LAUNCH_TAG}", launch.token)])] if self._is_repeated(launch) else []
            live = [instance for instance in known if instance.life is Life.LIVE]
            if live:
                identities, refusal, detail = [instance.id for instance in live], None, ""
            else:
                identities, refusal, detail = (
                    self._run(launch, node_set) if node_set.capacity_kind in BOUGHT_BY_TEMPLATE else self._create_fleet(launch, node_set)
                )
            named = {instance.node: instance.id for instance in live if instance.node in launch.nodes}
            return Answer(self._named(launch, identities, named), refusal, detail)
        except botocore.exceptions.ClientError as error:
            return _refused(_code(error), error.response.get("Error", {}).get("Message", str(error)))
        except botocore.exceptions.BotoCoreError as error:
            return Answer((), Refusal.LATER, str(error))

    def _is_repeated(self, launch: Launch) -> bool:
        return self._now() - launch.requested_at > REPEATED_AFTER_S

    def _create_fleet(self, launch: Launch, node_set: NodeSet) -> tuple[list[str], Refusal | None, str]:
        """Start all of it in one zone, or at least one where nodes stand for themselves."""
        count = len(launch.nodes)
        template = {"LaunchTemplateId": node_set.launch_template, "Version": node_set.launch_template_version}
        # A template with interfaces of its own has its subnet there; only a choice between several is said here.
        overrides = [{"SubnetId": subnet, "InstanceType": node_set.machine} for subnet in node_set.subnets] if len(node_set.subnets) > 1 else []
        answer = self._ec2.create_fleet(
            ClientToken=launch.token,
            Type="instant",
            LaunchTemplateConfigs=[{"LaunchTemplateSpecification": template, **({"Overrides": overrides} if overrides else {})}],
            TargetCapacitySpecification={"TotalTargetCapacity": count, "DefaultTargetCapacityType": "on-demand"},
            OnDemandOptions={"MinTargetCapacity": count if launch.is_whole else 1, "SingleInstanceType": True, "SingleAvailabilityZone": True},
            TagSpecifications=[{"ResourceType": "fleet", "Tags": self._tags(launch)}, {"ResourceType": "instance", "Tags": self._tags(launch)}],
        )
        identities = [identity for one in answer.get("Instances", ()) for identity in one["InstanceIds"]]
        errors = answer.get("Errors", ())
        if len(identities) >= count or not errors:
            return identities, None, ""
        refused = _refused(errors[0].get("ErrorCode", ""), errors[0].get("ErrorMessage", ""))
        return identities, refused.refusal, refused.detail

    def _run(self, launch: Launch, node_set: NodeSet) -> tuple[list[str], Refusal | None, str]:
        answer = self._ec2.run_instances(
            ClientToken=launch.token,
            LaunchTemplate={"LaunchTemplateId": node_set.launch_template, "Version": node_set.launch_template_version},
            MinCount=len(launch.nodes) if launch.is_whole else 1,
            MaxCount=len(launch.nodes),
            TagSpecifications=[{"ResourceType": "instance", "Tags": self._tags(launch)}],
        )
        return [one["InstanceId"] for one in answer["Instances"]], None, ""

    def _tags(self, launch: Launch) -> list[dict[str, str]]:
        tags = {STACK_TAG: self._table.stack, CLUSTER_TAG: self._table.cluster, PART_TAG: COMPUTE, NODE_SET_TAG: launch.node_set, LAUNCH_TAG: launch.token}
        return [{"Key": key, "Value": value} for key, value in tags.items()]

    def _named(self, launch: Launch, identities: Sequence[str], named: Mapping[str, str]) -> tuple[Instance, ...]:
        """Give each instance its node, those that have one theirs."""
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
                if pause_s is None or _code(error) != "InvalidInstanceID.NotFound":
                    raise
                self._pause(pause_s)

    def _terminate(self, instances: list[str]) -> None:
        """End instances. EC2 refuses a whole list for one that it does not know: those are left out then, one answer at a time."""
        while instances:
            try:
                self._ec2.terminate_instances(InstanceIds=instances)
                return
            except botocore.exceptions.ClientError as error:
                unknown = [one for one in instances if one in error.response.get("Error", {}).get("Message", "")]
                if _code(error) != "InvalidInstanceID.NotFound" or not unknown:
                    raise Unreachable(f"EC2 does not end {', '.join(instances[:5])}: {error}") from error
                instances = [one for one in instances if one not in unknown]
            except botocore.exceptions.BotoCoreError as error:
                raise Unreachable(f"EC2 does not end {', '.join(instances[:5])}: {error}") from error


def _code(error: botocore.exceptions.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _filter(name: str, *values: str) -> dict[str, Any]:
    return {"Name": name, "Values": [*values]}


def _tag(tags: Iterable[Mapping[str, str]], key: str) -> str:
    return next((tag["Value"] for tag in tags if tag["Key"] == key), "")


def _instance(found: Mapping[str, Any], owners: Mapping[str, NodeSet]) -> Instance:
    tags = found.get("Tags", ())
    node, version = _tag(tags, NODE_TAG), _tag(tags, TEMPLATE_VERSION_TAG)
    node_set = owners.get(node)
    return Instance(
        id=found["InstanceId"],
        node=node,
        life=Life.LIVE if found["State"]["Name"] in LIVE_STATES else Life.ENDED,
        launched_at=found["LaunchTime"].timestamp(),
        address=found.get("PrivateIpAddress", ""),
        launch=_tag(tags, LAUNCH_TAG),
        is_outdated=bool(node_set and version and version != node_set.launch_template_version),
    )


def _refused(code: str, message: str) -> Answer:
    detail = f"{code}: {message}" if message else code
    if code in CAPACITY_CODES:
        return Answer((), Refusal.CAPACITY, code)
    if code in LIMIT_CODES:
        return Answer((), Refusal.LIMIT, detail)
    return Answer((), Refusal.LATER if code in LATER_CODES else Refusal.ERROR, detail)
