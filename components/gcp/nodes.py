"""Termination of a node set's instances on Google Cloud, which can't delete what nodes use: subnets, placement policies, service accounts."""

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from .. import node_termination
from ..provider.kind import Work
from . import instances, rest

AT_A_TIME = 16
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


class Nodes(node_termination.Nodes[NodesInputs]):
    """The instances of one node set."""

    token = "clusterwright:gcp:Nodes"
    inputs = NodesInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"project", "zone"})

    def termination(self, inputs: NodesInputs, work: Work) -> Callable[[], bool]:
        return _Termination(inputs, work)


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
            with ThreadPoolExecutor(AT_A_TIME) as pool:
                refusals = [*pool.map(self._delete, lasting)]
            if refused := next((one for one in refusals if one is not None), None):
                raise refused
        return not ours and not is_starting

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
