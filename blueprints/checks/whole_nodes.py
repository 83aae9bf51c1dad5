"""Limits of GPUs below those of one node, in partitions whose jobs get whole nodes."""

from collections.abc import Iterator, Mapping, Sequence

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find accounts and QOS whose limit of GPUs lets no job start: each counts all GPUs of its nodes.

    Source: slurm.conf(5), OverSubscribe: jobs of a partition with EXCLUSIVE "are allocated all CPUs and GRES on the nodes".
    """
    least = _least_gpus(cluster)
    partitions = {partition.name: partition for _, partition in cluster.slurm_node_sets}
    allowed = {listed: _may_run(listed, blueprint.accounts) for listed in {one.accounts for one in partitions.values()}}
    for name, account in blueprint.accounts.items() if any(least.values()) else ():
        if account.limits.gpus is None:
            continue
        usable = [one.name for one in partitions.values() if not one.accounts or name in allowed[one.accounts]]
        if found := _below(account.limits.gpus, usable, least):
            yield _finding(f"the account {name} may use", account.limits.gpus or 0, found, least, source.where("accounts", name, "limits", "gpus"))
    for name, qos in blueprint.qos.items():
        usable = [one.name for one in partitions.values() if not one.qos or name in one.qos]
        if found := _below(qos.gpus_per_user, usable, least):
            yield _finding(f"users of the QOS {name} may use", qos.gpus_per_user or 0, found, least, source.where("qos", name, "gpus_per_user"))


def _least_gpus(cluster: spec.ClusterSpec) -> Mapping[str, int]:
    """Give what the smallest job of each partition counts. GPUs that are divided into slices count as the slices."""
    found: dict[str, int] = {}
    for node_set, partition in cluster.slurm_node_sets:
        machine = node_set.hosts.machine
        gpus = machine.gpus.count if machine.gpus and partition.exclusive and not machine.gpus.mig else 0
        found[partition.name] = min(gpus, found.get(partition.name, gpus))
    return found


def _may_run(listed: Sequence[str], accounts: Mapping[str, language.Account]) -> set[str]:
    """Give the accounts against which jobs of a partition count that allows some: these, those below them, and those above them."""
    below: dict[str, list[str]] = {}
    for name, account in accounts.items():
        below.setdefault(account.parent or "", []).append(name)
    found: set[str] = set()
    following = [name for name in listed if name in accounts]
    while following:
        name = following.pop()
        if name not in found:
            found.add(name)
            following += below.get(name, [])
    for name in listed:
        above = accounts[name].parent if name in accounts else None
        while above is not None and above in accounts and above not in found:
            found.add(above)
            above = accounts[above].parent
    return found


def _below(limit: int | None, usable: Sequence[str], least: Mapping[str, int]) -> Sequence[str]:
    """Give the partitions that a limit closes, if there is no other one."""
    return usable if limit is not None and usable and all(limit < least[name] for name in usable) else ()


def _finding(who: str, limit: int, partitions: Sequence[str], least: Mapping[str, int], where: finding.Position) -> finding.Finding:
    needed = min(least[name] for name in partitions)
    what = f"{who} {limit} GPUs, and a job gets {needed} at least"
    named = f"the partition{'' if len(partitions) == 1 else 's'} {message_text.listed([*partitions][:5])}"
    why = f"`exclusive: true` gives jobs in {named} whole nodes with all their GPUs, so that no job ever starts"
    remedy = f"write {needed} or more, or remove `partition.exclusive` of the pool"
    return finding.Finding(finding.Level.WARNING, Code.LIMIT_BELOW_NODE, where, what, why, remedy)
