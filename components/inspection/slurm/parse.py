"""Read Slurm's own forms: slurm.conf, and what scontrol and sacctmgr print. Pure."""

import dataclasses
import re
from collections.abc import Iterator, Mapping

from blueprints import hostlist

_FIELD = re.compile(r"(\w[\w/]*)=(.*?)(?=\s+\w[\w/]*=|$)")
_UNITS = re.compile(r" (sec|min|usec|percent|nodes/min|ms)$")
NOTHING = frozenset({"", "(null)", "n/a", "none"})


@dataclasses.dataclass(frozen=True, slots=True)
class Conf:
    """A slurm.conf: parameters, nodes one by one, partitions."""

    parameters: Mapping[str, str]
    nodes: Mapping[str, Mapping[str, str]]
    partitions: Mapping[str, Mapping[str, str]]


def parse_conf(text: str) -> Conf:
    """Read slurm.conf(5). Parameters that come several times (SlurmctldHost) are joined with commas."""
    parameters: dict[str, str] = {}
    nodes: dict[str, dict[str, str]] = {}
    partitions: dict[str, dict[str, str]] = {}
    node_defaults: dict[str, str] = {}
    partition_defaults: dict[str, str] = {}
    for line in _lines(text):
        fields = dict(_FIELD.findall(line))
        if "NodeName" in fields:
            names = fields.pop("NodeName")
            if names == "DEFAULT":
                node_defaults |= fields
            elif fields.get("State") != "FUTURE":
                nodes |= {name: {**node_defaults, **fields} for name in hostlist.expand(names)}
        elif "PartitionName" in fields:
            name = fields.pop("PartitionName")
            if name == "DEFAULT":
                partition_defaults |= fields
            else:
                partitions[name] = {**partition_defaults, **fields}
        else:
            key, _, value = line.partition("=")
            name = key.strip()
            value = value.strip().partition("(")[0] if name == "SlurmctldHost" else value.strip()  # the controller shows no address, either
            parameters[name] = f"{parameters[name]},{value}" if name in parameters else value
    return Conf(parameters, nodes, partitions)


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        kept = line.partition("#")[0].strip()
        if kept and "=" in kept:
            yield kept


def _split(value: str) -> list[str]:
    """Split a list of values at its commas, but for those within brackets."""
    return [part for part in re.split(r",(?![^\[]*\])", value) if part]


def parse_config(text: str) -> dict[str, str]:
    """Read `scontrol show config`; the first value of each name counts."""
    found: dict[str, str] = {}
    hosts: list[str] = []
    for line in text.splitlines():
        name, separator, value = line.partition("=")
        if not separator:
            continue
        if name.strip().startswith("SlurmctldHost["):
            hosts.append(value.strip().partition("(")[0])
        else:
            found.setdefault(name.strip(), value.strip())
    return {**found, "SlurmctldHost": ",".join(hosts)}


def parse_records(text: str, key: str) -> dict[str, dict[str, str]]:
    """Read one-line records (`scontrol --oneliner show node`) by the field that names them."""
    records = {}
    for line in text.splitlines():
        fields = {name: value.strip() for name, value in _FIELD.findall(line.strip())}
        if key in fields:
            records[fields[key]] = fields
    return records


def parse_rows(text: str, *columns: str) -> list[dict[str, str]]:
    """Read rows of `sacctmgr --parsable2 --noheader`."""
    return [dict(zip(columns, line.split("|"), strict=False)) for line in text.splitlines() if "|" in line]


def minutes(limit: str) -> int | None:
    """Read a time limit as Slurm writes it (`12:00:00`, `1-00:00:00`), begun minutes in full, as its accounting keeps it; None for none."""
    if not limit:
        return None
    days, _, clock = limit.rpartition("-")
    hours, whole, seconds = (int(part) for part in clock.split(":"))
    return (int(days or 0) * 24 + hours) * 60 + whole + (seconds > 0)


def same(name: str, configured: str, actual: str) -> bool:
    """Say whether the controller's value is the configured one, in its own way of writing it.

    The controller adds units, numbers of users, and to lists what it always tracks.
    """
    if configured.casefold() in NOTHING and actual.casefold() in NOTHING:
        return True
    plain = re.sub(r"\(\d+\)$", "", _UNITS.sub("", actual))
    if configured.casefold() == plain.casefold():
        return True
    wanted, got = (set(_split(value.casefold())) for value in (configured, plain))
    return wanted <= got if name in ADDED_TO else wanted == got


ADDED_TO = frozenset({"AccountingStorageTRES", "GresTypes"})
"""Lists to which Slurm adds entries of its own."""

RUNTIME_DEFAULTS = {"SlurmctldDebug": "info", "DebugFlags": "(null)"}
"""Parameters that scontrol can set while the controller runs, and what they are where slurm.conf names none."""
NOT_SHOWN = frozenset({"Include"})
"""Lines of slurm.conf that are no parameters of the controller."""
