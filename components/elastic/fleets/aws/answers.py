"""What EC2's error codes and reasons mean. Pure."""

from collections.abc import Mapping
from typing import Any

import botocore.exceptions

from ...decide.answers import Answer, Refusal

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
EXPLAINED = {"Client.InternalError": "EC2 may not use the KMS key of its disks on behalf of the caller that started it"}
"""Word in what EC2 says of an instance's end → what it means (EC2 User Guide, "Troubleshoot instance launch issues", "Instance terminates immediately")."""
UNSAID = "EC2 gives no reason"


def code(error: botocore.exceptions.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def refused(code: str, message: str) -> Answer:
    """Say which refusal an error code of a launch is."""
    detail = f"{code}: {message}" if message else code
    if code in CAPACITY_CODES:
        return Answer((), Refusal.CAPACITY, code)
    if code in LIMIT_CODES:
        return Answer((), Refusal.LIMIT, detail)
    return Answer((), Refusal.LATER if code in LATER_CODES else Refusal.ERROR, detail)


def why_ended(found: Mapping[str, Any]) -> str:
    """Give the reason why an instance ended: EC2's text, or a clearer one where EC2's is cryptic."""
    said = str(found.get("StateReason", {}).get("Message") or UNSAID)
    meant = [meaning for word, meaning in EXPLAINED.items() if word in said]
    return f"{said} ({meant[0]})" if meant else said
