"""Parts of a software profile: those that a host has, with what proves them, and what DKMS says of modules. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

ARCHIVE_KEY = "_archive_key"
NAMED = re.compile(r"([^/]+)/[^,]+, ")
"""A line of `dkms status` (dkms(8)): `name/version, kernel, architecture: installed`."""


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "archives_with_keys": archives_with_keys,
            "parts_of_archives": parts_of_archives,
            "real_gpus": real_gpus,
            "libraries_of_archives": libraries_of_archives,
            "installed_in_place": installed_in_place,
            "dkms_missing": dkms_missing,
        }


def archives_with_keys(origins: Record) -> list[str]:
    """Give the archives of vendors whose keys the profile names."""
    return [name.removesuffix(ARCHIVE_KEY) for name in origins if name.endswith(ARCHIVE_KEY) and name != ARCHIVE_KEY]


def parts_of_archives(versions: Mapping[str, str], archive_of: Mapping[str, str], archives: Sequence[str]) -> dict[str, str]:
    """Give the parts that come from these archives, with their versions.

    Args:
        archive_of: part → archive.
    """
    return {part: version for part, version in versions.items() if archive_of.get(part) in archives}


def real_gpus(spec: Record, group: str) -> list[Record]:
    """Give the GPUs of a group's hosts, whichever scheduler has them, but for simulated ones."""
    node_sets = [one for name in ("slurm", "kubernetes") for one in (spec.get(name) or {}).get("node_sets", ())]
    machines = (one["hosts"]["machine"] for one in node_sets if one["hosts"]["name"] == group)
    return [machine["gpus"] for machine in machines if machine["gpus"] and not machine["gpus"]["simulated"]]


def libraries_of_archives(origins: Record) -> list[str]:
    """Give the libraries that hosts with GPUs get from archives whose keys the profile names. Stand-ins have no compiler that builds nccl-tests."""
    archives = archives_with_keys(origins)
    of_nvidia = ["cuda", "nccl", "dcgm", *([] if "nvidia_archive_simulated" in origins else ["nccl_tests"])]
    return [*(of_nvidia if "nvidia" in archives else ()), *(["container_toolkit"] if "nvidia_container" in archives else ())]


def installed_in_place(versions: Mapping[str, str], libraries: Sequence[str], gpus: Sequence[Record]) -> dict[str, str]:
    """Give the parts that are installed on a running host, with their versions (components/inspection/in_place.py)."""
    wanted = {"kernel", "lustre_client", *(["driver", *libraries] if gpus else ())}
    return {part: version for part, version in versions.items() if part in wanted}


def dkms_missing(lines: Sequence[str], kernel: str) -> list[str]:
    """Give the modules that are not installed for a kernel, by the lines of `dkms status`."""
    known = dict.fromkeys(matched[1] for line in lines if (matched := NAMED.match(line)))
    ready = {line.partition("/")[0] for line in lines if re.search(rf", {re.escape(kernel)}, [^:]+: installed", line)}
    return [name for name in known if name not in ready]
