"""Instances that are hosts of this machine: one thread compares the project with the machine whenever either may have changed, and makes the machine follow.

Nothing is remembered but what lies on the machine, so that a server that was killed and started again goes on with the hosts that are there.
"""

import contextlib
import threading
import traceback
from functools import partial
from pathlib import Path

from components.local.machine import command, disk
from components.local.machine.names import StackNames

from ...core.store import Thing
from ...google import happenings, operations
from ...google.cloud import Cloud
from ...google.resources import instances
from .. import certificates, hosts, place, seeds
from ..following import Tasks, Volumes
from ..place import Place
from ..wanted import Guest
from . import image
from .doors import METADATA_NAMES, SERVICES, Doors
from .wanted import INSTANCES, Wanted, is_guest, name_of, wanted

LOOK_EVERY_S = 1.0
"""Hosts end by themselves, too."""
BOOTS_AFTER_S = 2.5
"""Compute Engine takes some seconds before a new instance's kernel starts."""


class Hosted:
    """The backing of one project; `names` are those of all that it has on the machine, `folder` is the journal's."""

    def __init__(self, cloud: Cloud, names: StackNames, folder: Path):
        self._cloud, self._names = cloud, names
        self._authority, self._context = certificates.made(folder, names=(f"*{SERVICES}", METADATA_NAMES[0]))
        self._wake = threading.Event()
        self._tasks, self._volumes = Tasks(self._wake), Volumes(names)
        self._told_to_end: set[str] = set()
        self._place: Place | None = None
        self._doors: Doors | None = None
        self._outside: dict[str, str] = {}

    def begin(self) -> None:
        self._cloud.store.changed = self._wake.set
        self._cloud.console = lambda thing: hosts.console(self._names.host(name_of(thing)))
        self._wake.set()
        threading.Thread(target=self._follow, daemon=True, name="hosts").start()

    def _follow(self) -> None:
        while True:
            self._wake.wait(LOOK_EVERY_S)
            self._wake.clear()
            try:
                with self._cloud.store.lock:
                    happenings.by_time(self._cloud)
                    now = wanted(self._cloud)
                self._compare(now)
            except Exception:
                traceback.print_exc()

    def _compare(self, now: Wanted) -> None:
        if self._place is None and now.guests:
            try:
                self._settle(Place(self._names, next(iter(now.guests.values())).cidr))
            except (place.Occupied, OSError) as error:
                for guest in now.guests.values():
                    self._give_up(guest.id, f"its network can't be made on this machine: {error}")
        if self._place is None:
            return
        here, there = self._place, hosts.bodies(self._names)
        for name in sorted(there.keys() - now.guests.keys()):
            self._told_to_end.discard(name)
            self._tasks.do(name, partial(hosts.remove, self._names.host(name)))
        for guest in now.guests.values():
            body = there.get(guest.id)
            if guest.id in now.ends:
                self._tell_to_end(guest.id)
            elif body is None or not body.started_with:
                if now.now_s >= guest.made_s + BOOTS_AFTER_S:
                    self._tasks.do(guest.id, partial(self._start, here, guest))
            elif not body.is_running:
                self._tasks.do(guest.id, partial(self._stopped, guest.id))
        self._volumes.keep(here, now.disks)
        self._keep_folders(now)
        self._keep_outside(now)
        if not (there or self._tasks.busy or now.has_bodies):
            self._leave()

    def _settle(self, wished: Place) -> None:
        place.settle(wished)
        self._doors = Doors(self._cloud, wished, context=self._context)
        self._place = wished

    def _leave(self) -> None:
        """Leave the machine as it was when nothing has a body any more."""
        if self._doors:
            self._doors.close()
            self._doors = None
        place.clear(self._names)
        self._volumes.forget()
        self._place, self._outside = None, {}

    def _start(self, here: Place, guest: Guest) -> None:
        host = self._names.host(guest.id)
        if hosts.body(host).started_with:
            return  # by the time that this thread had, its predecessor was done
        try:
            if guest.cidr != here.cidr:
                raise image.Unknown(f"its subnet {guest.cidr} is not the one that has hosts on this machine, {here.cidr}; there is one at a time")
            with self._cloud.store.lock:
                told = image.variables(self._cloud, guest.image)
            lowers = image.lowers(told, say=lambda text: hosts.say(host, text))
            hosts.start(here, guest, lowers=lowers, authority=self._authority, platform=seeds.COMPUTE_ENGINE)
        except Exception as error:
            self._give_up(guest.id, str(error))

    def _give_up(self, guest: str, why: str) -> None:
        """Stop an instance that can't be started; its console says why."""
        hosts.say(self._names.host(guest), f"{guest} can't be started: {why}")
        self._stop(guest)

    def _tell_to_end(self, guest: str) -> None:
        """Have a guest shut down, as the signal of a power button does; the end comes with its time, or when it is down."""
        if guest not in self._told_to_end and (pid := hosts.first_process(self._names.host(guest))):
            self._told_to_end.add(guest)
            command.succeeds("nsenter", f"--target={pid}", "--all", "--", "systemctl", "poweroff", "--no-block")

    def _stopped(self, guest: str) -> None:
        """The host ended by itself, as `shutdown` inside it does: Compute Engine stops such an instance."""
        if not hosts.body(self._names.host(guest)).is_running:
            self._stop(guest)

    def _stop(self, guest: str) -> None:
        with self._cloud.store.lock:
            thing: Thing | None = next((one for one in self._cloud.store.all(INSTANCES) if name_of(one) == guest and is_guest(one)), None)
            if thing:
                instances.count(self._cloud, thing, -1)
                self._cloud.note(thing, status="TERMINATED", lastStopTimestamp=operations.stamp(self._cloud.store.clock.now_s()))

    def _keep_folders(self, now: Wanted) -> None:
        for name in now.file_systems:
            hosts.folder(self._names, name).mkdir(parents=True, exist_ok=True)
        for path in [*self._names.folders.glob("[a-z]*")] if self._names.folders.is_dir() else []:
            if path.name not in now.file_systems:
                with contextlib.suppress(OSError):  # still mounted by a host that is about to go
                    disk.remove_tree(path)

    def _keep_outside(self, now: Wanted) -> None:
        """Let this machine, which plays the Internet, and the guests reach public addresses and balancers."""
        for address, own in self._outside.items() - now.outside.items():
            for chain in ("OUTPUT", "PREROUTING"):
                place.stop_redirecting(self._names, chain, address, own)
        for address, own in now.outside.items() - self._outside.items():
            for chain in ("OUTPUT", "PREROUTING"):
                place.redirect(self._names, chain, address, own)
        self._outside = dict(now.outside)
