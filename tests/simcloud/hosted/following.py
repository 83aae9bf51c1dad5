"""What makes the machine follow a cloud, whatever cloud it is: one thing at a time to each host, and block devices where volumes are attached."""

import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from components.local.machine.names import StackNames

from . import hosts
from .place import Place
from .wanted import Disk

AT_A_TIME = 6


class Tasks:
    """Things that are done to hosts on threads; `wake` is set when one has ended."""

    def __init__(self, wake: threading.Event):
        self._wake = wake
        self._several = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="hosts")
        self.busy: set[str] = set()
        """Hosts to which something is done."""

    def do(self, name: str, act: Callable[[], None]) -> None:
        """Do one thing to one host on a thread, unless something is done to it already; then look again."""
        if name in self.busy:
            return
        self.busy.add(name)

        def carry_out() -> None:
            try:
                act()
            except Exception:
                traceback.print_exc()
            finally:
                self.busy.discard(name)
                self._wake.set()

        self._several.submit(carry_out)


class Volumes:
    """The volumes that are block devices of hosts."""

    def __init__(self, names: StackNames):
        self._names = names
        self._attached: set[Disk] = set()

    def forget(self) -> None:
        """Start from nothing: the hosts and their devices are gone."""
        self._attached = set()

    def keep(self, here: Place, disks: Mapping[str, Disk]) -> None:
        """Attach, detach and delete until the machine has what the cloud has."""
        wished = {one for one in disks.values() if one.instance}
        for one in wished - self._attached:
            if hosts.attach(here, one):
                self._attached.add(one)
        for one in self._attached - wished:
            self._attached.discard(one)
        in_use = {one.id for one in wished}
        for volume in hosts.volumes(self._names):
            if volume not in disks:
                hosts.delete(here, volume)
            elif volume not in in_use:
                hosts.detach(here, volume)
