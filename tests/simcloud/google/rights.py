"""Who calls."""

from typing import TYPE_CHECKING

from ..core.failure import Refused
from .rules import Call

if TYPE_CHECKING:
    from .cloud import Cloud

OWNER = "user:owner@example.com"


def caller(cloud: "Cloud", token: str) -> str:
    """Give the member whose token it is.

    Raises:
        Refused: the credentials have expired.
    """
    if cloud.setting("credentials_expired"):
        message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."
        raise Refused("authError", message, status=401)
    return OWNER


def check(cloud: "Cloud", call: Call) -> None:
    """Refuse what the caller may not do."""


def may(cloud: "Cloud", member: str, permission: str, resource: str) -> bool:
    """Say whether a member has a permission on a resource."""
    return True
