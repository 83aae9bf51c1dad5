"""Settings and modules of the kernel that the recorded files of sysctl.d(5) and modules-load.d(5) declare."""

import os
from typing import Any

from . import asking


def sysctls(recorded: dict[str, Any], *, in_container: bool) -> dict[str, dict[str, str]]:
    """Give what recorded files of sysctl.d(5) declare, and what the kernel has; in a container, which can't set what is the whole machine's, only what is its own."""
    declared: dict[str, str] = {}
    for path in sorted(recorded):
        if path.startswith("/etc/sysctl.d/") or path == "/etc/sysctl.conf":
            for line in (recorded[path].get("text") or "").splitlines():
                name, equals, value = line.partition("=")
                if equals and not line.lstrip().startswith(("#", ";")):
                    declared[name.strip().lstrip("-")] = " ".join(value.split())
    own = {name: value for name, value in declared.items() if not in_container or os.access(_sysctl_path(name), os.W_OK)}
    return {name: {"declared": value, "actual": " ".join(" ".join(asking.lines(_sysctl_path(name))).split())} for name, value in own.items()}


def _sysctl_path(name: str) -> str:
    return "/proc/sys/" + (name if "/" in name else name.replace(".", "/"))


def modules(recorded: dict[str, Any]) -> dict[str, bool]:
    """Say of each module that recorded files of modules-load.d(5) name whether the kernel has it."""
    loaded = {line.split()[0] for line in asking.lines("/proc/modules")}
    wanted = []
    for path in sorted(recorded):
        if path.startswith("/etc/modules-load.d/") or path == "/etc/modules":
            wanted += [line.strip() for line in (recorded[path].get("text") or "").splitlines() if line.strip() and line.strip()[0] not in "#;"]
    return {name: name.replace("-", "_") in loaded or os.path.isdir(f"/sys/module/{name.replace('-', '_')}") for name in wanted}
