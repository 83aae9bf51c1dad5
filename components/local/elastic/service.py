"""The service: one line of JSON in, one out, on a socket that only the stack's controllers have mounted.

Who asks is what the kernel says of the other end: a process inside one of the stack's controllers, run by root or by the owner of Slurm's saved state. There is no key that could be lost.
"""

import json
import os
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..machine import cgroup, record
from ..machine.names import SERVICE_SOCKET, STATE_VOLUME, StackNames
from . import description, fleet

LONGEST_QUESTION = 1024 * 1024
ASKED_WITHIN_S = 10
SLURM_STATE = "slurmctld"
"""Of the controllers' data volume: what Slurm saves, owned by the user that it runs as."""
_PEER = struct.Struct("3i")  # unix(7), struct ucred: process, user, group


def serve(names: StackNames) -> None:
    """Answer until the process is ended."""
    names.door.mkdir(parents=True, exist_ok=True)
    os.chdir(names.door)  # a socket's path has at most 107 bytes (unix(7)), and a stack's name may have 100
    beginning = Path(f"{SERVICE_SOCKET}.new")
    beginning.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(beginning))
        beginning.chmod(0o666)  # the folder is for root alone, and for those who have it mounted; each request is looked at
        listening.listen(64)
        beginning.replace(SERVICE_SOCKET)  # whoever sees it is answered
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_answer, args=(names, connection), daemon=True).start()


def _answer(names: StackNames, connection: socket.socket) -> None:
    with connection:
        try:
            connection.settimeout(ASKED_WITHIN_S)
            with connection.makefile("rb") as file:
                line = file.readline(LONGEST_QUESTION)
            answer = _do(names, json.loads(line), asker=_controller(names, connection))
        except fleet.RequestRefused as refused:
            answer = {"error": str(refused)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        try:
            connection.settimeout(ASKED_WITHIN_S)
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except OSError as error:
            print(f"an answer was not fetched: {error}", file=sys.stderr)


def _controller(names: StackNames, connection: socket.socket) -> str:
    """Name the controller that asks. Of a stack's two schedulers, each has its own hosts only."""
    process, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    controllers = {controller for described in description.read(names) for controller in described.pool.controllers}
    inside = next((controller for controller in sorted(controllers) if process in cgroup.processes(cgroup.of_host(names.host(controller)))), None)
    if inside is None or user not in _users(names):
        raise fleet.RequestRefused(f"process {process} of user {user} is not a controller of stack {names.stack}")
    return inside


def _users(names: StackNames) -> set[int]:
    try:
        return {0, (names.folder(STATE_VOLUME) / SLURM_STATE).stat().st_uid}
    except FileNotFoundError:
        return {0}


def _do(names: StackNames, question: Mapping[str, Any], *, asker: str) -> dict[str, Any]:
    """Carry out one request; they wait for each other, and for the engine's own work on the same pools."""
    with record.lock(names.elastic / ".lock"):
        match question.get("do"):
            case "list":
                return {"instances": fleet.listed(names, asker)}
            case "launch":
                nodes, node_set = _texts(question, "nodes"), str(question.get("node_set"))
                told = str(question.get("told") or "")
                return fleet.launch(names, asker, node_set, nodes, token=str(question.get("token")), is_whole=question.get("whole") is True, told=told)
            case "terminate":
                fleet.terminate(names, asker, _texts(question, "instances"))
                return {}
            case "console":
                return {"text": fleet.console(names, asker, str(question.get("instance")))}
            case other:
                raise fleet.RequestRefused(f"this service knows no request {other!r}")


def _texts(question: Mapping[str, Any], name: str) -> list[str]:
    values = question.get(name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise fleet.RequestRefused(f"{name} is not a list of strings")
    return values
