"""Kubernetes: the versions that the stack's own hosts can run, and how far versions may differ."""

import dataclasses
import functools
import re
from collections.abc import Mapping

from . import files

_ETCD_BUILD = "-0"
"""Kubernetes counts the builds of etcd's image for a version of etcd."""


@dataclasses.dataclass(frozen=True, slots=True)
class KubernetesVersion:
    """One version, with what this project installs together with it."""

    name: str
    """`1.34.4`."""
    built: bool
    """Whether this version of the project can install it."""
    etcd: str
    coredns: str
    pause: str
    containerd_min: str
    """The oldest container runtime that this version has run with."""
    end_of_support: str
    source: str
    as_of: str

    @property
    def images(self) -> tuple[str, ...]:
        """Name the images of the control plane and of every node, as kubeadm does."""
        parts = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
        own = tuple(f"registry.k8s.io/{part}:v{self.name}" for part in parts)
        return (
            *own,
            f"registry.k8s.io/coredns/coredns:{self.coredns}",
            f"registry.k8s.io/etcd:{self.etcd}{_ETCD_BUILD}",
            f"registry.k8s.io/pause:{self.pause}",
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Skew:
    """How many minor versions a component may be older than the API server."""

    kubelet: int
    kubectl: int
    upgrade: int
    """How many minor versions one upgrade may take."""
    source: str
    as_of: str


@dataclasses.dataclass(frozen=True, slots=True)
class Ranges:
    """Addresses inside a cluster, where the blueprint names none."""

    pod_cidr: str
    service_cidr: str
    node_prefix: int
    """The part of the pods' range that each node has."""
    port: int
    """Where the API server answers."""
    source: str
    as_of: str


@dataclasses.dataclass(frozen=True, slots=True)
class Namespaces:
    """Namespaces that are Kubernetes' own."""

    initial: tuple[str, ...]
    """What every cluster has from its start."""
    prefixes: tuple[str, ...]
    """How names begin that Kubernetes, or its service, keeps for itself."""
    source: str
    as_of: str


@functools.cache
def kubernetes_versions() -> Mapping[str, KubernetesVersion]:
    """Give every known version, the oldest first."""
    return {name: KubernetesVersion(name, **entry) for name, entry in files.mapping("kubernetes")["versions"].items()}


def kubernetes_version(wanted: str) -> KubernetesVersion | None:
    """Find a version that can be installed: the named one, or the newest of a minor version (`1.34`); empty: the default. None: there is none."""
    known = {version: one for version, one in kubernetes_versions().items() if one.built}
    name = wanted or str(files.mapping("kubernetes")["default"])
    return known.get(name) or next((one for one in reversed([*known.values()]) if one.name.startswith(f"{name}.")), None)


@functools.cache
def kubernetes_skew() -> Skew:
    """Give how far versions may differ."""
    return Skew(**files.mapping("kubernetes")["skew"])


@functools.cache
def kubernetes_ranges() -> Ranges:
    """Give the addresses inside a cluster where the blueprint names none."""
    return Ranges(**files.mapping("kubernetes")["ranges"])


@functools.cache
def kubernetes_namespaces(run_by: str) -> Namespaces:
    """Give the namespaces that are Kubernetes' own, or those of the offering that runs it."""
    entry, service = files.mapping("kubernetes")["namespaces"], files.mapping("kubernetes")["service_namespaces"].get(run_by, {"prefixes": []})
    return Namespaces(tuple(entry["initial"]), (entry["prefix"], *service["prefixes"]), entry["source"], entry["as_of"])


def containerd(system: str) -> str:
    """Give the version of the container runtime in a distribution's archive (`debian-13`); empty: unknown."""
    found = files.mapping("kubernetes")["containerd"].get(system)
    return str(found["version"]) if found else ""


def minor_version(version: str) -> int:
    """Read the minor version of `1.34.4` or `1.34`; 0: it says none."""
    found = re.match(r"v?1\.([0-9]+)", version)
    return int(found[1]) if found else 0
