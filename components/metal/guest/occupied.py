"""What a host runs already that a stack would take over: a Slurm, a database, a load balancer, a Kubernetes or what runs its containers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import packages
from .system import Refused

if TYPE_CHECKING:
    from collections.abc import Collection

    from .system import System

DAEMONS = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "munged")
PACKAGES = ("slurm", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurm-client", "slurm-wlm", "slurm-smd", "munge")
_CONTAINERS = (
    ("containerd", "crio", "dockerd", "etcd", "k3s-server", "k3s-agent", "kube-apiserver", "kubelet", "rke2"),
    ("containerd", "containerd.io", "cri-o", "docker-ce", "docker-registry", "docker.io", "etcd-server", "kubelet"),
)
OF_ROLES = {
    "control": (("mariadbd", "mysqld"), ("mariadb-server", "mysql-server")),
    "access": (("haproxy", "keepalived"), ("haproxy", "keepalived")),
    "kubernetes": _CONTAINERS,
    "kubernetes-node": _CONTAINERS,
}
"""Role of a host → daemons and packages that the stack takes over there. A version may follow a package's name (`mysql-server-8.0`)."""
PROGRAMS = (
    "/usr/local/sbin/slurmd",
    "/usr/local/sbin/slurmctld",
    "/opt/slurm/sbin/slurmd",
    "/opt/slurm/sbin/slurmctld",
    "/usr/sbin/slurmd",
    "/usr/sbin/slurmctld",
)
KUBERNETES = ("/etc/kubernetes/kubelet.conf", "/etc/kubernetes/admin.conf", "/etc/rancher/k3s", "/etc/rancher/rke2")
CONFIGURATIONS = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/usr/local/etc/slurm.conf", "/opt/slurm/etc/slurm.conf", "/etc/munge/munge.key")


def is_refused(package: str, role: str) -> bool:
    """Say whether a host with this package is refused, or whether it is another package of the same Slurm. Pure."""
    return package.startswith("slurm-") or _is_one_of(package, (*PACKAGES, *OF_ROLES.get(role, ((), ()))[1]))


def folders_of(role: str) -> tuple[str, ...]:
    """Name the folders of configuration of what a host is refused for. Pure."""
    return ("/etc/slurm", "/etc/munge", *(("/etc/kubernetes",) if role.startswith("kubernetes") else ()))


def units_of(role: str) -> frozenset[str]:
    """Name the units of what a host is refused for: those of Slurm and munge have names of their own (`units.OWN`). Pure."""
    return frozenset(f"{name.removesuffix('-server')}.service" for name in OF_ROLES.get(role, ((), ()))[1])


def _is_one_of(package: str, names: Collection[str]) -> bool:
    """Say whether a package is one of these; a version may follow its name."""
    return any(package == name or (package.startswith(f"{name}-") and package[len(name) + 1 :][:1].isdigit()) for name in names)


def found(system: System, role: str = "") -> list[str]:
    """Name what is there, each as a phrase.

    Args:
        role: of the host in the cluster; empty: whatever it will be of Slurm's.
    """
    of_role = [OF_ROLES.get(role, ((), ()))] if role else [OF_ROLES["control"], OF_ROLES["access"]]
    daemons = (*DAEMONS, *(name for names, _ in of_role for name in names))
    names = (*PACKAGES, *(name for _, names in of_role for name in names))
    installed = [name for name, package in sorted(packages.installed(system).items()) if package["state"] != "config-files" and _is_one_of(name, names)]
    return [
        *(f"{name} runs (process {pid})" for name, pid in _running(system, daemons)),
        *([f"installed packages: {', '.join(installed)}"] if installed else []),
        *([] if installed else [f"{path} is there" for path in PROGRAMS if os.path.exists(system.path(path))]),
        *(f"{path} is there" for path in (*CONFIGURATIONS, *(KUBERNETES if role.startswith("kubernetes") else ())) if os.path.exists(system.path(path))),
    ]


def require_free(system: System, role: str) -> None:
    """Refuse a host that runs what the stack would take over.

    Raises:
        Refused: with all that was found.
    """
    if there := found(system, role):
        raise Refused(
            "this host runs a scheduler or a service that is not the stack's",
            why="; ".join(there),
            remedy="take the host out of the inventory, or remove what it runs first; clusterwright changes no scheduler, database, load balancer or container runtime that it did not install",
        )


def _running(system: System, daemons: tuple[str, ...]) -> list[tuple[str, int]]:
    """Give the daemons that run: (name, process id). Those of containers on the host, which have a process namespace of their own, don't count."""
    own = _namespace(system, "self")
    running = []
    try:
        pids = sorted(int(name) for name in os.listdir(system.path("/proc")) if name.isdigit())
    except OSError:
        return []
    for pid in pids:
        name = system.read(f"/proc/{pid}/comm").strip()
        if name in daemons and _namespace(system, str(pid)) == own:
            running.append((name, pid))
    return running


def _namespace(system: System, process: str) -> str:
    try:
        return os.readlink(system.path(f"/proc/{process}/ns/pid"))
    except OSError:
        return ""
