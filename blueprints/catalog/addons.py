"""Add-ons of Kubernetes clusters: versions that are tested together, where each is installed, and what it can't run beside."""

import dataclasses
import enum
import functools
from collections.abc import Mapping
from typing import Any

from . import files


class When(enum.StrEnum):
    """Where an add-on is installed unless the blueprint says otherwise."""

    ALWAYS = "always"
    DEFAULT = "default"
    ASKED = "asked"
    METRICS = "metrics"
    GPUS = "gpus"
    SIMULATED_GPUS = "simulated-gpus"
    FABRICS = "fabrics"
    POD_NETWORK = "pod-network"
    OWN_NETWORK = "own-network"
    SECONDARY_NETWORKS = "secondary-networks"


class InstalledBy(enum.StrEnum):
    """What installs an add-on: the roles of the control plane, or the API server when all nodes have joined."""

    HOSTS = "hosts"
    API = "api"


@dataclasses.dataclass(frozen=True, slots=True)
class Addon:
    name: str
    title: str
    version: str
    when: When
    installed_by: InstalledBy
    source: str
    as_of: str
    images: tuple[str, ...]
    """As its manifests name them."""
    published: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Image → digest, of those that their publisher builds."""
    is_built: bool = False
    """Whether this version can install it."""
    excludes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Those that its manifests create."""
    kubernetes_min: str = ""
    """The oldest minor version of Kubernetes that its project supports; empty: unknown."""

    @property
    def can_be_chosen(self) -> bool:
        """Whether a blueprint can switch it on or off."""
        return self.when not in (When.ALWAYS, When.POD_NETWORK, When.SIMULATED_GPUS, When.SECONDARY_NETWORKS)


@functools.cache
def addons() -> Mapping[str, Addon]:
    """Give every add-on by its name, in the order in which they are installed."""
    return {name: _addon(name, **entry) for name, entry in files.mapping("addons").items()}


def _addon(
    name: str,
    *,
    when: str,
    installed_by: str,
    images: list[str],
    built: bool = False,
    excludes: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    namespaces: tuple[str, ...] = (),
    **rest: Any,
) -> Addon:
    return Addon(
        name,
        when=When(when),
        installed_by=InstalledBy(installed_by),
        images=tuple(images),
        is_built=built,
        excludes=tuple(excludes),
        needs=tuple(needs),
        namespaces=tuple(namespaces),
        **rest,
    )
