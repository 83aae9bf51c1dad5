"""Which change of version a running Kubernetes cluster can take, and what happens then. Pure.

Source: Kubernetes, "Version Skew Policy" and "Upgrading kubeadm clusters": one minor version at a time, and none back.
"""

from collections.abc import Iterator

from .. import catalog, rolling
from ..spec import Kubernetes


def refusal(old: str, new: str) -> str:
    """Say why a running cluster can't go from one version to another; empty: it can, or one of the two is unknown."""
    before, after = catalog.minor_version(old), catalog.minor_version(new)
    most = catalog.kubernetes_skew().upgrade
    if not (before and after):
        return ""
    if _numbers(new) < _numbers(old):
        return "Kubernetes can't go back to an older version: the API server has already written objects in newer forms"
    if after - before > most:
        return f"an upgrade takes one minor version at a time: write a version of 1.{before + most} first"
    return ""


def steps(old: str, kubernetes: Kubernetes, *, has_windows: bool = False) -> Iterator[str]:
    """Say in order what an upgrade does, and what users of the cluster notice. Nothing where a service of a cloud runs the control plane.

    Args:
        kubernetes: as it should become.
        has_windows: the blueprint has maintenance windows, which are Slurm's.
    """
    control = kubernetes.control
    if control is None:
        return
    yield f"upgrade of Kubernetes from {old} to {kubernetes.version}:"
    if has_windows:
        yield "  it begins with `up`, whatever the time: `maintenance` holds Slurm's nodes, and no upgrade of Kubernetes waits for it"
    yield "  1. the state of etcd is saved on a host of the control plane; `clusterwright restore` brings the objects back"
    if control.count == 1:
        yield f"  2. {control.hostlist}: the API server is away for about a minute; pods run on, and jobs that wait don't start meanwhile"
    else:
        yield f"  2. {control.hostlist}, one host after the other; the API server answers from the others"
    for number, one in enumerate(kubernetes.node_sets, start=3):
        count = one.hosts.count
        most = rolling.at_once(one.rolling, count)
        at_once = "one after the other" if most == 1 else f"the first alone, then {most} at once"
        yield f"  {number}. {one.hosts.hostlist}: {count} node{'s' if count > 1 else ''}, {at_once} (rolling: {one.rolling or rolling.DEFAULT_LIMIT})"
    yield f"  {len(kubernetes.node_sets) + 3}. add-ons and acceptance"
    yield "  pods leave a node before it is upgraded, as their PodDisruptionBudgets allow, within 10 minutes: jobs and services start again on other nodes"
    yield "  a pod that no controller creates again, or a node that does not come back, stops the upgrade; the next `up` goes on there"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
