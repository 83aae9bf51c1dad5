"""The stack's part of Compute Engine: its instances, identified by labels, what ends or will end them, and start and end of bought capacity."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...memory import Launch
from ...model import Instance, Lease, Life
from ...table import NodeSet, Table
from .answers import ENDED_BECAUSE, HOST_ERROR, PREEMPTED
from .rest import Compute, Failed

OWNER_LABEL, PART_LABEL, COMPUTE = "clusterwright-owner", "clusterwright-part", "compute"
NODE_SET_LABEL, LAUNCH_LABEL, TEMPLATE_LABEL = "clusterwright-node-set", "clusterwright-launch", "clusterwright-template"
LIVE_STATES = frozenset({"PENDING", "PROVISIONING", "STAGING", "RUNNING", "REPAIRING"})
STOPPED_STATES = frozenset({"STOPPED", "SUSPENDED", "TERMINATED"})
"""An instance in such a state keeps its name until it is deleted."""
FIELDS = (
    "id,name,status,creationTimestamp,labels,networkInterfaces/networkIP,scheduling/provisioningModel,resourceStatus(upcomingMaintenance,physicalHostTopology)"
)
NOTICE_S = 600.0
"""Jobs leave a node so long before its host's maintenance begins. Maintenance is announced days ahead."""
ENDS_SHOWN_S = 3600.0
ENDS_AT_MOST = 2000
NOT_FOUND = 404


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where an instance is; `zone/name/number`, as its id is written in this program. The number is of this life of the name, and never used again: nobody takes an instance for an earlier one."""

    zone: str
    name: str
    number: str

    @classmethod
    def read(cls, identity: str) -> "Place":
        zone, name, number = identity.split("/")
        return cls(zone, name, number)

    def __str__(self) -> str:
        return f"{self.zone}/{self.name}/{self.number}"


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """An instance as Compute Engine lists it."""

    place: Place
    status: str
    labels: Mapping[str, str]
    began: float
    address: str
    model: str
    """How it was provisioned: `STANDARD`, `SPOT`, `FLEX_START`, …"""
    has_notice: bool
    place_in_network: tuple[str, ...]
    """Cluster, block and sub-block (compute.v1, ResourceStatusPhysicalHostTopology); empty: not said."""


class Inventory:
    """What Compute Engine says of one stack, whose compute nodes carry its mark; the table's `prefix` begins their names.

    Args:
        now: seconds since 1970.
    """

    def __init__(self, compute: Compute, table: Table, now: Callable[[], float]):
        self._compute, self._table, self._now = compute, table, now
        self._labels = {OWNER_LABEL: str(table.cloud.get("owner", "")), PART_LABEL: COMPUTE}
        self._prefix = str(table.cloud.get("prefix", ""))

    def name(self, node: str) -> str:
        """Give the name of a node's instance: names are the project's, of which others may have the same nodes."""
        return self._prefix + node

    def node(self, name: str) -> str:
        """Give the node of an instance; empty: it is of none."""
        return name.removeprefix(self._prefix) if name.startswith(self._prefix) else ""

    def seen(self, *, zones: Iterable[str] | None = None, **labels: str) -> list[Seen]:
        """List the stack's compute nodes with these labels."""
        wanted = " ".join(f'(labels.{name} = "{value}")' for name, value in {**self._labels, **labels}.items())
        found: list[Seen] = []
        for zone in self.zones() if zones is None else zones:
            found += (_seen(zone, one, self._now()) for one in self._compute.listed(f"zones/{zone}/instances", fields=FIELDS, filter=wanted))
        return found

    def zones(self) -> list[str]:
        return sorted({zone for node_set in self._table.node_sets for zone in self.zones_of(node_set)})

    def zones_of(self, node_set: NodeSet) -> tuple[str, ...]:
        """Give the zones of a node set: the stack's, unless its group chooses among several."""
        return tuple(node_set.start.get("zones") or (self._table.cloud["zone"],))

    def instances(self, seen: Iterable[Seen], launches: Mapping[str, str]) -> tuple[Instance, ...]:
        """Give what was seen as decisions see it.

        Args:
            launches: instance name → launch, of those without a label for it.
        """
        owners = self._table.owners()
        return tuple(self._instance(one, owners, launches) for one in seen)

    def _instance(self, one: Seen, owners: Mapping[str, NodeSet], launches: Mapping[str, str]) -> Instance:
        node = self.node(one.place.name)
        node_set, version = owners.get(node), one.labels.get(TEMPLATE_LABEL, "")
        return Instance(
            id=str(one.place),
            node=node,
            life=Life.LIVE if one.status in LIVE_STATES else Life.ENDED,
            launched_at=one.began,
            address=one.address,
            launch=one.labels.get(LAUNCH_LABEL) or launches.get(one.place.name, ""),
            is_outdated=bool(node_set and version and version != node_set.template),
            has_notice=one.has_notice,
            place=one.place_in_network,
        )

    def launched(self, launch: Launch, node_set: NodeSet) -> list[Seen]:
        """List what lives of a launch."""
        return [one for one in self.seen(zones=self.zones_of(node_set), **{LAUNCH_LABEL: launch.token}) if one.status in LIVE_STATES]

    def ended(self, seen: Mapping[str, Seen]) -> Iterator[Instance]:
        """Give the nodes' instances that Compute Engine itself ended a short while ago, which it may list no longer.

        Args:
            seen: by id.
        """
        kinds = [*([PREEMPTED] if any(node_set.capacity_kind == "spot" for node_set in self._table.node_sets) else []), HOST_ERROR]
        owners = self._table.owners()
        for zone in self.zones():
            for kind in kinds:
                for one in self._compute.listed(
                    f"zones/{zone}/operations",
                    fields="targetId,targetLink,insertTime",
                    most=ENDS_AT_MOST,
                    filter=f'operationType = "{kind}"',
                    orderBy="creationTimestamp desc",
                ):
                    at = moment(one.get("insertTime", ""))
                    if self._now() - at > ENDS_SHOWN_S:
                        break
                    place = Place(zone, str(one.get("targetLink", "")).rpartition("/")[2], str(one.get("targetId", "")))
                    node = self.node(place.name)
                    shown = seen.get(str(place))
                    if node in owners and not (shown and shown.status in LIVE_STATES):
                        yield Instance(str(place), node, Life.ENDED, launched_at=at, ended_because=ENDED_BECAUSE[kind])

    def leases(self) -> Iterator[tuple[str, Lease]]:
        """Give when capacity that was bought ahead begins and ends."""
        for node_set in self._table.node_sets:
            if node_set.capacity_kind == "block" and node_set.capacity_id:
                for lease in self._lease(node_set.capacity_id, self.zones_of(node_set)[0]):
                    yield node_set.name, lease

    def _lease(self, identity: str, zone: str) -> Iterator[Lease]:
        """Give the time of a reservation: its future reservation's, else its own end. One that Compute Engine doesn't know is over; nothing is known of one without an end, or of one
        that another project shares: controllers may read this project's alone."""
        words = identity.split("/")
        if words[0] == "projects" and words[1] != self._table.cloud.get("project"):
            return
        name = words[words.index("reservations") + 1] if "reservations" in words else identity
        for one in self._compute.listed(f"zones/{zone}/futureReservations"):
            made = {str(link).rpartition("/")[2] for link in one.get("status", {}).get("autoCreatedReservations", ())}
            if name in {one.get("name"), one.get("reservationName"), *made}:
                window = one.get("timeWindow", {})
                begin, length = moment(window.get("startTime", "")), float(window.get("duration", {}).get("seconds", 0))
                yield Lease(begin, moment(window.get("endTime", "")) or begin + length)
                return
        try:
            found = self._compute.call("GET", f"zones/{zone}/reservations/{name}")
        except Failed as failure:
            if failure.status != NOT_FOUND:
                raise
            yield Lease(0.0, self._now())
            return
        if found.get("deleteAtTime"):
            yield Lease(moment(found.get("creationTimestamp", "")), moment(found["deleteAtTime"]))


def moment(text: str) -> float:
    """Read a time in RFC 3339's form; 0: there is none."""
    return dt.datetime.fromisoformat(text).timestamp() if text else 0.0


def _seen(zone: str, found: Mapping[str, Any], now: float) -> Seen:
    interfaces = found.get("networkInterfaces") or [{}]
    return Seen(
        place=Place(zone, found["name"], str(found["id"])),
        status=found["status"],
        labels=found.get("labels", {}),
        began=moment(found.get("creationTimestamp", "")),
        address=interfaces[0].get("networkIP", ""),
        model=found.get("scheduling", {}).get("provisioningModel", ""),
        place_in_network=_place(found.get("resourceStatus", {}).get("physicalHostTopology", {})),
        has_notice=_has_notice(found.get("resourceStatus", {}).get("upcomingMaintenance", {}), now),
    )


def _place(topology: Mapping[str, str]) -> tuple[str, ...]:
    """Say where an instance runs, if Compute Engine says all of it."""
    place = tuple(topology.get(part, "") for part in ("cluster", "block", "subblock"))
    return place if all(place) else ()


def _has_notice(maintenance: Mapping[str, Any], now: float) -> bool:
    """Say whether maintenance that ends what runs on a host goes on or is about to begin."""
    if maintenance.get("maintenanceStatus") == "ONGOING":
        return True
    begins = maintenance.get("windowStartTime", "")
    return bool(begins) and moment(begins) - now <= NOTICE_S
