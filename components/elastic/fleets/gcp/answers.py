"""What Compute Engine's error codes mean. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ...decide.answers import Answer, Refusal
from .rest import STOCK_OUT, Failed

TOO_FEW = "VM_MIN_COUNT_NOT_REACHED"
"""Comes beside the code that says why."""
TAKEN_CODES = frozenset({"RESOURCE_ALREADY_EXISTS", "alreadyExists"})
"""A name is still an earlier instance's."""
CAPACITY_CODES = frozenset(
    {
        TOO_FEW,
        STOCK_OUT,
        "IP_SPACE_EXHAUSTED",
        "IP_SPACE_EXHAUSTED_WITH_DETAILS",
        "REGION_RESOURCE_POOL_EXHAUSTED",
        "ZONE_RESOURCE_POOL_EXHAUSTED",
        "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
    }
)
CONDITION_CODES = frozenset({"CONDITION_NOT_MET", "conditionNotMet"})
NO_ROOM, NOT_OPEN = "available resources for the request", "to be in READY state"
"""What the message of such a code says of a reservation that is full (an earlier instance may still leave it), and of one that has not begun
(kubernetes/autoscaler, cluster-autoscaler/cloudprovider/gce/autoscaling_gce_client.go). Any other condition does not come true by waiting."""
LIMIT_CODES = frozenset({"QUOTA_EXCEEDED", "quotaExceeded", "limitExceeded"})
LATER_CODES = frozenset(
    {
        *TAKEN_CODES,
        "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED",
        "INTERNAL_ERROR",
        "RATE_LIMIT_EXCEEDED",
        "RESOURCE_NOT_READY",
        "RESOURCE_OPERATION_RATE_EXCEEDED",
        "resourceNotReady",
    }
)
"""Compute Engine docs, "Troubleshooting bulk VM creation", "Troubleshooting resource availability errors", "Allocation quotas" and "Rate quotas"; cluster-toolkit, resume.py."""
PREEMPTED, HOST_ERROR = "compute.instances.preempted", "compute.instances.hostError"
ENDED_BECAUSE = {PREEMPTED: "Compute Engine took the spot instance back", HOST_ERROR: "the host of the instance failed"}
"""Type of an operation that Compute Engine itself begins → what it did (Compute Engine docs, "Audit logging", system events)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Why:
    refusal: Refusal
    detail: str
    is_taken: bool = False

    def with_instances(self, *instances: Any) -> Answer:
        return Answer(instances, self.refusal, self.detail)


def refused(failure: Failed) -> Why:
    """Say what a refused request means."""
    return Why(Refusal.LATER, str(failure)) if failure.is_passing else _meant(failure.reason, failure.message)


def errors(record: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], ...]:
    """Give the errors of an operation or of a request for instances."""
    return tuple((record or {}).get("errors", ()))


def failed(found: Sequence[Mapping[str, Any]]) -> Why:
    """Say what the errors of an operation mean; of several, the first that is a cause counts."""
    first = next((one for one in found if one.get("code") != TOO_FEW), found[0])
    return _meant(str(first.get("code", "")), str(first.get("message", "")))


def _meant(code: str, message: str) -> Why:
    detail = f"{code}: {message}" if message else code
    if code in CONDITION_CODES and NO_ROOM in message:
        return Why(Refusal.CAPACITY, detail)
    if code in CONDITION_CODES and NOT_OPEN in message:
        return Why(Refusal.LATER, detail)
    if code in CAPACITY_CODES:
        return Why(Refusal.CAPACITY, code)
    if code in LIMIT_CODES:
        return Why(Refusal.LIMIT, detail)
    return Why(Refusal.LATER if code in LATER_CODES else Refusal.ERROR, detail, is_taken=code in TAKEN_CODES)
