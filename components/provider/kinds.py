"""The table of all kinds that the provider serves."""

from typing import Any

from .. import registry
from ..finish.acceptance import Acceptance
from ..finish.group import Group
from ..kubernetes import acceptance
from ..kubernetes.addon import Addon
from ..kubernetes.objects import Objects
from ..kubernetes.release import Release
from ..secret.client_certificate import ClientCertificate
from ..secret.secret import Secret
from .kind import Kind


def kinds() -> tuple[Kind[Any], ...]:
    return (*registry.kinds(), Secret(), ClientCertificate(), Group(), Acceptance(), acceptance.Acceptance(), Release(), Addon(), Objects())
