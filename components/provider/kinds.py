"""The table of all kinds that the provider serves."""

from typing import Any

from .. import registry
from ..finish.acceptance import Acceptance
from ..finish.group import Group
from ..secret.secret import Secret
from .kind import Kind


def kinds() -> tuple[Kind[Any], ...]:
    return (*registry.kinds(), Secret(), Group(), Acceptance())
