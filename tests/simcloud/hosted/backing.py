"""Instances that are hosts of this machine: one thread compares the cloud with the machine whenever either may have changed, and makes the machine follow.

Nothing is remembered but what lies on the machine, so that a server that was killed and started again goes on with the hosts that are there.
"""

import contextlib
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.local.machine import disk
from components.local.machine.names import StackNames

from ..aws import instances
from . import certificates, databases, hosts, image, place
from .databases import Database
from .doors import Doors
from .following import Tasks, Volumes
from .place import Place
from .wanted import Front, Guest, Wanted, wanted

if TYPE_CHECKING:
    from ..aws.world import World

REGION = "us-east-1"
LOOK_EVERY_S = 1.0
"""Hosts end by themselves, too."""
BOOTS_AFTER_S = 2.5
"""EC2 takes some seconds before a new instance's kernel starts. Slurm counts on something of the kind: it takes no node whose boot seems to be before its own request, in whole seconds."""


class Hosted:
    """The backing of one cloud; `names` are those of all that it has on the machine, `folder` is the journal's."""

    name = "host of this machine"
    has_hosts = True

    def __init__(self, world: "World", names: StackNames, folder: Path):
        self._world, self._names, self._folder = world, names, folder
        self._authority, self._context = certificates.made(folder, names=certificates.names_of_aws(REGION))
        self._wake = threading.Event()
        self._tasks, self._volumes = Tasks(self._wake), Volumes(names)
        self._place: Place | None = None
        self._doors: Doors | None = None
        self._public: dict[str, str] = {}
        self._let_in: dict[str, tuple[str, ...]] = {}

    def begin(self) -> None:
        self._world.store.changed = self._wake.set
        self._wake.set()
        threading.Thread(target=self._follow, daemon=True, name="hosts").start()

    # What the cloud asks

    def start(self, instance: Mapping[str, Any]) -> None:
        """Nothing but the store says what runs."""
        self._wake.set()

    def stop(self, instance: str) -> None:
        self._wake.set()

    def describe(self, instance: str) -> Mapping[str, Any]:
        return {"ConsoleOutput": hosts.console(self._names.host(instance))}

    # How the machine follows

    def _follow(self) -> None:
        while True:
            self._wake.wait(LOOK_EVERY_S)
            self._wake.clear()
            try:
                with self._world.store.lock:
                    now, served = wanted(self._world.cloud), databases.wanted_now(self._world.cloud)
                self._compare(now, served)
            except Exception:
                traceback.print_exc()

    def _compare(self, now: Wanted, served: Mapping[str, Database]) -> None:
        networks = [*(one.cidr for one in now.guests.values()), *(one.cidr for one in now.fronts.values())]
        if self._place is None and networks:
            try:
                self._settle(Place(self._names, networks[0]))
            except (place.Occupied, OSError) as error:
                for guest in now.guests.values():
                    self._give_up(guest.id, f"its network can't be made on this machine: {error}")
        if self._place is None:
            return
        here, there = self._place, hosts.bodies(self._names)
        fronts = {hosts.front_host(self._names, name).hostname for name in now.fronts}
        for name in sorted(there.keys() - now.guests.keys() - fronts - {databases.host_of(self._names, one).hostname for one in served}):
            self._tasks.do(name, partial(self._remove, name))
        for guest in now.guests.values():
            body = there.get(guest.id)
            if body is None or not body.started_with:
                if now.now_s < guest.made_s + BOOTS_AFTER_S:
                    continue
                self._tasks.do(guest.id, partial(self._start, here, guest))
            elif not body.is_running:
                self._tasks.do(guest.id, partial(self._stopped, guest.id))
        for front in now.fronts.values():
            body = there.get(hosts.front_host(self._names, front.name).hostname)
            if front.has_targets and (body is None or not body.is_running or body.started_with != hosts.mark(front)):
                self._tasks.do(hosts.front_host(self._names, front.name).hostname, partial(self._serve, here, front))
        self._keep_databases(here, now, served)
        self._volumes.keep(here, now.disks)
        self._keep_folders(now)
        self._keep_public(now)
        if not (there or self._tasks.busy or now.has_bodies or served):
            self._leave()

    def _settle(self, wished: Place) -> None:
        place.settle(wished)
        self._doors = Doors(self._world, wished, context=self._context, folder=self._folder)
        self._place = wished

    def _leave(self) -> None:
        """Leave the machine as it was when nothing has a body any more."""
        if self._doors:
            self._doors.close()
            self._doors = None
        place.clear(self._names)
        self._volumes.forget()
        self._place, self._public, self._let_in = None, {}, {}

    def _start(self, here: Place, guest: Guest) -> None:
        host = self._names.host(guest.id)
        if hosts.body(host).started_with:
            return  # by the time that this thread had, its predecessor was done
        try:
            if guest.cidr != here.cidr:
                raise image.Unknown(f"{guest.vpc} is not the network that has hosts on this machine, {here.cidr}; there is one at a time")
            hosts.start(here, guest, lowers=self._lowers(guest.image, say=lambda text: hosts.say(host, text)), authority=self._authority)
        except Exception as error:
            self._give_up(guest.id, str(error))

    def _give_up(self, guest: str, why: str) -> None:
        """End an instance that can't be started, as EC2 does when it can't either; its console says why."""
        hosts.say(self._names.host(guest), f"{guest} can't be started: {why}")
        with self._world.store.lock:
            thing = self._world.store.get("ec2.Instance", guest)
            if thing:
                instances.end(self._world.cloud, thing, reason="Internal error on launch", code="Server.InternalError")

    def _lowers(self, ami: str, *, say: Callable[[str], None]) -> tuple[str, ...]:
        with self._world.store.lock:
            told = image.variables(self._world.cloud, ami)
        return image.lowers(told, say=say)

    def _stopped(self, guest: str) -> None:
        """The host ended by itself, as `shutdown` inside it does: EC2 stops such an instance."""
        if hosts.body(self._names.host(guest)).is_running:
            return
        with self._world.store.lock:
            thing = self._world.store.get("ec2.Instance", guest)
            if thing and not thing.get("ended"):
                self._world.cloud.note(thing, stopped=True)

    def _remove(self, name: str) -> None:
        hosts.remove(self._names.host(name))

    def _serve(self, here: Place, front: Front) -> None:
        """Serve with the program that is in the image of what stands behind it."""
        first = next(instance for listener in front.listeners for instance, _, _ in listener.targets)
        with self._world.store.lock:
            thing = self._world.cloud.need("ec2.Instance", first)
        hosts.serve(here, front, lowers=self._lowers(thing["api"]["ImageId"], say=lambda text: None))

    def _keep_databases(self, here: Place, now: Wanted, served: Mapping[str, Database]) -> None:
        """Serve with the program that is in the image of the instances: a database begins when there is one."""
        there, guest = hosts.bodies(self._names), next(iter(now.guests.values()), None)
        for one in served.values():
            hostname = databases.host_of(self._names, one.id).hostname
            body = there.get(hostname)
            if hostname in self._tasks.busy or one.cidr != here.cidr:
                continue
            if body and body.is_running and body.started_with == databases.mark(one):
                if self._let_in.get(one.id) != one.callers:
                    databases.let_in(here, one)
                    self._let_in[one.id] = one.callers
            elif guest:
                self._let_in.pop(one.id, None)
                self._tasks.do(hostname, partial(self._serve_database, here, one, guest.image))
        databases.clear(self._names, served)

    def _serve_database(self, here: Place, one: Database, ami: str) -> None:
        databases.serve(here, one, lowers=self._lowers(ami, say=lambda text: None), folder=self._folder)

    def _keep_folders(self, now: Wanted) -> None:
        for name in now.file_systems:
            hosts.folder(self._names, name).mkdir(parents=True, exist_ok=True)
        for path in self._names.folders.glob("fs-*"):
            if path.name not in now.file_systems:
                with contextlib.suppress(OSError):  # still mounted by a host that is about to go
                    disk.remove_tree(path)

    def _keep_public(self, now: Wanted) -> None:
        """Let this machine, which plays the Internet, reach public addresses."""
        for public, private in self._public.items() - now.public.items():
            place.stop_redirecting(self._names, "OUTPUT", public, private)
        for public, private in now.public.items() - self._public.items():
            place.redirect(self._names, "OUTPUT", public, private)
        self._public = dict(now.public)
