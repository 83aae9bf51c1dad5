"""The server: one process, one store. `POST /control` is the tests' door, each other door a cloud brings along; what comes to none of their paths asks the cloud's API."""

import dataclasses
import json
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from . import listening
from .failure import Refused
from .faults import HALF_WAY, Fault, Faults
from .listening import Answer, Request
from .store import Store, Thing

DIED = 70  # exit status after a requested death


class Cloud(Protocol):
    """What every simulated cloud can do. Callers hold the store's lock around each operation."""

    store: Store

    def create(self, name: str, inputs: Mapping[str, Any], *, region: str, door: str) -> Thing:
        """Make a thing by the rules."""

    def is_tagged(self, kind: str) -> bool:
        """Say whether things of a kind can carry tags."""


_Cloud = TypeVar("_Cloud", bound=Cloud)


class World(Generic[_Cloud]):
    """What the doors share."""

    def __init__(self, cloud: _Cloud, *, is_read: Callable[[str], bool]):
        """Args: is_read: whether a call, by its name, only reads."""
        self.store, self.cloud, self._is_read = cloud.store, cloud, is_read
        self.faults = Faults()

    def call(self, name: str, values: Any, carry_out: Callable[[], Any]) -> tuple[Any, list[Fault]]:
        """Carry out one call under the faults that hit it; give its result and what the caller has to do with itself.

        Raises:
            Refused: the call was refused, by a rule or by a fault.
        """
        with self.store.lock:
            hitting = self.faults.of(name, values)
            if self.store.settings.get("read_only") and not self._is_read(name):
                raise Refused("UnauthorizedOperation", f"You are not authorized to perform this operation: {name}", status=403)
        for fault in hitting:
            if fault.effect == "slow":
                time.sleep(fault.delay_s)
            elif fault.effect == "die" and not fault.after:
                os._exit(DIED)
            elif fault.effect == "fail":
                raise Refused(fault.code, fault.message)
            elif fault.effect == "kill-engine" and not fault.after:
                return None, [fault]
        with self.store.lock:
            result = carry_out()
        for fault in hitting:
            if fault.effect == "die":
                os._exit(DIED)
            if fault.effect == "leave":
                raise Refused(fault.code, fault.message)
        return result, [fault for fault in hitting if fault.effect in HALF_WAY or fault.effect == "kill-engine"]


def serve(doors: Mapping[str, Callable[[Mapping[str, Any]], Any]], *, api: Callable[[Request], Answer], port: int, ready: Callable[[int], None]) -> None:
    """Serve on a port of the loopback until the process ends.

    Args:
        doors: path → what answers JSON there with JSON; every other path is the API's.
        ready: takes the port.
    """

    def answered(request: Request, _: str) -> Answer:
        door = doors.get(request.path)
        return _json(door, request.body) if door else api(request)

    server = listening.listener(("127.0.0.1", port), answered)
    ready(server.server_address[1])
    server.serve_forever()


def _json(answer: Callable[[Mapping[str, Any]], Any], body: bytes) -> Answer:
    try:
        found: Any = {"result": answer(json.loads(body))}
    except Refused as refused:
        found = {"error": {"code": refused.code, "message": refused.message}}
    except Exception as error:
        traceback.print_exc()
        found = {"error": {"code": "InternalFailure", "message": f"the simulated cloud itself failed: {error!r}"}}
    return Answer(200, json.dumps(found, default=_plain).encode(), {"Content-Type": "application/json"})


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else str(value)


def end_with_parent(closed_by_parent: int) -> None:
    """End this process when the other end of a pipe closes, which is when the test's process ends, however it does."""

    def wait() -> None:
        while os.read(closed_by_parent, 4096):
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True, name="parent-watch").start()
