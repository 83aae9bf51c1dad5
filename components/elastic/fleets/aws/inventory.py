"""The stack's part of EC2: its instances, identified by tags, notices for spot instances, and start and end of bought capacity."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import botocore.exceptions

from ...memory import Launch
from ...model import Instance, Lease, Life
from ...table import NodeSet, Table
from .answers import code, why_ended
from .known import Known, Shelf, to_read, with_read

STACK_TAG, CLUSTER_TAG, PART_TAG = "clusterwright:stack", "clusterwright:cluster", "clusterwright:part"
OWNER_TAG = "clusterwright:owner"
NODE_TAG, NODE_SET_TAG, LAUNCH_TAG = "clusterwright:node", "clusterwright:node-set", "clusterwright:launch"
TEMPLATE_TAG, TEMPLATE_VERSION_TAG = "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version"
"""Set by EC2 itself."""
COMPUTE = "compute"
BLOCK_ENDS_EARLY_S = 1800.0
"""EC2 ends the instances of a capacity block 30 minutes before the block (EC2 User Guide, "Capacity Blocks for ML")."""
LIVE_STATES = ("pending", "running")
FILTER_VALUES_AT_ONCE = 200  # EC2 User Guide, "List and filter using the CLI and API": at most 200 values for a filter


class Inventory:
    """What EC2 says of one stack.

    Args:
        ec2: boto3's EC2 client.
        cache: keeps what was read of instances.
        now: seconds since 1970.
    """

    def __init__(self, ec2: Any, table: Table, cache: Shelf, now: Callable[[], float]):
        self._ec2, self._table, self._cache, self._now = ec2, table, cache, now

    def instances(self) -> tuple[Instance, ...]:
        """Give all instances of the stack: how each is now, and the rest as it was read before."""
        states, now, owners = self._states(), self._now(), self._table.owners()
        seen = {one: state in LIVE_STATES for one, state in states.items()}
        asked = to_read(self._cache.read(), seen, now)
        read = dict(self._described(asked, now))
        known = with_read(self._cache.read(), seen, asked, read, now)
        self._cache.write(known)
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
        ours = self._table.cloud.get("owner")
        if not ours:
            return True
        owner = _tag(tags, OWNER_TAG)
        return owner == ours if owner else _tag(tags, TEMPLATE_TAG) in {node_set.start.get("launch_template") for node_set in self._table.node_sets}

    def noticed(self) -> set[str]:
        """Spot instances that EC2 has said it will take back."""
        found = self._ec2.get_paginator("describe_spot_instance_requests").paginate(Filters=[_filter("status-code", "marked-for-termination")])
        return {request["InstanceId"] for page in found for request in page["SpotInstanceRequests"] if "InstanceId" in request}

    def leases(self) -> Iterator[tuple[str, Lease]]:
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
            if not code(error).startswith("InvalidCapacityReservationId"):
                raise
            return Lease(0.0, self._now()) if code(error).endswith(".NotFound") else None
        return Lease(found["StartDate"].timestamp(), found["EndDate"].timestamp() - BLOCK_ENDS_EARLY_S) if found.get("EndDate") else None

    def launched(self, launch: Launch) -> Iterator[tuple[str, Known]]:
        """Give what lives of a launch that was asked for before."""
        return self._read([_filter(f"tag:{LAUNCH_TAG}", launch.token), _filter("instance-state-name", *LIVE_STATES)], self._now())


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
        ended_because="" if found["State"]["Name"] in LIVE_STATES else why_ended(found),
    )


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
        is_outdated=bool(node_set and known.version and known.version != node_set.template),
    )
