"""A small cluster as a stack records it, and hosts that are exactly as they should be: tests change one thing."""

import copy
import dataclasses
import datetime as dt
from typing import Any

from blueprints.finding import Finding, Level, subject
from blueprints.finding.subject import Subject
from blueprints.finding.values import Value
from components.inspection.codes import Code
from components.inspection.finding import Unchecked, drift, layer_of
from components.inspection.layer import Layer
from components.inspection.recorded_cluster import Known, KnownHost
from stacks.drift.report import Report, Result, texts
from tests.playbooks import clusters

ADMIN_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOwn"
MUNGE = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"
NOW_S = 1_800_000_000.0
MOMENT = dt.datetime(2026, 11, 21, 20, 0, tzinfo=dt.UTC)


def hosts() -> tuple[KnownHost, ...]:
    named = (("control-0", "control", "control"), ("login-0", "access", "access"), ("train-0", "train", "compute"), ("train-1", "train", "compute"))
    return tuple(KnownHost(name, group, role, f"10.80.0.{number}", f"disk-{number}", "ssh-ed25519 AAAA") for number, (name, group, role) in enumerate(named))


def known(**changes: Any) -> Known:
    whole = Known(
        cluster=clusters.resolved(),
        hosts=hosts(),
        private_key="a key",
        admin_public=ADMIN_KEY,
        munge_key_sha256=MUNGE,
        user_keys={},
        acceptance=(),
        updated=None,
        pending=(),
    )
    return dataclasses.replace(whole, **changes)


def facts(role: str = "compute", **changes: Any) -> dict[str, Any]:
    """What a host says that is as it should be."""
    mounted = {"source": "/dev/vda", "kind": "ext4", "options": ["rw"], "size_bytes": 100, "free_bytes": 50, "inodes": 100, "free_inodes": 50}
    state = {"/var/lib/clusterwright/state": mounted} if role == "control" else {}
    return {
        "has_record": True,
        "has_installation": True,
        "is_born": True,
        "places": [],
        "packages": [],
        "package_files": [],
        "contents": {},
        "sysctls": {"net.ipv4.ip_forward": {"declared": "0", "actual": "0"}},
        "kernel_modules": {},
        "units": {"munge.service": unit()},
        "mounts": copy.deepcopy(
            {"/": mounted, "/home": mounted, "/var/lib/clusterwright/cluster": {**mounted, "options": ["rw" if role == "control" else "ro"]}, **state}
        ),
        "users": {"ada": "ada:x:2001:2001::/home/ada:/bin/bash"},
        "groups": {"ada": "ada:x:2001:", "cluster-admin": "cluster-admin:x:61000:"},
        "root_keys": [f"{ADMIN_KEY} admin"],
        "munge_key_sha256": MUNGE,
        "pending": [],
        "versions": {"kernel": "6.12.1", "os": "debian-13", "slurm": "24.11.5", "arch": "x86_64"},
        "gpus": {"devices": [{"path": f"/dev/nvidia{number}", "mode": "0666", "major": 60, "minor": number} for number in range(8)], "driver_count": None},
        "nics": {},
        "hardware": {"cpus": 2, "memory_mib": 16_000},
        "hostname": "train-0" if role == "compute" else f"{role}-0",
        "private_files": [],
        "epoch_s": NOW_S,
        **changes,
    }


def unit(**changes: str) -> dict[str, str]:
    whole = {"Id": "munge.service", "LoadState": "loaded", "ActiveState": "active", "SubState": "running", "UnitFileState": "enabled", "ConditionResult": "yes"}
    return {**whole, "Type": "forking", "Result": "success", **changes}


def all_facts(**of_host: dict[str, Any]) -> dict[KnownHost, dict[str, Any]]:
    """Facts of all hosts; of a host given by name (`train_0`), with changes."""
    return {host: facts(host.role, **of_host.get(host.name.replace("-", "_"), {})) for host in hosts()}


def finding(
    place: str | Subject = "train-0: /etc/motd",
    *,
    code: Code = Code.FILE_CHANGED,
    desired: Value | None = "a",
    recorded: Value | None = "a",
    actual: Value | None = "b",
    level: Level | None = None,
    **changes: Any,
) -> Finding:
    """Make a finding; a place given as text is a file on a host."""
    of_file = subject.HostFile(*place.split(": ", 1)) if isinstance(place, str) else place
    made = drift(code, of_file, "the file has another content", remedy="put it back", desired=desired, recorded=recorded, actual=actual, level=level)
    return dataclasses.replace(made, **changes)


def report(*findings: Finding, failed: tuple[Layer, ...] = (), moment: dt.datetime = MOMENT, layers: tuple[Layer, ...] = (Layer.CLOUD, Layer.HOSTS)) -> Report:
    results = tuple(
        Result(layer, failure="the credentials have expired\nlog in again", seconds=1.5)
        if layer in failed
        else Result(layer, tuple(one for one in findings if layer_of(one) is layer), (Unchecked(layer, "somewhere", "nobody looked"),), seconds=1.5)
        for layer in layers
    )
    return Report("prod", "starter", "local", moment, 3.2, results)


def sides(found: Finding) -> tuple[str | None, ...]:
    """Give the texts of what is desired, recorded and actual."""
    return tuple(texts(found))


def told(findings: Any) -> list[tuple[str, str]]:
    return [(str(one.code), one.place) for one in findings]
