"""Compute Engine as a script: the answers that its documentation gives, and what was asked of it, which must be what its discovery document describes."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from components.elastic.fleets.gcp import Gcp
from components.elastic.fleets.gcp.rest import Compute
from components.elastic.table import NodeSet, Table
from tests.elastic.values import NOW, node_set, table
from tests.simcloud.google import discovery, forms

ZONE, OWNER, PREFIX = "us-central1-a", "ab12cd", "starter-prod-"
GROUP = "regions/us-central1/instanceGroupManagers/starter-prod-train"
MACHINE = "a3-megagpu-8g"
START = {"instance_template": "projects/proj/global/instanceTemplates/train-1", "labels": {"team": "vision", "clusterwright-stack": "prod"}}
STAMP = "1970-01-12T05:46:40.000-08:00"
"""NOW, as Compute Engine writes it."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any] | None


class Script:
    """Answers requests by method and path; of several answers for one, each is given once and the last one again and again."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.now = NOW
        self._answers: list[tuple[str, str, list[tuple[int, Mapping[str, Any]]]]] = []

    def on(self, method: str, path: str, *answers: Mapping[str, Any] | tuple[int, Mapping[str, Any]]) -> None:
        """Answer requests whose path, after the project, matches; the last rule for a path counts."""
        self._answers.insert(0, (method, path, [one if isinstance(one, tuple) else (200, one) for one in answers]))

    def of(self, method: str, path: str) -> list[Asked]:
        return [one for one in self.asked if one.method == method and re.fullmatch(path, one.path)]

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def fleet(self, *rows: NodeSet) -> Gcp:
        return Gcp(fleet_table(*rows), compute=Compute("proj", send=self._send, pause=self.pause), now=lambda: self.now, pause=self.pause)

    def _send(self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None) -> tuple[int, Mapping[str, Any]]:
        _validate(method, path, query, body)
        place = path.removeprefix("projects/proj/")
        self.asked.append(Asked(method, place, dict(query), body))
        for wanted, pattern, answers in self._answers:
            if wanted == method and re.fullmatch(pattern, place):
                return answers.pop(0) if len(answers) > 1 else answers[0]
        return (200, {}) if method == "GET" else refusal(501, "notScripted", f"{method} {path}")


def _validate(method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None) -> None:
    """Refuse a method, parameter or field that Compute Engine does not have."""
    found, parameters = discovery.find("compute.googleapis.com", method, f"/compute/v1/{path}")
    forms.parameters(found.parameters, {**{name: value for name, value in parameters.items() if name in found.parameters}, **query})
    assert (body is None) == (found.request is None or method == "DELETE"), path
    if body is not None:
        forms.clean(found.document, found.request or "", body, method=found.id)


def row(name: str = "train", **more: Any) -> NodeSet:
    return node_set(name, **{"machine": MACHINE, "template": "train-1", "start": START, "count": 16, **more})


def fleet_table(*rows: NodeSet) -> Table:
    cloud = {"project": "proj", "zone": ZONE, "region": "us-central1", "owner": OWNER, "prefix": PREFIX}
    return dataclasses.replace(table(*(rows or (row(),))), target="gcp", cloud=cloud)


def refusal(status: int, reason: str, message: str = "because") -> tuple[int, Mapping[str, Any]]:
    return status, {"error": {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}}


def instance(node: str, number: int = 7, *, status: str = "RUNNING", launch: str = "token-1", model: str = "STANDARD", **more: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "name": PREFIX + node,
        "status": status,
        "creationTimestamp": STAMP,
        "labels": {"clusterwright-launch": launch, "clusterwright-template": "train-1"},
        "networkInterfaces": [{"networkIP": f"10.0.0.{number % 250}"}, {"networkIP": "10.9.0.1"}],
        "scheduling": {"provisioningModel": model},
        **more,
    }


def operation(*codes: str, status: str = "DONE", at: str = STAMP, message: str = "because", **more: Any) -> dict[str, Any]:
    failed = {"error": {"errors": [{"code": code, "message": message} for code in codes]}} if codes else {}
    return {"name": "operation-1", "status": status, "insertTime": at, **failed, **more}
