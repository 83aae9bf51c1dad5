"""A listener over HTTP: each request goes to one function, on a thread of its own."""

import dataclasses
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What came over HTTP; names of headers in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What goes back."""

    status: int
    body: bytes
    headers: Mapping[str, str]


Answering = Callable[[Request, str], Answer]
"""A request and the address that it came from → the answer."""


def listener(place: tuple[str, int], answering: Answering, *, context: ssl.SSLContext | None = None) -> ThreadingHTTPServer:
    """Bind a listener; with a context it speaks TLS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_HEAD(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def do_PUT(self) -> None:
            self._answer()

        def do_PATCH(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
            pass

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            answer = answering(request, self.client_address[0])
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 1024

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Leave a client that hung up, or did not like the certificate, to itself."""
            if not isinstance(sys.exc_info()[1], OSError):
                super().handle_error(request, client_address)

    server = Server(place, Handler)
    if context is not None:
        # Shaking hands is left to the connection's own thread: somebody who connects and says nothing keeps nobody waiting.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


def listen(place: tuple[str, int], answering: Answering, *, context: ssl.SSLContext | None = None) -> ThreadingHTTPServer:
    """Answer there from a thread of its own."""
    server = listener(place, answering, context=context)
    threading.Thread(target=server.serve_forever, daemon=True, name=f"listener {place[1]}").start()
    return server
