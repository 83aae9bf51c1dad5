"""The fleet of a local stack: a service on the machine that has the hosts, which starts and stops hosts of its own stack's elastic pools and nothing else."""

import json
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..act import Unreachable
from ..decide.answers import Answer, Refusal
from ..memory import Launch
from ..model import Cloud, Fault, Instance, Life
from ..table import Table

ANSWER_WITHIN_S = 120
LONGEST_ANSWER = 64 * 1024 * 1024


class Local:
    def __init__(self, table: Table):
        self._table = table
        self._socket = str(table.cloud.get("service", {}).get("socket", ""))

    def view(self, *, is_brief: bool = False) -> Cloud:
        templates = {node_set.name: node_set.template for node_set in self._table.node_sets}
        answer = self._ask({"do": "list"})
        # A stack's other scheduler has pools of its own.
        return Cloud(tuple(_instance(one, templates) for one in answer["instances"] if one["node_set"] in templates))

    def launch(self, launch: Launch, *, told: str = "") -> Answer:
        """Start hosts.

        Args:
            told: what new hosts find on their disks, and nobody else reads (`components/local/join.py`). Secret.
        """
        wanted = {"node_set": launch.node_set, "nodes": launch.nodes, "token": launch.token, "whole": launch.is_whole}
        answer = self._ask({"do": "launch", **wanted, **({"told": told} if told else {})})
        refusal = Refusal[answer["refusal"].upper()] if answer.get("refusal") else None
        return Answer(tuple(_instance(one, {}) for one in answer["instances"]), refusal, answer.get("detail", ""))

    def terminate(self, instances: Sequence[str]) -> None:
        self._ask({"do": "terminate", "instances": list(instances)})

    def withdraw(self, requests: Sequence[str]) -> None:
        """Do nothing: this machine has no queue."""

    def report(self, instance: str, fault: Fault, why: str, *, waits: bool = True) -> None:
        raise Unreachable("this machine takes no reports of faulty hosts")

    def console(self, instance: str) -> str:
        return str(self._ask({"do": "console", "instance": instance})["text"])

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Send one line, read one line. Who asks is what the kernel says of this process, so that there is no key that could be lost."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(ANSWER_WITHIN_S)
                connection.connect(self._socket)
                connection.sendall(json.dumps(question).encode() + b"\n")
                with connection.makefile("rb") as file:
                    answer: dict[str, Any] = json.loads(file.readline(LONGEST_ANSWER) or b'{"error": "the service closed the connection without an answer"}')
        except (OSError, ValueError) as error:
            raise Unreachable(f"the service of this stack's hosts does not answer at {self._socket}: {error}; `clusterwright up` starts it") from error
        if "error" in answer:
            raise Unreachable(f"the service of this stack's hosts refused: {answer['error']}")
        return answer


def fleet(table: Table, folder: Path | None, *, keeps: bool) -> Local:  # noqa: ARG001 - this machine answers at once, so nothing is kept
    return Local(table)


def _instance(record: Mapping[str, Any], templates: Mapping[str, str]) -> Instance:
    template = templates.get(record["node_set"])
    return Instance(
        id=record["id"],
        node=record["node"],
        life=Life(record["life"]),
        launched_at=record["launched_at"],
        address=record["address"],
        launch=record["launch"],
        is_outdated=template is not None and template != record["template"],
    )
