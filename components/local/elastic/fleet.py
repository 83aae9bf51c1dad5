"""Hosts of elastic pools as a cloud has instances: made with a fresh disk, listed, and gone with their disk."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..machine import claim, command, power, record
from ..machine import host as hosts
from ..machine.names import HostNames, StackNames
from ..recipe import HostPoolInputs, boot, join_seeds, seeds
from . import description
from .description import Description

AT_A_TIME = 16  # hosts starting at once; more only wait for the same processors
STOP_WITHIN_S = 20
LOOK_EVERY_S = 0.05
NOT_BEFORE_S = float(power.PAUSE_S)
"""A host starts so long after it was asked for. Slurm cuts the moment of the request off to whole seconds, so that 2 s would do; a machine with much to do may be late to say the time."""
MIB_PER_HOST = 45  # three times what an idle compute host was measured to need, as in the catalogue's figure for this target
MIB_PER_NODE = 250
"""Of Kubernetes: kubelet, containerd, kube-proxy and the network's pods were measured at 160 MiB and more."""
SHORTAGE = "shortage.json"
"""Node set → how many of its hosts there can be: a rehearsal of a cloud that has no more. Made by hand, in the stack's `elastic` folder."""


class RequestRefused(Exception):
    """The request is not one that the service carries out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host of an elastic pool that has a disk."""

    names: HostNames
    node_set: Description
    id: str

    @property
    def launch(self) -> dict[str, Any]:
        return record.read(self.names.launch) or {}

    def as_record(self) -> dict[str, Any]:
        launch = self.launch
        return {
            "id": self.id,
            "node": self.names.hostname,
            "node_set": self.node_set.node_set,
            "life": "live" if hosts.is_running(self.names) else "ended",
            "launched_at": launch.get("at", 0.0),
            "launch": launch.get("token", ""),
            "template": launch.get("template", ""),
            "address": self.node_set.pool.address(int(self.names.hostname.rpartition("-")[2])),
        }


def listed(names: StackNames, asker: str | None = None) -> list[dict[str, Any]]:
    """Describe every host of the elastic pools of a controller, or of all, those with numbers that the pool no longer has too."""
    return [host.as_record() for host in _present(names, asker)]


def launch(names: StackNames, asker: str, node_set: str, nodes: Sequence[str], *, token: str, is_whole: bool, told: str = "") -> dict[str, Any]:
    """Start hosts; those that this launch started already are only named.

    Args:
        told: how hosts that run containers join their cluster; they find it on their disks.
    Raises:
        RequestRefused: the nodes are not of an elastic pool of this stack.
    """
    described = next((one for one in _of_controller(names, asker) if one.node_set == node_set), None)
    if described is None:
        raise RequestRefused(f"{asker} of stack {names.stack} has no elastic pool {node_set}")
    claim.require(names, described.pool.site)
    allowed = {described.pool.hostname(number) for number in range(described.pool.count)}
    foreign = sorted(set(nodes) - allowed)
    if foreign:
        raise RequestRefused(f"{', '.join(foreign[:5])}: not in elastic pool {node_set}, which has {len(allowed)} hosts")
    present = {host.names.hostname: host for host in _present(names, asker)}
    made = [name for name in nodes if name in present and present[name].launch.get("token") == token and hosts.is_running(present[name].names)]
    new = [name for name in nodes if name not in made]
    running = sum(host.node_set.node_set == node_set and hosts.is_running(host.names) for host in present.values())
    room = _room(names, described, running)
    refusal, detail = "", ""
    if len(new) > room:
        refusal, detail = "capacity", f"this machine has room for {room} more hosts of {node_set}"
        new = [] if is_whole else new[:room]
    failures = _started(names, described, new, token, told)
    if failures:
        refusal, detail = "error", "; ".join(failures[:3])
        if is_whole:
            ended([names.host(name) for name in new])
            new = []
    there = {host.names.hostname: host.as_record() for host in _present(names, asker)}
    instances = [there[name] for name in (*made, *new) if name in there and there[name]["life"] == "live"]
    return {"instances": instances, "refusal": refusal, "detail": detail}


def terminate(names: StackNames, asker: str, instances: Sequence[str]) -> None:
    """End hosts of elastic pools, disk and all; ids that are not theirs are nobody's."""
    wanted = set(instances)
    ended([host.names for host in _present(names, asker) if host.id in wanted])


def console(names: StackNames, asker: str, instance: str) -> str:
    """Give the end of a host's console."""
    return next((hosts.console_tail(host.names, lines=40) for host in _present(names, asker) if host.id == instance), "")


def ended(ending: Sequence[HostNames]) -> None:
    """Kill hosts and remove their disks."""
    for host in ending:
        hosts.kill(host)
    for host in ending:
        _wait_until(functools.partial(hosts.is_gone, host), f"the processes of {host.hostname} to end")
        hosts.remove(host)


def present_of(described: Description) -> list[HostNames]:
    """Hosts that the service made for one pool, whatever their number. Others of the same name belong to a pool of fixed size, which is on its way in or out."""
    names = StackNames(described.pool.stack)
    found = {path.name for folder in (names.hosts, names.run) if folder.is_dir() for path in folder.iterdir() if path.is_dir()}
    ours = [name for name in found if name.rpartition("-")[0] == described.pool.prefix and name.rpartition("-")[2].isdigit()]
    return [names.host(name) for name in sorted(ours) if names.host(name).launch.exists() or hosts.recorded(names.host(name)) is None]


def _of_controller(names: StackNames, asker: str | None) -> Iterator[Description]:
    return (described for described in description.read(names) if asker is None or asker in described.pool.controllers)


def _present(names: StackNames, asker: str | None) -> Iterator[Host]:
    for described in _of_controller(names, asker):
        for host in present_of(described):
            known = hosts.recorded(host)
            if known:
                yield Host(host, described, known["incarnation"])


def _room(names: StackNames, described: Description, running: int) -> int:
    shortage = record.read(names.elastic / SHORTAGE) or {}
    rehearsed = int(shortage.get(described.node_set, described.pool.count)) - running
    return max(0, min(rehearsed, _free_mib() // _mib_per_host(described.pool)))


def _mib_per_host(pool: HostPoolInputs) -> int:
    return MIB_PER_NODE if pool.runs_containers else MIB_PER_HOST


def _free_mib() -> int:
    """Memory that programs can still get (proc(5), MemAvailable)."""
    return next(int(line.split()[1]) // 1024 for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:"))


def _started(names: StackNames, described: Description, nodes: Sequence[str], token: str, told: str) -> list[str]:
    failures: list[str] = []

    def start(name: str) -> None:
        try:
            _start(names.host(name), described, token, told)
        except (OSError, RuntimeError) as error:
            failures.append(f"host {name}: {error}")

    with ThreadPoolExecutor(max_workers=AT_A_TIME) as several:
        list(several.map(start, nodes))
    return failures


def _start(host: HostNames, described: Description, token: str, told: str) -> None:
    pool, number = described.pool, int(host.hostname.rpartition("-")[2])
    asked_at = time.monotonic()
    ended([host])  # also what an interrupted start left
    files, start_with = seeds(pool), boot(pool, number)
    hosts.make_disk(host, image=pool.image)
    record.write(host.launch, {"token": token, "at": time.time(), "template": described.template})
    hosts.write_seeds(host, (*files, *(join_seeds(told) if pool.runs_containers else ())))
    hosts.make_host_key(host)
    time.sleep(max(0.0, asked_at + NOT_BEFORE_S - time.monotonic()))
    hosts.start(host, start_with, fingerprint=hosts.fingerprint(files, start_with))


def _wait_until(done: Callable[[], bool], awaiting: str) -> None:
    deadline = time.monotonic() + STOP_WITHIN_S
    while not done():
        if time.monotonic() > deadline:
            raise command.CommandFailed(f"waited {STOP_WITHIN_S} s for {awaiting}")
        time.sleep(LOOK_EVERY_S)
