"""The VPC's resolver: names of AWS's services, file systems and instances; everything else is asked of the machine's own name server.

Source of the form of messages: RFC 1035, section 4.
"""

import re
import socket
import socketserver
import struct
import threading
from collections.abc import Callable
from pathlib import Path

PORT = 53
A, IN = 1, 1
TTL_S = 5
HEADER = struct.Struct("!HHHHHH")
ANSWERED, REFUSED_NAME, FAILED = 0x8180, 0x8183, 0x8182
"""Flags of an answer: all is well, there is no such name, the server failed."""
ASKED_WITHIN_S = 3.0
INSTANCE = re.compile(r"ip-(\d+)-(\d+)-(\d+)-(\d+)\.(ec2\.internal|[a-z0-9-]+\.compute\.internal)")

Lookup = Callable[[str, str], str | None]
"""Name and who asks → address; empty: the name exists without one; None: not ours."""


def serve(address: str, lookup: Lookup) -> socketserver.BaseServer:
    """Answer at an address, until shut down."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            message, own = self.request
            if answer := answered(message, self.client_address[0], lookup):
                own.sendto(answer, self.client_address)

    class Server(socketserver.ThreadingUDPServer):
        daemon_threads = True
        allow_reuse_address = True

    server = Server((address, PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True, name="resolver").start()
    return server


def answered(message: bytes, source: str, lookup: Lookup) -> bytes | None:
    """Give the answer to a message; None when it is no question."""
    if len(message) < HEADER.size:
        return None
    ident, flags, questions, *_ = HEADER.unpack_from(message)
    if flags & 0x8000 or questions != 1:
        return None
    name, end = _name(message, HEADER.size)
    kind, group = struct.unpack_from("!HH", message, end)
    question = message[HEADER.size : end + 4]
    found = lookup(name.lower(), source)
    if found is None:
        return _forwarded(message) or HEADER.pack(ident, FAILED, 1, 0, 0, 0) + question
    if not found or kind != A or group != IN:
        return HEADER.pack(ident, ANSWERED, 1, 0, 0, 0) + question
    record = struct.pack("!HHHIH", 0xC00C, A, IN, TTL_S, 4) + socket.inet_aton(found)
    return HEADER.pack(ident, ANSWERED, 1, 1, 0, 0) + question + record


def _name(message: bytes, start: int) -> tuple[str, int]:
    parts = []
    while length := message[start]:
        parts.append(message[start + 1 : start + 1 + length].decode("ascii", "replace"))
        start += 1 + length
    return ".".join(parts), start + 1


def _forwarded(message: bytes) -> bytes | None:
    servers = [line.split()[1] for line in Path("/etc/resolv.conf").read_text().splitlines() if line.startswith("nameserver ")]
    for server in servers:
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as own:
            own.settimeout(ASKED_WITHIN_S)
            try:
                own.sendto(message, (server, PORT))
                return own.recv(4096)
            except OSError:
                continue
    return None


def address_of_instance(name: str) -> str | None:
    """Give the address that an instance's own name says."""
    found = INSTANCE.fullmatch(name)
    return ".".join(found.groups()[:4]) if found else None
