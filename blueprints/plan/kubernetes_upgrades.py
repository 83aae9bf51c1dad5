"""Which change of version a running Kubernetes cluster can take. Pure.

Source: Kubernetes, "Version Skew Policy" and "Upgrading kubeadm clusters": one minor version at a time, and none back.
"""

from .. import catalog


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


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
