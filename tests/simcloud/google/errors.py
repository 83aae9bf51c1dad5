"""How Google writes an error: the reason, the number and the canonical status."""

from collections.abc import Mapping
from typing import Any

from ..core.failure import Refused

STATUSES: Mapping[int, str] = {  # google.rpc.Code by HTTP status
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS", 412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
}  # fmt: skip
CODES: Mapping[str, int] = {  # reason → number, for faults, which name a reason only
    "quotaExceeded": 403, "rateLimitExceeded": 403, "forbidden": 403, "accessNotConfigured": 403, "insufficientCapacity": 503, "backendError": 503, "internalError": 500,
    "InternalError": 500, "notFound": 404, "alreadyExists": 409, "conditionNotMet": 412, "authError": 401, "userRateLimitExceeded": 403,
}  # fmt: skip

KILL_ENGINE = "killEngine"
"""Reason of an answer by which the provider's plugin ends the engine and itself, as a test wished."""


def body(refused: Refused) -> tuple[int, dict[str, Any]]:
    """Give the number and the body of an error."""
    code = CODES.get(refused.code, refused.status)
    one = {"message": refused.message, "domain": "global", "reason": refused.code}
    return code, {"error": {"code": code, "message": refused.message, "errors": [one], "status": STATUSES.get(code, "UNKNOWN")}}


def invalid(field: str, value: Any, reason: str) -> Refused:
    """Refuse a value as Compute Engine does. Source: docs/compute/errors, "Invalid value for field"."""
    return Refused("invalid", f"Invalid value for field '{field}': '{value}'. {reason}")


def required(field: str) -> Refused:
    return Refused("required", f"Required field '{field}' not specified")


def missing(path: str) -> Refused:
    return Refused("notFound", f"The resource '{path}' was not found", status=404)


def exists(path: str) -> Refused:
    return Refused("alreadyExists", f"The resource '{path}' already exists", status=409)


def in_use(what: str, path: str, user: str) -> Refused:
    return Refused("resourceInUseByAnotherResource", f"The {what} resource '{path}' is already being used by '{user}'")
