"""Termination of a node set's instances on Google Cloud, which can't delete what nodes use: subnets, placement policies, service accounts."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from ..cloud import node_termination
from ..provider.kind import Work
from . import instances, rest

AT_A_TIME = 16
IN_ONE_CALL = 1000  # compute.v1, regionInstanceGroupManagers.deleteInstances
WAITING = ("CREATING", "ACCEPTED")
"""States of a request whose capacity can still come (compute.v1, InstanceGroupManagerResizeRequest.state)."""
AGAIN_AFTER_S = 240.0
"""An instance that is still there was asked to end without success; machines with eight GPUs take minutes to shut down."""
PASSING = frozenset({"resourceNotReady", "resourceInUseByAnotherResource", "operationInProgress"})
"""Reasons for which an instance can't be deleted yet: it is still starting, or changes (Compute Engine API, errors)."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodesInputs:
    project: str
    zone: str
    stack: str
    cluster: str
    owner: str
    """The stack's mark."""
    node_set: str
    starter: str
    """Address of the service account that starts nodes."""
    group: str = ""
    """Path of the group in whose queue nodes are requested, which would replace nodes that are deleted one by one; empty: there is none."""


class Nodes(node_termination.Nodes[NodesInputs]):
    """The instances of one node set."""

    token = "clusterwright:gcp:Nodes"
    inputs = NodesInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"project", "zone"})

    def termination(self, inputs: NodesInputs, work: Work) -> Callable[[], bool]:
        terminating = _Termination(inputs, work)
        terminating.cancel_requests()
        return terminating


class _Termination:
    """Delete the instances that remain; say whether there were none."""

    def __init__(self, inputs: NodesInputs, work: Work):
        self._inputs, self._work, self._compute = inputs, work, rest.Compute(inputs.project)
        self._asked: dict[str, float] = {}
        """Id of an instance that is being deleted → when that was asked for."""

    def __call__(self) -> bool:
        inputs = self._inputs
        try:
            # Asked first: what it still makes is listed afterwards.
            is_starting = self._is_starting()
            found = instances.look(self._compute, stack=inputs.stack, zone=inputs.zone, node_set=inputs.node_set)
        except rest.Silent as silent:
            self._work.say(f"instances terminate; {silent}")
            return False
        ours = [one for one in found if one.owner == inputs.owner and one.part == instances.COMPUTE]
        lasting = [one for one in ours if time.monotonic() - self._asked.get(one.id, -AGAIN_AFTER_S) >= AGAIN_AFTER_S]
        if lasting:
            self._work.say(f"terminating {len(lasting)} instances")
            self._delete_all(lasting)
        return not ours and not is_starting

    def cancel_requests(self) -> None:
        """Cancel requests that wait for capacity: it could come while the stack goes."""
        group = self._inputs.group
        if not group or self._compute.find(group) is None:
            return
        for one in self._compute.items(f"{group}/resizeRequests"):
            if one.get("state") in WAITING:
                self._work.say(f"cancelling the request {one['name']}")
                self._compute.start("POST", f"{group}/resizeRequests/{one['name']}/cancel")

    def _delete_all(self, lasting: Sequence[instances.Instance]) -> None:
        if self._inputs.group:
            for start in range(0, len(lasting), IN_ONE_CALL):
                self._delete_from_group(lasting[start : start + IN_ONE_CALL])
            return
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            refusals = [*pool.map(self._delete, lasting)]
        if refused := next((one for one in refusals if one is not None), None):
            raise refused

    def _delete_from_group(self, several: Sequence[instances.Instance]) -> None:
        named = [f"zones/{self._inputs.zone}/instances/{one.name}" for one in several]
        self._compute.start("POST", f"{self._inputs.group}/deleteInstances", {"instances": named, "skipInstancesOnValidationError": True})
        self._asked |= {one.id: time.monotonic() for one in several}

    def _is_starting(self) -> bool:
        """Say whether a request of the controller, which is gone by now, still makes instances."""
        asked = self._compute.items(f"zones/{self._inputs.zone}/operations", {"filter": '(operationType = "bulkInsert") (status != "DONE")'})
        return any(one.get("user") == self._inputs.starter for one in asked)

    def _delete(self, instance: instances.Instance) -> rest.Failed | None:
        """Begin the deletion of an instance; return why that is refused for good."""
        try:
            with rest.missing():
                self._compute.start("DELETE", f"zones/{self._inputs.zone}/instances/{instance.name}")
        except rest.Failed as failed:
            return None if failed.code in PASSING else failed
        self._asked[instance.id] = time.monotonic()
        return None
