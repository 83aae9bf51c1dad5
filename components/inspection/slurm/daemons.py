"""Which of Slurm's daemons answer. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from blueprints import spec
from blueprints.finding import Finding
from blueprints.finding.subject import Daemon

from ..codes import Code
from ..finding import Unchecked, drift
from ..layer import Layer

PINGED = re.compile(r"^Slurmctld\(\S+\) at (\S+) is DOWN", re.MULTILINE)


def controllers(cluster: spec.ClusterSpec) -> Sequence[str]:
    """Name the hosts that run Slurm's controllers; empty where the cloud runs Slurm or nothing does."""
    control = cluster.slurm.control if cluster.slurm else None
    return control.hostnames if control else ()


def silence(answers: Mapping[str, Mapping[str, str]]) -> str:
    """Say why nothing of the controller can be compared; empty when it can."""
    ping = answers["ping"]
    if "error" in ping:
        return ping["error"]
    if " is UP" not in ping["text"]:
        return ping["text"].strip()
    return next((answers[name]["error"] for name in ("config", "nodes", "partitions") if "error" in answers[name]), "")


def silent(daemon: Daemon, reason: str) -> Finding:
    """Report a daemon that does not answer."""
    return drift(
        Code.SCHEDULER_SILENT,
        daemon,
        f"{daemon} does not answer",
        remedy=f"`journalctl -u {daemon.name}` on {daemon.host or 'the controller'} shows the reason; "
        f"`systemctl restart {daemon.name}` or `clusterwright up` starts it",
        desired="answers",
        recorded="answers",
        actual=" ".join(reason.split()),
    )


def standby(ping: str) -> Iterator[Finding]:
    """Find, of two controllers, the one that does not answer while the other one does."""
    for host in PINGED.findall(ping):
        yield silent(Daemon("slurmctld", host), "no answer; this controller would not take over from the other one")


def taken_over(cluster: spec.ClusterSpec, serving: Sequence[str]) -> Iterator[Unchecked]:
    """Mention that the second of two controllers serves. This is no drift."""
    first, *others = controllers(cluster) or ("",)
    if serving and first not in serving and set(serving) <= set(others):
        why = f"{', '.join(serving)} serves in the place of {first}, which serves again as soon as its slurmctld runs; this is no drift"
        yield Unchecked(Layer.SCHEDULER, "which controller serves", why)
