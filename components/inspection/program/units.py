"""Units of systemd with their state: those that failed, and enabled ones that do not run. Others are asked for nothing, as systemd takes milliseconds for each unit."""

import glob
import os

from . import asking

PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "ConditionResult",
    "ConditionTimestampMonotonic",
    "ConditionTimestampMonotonic",
    "Type",
    "Result",
    "Requires",
    "BindsTo",
    "Requisite",
)
KINDS = (".service", ".timer", ".socket", ".mount", ".automount")
RUNNING = ("active", "activating", "reloading", "refreshing")
ENABLING = ("/etc/systemd/system/*.wants/*", "/etc/systemd/system/*.requires/*", "/run/systemd/system/*.wants/*", "/run/systemd/system/*.requires/*")
"""Links that make a unit start with another (systemctl(1), "enable")."""


def states() -> dict[str, dict[str, str]]:
    """Give the properties of units that failed, and of enabled ones that do not run."""
    enabled = {os.path.basename(path) for pattern in ENABLING for path in glob.glob(pattern)}
    listed = [line.split(None, 4) for line in asking.program(["systemctl", "list-units", "--all", "--plain", "--no-legend", "--full"]).splitlines()]
    names = [
        words[0]
        for words in listed
        if len(words) >= 4 and words[1] == "loaded" and words[0].endswith(KINDS) and _is_in_question(words[0], words[2], words[3], enabled)
    ]
    if not names:
        return {}
    shown = asking.program(["systemctl", "show", f"--property={','.join(PROPERTIES)}", "--", *names])
    blocks = (dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in shown.split("\n\n"))
    return {unit["Id"]: unit for unit in blocks if unit.get("Id")}


def _is_in_question(name: str, active: str, sub: str, enabled: set[str]) -> bool:
    return active == "failed" or sub == "auto-restart" or (active not in RUNNING and name in enabled)
