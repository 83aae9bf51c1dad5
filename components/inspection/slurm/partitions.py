"""Partitions, compared with slurm.conf. Pure."""

from collections.abc import Iterator, Mapping

from blueprints import hostlist
from blueprints.finding import Finding
from blueprints.finding.subject import ObjectKind, SchedulerObject
from blueprints.finding.values import Setting

from ..codes import Code
from ..finding import drift
from . import parse
from .parameters import RECONFIGURE

DEFAULTS = {
    "AllowGroups": "ALL",
    "AllowAccounts": "ALL",
    "AllowQos": "ALL",
    "AllocNodes": "ALL",
    "Default": "NO",
    "QoS": "N/A",
    "DisableRootJobs": "NO",
    "ExclusiveUser": "NO",
    "Hidden": "NO",
    "LLN": "NO",
    "MaxCPUsPerNode": "UNLIMITED",
    "MaxNodes": "UNLIMITED",
    "MaxTime": "UNLIMITED",
    "OverSubscribe": "NO",
    "PriorityJobFactor": "1",
    "PriorityTier": "1",
    "ReqResv": "NO",
    "RootOnly": "NO",
    "State": "UP",
}
"""What a partition has where slurm.conf names nothing (slurm.conf(5), partition configuration), in scontrol's words.

PreemptMode, GraceTime and DefaultTime are missing: parameters of the whole cluster can change their defaults.
"""


def findings(conf: parse.Conf, live: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Compare the partitions of slurm.conf with those of the controller."""
    for name in sorted({*conf.partitions, *live}):
        if name not in live:
            yield drift(Code.PARTITION_MISSING, _partition(name), "the partition is gone", remedy=RECONFIGURE, desired="there", recorded="there")
        elif name not in conf.partitions:
            remedy = f"`scontrol delete partition={name}`, or add a pool to the blueprint"
            actual = f"nodes {live[name].get('Nodes', '')}"
            yield drift(Code.PARTITION_ADDED, _partition(name), "the partition was added by hand", remedy=remedy, actual=actual)
        else:
            yield from _fields(name, conf.partitions[name], live[name])


def _partition(name: str, field: str = "") -> SchedulerObject:
    return SchedulerObject(ObjectKind.PARTITION, name, field)


def _fields(name: str, configured: Mapping[str, str], live: Mapping[str, str]) -> Iterator[Finding]:
    for field, value in {**DEFAULTS, **configured}.items():
        actual = live.get(field)
        if actual is None:
            continue
        equal = sorted(hostlist.expand(value)) == sorted(hostlist.expand(actual)) if field == "Nodes" else parse.same(field, value, actual)
        if not equal:
            what, wanted = f"{field} of the partition is not as configured", Setting(value)
            yield drift(Code.PARTITION_CHANGED, _partition(name, field), what, remedy=RECONFIGURE, desired=wanted, recorded=wanted, actual=actual)
