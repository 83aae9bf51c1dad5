"""Start and delete Compute Engine instances of the stack's instance templates.

The instance of a node has the node's name, after the stack's prefix. One bulk request makes all instances of a launch. A launch that is repeated repeats its request with the same id, which Compute Engine
carries out once. A request that failed for a passing reason answers so for good, so each further attempt has an id of its own, which follows from the launch and the attempt's number.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...act import Underway, Unended, Unreachable
from ...decide.answers import Answer, Refusal
from ...memory import PART, Launch
from ...model import Cloud, Fault, Instance, Lease
from ...table import NodeSet, Table
from . import answers
from .answers import Why
from .flex import Queue, group_of, is_queued
from .inventory import COMPUTE, LAUNCH_LABEL, NODE_SET_LABEL, OWNER_LABEL, PART_LABEL, STOPPED_STATES, TEMPLATE_LABEL, Inventory, Place, Seen, moment
from .rest import Compute, Failed, request_id

LAUNCH_AT_ONCE = 5000  # cluster-toolkit, BULK_INSERT_LIMIT
AT_A_TIME = 8
IN_ONE_CALL = 1000  # compute.v1, regionInstanceGroupManagers.deleteInstances
REPEATED_AFTER_S = 20.0
"""Compute Engine may already know a launch that was requested this long ago."""
ANSWER_WITHIN_S = 60.0
"""How long a launch waits for its operation; what takes longer is asked for again by the next `sync`."""
REPORTED_WITHIN_S = 1800.0
"""A report takes 10 to 12 minutes, in which the instance must run on (AI Hypercomputer documentation, "Report faulty host")."""
LOOK_EVERY_S = 2.0
MOST_ATTEMPTS = 20
CONSOLE_BYTES = 16 * 1024
NOT_FOUND = 404
STANDARD = "STANDARD"
"""The provisioning model of an instance that names none (compute.v1, Scheduling.provisioningModel)."""


class Gcp:
    """The instances of one stack.

    Args:
        compute: the API; None: that of the table's project, with the token of this machine.
        now: seconds since 1970.
        pause: lets seconds pass.
    """

    def __init__(self, table: Table, *, compute: Compute | None = None, now: Callable[[], float] = time.time, pause: Callable[[float], None] = time.sleep):
        self._table, self._now, self._pause = table, now, pause
        self._compute = compute or Compute(str(table.cloud.get("project", "")))
        self._inventory = Inventory(self._compute, table, now)
        self._queue = Queue(self._compute, self._inventory, table, now)

    def view(self, *, is_brief: bool = False) -> Cloud:
        try:
            seen = self._inventory.seen()
            requests = [] if is_brief else self._queue.all()
        except Failed as failure:
            raise Unreachable(f"Compute Engine did not list the instances: {failure}") from failure
        instances = {one.id: one for one in self._inventory.instances(seen, self._queue.launches(requests))}
        if is_brief:
            return Cloud(tuple(instances.values()), None)
        # What is beside the instances may fail for itself: nothing that is to end waits for it.
        unknown: list[str] = []
        leases: dict[str, Lease] | None = None
        try:
            instances |= {one.id: one for one in self._inventory.ended({str(one.place): one for one in seen})}
        except Failed as failure:
            unknown.append(f"Compute Engine did not say which instances it ended: {failure}")
        try:
            leases = dict(self._inventory.leases())
        except Failed as failure:
            unknown.append(f"Compute Engine did not say when capacity starts and ends, so reservations stay as they are: {failure}")
        return Cloud(tuple(instances.values()), leases, tuple(unknown), self._queue.waiting(requests))

    def launch(self, launch: Launch) -> Answer:
        node_set = self._table.by_name(launch.node_set)
        if node_set is None:
            return Answer((), Refusal.ERROR, f"{launch.node_set} is not in the fleet table")
        instances: list[Instance] = []
        refused: list[Answer] = []
        for number, nodes in enumerate(requests(launch.nodes, node_set)):
            token = launch.token if number == 0 else f"{launch.token}{PART}{number}"
            part = dataclasses.replace(launch, nodes=nodes, token=token)
            answer = self._launch(part, node_set)
            instances += answer.instances
            if answer.refusal:
                refused.append(answer)
                if launch.is_whole:
                    break  # the job can't start; where nodes may come in part, one domain without capacity does not keep the others back
        # A request that is not answered yet is repeated, and all of the launch with it; a refusal would give its nodes up.
        why = next((one for one in refused if one.refusal in (Refusal.LATER, Refusal.QUEUED)), refused[0] if refused else Answer(()))
        return Answer(tuple(instances), why.refusal, why.detail)

    def terminate(self, instances: Sequence[str]) -> None:
        grouped: dict[str, list[Place]] = {}
        alone: list[Place] = []
        owners = self._table.owners()
        for place in map(Place.read, instances):
            node_set = owners.get(self._inventory.node(place.name))
            if node_set and is_queued(node_set):
                grouped.setdefault(group_of(node_set), []).append(place)
            else:
                alone.append(place)
        refused: dict[str, str] = {}
        for group, places in grouped.items():
            for start in range(0, len(places), IN_ONE_CALL):
                refused |= self._delete_from(group, places[start : start + IN_ONE_CALL])
        with ThreadPoolExecutor(max_workers=AT_A_TIME) as several:
            refused |= {str(place): why for place, why in zip(alone, several.map(self._delete, alone), strict=True) if why}
        if refused:
            raise Unended(refused)

    def withdraw(self, requests: Sequence[str]) -> None:
        for request in requests:
            try:
                self._queue.withdraw(request)
            except Failed as failure:
                raise Unreachable(f"the request {request} can't be cancelled: {failure}") from failure

    def report(self, instance: str, fault: Fault, why: str, *, waits: bool = True) -> None:
        place = Place.read(instance)
        body = {"disruptionSchedule": "IMMEDIATE", "faultReasons": [{"behavior": fault.value.upper().replace("-", "_"), "description": why}]}
        query = {"requestId": request_id("report", instance, fault.value)}
        try:
            asked = self._compute.call("POST", f"zones/{place.zone}/instances/{place.name}/reportHostAsFaulty", query, body)
            operation = self._finished(place.zone, asked, within_s=REPORTED_WITHIN_S if waits else 0)
        except Failed as failure:
            if failure.is_passing:  # it may have taken the report, which says who it is when it is made again
                raise Underway(f"Compute Engine did not answer the report: {failure}") from failure
            raise Unreachable(f"Compute Engine refused the report: {failure}") from failure
        if operation["status"] != "DONE":
            raise Underway(f"Compute Engine still works on the report ({operation['name']}); leave the instance running, and run the same command again")
        if found := answers.errors(operation.get("error")):
            raise Unreachable(f"Compute Engine refused the report: {answers.failed(found).detail}")

    def console(self, instance: str) -> str:
        place = Place.read(instance)
        try:
            shown = self._compute.call("GET", f"zones/{place.zone}/instances/{place.name}/serialPort", {"start": str(-CONSOLE_BYTES)})
        except Failed as failure:
            return f"Compute Engine did not return it: {failure}"
        return str(shown.get("contents", ""))

    def _launch(self, launch: Launch, node_set: NodeSet) -> Answer:
        try:
            made, why = self._from_queue(launch, node_set) if is_queued(node_set) else self._inserted(launch, node_set)
        except Failed as failure:
            return answers.refused(failure).with_instances()
        if wrong := self._of_another_model(made, node_set):
            return wrong
        instances = self._inventory.instances(made, {one.place.name: launch.token for one in made})
        return why.with_instances(*instances) if why else Answer(instances)

    def _inserted(self, launch: Launch, node_set: NodeSet) -> tuple[list[Seen], Why | None]:
        """Make the instances of a launch, and give those that are made, with the reason for those that are not."""
        made = self._inventory.launched(launch, node_set) if self._now() - launch.requested_at > REPEATED_AFTER_S else []
        wanted = launch.nodes
        for attempt in range(MOST_ATTEMPTS):
            if not self._missing(launch, made):
                return made, None
            zone = self._inventory.zones_of(node_set)[0]
            try:
                operation = self._finished(zone, self._insert(launch, wanted, node_set, attempt))
            except Failed as failure:
                why = answers.refused(failure)
                if not why.is_taken:
                    raise
                made = self._inventory.launched(launch, node_set)
                if not (missing := self._missing(launch, made)):
                    return made, None
                if launch.is_whole or missing == wanted:
                    return made, self._taken(missing, node_set) or why
                wanted = missing
                continue
            if operation["status"] != "DONE":
                return [], Why(Refusal.LATER, f"Compute Engine still works on it ({operation['name']})")
            made = self._inventory.launched(launch, node_set)
            missing = self._missing(launch, made)
            if not missing:
                return made, None
            found = (*self._errors_of_each(zone, operation), *answers.errors(operation.get("error")))
            if not found:
                return made, Why(Refusal.LATER, f"Compute Engine shows {len(made)} of {len(launch.nodes)} instances")
            why = answers.failed(found)
            if why.is_taken and (taken := self._taken(missing, node_set)):
                return made, taken
            is_new = self._now() - moment(operation.get("insertTime", "")) < REPEATED_AFTER_S
            if why.refusal is not Refusal.LATER or is_new:
                return made, why
            wanted = launch.nodes if launch.is_whole else missing
        return made, Why(Refusal.ERROR, f"{MOST_ATTEMPTS} attempts failed")

    def _errors_of_each(self, zone: str, operation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Give the errors of the operations that made single instances: the bulk operation may say no more than that too few came, or nothing (cluster-toolkit, resume.py)."""
        group = operation.get("operationGroupId")
        if not group:
            return []
        single = self._compute.listed(f"zones/{zone}/operations", fields="operationType,error", filter=f'operationGroupId = "{group}"')
        return [error for one in single if one.get("operationType") == "insert" for error in answers.errors(one.get("error"))]

    def _missing(self, launch: Launch, made: Sequence[Seen]) -> tuple[str, ...]:
        names = {one.place.name for one in made}
        return tuple(node for node in launch.nodes if self._inventory.name(node) not in names)

    def _insert(self, launch: Launch, nodes: Sequence[str], node_set: NodeSet, attempt: int) -> Mapping[str, Any]:
        labels = {
            **node_set.start.get("labels", {}),
            OWNER_LABEL: self._table.cloud["owner"],
            PART_LABEL: COMPUTE,
            NODE_SET_LABEL: launch.node_set,
            LAUNCH_LABEL: launch.token,
            **({TEMPLATE_LABEL: node_set.template} if node_set.template else {}),
        }
        policy = domain_policy(nodes[0], node_set)
        body = {
            "count": str(len(nodes)),
            "minCount": str(len(nodes) if launch.is_whole else 1),
            "sourceInstanceTemplate": node_set.start.get("instance_template", ""),
            "instanceProperties": {"labels": labels, **({"resourcePolicies": [policy]} if policy else {})},
            "perInstanceProperties": {self._inventory.name(node): {} for node in nodes},
        }
        query = {"requestId": request_id("launch", launch.token, str(attempt), *nodes)}
        return self._compute.call("POST", f"zones/{self._inventory.zones_of(node_set)[0]}/instances/bulkInsert", query, body)

    def _finished(self, zone: str, operation: Mapping[str, Any], *, within_s: float = ANSWER_WITHIN_S) -> Mapping[str, Any]:
        """Wait for an operation, for a while."""
        until = self._now() + within_s
        while operation["status"] != "DONE" and self._now() < until:
            self._pause(LOOK_EVERY_S)
            operation = self._compute.call("GET", f"zones/{zone}/operations/{operation['name']}")
        return operation

    def _taken(self, nodes: Sequence[str], node_set: NodeSet) -> Why | None:
        """Delete stopped instances that keep the names of nodes; a name that is nobody's of the stack is somebody else's."""
        names = {self._inventory.name(node) for node in nodes}
        others = [one for one in self._inventory.seen(zones=self._inventory.zones_of(node_set)) if one.place.name in names]
        if not others:
            return Why(
                Refusal.ERROR,
                f"instances of these names exist in {self._inventory.zones_of(node_set)[0]} and are not the stack's: {', '.join(sorted(names)[:3])}",
            )
        for one in others:
            if one.status in STOPPED_STATES:
                self._delete(one.place)
        return None

    def _from_queue(self, launch: Launch, node_set: NodeSet) -> tuple[list[Seen], Why | None]:
        """Request flex-start capacity; what is not there yet waits in Compute Engine's queue."""
        requests = self._queue.submit(launch, node_set)
        waiting = next((one.why for one in requests if one.why and one.why.refusal is Refusal.QUEUED), None)
        failed = next((one.why for one in requests if one.why and one.why.refusal is not Refusal.QUEUED), None)
        if taken := [node for one in requests if one.why and one.why.is_taken for node in one.nodes]:
            failed = self._taken(taken, node_set) or failed
        served = {self._inventory.name(node) for one in requests if one.state == "SUCCEEDED" for node in one.nodes}
        made = [one for one in self._inventory.seen(zones=self._inventory.zones_of(node_set)) if one.place.name in served] if served else []
        if len(made) < len(served):
            waiting = waiting or Why(Refusal.LATER, f"Compute Engine shows {len(made)} of {len(served)} instances")
        return made, waiting or failed

    def _of_another_model(self, made: Sequence[Seen], node_set: NodeSet) -> Answer | None:
        """Delete instances that were not provisioned as the pool says: they cost more, or never end. A template can lose the model unnoticed (terraform-provider-google#24172)."""
        wanted = node_set.start.get("provisioning_model")
        wrong = [one for one in made if wanted and (one.model or STANDARD) != wanted]
        if not wrong:
            return None
        detail = f"the template of {node_set.name} starts instances as {wrong[0].model or STANDARD}, not as {wanted}"
        try:
            self.terminate([str(one.place) for one in made])
        except Unended as error:
            detail += f"; {error}"
        return Answer((), Refusal.ERROR, detail)

    def _delete(self, place: Place) -> str:
        """Delete an instance; return why it can't be deleted, empty: it is, or was gone.

        By name: the controllers' permission holds for names that begin as the stack's.
        """
        try:
            self._compute.call("DELETE", f"zones/{place.zone}/instances/{place.name}", {"requestId": request_id("delete", str(place), str(self._now()))})
        except Failed as failure:
            return "" if failure.status == NOT_FOUND else str(failure)
        return ""

    def _delete_from(self, group: str, places: Sequence[Place]) -> dict[str, str]:
        """Delete instances of a group, which would replace those that are deleted otherwise."""
        body = {"instances": [f"zones/{place.zone}/instances/{place.name}" for place in places], "skipInstancesOnValidationError": True}
        try:
            self._compute.call("POST", f"{group}/deleteInstances", {"requestId": request_id("delete", *map(str, places), str(self._now()))}, body)
        except Failed as failure:
            return {} if failure.status == NOT_FOUND else {str(place): str(failure) for place in places}
        return {}


def requests(nodes: Sequence[str], node_set: NodeSet) -> list[tuple[str, ...]]:
    """Divide nodes among bulk requests: those of an NVLink domain are one, as a domain has a placement policy of its own."""
    grouped: dict[str, list[str]] = {}
    for node in nodes:
        grouped.setdefault(domain_policy(node, node_set), []).append(node)
    return [tuple(some[start : start + LAUNCH_AT_ONCE]) for some in grouped.values() for start in range(0, len(some), LAUNCH_AT_ONCE)]


def domain_policy(node: str, node_set: NodeSet) -> str:
    """Give the placement policy of a node's NVLink domain; empty: its nodes are in none."""
    domains, number = node_set.start.get("domains") or (), node_set.number(node)
    return str(domains[number // int(node_set.start["domain_nodes"])]) if domains and number is not None else ""
