"""EC2: instances of the stack's launch templates, told apart by tags.

Launches carry a token, so that one whose answer was lost is repeated without being made twice, and the instances carry it as a tag. Nodes are assigned to instances afterwards by another tag, which
the instance reads at boot as its name: no call of EC2 gives each of several instances a tag of its own.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import botocore.client
import botocore.config
import botocore.exceptions

from ..act import Unended, Unreachable
from ..decide.resume import Answer, Refusal
from ..memory import PART, Launch
from ..model import Cloud, Instance, Lease, Life, NodeSet, Table
from .known import UNSAID, Known, Shelf, to_read, with_read

STACK_TAG, CLUSTER_TAG, PART_TAG = "clusterwright:stack", "clusterwright:cluster", "clusterwright:part"
OWNER_TAG = "clusterwright:owner"
NODE_TAG, NODE_SET_TAG, LAUNCH_TAG = "clusterwright:node", "clusterwright:node-set", "clusterwright:launch"
TEMPLATE_TAG, TEMPLATE_VERSION_TAG = "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version"
"""Put there by EC2 itself."""
COMPUTE = "compute"
LAUNCH_AT_ONCE = 500  # aws-parallelcluster-node, launch_max_batch_size
TERMINATE_AT_ONCE = 1000  # aws-parallelcluster-node, terminate_max_batch_size
MOST_REFUSED = 20
"""When so many are refused alone, it is not for one of them: the rest of a list is not halved any more."""
TAG_AT_A_TIME = 8
REPEATED_AFTER_S = 20.0
"""A launch that was asked for so long ago may be known to EC2 already."""
BLOCK_ENDS_EARLY_S = 1800.0
"""EC2 ends the instances of a capacity block 30 minutes before the block (EC2 User Guide, "Capacity Blocks for ML")."""
LIVE_STATES = ("pending", "running")
FILTER_VALUES_AT_ONCE = 200  # EC2 User Guide, "List and filter using the CLI and API": at most 200 values for a filter
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
EXPLAINED = {"Client.InternalError": "EC2 may not use the key of its disks for who started it"}
"""Word in what EC2 says of an instance's end → what it means (EC2 User Guide, "Troubleshoot instance launch issues", "Instance terminates immediately")."""
FAILURES = (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError)
NAME_AGAIN_AFTER_S = (1.0, 2.0, 4.0)
"""Then the next `sync` goes on."""


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
        self._shelf = shelf or Shelf(None, "")
        # Adaptive retries slow down when EC2 says so, and go on for about a minute.
        settings = botocore.config.Config(retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=70)
        self._ec2 = client or boto3.client("ec2", region_name=table.region, config=settings)
        self._now, self._pause = now, pause

    def view(self, *, is_brief: bool = False) -> Cloud:
        try:
            instances = self._all()
        except FAILURES as error:
            raise Unreachable(f"EC2 can't be asked what runs: {error}") from error
        if is_brief:
            return Cloud(instances, None)
        # What is beside the instances may fail for itself: nothing that is to end waits for it.
        unknown: list[str] = []
        noticed: set[str] = set()
        leases: dict[str, Lease] | None = None
        try:
            noticed = self._noticed() if any(node_set.capacity_kind == "spot" for node_set in self._table.node_sets) else set()
        except FAILURES as error:
            unknown.append(f"EC2 can't be asked which spot instances it takes back: {error}")
        try:
            leases = dict(self._leases())
        except FAILURES as error:
            unknown.append(f"EC2 can't be asked when capacity begins and ends, so reservations stay as they are: {error}")
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
        """End instances, whatever becomes of some of them.

        EC2 refuses a whole list for one that it does not know or may not end, and with a protected one all others of its zone (Amazon EC2 API Reference, TerminateInstances).
        Those that it names are left out then; where it names none, the list is halved until those that it refuses are alone.
        """
        waiting = [list(instances[start : start + TERMINATE_AT_ONCE]) for start in range(0, len(instances), TERMINATE_AT_ONCE)]
        refused: dict[str, str] = {}
        while waiting:
            some = waiting.pop()
            try:
                self._ec2.terminate_instances(InstanceIds=some)
            except botocore.exceptions.ClientError as error:
                named = [one for one in some if one in error.response.get("Error", {}).get("Message", "")]
                if _code(error) == "InvalidInstanceID.NotFound" and named:
                    pass  # gone
                elif _code(error) in LATER_CODES or len(refused) >= MOST_REFUSED:
                    refused |= dict.fromkeys((one for batch in (some, *waiting) for one in batch), str(error))
                    break
                elif named or len(some) == 1:
                    named = named or some
                    refused |= dict.fromkeys(named, str(error))
                else:
                    half = len(some) // 2
                    waiting += [some[:half], some[half:]]
                    continue
                waiting += [left] if (left := [one for one in some if one not in named]) else []
            except botocore.exceptions.BotoCoreError as error:
                refused |= dict.fromkeys((one for batch in (some, *waiting) for one in batch), str(error))
                break
        if refused:
            raise Unended(refused)

    def console(self, instance: str) -> str:
        try:
            return str(self._ec2.get_console_output(InstanceId=instance).get("Output", ""))
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            return f"EC2 does not give it: {error}"

    def _all(self) -> tuple[Instance, ...]:
        """Give all instances of the stack: how each is now, and the rest as it was read before."""
        states, now, owners = self._states(), self._now(), self._table.owners()
        seen = {one: state in LIVE_STATES for one, state in states.items()}
        asked = to_read(self._shelf.read(), seen, now)
        read = dict(self._described(asked, now))
        known = with_read(self._shelf.read(), seen, asked, read, now)
        self._shelf.write(known)
        return tuple(_instance(one, known[one], owners, lives=lives) for one, lives in seen.items() if known[one].is_ours)

    def _states(self) -> dict[str, str]:
        """Give how each instance of the region is, also those of others: this call knows no tags (Amazon EC2 API Reference, DescribeInstanceStatus)."""
        pages = self._ec2.get_paginator("describe_instance_status").paginate(IncludeAllInstances=True, PaginationConfig={"PageSize": 1000})
        return {one["InstanceId"]: one["InstanceState"]["Name"] for page in pages for one in page["InstanceStatuses"]}

    def _described(self, identities: Sequence[str], now: float) -> Iterator[tuple[str, Known]]:
        """Give those that are the stack's compute nodes; a filter, unlike a list of ids, may name what is not shown yet."""
        for start in range(0, len(identities), FILTER_VALUES_AT_ONCE):
            ours = [_filter(f"tag:{STACK_TAG}", self._table.stack), _filter(f"tag:{PART_TAG}", COMPUTE)]
            yield from self._read([*ours, _filter("instance-id", *identities[start : start + FILTER_VALUES_AT_ONCE])], now)

    def _read(self, filters: list[dict[str, Any]], now: float) -> Iterator[tuple[str, Known]]:
        for page in self._ec2.get_paginator("describe_instances").paginate(Filters=filters, PaginationConfig={"PageSize": 1000}):
            for reservation in page["Reservations"]:
                for found in reservation["Instances"]:
                    if self._is_ours(found.get("Tags", ())):
                        yield found["InstanceId"], _known(found, now)

    def _is_ours(self, tags: Sequence[Mapping[str, str]]) -> bool:
        """Tell the stack's from those of another stack of the same name; what was started before there were marks is known by its launch template."""
        if not self._table.owner:
            return True
        owner = _tag(tags, OWNER_TAG)
        return owner == self._table.owner if owner else _tag(tags, TEMPLATE_TAG) in {node_set.launch_template for node_set in self._table.node_sets}

    def _noticed(self) -> set[str]:
        """Spot instances that EC2 has said it will take back."""
        found = self._ec2.get_paginator("describe_spot_instance_requests").paginate(Filters=[_filter("status-code", "marked-for-termination")])
        return {request["InstanceId"] for page in found for request in page["SpotInstanceRequests"] if "InstanceId" in request}

    def _leases(self) -> Iterator[tuple[str, Lease]]:
        """Give when blocks begin and end; of a group of them each does at its own time, so that there is nothing to say of all."""
        named = [node_set.capacity_id for node_set in self._table.node_sets if node_set.capacity_kind == "block" and node_set.capacity_id]
        blocks = {identity for identity in named if not identity.startswith("arn:")}
        known = {identity: lease for identity in sorted(blocks) if (lease := self._lease(identity))}
        for node_set in self._table.node_sets:
            if node_set.capacity_kind == "block" and node_set.capacity_id in known:
                yield node_set.name, known[node_set.capacity_id]

    def _lease(self, identity: str) -> Lease | None:
        """Give when a block begins and ends; one that EC2 no longer knows is over, and of what it takes for no id nothing is known: no reason to leave everything else alone."""
        try:
            [found] = self._ec2.describe_capacity_reservations(CapacityReservationIds=[identity])["CapacityReservations"]
        except botocore.exceptions.ClientError as error:
            if not _code(error).startswith("InvalidCapacityReservationId"):
                raise
            return Lease(0.0, self._now()) if _code(error).endswith(".NotFound") else None
        return Lease(found["StartDate"].timestamp(), found["EndDate"].timestamp() - BLOCK_ENDS_EARLY_S) if found.get("EndDate") else None

    def _launch(self, launch: Launch, node_set: NodeSet) -> Answer:
        try:
            live = dict(self._launched(launch)) if self._is_repeated(launch) else {}
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
            return _refused(_code(error), error.response.get("Error", {}).get("Message", str(error)))
        except botocore.exceptions.BotoCoreError as error:
            return Answer((), Refusal.LATER, str(error))

    def _launched(self, launch: Launch) -> Iterator[tuple[str, Known]]:
        """Give what lives of a launch that was asked for before."""
        return self._read([_filter(f"tag:{LAUNCH_TAG}", launch.token), _filter("instance-state-name", *LIVE_STATES)], self._now())

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
        marked = tags | ({OWNER_TAG: self._table.owner} if self._table.owner else {})
        return [{"Key": key, "Value": value} for key, value in marked.items()]

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


def fleet(table: Table, folder: Path | None, *, keeps: bool) -> Aws:
    return Aws(table, shelf=Shelf(folder, f"{table.region}/{table.stack}", keeps=keeps))


def _code(error: botocore.exceptions.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _filter(name: str, *values: str) -> dict[str, Any]:
    return {"Name": name, "Values": [*values]}


def _tag(tags: Iterable[Mapping[str, str]], key: str) -> str:
    return next((tag["Value"] for tag in tags if tag["Key"] == key), "")


def _known(found: Mapping[str, Any], now: float) -> Known:
    tags = found.get("Tags", ())
    return Known(
        since=now,
        read_at=now,
        is_ours=True,
        node=_tag(tags, NODE_TAG),
        launch=_tag(tags, LAUNCH_TAG),
        version=_tag(tags, TEMPLATE_VERSION_TAG),
        launched_at=found["LaunchTime"].timestamp(),
        address=found.get("PrivateIpAddress", ""),
        ended_because="" if found["State"]["Name"] in LIVE_STATES else _reason(found),
    )


def _reason(found: Mapping[str, Any]) -> str:
    """Give why an instance ended, in EC2's words and where they tell nobody anything, in others."""
    said = str(found.get("StateReason", {}).get("Message") or UNSAID)
    meant = [meaning for word, meaning in EXPLAINED.items() if word in said]
    return f"{said} ({meant[0]})" if meant else said


def _instance(identity: str, known: Known, owners: Mapping[str, NodeSet], *, lives: bool) -> Instance:
    node_set = owners.get(known.node)
    return Instance(
        id=identity,
        node=known.node,
        life=Life.LIVE if lives else Life.ENDED,
        launched_at=known.launched_at,
        address=known.address,
        launch=known.launch,
        ended_because="" if lives else known.ended_because,
        is_outdated=bool(node_set and known.version and known.version != node_set.launch_template_version),
    )


def _refused(code: str, message: str) -> Answer:
    detail = f"{code}: {message}" if message else code
    if code in CAPACITY_CODES:
        return Answer((), Refusal.CAPACITY, code)
    if code in LIMIT_CODES:
        return Answer((), Refusal.LIMIT, detail)
    return Answer((), Refusal.LATER if code in LATER_CODES else Refusal.ERROR, detail)
