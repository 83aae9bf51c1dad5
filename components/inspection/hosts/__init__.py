"""The hosts layer: what differs from what the roles configured. Pure."""

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints.finding import Finding
from blueprints.finding.subject import HostPart

from .. import role_defaults, servers
from ..codes import Code
from ..finding import Unchecked, digest, drift
from ..layer import Layer
from ..recorded_cluster import Known, KnownHost
from . import exposure, files, kernel, packages, ssh_keys, units, users

NOT_COMPARED = (
    ("content of shared file systems", "it belongs to its users"),
    ("state of the accounting database", "its tables change with every job; the scheduler's layer compares accounting"),
    ("keys in users' homes beside the stack's", "users may add their own"),
    ("programs, sockets and lingering sessions of users, UDP sockets", "users may run their own; programs open sockets for answers all the time"),
    ("sockets of pods, rules and routes of the network between them", "they come and go with pods and services; the scheduler's layer compares the objects"),
    ("compiled Python, profiles loaded in AppArmor", "Python writes the first itself; files below /etc/apparmor.d are compared with their record"),
    (
        "file systems beside the root's, /tmp, /var/tmp and /dev/shm; container images",
        "setuid files, capabilities and open modes are looked for on the root's file system",
    ),
    (
        "packages' files below /usr/share, /usr/include and of libraries, unless the package is held",
        "programs, units and modules of PAM are compared with every package",
    ),
    ("boot loader, initramfs, firmware, loaded kernel modules, eBPF programs", "they differ with machines and kernels; versions are compared"),
    ("what all hosts have alike and no record names", "routes, packet filters, DNS servers, MTU and settings of the kernel are compared among hosts"),
    ("a host that lies", "whoever is root can change records, programs and kernel; rebuild a host that somebody entered"),
)


WRITTEN_AT_RUN_TIME = (
    "/etc/kubernetes*", "/etc/cni/net.d/*", "/opt/cni/bin/*", "/opt/containerd*", "/etc/clusterwright/kubernetes/initialized", "/etc/clusterwright/kubernetes/joined",
)  # fmt: skip
"""What appears on hosts of Kubernetes that no role writes: certificates, static pods, network plug-ins."""


def findings(host: KnownHost, facts: Mapping[str, Any], known: Known, *, moment_s: float, shared: exposure.Common | None = None) -> Iterator[Finding]:
    """Compare one host with its records and with the cluster.

    Args:
        facts: what `program.host.facts` gave.
        moment_s: when it was asked, seconds since 1970.
        shared: what hosts have in common beyond their records.
    """
    name = host.name
    is_of_kubernetes = _is_of_kubernetes(name, known)
    # A new disk, or a server without the mark, is configured by the next `up`, which writes the record.
    if not facts.get("has_installation", True) and name in known.finished and ("server" not in facts or facts["server"]["mark"]):
        yield _record_gone(name)
    yield from files.findings(name, [one for one in _places(facts) if not (is_of_kubernetes and _is_of_its_runtime(one))])
    yield from packages.findings(name, facts)
    yield from units.findings(name, facts["units"])
    yield from kernel.findings(name, facts)
    if known.cluster.users and not is_of_kubernetes:
        yield from users.findings(name, facts["users"], known.cluster.users)
        yield from users.administrators(name, facts["groups"], known.cluster.users)
    yield from ssh_keys.of_root(name, facts, known)
    yield from ssh_keys.of_users(facts.get("user_keys", {}), known)
    if not is_of_kubernetes:
        yield from _munge_key(name, facts["munge_key_sha256"], known)
    yield from exposure.private_files(name, facts["private_files"])
    yield from exposure.hostname(name, facts["hostname"])
    if "exposure" in facts:
        yield from exposure.findings(name, facts, shared or exposure.Common())
    yield from _clock(name, facts["epoch_s"], moment_s)
    yield from pending(name, facts["pending"])


def _is_of_kubernetes(name: str, known: Known) -> bool:
    """Say whether a host belongs to Kubernetes, whose users reach it through the API server and log in nowhere."""
    kubernetes = known.cluster.kubernetes
    if kubernetes is None:
        return False
    groups = (*((kubernetes.control,) if kubernetes.control else ()), *(one.hosts for one in kubernetes.node_sets))
    return any(name in group.hostnames for group in groups)


def _is_of_its_runtime(difference: Mapping[str, Any]) -> bool:
    """Say whether kubeadm, containerd or a network plug-in added a place in the course of its work."""
    return difference["recorded"] is None and any(fnmatch.fnmatchcase(difference["path"], pattern) for pattern in WRITTEN_AT_RUN_TIME)


def _record_gone(name: str) -> Finding:
    remedy = f"`clusterwright rebuild {name}`: without the record nobody can tell what was changed on the host"
    what = "the host's record is gone: its files and packages are not compared"
    return drift(Code.RECORD_GONE, HostPart(name, "record"), what, remedy=remedy, desired="/var/lib/clusterwright/record, as configuring the host left it")


def unreachable(host: KnownHost, message: str) -> Finding:
    """Report a host that does not answer."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    is_refused = f"@{host.address}: Permission denied" in message  # and not the host that it is reached through
    return drift(
        Code.UNREACHABLE,
        HostPart(host.name, "SSH"),
        "the host refuses the stack's key" if is_refused else "the host does not answer",
        remedy=f"`clusterwright rebuild {host.name}`: {servers.KEY[0]}" if is_refused else f"check its console and power; {servers.GONE[0]}",
        desired="answers",
        recorded=f"{host.name} at {host.address}",
        actual=lines[-1] if lines else "no answer",
    )


def not_inspected(host: KnownHost, message: str) -> Finding:
    """Report a host that answers and gave no facts: nobody can tell what else differs on it."""
    remedy = f"correct what the message names, or `clusterwright rebuild {host.name}`"
    return drift(
        Code.NOT_INSPECTED,
        HostPart(host.name, "inspection"),
        "the host answers and can't be inspected",
        remedy=remedy,
        desired="facts of the host",
        actual=message,
    )


def unchecked(host: KnownHost, facts: Mapping[str, Any]) -> Iterator[Unchecked]:
    """Name what could not be compared on one host."""
    if not facts["has_record"]:
        yield Unchecked(Layer.HOSTS, f"{host.name}: files and packages", "the host has no record of them")
    elif not facts["is_born"]:
        yield Unchecked(Layer.HOSTS, f"{host.name}: files", "its first boot is not over; the host records its files at the end of the boot")
    if "exposure" in facts and (why := exposure.not_compared(facts["exposure"])):
        yield Unchecked(Layer.HOSTS, f"{host.name}: rights of files", why)


def _places(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Leave out files with rights that nothing gave them, and the mark of a server: those are findings of their own."""
    privileged = {one["path"] for one in facts.get("exposure", {}).get("privileged", ())}
    return [place for place in facts["places"] if place["path"] not in privileged and not ("server" in facts and place["path"] == servers.MARK)]


def _munge_key(host: str, sha256: str, known: Known) -> Iterator[Finding]:
    if known.munge_key_sha256 and sha256 != known.munge_key_sha256:
        yield drift(
            Code.MUNGE_KEY,
            HostPart(host, "MUNGE key"),
            "the key is not the cluster's: every message of this host is refused",
            remedy=f"`systemctl restart clusterwright-boot.service munge.service` on {host} restores the key",
            desired="the stack's key",
            recorded="the stack's key",
            actual="another key" if sha256 else "no key",
            digest=digest(sha256) if sha256 else "",
        )


def _clock(host: str, epoch_s: float, moment_s: float) -> Iterator[Finding]:
    most = float(role_defaults.defaults("time")["time_max_skew_s"])
    skew = epoch_s - moment_s
    if abs(skew) > most:
        yield drift(
            Code.CLOCK,
            HostPart(host, "clock"),
            f"the clock is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}: MUNGE refuses messages",
            remedy=f"`clusterwright drift fix --kind settings` restarts its time service; `chronyc tracking` on {host} names the source that its clock follows",
            desired=f"at most {most:.0f} s off",
            actual=f"{skew:+.0f} s",
        )


def pending(host: str, marks: list[str]) -> Iterator[Finding]:
    """Report configurations that were written and are not in use."""
    for mark in marks:
        what = f"a configuration of {mark} was written and is not in use yet"
        remedy = "`clusterwright up` continues where it was interrupted; a restart of the daemon puts the configuration in use, too"
        yield drift(Code.PENDING, HostPart(host, f"pending {mark}"), what, remedy=remedy)
