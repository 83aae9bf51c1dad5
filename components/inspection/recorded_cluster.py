"""What is recorded of a stack that an inspection needs: the resolved cluster, its hosts, and the keys to connect to them."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from blueprints import spec, ssh_places

from ..finish.inventory import FinishedHost


@dataclasses.dataclass(frozen=True, slots=True)
class KnownHost:
    """A host as the stack records it."""

    name: str
    group: str
    role: str
    address: str
    incarnation: str
    host_key: str
    jump: str = ""
    """The host that it is reached through; empty: it is reached directly."""
    jump_key: str = ""
    port: int = ssh_places.SSH_PORT
    """Of its SSH server."""
    jump_command: str = ""
    """What carries the connection to the jump host (ssh_config(5), ProxyCommand); empty: the network."""

    @property
    def as_finished(self) -> FinishedHost:
        """Give the host as finishing sees it."""
        return FinishedHost(self.name, self.address, self.incarnation, self.host_key, self.jump, self.jump_key, self.jump_command, port=self.port)


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What is recorded of a stack. Holds secrets: it is never printed."""

    cluster: spec.ClusterSpec
    """The cluster as it was resolved when the stack was last brought up."""
    hosts: tuple[KnownHost, ...]
    private_key: str
    """OpenSSH private key with which the check connects to hosts."""
    admin_public: str
    munge_key_sha256: str
    """Of the key in base64."""
    user_keys: Mapping[str, str]
    """User → public key of the pair that the stack created."""
    acceptance: tuple[Mapping[str, Any], ...]
    """The checks of the last acceptance, failed ones included."""
    updated: dt.datetime | None
    """When the record was last written."""
    pending: tuple[str, ...]
    """Names of resources that an interrupted update was creating or changing."""
    resources: tuple[Mapping[str, Any], ...] = ()
    """What is recorded of each resource: `type`, `name`, `id`, `outputs`."""
    node_key: str = ""
    """Public SSH host key that compute nodes answer with where the stack gives one to all of them; empty: it doesn't."""
    node_key_since: dt.datetime | None = None
    """When that key was created: nodes that started earlier answer with another one."""
    accepted_at: dt.datetime | None = None
    """When the last acceptance began; None: an earlier version ran it."""
    acceptance_s: float | None = None
    """How long it took."""
    outdated: str = ""
    """Why its result no longer holds, as the last refresh saw it; empty: it holds."""
    repaired: str = ""
    """Which hosts were repaired since, for people; empty: none."""

    @property
    def finished(self) -> frozenset[str]:
        """Name the hosts that were configured."""
        groups = [one["outputs"] for one in self.resources if one["type"] == "clusterwright:finish:Group"]
        return frozenset(name for outputs in groups for name in (outputs.get("finished") or {}))
