"""Network namespaces that stand for a node, its pods and hosts beside it: real packets through the kernel's rules, without hosts."""

import contextlib
import ctypes
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import TypeVar

T = TypeVar("T")
NODE = "node"
BRIDGE = "cni0"
CONNECT_WITHIN_S = 1.0
_CLONE_NEWNET = 0x40000000


class Net:
    """A node with a bridge of pods, and links to hosts beside it."""

    def __init__(self, prefix: str):
        self._prefix = prefix
        self._listening: list[socket.socket] = []
        self._names: list[str] = []
        self._add(NODE)
        for setting in ("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables"):
            self.run(NODE, "sysctl", "-qw", f"{setting}=1")
        self.run(NODE, "ip", "link", "add", BRIDGE, "type", "bridge")
        self.run(NODE, "ip", "link", "set", BRIDGE, "up")

    def add_pod(self, name: str, address: str, *, gateway: str) -> None:
        """Add a pod on the node's bridge, which has the gateway's address."""
        self._link(name, address, gateway)
        self.run(NODE, "ip", "link", "set", name, "master", BRIDGE)
        self.run(NODE, "ip", "address", "replace", f"{gateway}/24", "dev", BRIDGE)

    def add_host(self, name: str, address: str, *, gateway: str) -> None:
        """Add a host behind a link of its own."""
        self._link(name, address, gateway)
        self.run(NODE, "ip", "address", "add", f"{gateway}/24", "dev", name)

    def listen(self, name: str, port: int, address: str = "0.0.0.0") -> socket.socket:
        """Answer on a port: the kernel opens connections to a socket that listens, whoever takes them."""
        made = self.within(name, lambda: socket.create_server((address, port)))
        self._listening.append(made)
        return made

    def reaches(self, name: str, address: str, port: int) -> bool:
        """Say whether a connection from there opens."""

        def connect() -> bool:
            with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=CONNECT_WITHIN_S):
                return True
            return False

        return self.within(name, connect)

    def within(self, name: str, act: Callable[[], T]) -> T:
        """Act in a namespace; what a thread enters, its end leaves."""
        answer: futures.Future[T] = futures.Future()

        def enter() -> None:
            try:
                with open(f"/run/netns/{self.full(name)}") as file:  # noqa: PTH123  (a descriptor is all that is needed)
                    if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
                answer.set_result(act())
            except BaseException as error:
                answer.set_exception(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return answer.result()

    def full(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def run(self, name: str, *words: str) -> str:
        return subprocess.run(["ip", "netns", "exec", self.full(name), *words], check=True, capture_output=True, text=True).stdout

    def close(self) -> None:
        for one in self._listening:
            one.close()
        for name in self._names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def _add(self, name: str) -> None:
        subprocess.run(["ip", "netns", "add", self.full(name)], check=True, capture_output=True)
        self._names.append(self.full(name))
        self.run(name, "ip", "link", "set", "lo", "up")

    def _link(self, name: str, address: str, gateway: str) -> None:
        self._add(name)
        self.run(NODE, "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", self.full(name))
        self.run(NODE, "ip", "link", "set", name, "up")
        self.run(name, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.run(name, "ip", "link", "set", "eth0", "up")
        self.run(name, "ip", "route", "add", "default", "via", gateway)


@contextlib.contextmanager
def running() -> Iterator[Net]:
    """Give a node's network until the block ends."""
    net = Net(f"cw{os.getpid()}")
    try:
        yield net
    finally:
        net.close()


def relay(listening: socket.socket, port: int) -> None:
    """Pass connections on to a port of this machine's own loopback, until the socket is closed."""

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listening.accept()
                threading.Thread(target=_serve, args=(near, port), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _serve(near: socket.socket, port: int) -> None:
    with near, socket.create_connection(("127.0.0.1", port)) as far:
        back = threading.Thread(target=_pass, args=(far, near), daemon=True)
        back.start()
        _pass(near, far)
        back.join()


def _pass(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := one.recv(65536):
            other.sendall(content)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)
