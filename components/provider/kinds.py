"""The table of all kinds that the provider serves, each loaded when the engine first asks for one of its package: a Slurm cluster needs nothing of Kubernetes."""

import functools
import threading
from collections.abc import Mapping
from typing import Any

from .. import registry
from .kind import Kind

PACKAGES: Mapping[str, tuple[str, ...]] = {
    **{name: target.kinds for name, target in registry.TARGETS.items()},
    "secret": ("components.secret.secret:Secret", "components.secret.client_certificate:ClientCertificate"),
    "finish": ("components.finish.group:Group",),
    "accept": ("components.finish.acceptance:Acceptance",),
    "kubernetes": (
        "components.kubernetes.acceptance:Acceptance",
        "components.kubernetes.release:Release",
        "components.kubernetes.mirror:Mirror",
        "components.kubernetes.kwok_nodes:Nodes",
        "components.kubernetes.addon:Addon",
        "components.kubernetes.objects:Objects",
    ),
}
"""The second part of a kind's token (`clusterwright:local:Site`) → the kinds that have it."""

_loading = threading.Lock()


def named(token: str) -> Kind[Any]:
    """Give the kind of a token.

    Raises:
        KeyError: there is none.
    """
    _, package, _ = token.split(":")
    with _loading:  # the engine asks for many resources at once, and a kind is one object
        return of_package(package)[token]


@functools.cache
def of_package(package: str) -> Mapping[str, Kind[Any]]:
    """Give the kinds of a package by their tokens."""
    made = [registry.load(kind)() for kind in PACKAGES[package]]
    return {kind.token: kind for kind in made}


def kinds() -> Mapping[str, Kind[Any]]:
    """Give all kinds by their tokens, which loads all of them."""
    return {token: kind for package in PACKAGES for token, kind in of_package(package).items()}
