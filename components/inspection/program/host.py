"""All that a check compares of this host: what differs from its records, and what is there that has none. Runs on the host."""

import os
import time
from typing import Any

from ansible.module_utils import host_places

from . import accounts, asking, hardware, kernel, mounts, packages, places, units, versions
from .digests import Digests

BIRTH = "/usr/lib/clusterwright/born.py"
"""There where the end of the first boot records what it left (role cloud_host): before that, it can't be told from what came later."""
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
PENDING_FOLDER = "/run/clusterwright/pending"
CONTAINER = "/run/systemd/container"
"""There where the host is a container (systemd.io, "Container Interface")."""


def facts(parameters: dict[str, Any]) -> dict[str, Any]:
    """Read the host.

    Args:
        parameters: `mounts`, mount points whose source, options and free space are wanted, and `homes`, users whose keys are wanted: name to `uid` and `home`;
            `is_deep`: look beyond the recorded places, too; `is_server`: the host's owner installed it.
    """
    digests = Digests()
    installed, written = host_places.read_json(host_places.INSTALLED), host_places.read_json(host_places.WRITTEN)
    born = host_places.read_json(host_places.BORN)
    is_born = born is not None or not os.path.exists(BIRTH)
    if installed:
        installed["places"] = {**installed["places"], **(born or {})}
    recorded = {**(installed or {}).get("places", {}), **(written or {})}
    present = host_places.packages()
    package_files = packages.changed_files([name for name, package in present.items() if package["held"]], digests)
    found: dict[str, Any] = {
        "has_record": installed is not None and written is not None,
        "is_born": is_born,
        "has_installation": installed is not None,
        "places": places.differing((installed or {}).get("places", {}), written or {}, digests) if installed and is_born else [],
        "packages": packages.differences((installed or {}).get("packages", {}), present) if installed else [],
        "package_files": package_files,
        "contents": {path: places.described([path], digests) for path in package_files},
        "sysctls": kernel.sysctls(recorded, in_container=os.path.exists(CONTAINER)),
        "kernel_modules": kernel.modules(recorded),
        "units": units.states(),
        "mounts": mounts.wanted_mounts(parameters["mounts"]),
        "users": accounts.by_name(accounts.PASSWD),
        "groups": accounts.by_name(accounts.GROUP),
        "root_keys": asking.lines(accounts.ROOT_KEYS),
        "user_keys": {name: accounts.block(int(one["uid"]), one["home"]) for name, one in parameters["homes"].items()},
        "munge_key_sha256": accounts.munge_key_checksum(),
        "pending": sorted(os.listdir(PENDING_FOLDER)) if os.path.isdir(PENDING_FOLDER) else [],
        "versions": versions.versions(present),
        "gpus": hardware.gpus(),
        "nics": hardware.nics(),
        "hardware": hardware.processors_and_memory(),
        "hostname": os.uname().nodename,
        "private_files": accounts.private_files(),
        "epoch_s": time.time(),
    }
    adopted_s = None
    if parameters["is_server"]:
        from . import adoption, server

        before = adoption.read()
        adopted_s = adoption.moment_s(before)
        found["server"] = {**server.facts(), "root_keys": adoption.root_keys(before), "is_recorded": bool(before)}
    if parameters["is_deep"]:
        from . import exposure, network  # each module costs milliseconds that most inspections save

        held = {name for name, package in present.items() if package["held"]}
        found["exposure"] = exposure.facts(digests, held, [path for path, one in (written or {}).items() if one != host_places.ABSENT], adopted_s=adopted_s)
        found["contents"].update(exposure.contents(found["exposure"], digests))
        found["alike"] = {
            **network.alike(),
            **exposure.settings(),
            "trusted authorities": _authorities(digests),
            "time zone": os.path.realpath("/etc/localtime").removeprefix("/usr/share/zoneinfo/"),
        }
    digests.keep()
    return found


def _authorities(digests: Digests) -> str:
    """Give the checksum of the certificates of authorities that programs trust: packages generate the file."""
    try:
        return digests.of(AUTHORITIES, os.stat(AUTHORITIES))[:12]
    except OSError:
        return ""
