"""A group of equal hosts on this machine as one resource.

What is to be done to each host is decided by `plan`, from what should be and what is; doing it is a short function a step. Hosts are started many at a time, and one that fails leaves the
others alone: the resource is then recorded as partly made, with what exists.
"""

import dataclasses
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import ClassVar

from blueprints import hostlist

from .. import bake
from ..provider.kind import UNKNOWN, Kind, PartlyMade, Stopped, Values, Work
from . import recipe
from .machine import claim, disk, rootfs
from .machine import host as hosts
from .machine.names import HostNames, StackNames, cache_root
from .recipe import HostPoolInputs

AT_A_TIME = 16  # hosts starting at once; more only wait for the same processors
STOP_WITHIN_S = 20
ANSWER_WITHIN_S = 120


class Condition(Enum):
    """How a host is."""

    ABSENT = "absent"
    STOPPED = "stopped"
    RUNNING = "running"


@dataclasses.dataclass(frozen=True, slots=True)
class Actual:
    """What is seen of one host."""

    condition: Condition
    image: str | None = None
    boot: str = ""
    """Fingerprint of what it booted with."""
    age_s: float = float("inf")
    """How long ago it was started."""


class Action(Enum):
    """What is done to a host."""

    REMOVE = "remove"
    REBUILD = "rebuild"
    MAKE = "make"
    START = "start"
    RESTART = "restart"
    AWAIT = "wait for"


def plan(desired: Mapping[str, str], actual: Mapping[str, Actual], *, image: str, keeps_disks: bool = False) -> list[tuple[Action, str]]:
    """Say what to do, in order, as (action, hostname). Pure.

    Surplus hosts go first. A host with another image gets a new disk; one that booted with something else keeps its disk and boots again; one that does not run is started; a running one that is as
    it should be is left alone, but waited for while it may still be booting: whoever started it may have been killed before it answered.

    Args:
        desired: hostname → fingerprint of what it boots with.
        actual: what is seen of each host that exists in any form.
        keeps_disks: another image is for hosts that are created later.
    """
    steps = [(Action.REMOVE, hostname) for hostname in sorted(set(actual) - set(desired))]
    for hostname, boot in desired.items():
        seen = actual.get(hostname, Actual(Condition.ABSENT))
        if seen.condition is Condition.ABSENT:
            steps.append((Action.MAKE, hostname))
        elif seen.image != image and not keeps_disks:
            steps.append((Action.REBUILD, hostname))
        elif seen.condition is Condition.STOPPED:
            steps.append((Action.START, hostname))
        elif seen.boot != boot:
            steps.append((Action.RESTART, hostname))
        elif seen.age_s < ANSWER_WITHIN_S:
            steps.append((Action.AWAIT, hostname))
    return steps


class HostPool(Kind[HostPoolInputs]):
    token = "clusterwright:local:HostPool"
    inputs = HostPoolInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"prefix"})

    def identity(self, inputs: HostPoolInputs) -> str:
        return f"{inputs.stack}/{inputs.prefix}"

    def expected(self, inputs: HostPoolInputs) -> Values:
        return {"up": [*inputs.numbers], "hosts": UNKNOWN, "boots": UNKNOWN}

    def read(self, inputs: HostPoolInputs, outputs: Values) -> Values | None:
        return _outputs(inputs) if _present(inputs) else None

    def create(self, inputs: HostPoolInputs, work: Work) -> Values:
        names = StackNames(inputs.stack)
        claim.require(names, inputs.site)
        names.door.mkdir(parents=True, exist_ok=True)  # what controllers have mounted, elastic pools or not
        (cache_root() / "kubernetes").mkdir(parents=True, exist_ok=True)  # the same for hosts that run containers
        return _converge(inputs, work)

    def delete(self, inputs: HostPoolInputs, outputs: Values, work: Work) -> None:
        claim.require(StackNames(inputs.stack), inputs.site, deleting=True)
        for hostname in _present(inputs):
            hosts.kill(StackNames(inputs.stack).host(hostname))
        for hostname in _present(inputs):
            _remove(StackNames(inputs.stack).host(hostname), work)


def _converge(inputs: HostPoolInputs, work: Work) -> Values:
    boots = {hostname: hosts.fingerprint(recipe.seeds(inputs), _boot(inputs, hostname)) for hostname in inputs.numbers}
    actual = {hostname: _actual(inputs, hostname) for hostname in {*boots, *_present(inputs)}}
    steps = plan(boots, actual, image=inputs.image, keeps_disks=inputs.runs_containers)
    failures: list[str] = []
    done = 0

    def carry_out(step: tuple[Action, str]) -> None:
        nonlocal done
        action, hostname = step
        try:
            work.check()
            _apply(inputs, action, hostname, work)
            done += 1
            work.say(f"{done} of {len(steps)} hosts: {action.value} {hostname}")
        except (OSError, RuntimeError, Stopped) as error:
            failures.append(f"host {hostname}: {error}")

    with ThreadPoolExecutor(max_workers=AT_A_TIME) as several:
        list(several.map(carry_out, steps))
    if failures:
        raise PartlyMade(*_few(failures), outputs=_outputs(inputs))
    outputs = _outputs(inputs)
    if older := outputs.get(bake.OLDER):
        work.tell(f"{hostlist.compress(older)} keep the image that they were created from; `clusterwright rebuild` creates them from the new one")
    return outputs


def _few(failures: list[str]) -> list[str]:
    shown = failures[:5]
    return shown if len(failures) == len(shown) else [*shown, f"and {len(failures) - len(shown)} more hosts"]


def _apply(inputs: HostPoolInputs, action: Action, hostname: str, work: Work) -> None:
    host = StackNames(inputs.stack).host(hostname)
    if action is Action.REMOVE:
        hosts.kill(host)
        _remove(host, work)
        return
    if action is Action.AWAIT:
        _await(inputs, hostname, work)
        return
    hosts.kill(host)  # also what an interrupted start left
    work.wait_until(lambda: hosts.is_gone(host), awaiting=f"the processes of {hostname} to end", within_s=STOP_WITHIN_S)
    if action is Action.REBUILD:
        hosts.remove(host)
    seeds = recipe.seeds(inputs)
    hosts.make_disk(host, image=inputs.image, lowers=inputs.lowers, group=inputs.group if inputs.members else "")
    boot = _boot(inputs, hostname)
    if lost := [lower for lower in boot.lowers if not Path(lower).is_dir()]:
        raise RuntimeError(
            f"the image that it was created from is gone from the cache ({', '.join(lost)}): `clusterwright rebuild {hostname}` creates it from today's"
        )
    hosts.write_seeds(host, seeds)
    hosts.make_host_key(host)
    hosts.start(host, boot, fingerprint=hosts.fingerprint(seeds, boot))
    _await(inputs, hostname, work)


def _await(inputs: HostPoolInputs, hostname: str, work: Work) -> None:
    host, address = StackNames(inputs.stack).host(hostname), inputs.address(inputs.numbers[hostname])
    try:
        work.wait_until(lambda: hosts.answers(address), awaiting=f"SSH on {hostname} ({address})", within_s=ANSWER_WITHIN_S)
    except TimeoutError as error:
        raise TimeoutError(f"{error}. The end of its console ({host.console}):\n{hosts.console_tail(host)}") from error


def _boot(inputs: HostPoolInputs, hostname: str) -> hosts.Boot:
    """Give what a host boots with: a host that keeps its disk has the image under it that it was created from."""
    boot, record = recipe.boot(inputs, inputs.numbers[hostname]), hosts.recorded(StackNames(inputs.stack).host(hostname))
    if record is None or not inputs.runs_containers:
        return boot
    return dataclasses.replace(boot, lowers=tuple(record["lowers"].split(":")) if record.get("lowers") else rootfs.lowers_of(record["image"]))


def _remove(host: HostNames, work: Work) -> None:
    work.wait_until(lambda: hosts.is_gone(host), awaiting=f"the processes of {host.hostname} to end", within_s=STOP_WITHIN_S)
    hosts.remove(host)
    disk.remove_tree(host.kept)


def _present(inputs: HostPoolInputs) -> list[str]:
    """Hosts of this group that have a disk or run, whatever their number, but for those of an elastic pool that takes this one's place, or had it."""
    names = StackNames(inputs.stack)
    found = {path.name for folder in (names.hosts, names.run) if folder.is_dir() for path in folder.iterdir()}
    return sorted(name for name in found if _is_ours(inputs, name) and not names.host(name).launch.exists())


def _is_ours(inputs: HostPoolInputs, name: str) -> bool:
    """Say whether a host belongs to this group: a host with a name of its own by its record, any other by its name."""
    record = hosts.recorded(StackNames(inputs.stack).host(name))
    if record is not None and "group" in record:
        return record["group"] == inputs.group
    prefix, _, number = name.rpartition("-")
    return (prefix == inputs.prefix and number.isdigit()) or (record is None and bool(inputs.members) and name in inputs.numbers)


def _actual(inputs: HostPoolInputs, hostname: str) -> Actual:
    host = StackNames(inputs.stack).host(hostname)
    record = hosts.recorded(host)
    if record is None:
        return Actual(Condition.ABSENT)
    if host.launch.exists():
        return Actual(Condition.STOPPED)  # an elastic pool's: not a disk to go on with
    return Actual(Condition.RUNNING if hosts.is_running(host) else Condition.STOPPED, record["image"], hosts.booted_with(host), hosts.age_s(host))


def _outputs(inputs: HostPoolInputs) -> Values:
    """Which hosts are up, and what finishing must know of each."""
    up: list[str] = []
    described: list[dict[str, str]] = []
    boots: dict[str, int] = {}
    older: list[str] = []
    for hostname, number in inputs.numbers.items():
        host = StackNames(inputs.stack).host(hostname)
        record = hosts.recorded(host)
        if record is None:
            continue
        described.append({"name": hostname, "address": inputs.address(number), "incarnation": record["incarnation"], "host_key": hosts.host_key(host)})
        is_older = record["image"] != inputs.image
        if is_older and inputs.runs_containers:
            older.append(hostname)
        if hosts.is_running(host) and (inputs.runs_containers or not is_older):
            up.append(hostname)
            boots[hostname] = hosts.boot_mark(host)
    surplus = [hostname for hostname in _present(inputs) if hostname not in inputs.numbers]
    return {"up": up + surplus, "hosts": described, "boots": boots, **({bake.OLDER: older} if older else {})}
