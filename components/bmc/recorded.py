"""The file with recorded serial numbers and firmware: it is committed to the repository, and drift checks compare with it. Pure."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import yaml

from .model import Facts

FORMAT = 1
HEAD = "# Serial numbers and firmware of the servers. `clusterwright power status --record` writes this file, and drift checks compare with it.\n"


class Unreadable(Exception):
    """The file is not of the expected form; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """What is recorded of one server."""

    serial: str
    model: str
    firmware: Mapping[str, str]


def of(facts: Facts) -> Server:
    return Server(facts.serial, facts.model, dict(sorted(facts.firmware.items())))


def write(servers: Mapping[str, Server]) -> str:
    """Give the file's text."""
    hosts = {name: {"serial": one.serial, "model": one.model, "firmware": dict(one.firmware)} for name, one in servers.items()}
    return HEAD + yaml.safe_dump({"format": FORMAT, "hosts": hosts}, sort_keys=False, allow_unicode=True, width=160)


def read(text: str) -> dict[str, Server]:
    """Read the file's text.

    Raises:
        Unreadable: it is no YAML, or of another form.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Unreadable(f"it is no YAML: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("hosts"), dict):
        raise Unreadable(f"it has no `format: {FORMAT}` and no mapping `hosts`")
    return {str(name): _server(str(name), entry) for name, entry in content["hosts"].items()}


def _server(name: str, entry: Any) -> Server:
    firmware = entry.get("firmware") if isinstance(entry, dict) else None
    if not isinstance(firmware, dict):
        raise Unreadable(f"the entry of {name} has no mapping `firmware`")
    return Server(str(entry.get("serial", "")), str(entry.get("model", "")), {str(part): str(version) for part, version in firmware.items()})
