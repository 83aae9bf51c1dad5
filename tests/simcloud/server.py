"""The server: one process, one store, three doors on a port of the loopback.

`POST /provider` is the provider plugin's, `POST /control` the tests'; everything else is the AWS API.
"""

import dataclasses
import json
import os
import re
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from . import control, listening, provider_door, rules
from .api import door as api_door
from .api.protocol import Answer, Request
from .cloud import Cloud
from .failure import Refused
from .faults import HALF_WAY, Fault, Faults
from .store import Store

DIED = 70  # exit status after a requested death
READS = re.compile(r"(read|invoke) |[\w-]+\.(Describe|Get|List)")  # names of calls that AWS's own policy ReadOnlyAccess lets pass


class World:
    """What the doors share."""

    def __init__(self, store: Store):
        self.store = store
        rules.load()
        self.cloud = Cloud(store)
        self.faults = Faults()

    def call(self, name: str, values: Any, carry_out: Callable[[], Any]) -> tuple[Any, list[Fault]]:
        """Carry out one call under the faults that hit it; give its result and what the caller has to do with itself.

        Raises:
            Refused: the call was refused, by a rule or by a fault.
        """
        with self.store.lock:
            hitting = self.faults.of(name, values)
            if self.store.settings.get("read_only") and not READS.match(name):
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


def serve(world: World, *, port: int, ready: Callable[[int], None]) -> None:
    """Serve until the process ends; `ready` is told the port."""
    server = listening.listener(("127.0.0.1", port), lambda request, _: _answered(world, request))
    ready(server.server_address[1])
    server.serve_forever()


def _answered(world: World, request: Request) -> Answer:
    match request.path:
        case "/provider":
            return _json(lambda asked: provider_door.answer(world, asked), request.body)
        case "/control":
            return _json(lambda asked: control.answer(world, asked), request.body)
        case _:
            return api_door.answer(world, request)


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
