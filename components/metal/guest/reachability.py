"""Whether a host reaches ports of other hosts."""

from __future__ import annotations

import errno
import selectors
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

AT_ONCE = 256
GOOD = (0, errno.ECONNREFUSED)
"""A host that refuses the connection is reached: nothing listens there yet. A packet filter that answers in the same way (`reject with tcp reset`) is not found."""


def unreached(peers: Iterable[tuple[str, str, int]], *, within_s: float) -> dict[str, str]:
    """Try to connect to many ports at once.

    Args:
        peers: name, address and port of each.
    Returns:
        `name:port` → why not, of those that can't be reached.
    """
    left, faults = [*peers], {}
    while left:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        faults.update(_try(some, within_s))
    return faults


def _try(peers: Iterable[tuple[str, str, int]], within_s: float) -> dict[str, str]:
    faults: dict[str, str] = {}
    with selectors.DefaultSelector() as waiting:
        for name, address, port in peers:
            key = f"{name}:{port}"
            try:
                family, kind, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
            except OSError as error:
                faults[key] = f"{address} does not resolve: {error.strerror or error}"
                continue
            attempt = socket.socket(family, kind)
            attempt.setblocking(False)
            status = attempt.connect_ex(place)
            if status == errno.EINPROGRESS:
                waiting.register(attempt, selectors.EVENT_WRITE, key)
                continue
            attempt.close()
            if status not in GOOD:
                faults[key] = errno.errorcode.get(status, str(status))
        until = time.monotonic() + within_s
        while waiting.get_map():
            remaining = until - time.monotonic()
            events = waiting.select(max(remaining, 0.0))  # once more after the limit: a busy host may get here late, with the answers waiting
            if not events and remaining <= 0:
                break
            for event, _ in events:
                status = _socket(event).getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if status not in GOOD:
                    faults[event.data] = errno.errorcode.get(status, str(status))
                waiting.unregister(event.fileobj)
                _socket(event).close()
        for event in [*waiting.get_map().values()]:
            faults[event.data] = f"no answer within {within_s:g} s"
            _socket(event).close()
    return faults


def _socket(event: selectors.SelectorKey) -> socket.socket:
    found = event.fileobj
    if not isinstance(found, socket.socket):
        raise TypeError(f"{found!r} is no socket")
    return found
