"""What no role or package put on a host: rights, programs, units, sockets, mounts. Pure.

Facts that all hosts share, such as a program that the image has without a package, are no drift: a host is compared with the others.
"""

import dataclasses
import fnmatch
import functools
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, HostPart, Mount, Unit
from blueprints.finding.values import FileState

from ..codes import Code
from ..finding import digest, drift

PACKAGED = Path(__file__).with_name("privileged.yaml")
RECORDED = ("/etc/", "/opt/", "/usr/local/", "/usr/lib/clusterwright/", "/var/spool/cron/")
"""Places that a host records with their modes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Common:
    """What most hosts have and no package brought: it came with their image."""

    unowned: frozenset[str] = frozenset()
    privileged: frozenset[tuple[str, str]] = frozenset()


def common(facts: Mapping[Any, Mapping[str, Any]]) -> Common:
    """Find what more than half of the hosts that were asked have; of one host alone, nothing."""
    asked = [of_host["exposure"] for of_host in facts.values() if "exposure" in of_host]
    if len(asked) == 1:
        return Common()
    unowned = Counter(path for one in asked for path in one["unowned"])
    privileged = Counter((entry["path"], entry["right"]) for one in asked for entry in one["privileged"])
    return Common(
        frozenset(path for path, count in unowned.items() if 2 * count > len(asked)),
        frozenset(one for one, count in privileged.items() if 2 * count > len(asked)),
    )


def findings(host: str, facts: Mapping[str, Any], shared: Common) -> Iterator[Finding]:
    """Report what is exposed on one host.

    Args:
        facts: what `program.exposure.facts` gave, under `exposure`, the places that differ, and `contents` (`program.exposure.contents`).
        shared: what the hosts have in common.
    """
    exposure, contents = facts["exposure"], facts["contents"]
    yield from _privileged(host, facts, shared)
    for one in exposure["writable"]:
        if one["path"].startswith(RECORDED):
            continue  # the record shows the mode
        remedy = f"`chmod o-w -- {shlex.quote(one['path'])}` on {host}, and find out who opened it and what was written"
        yield drift(Code.WORLD_WRITABLE, HostFile(host, one["path"]), "everybody may write to it", remedy=remedy, actual=f"{one['mode']} {one['owner']}")
    privileged = {one["path"] for one in exposure["privileged"]}
    for path in exposure["unowned"]:
        if path not in shared.unowned and path not in privileged:
            what = "no package owns the file, and the system runs or reads it"
            remedy = "`clusterwright drift fix` moves it aside; to keep it, put it below /usr/local by a role"
            yield drift(Code.UNOWNED, HostFile(host, path), what, remedy=remedy, digest=digest(contents.get(path)))
    for path in exposure["changed_programs"]:
        remedy = (
            f"`dpkg --search {shlex.quote(path)}` on {host} names its package; `apt-get install --reinstall` restores it, or `clusterwright rebuild {host}`"
        )
        what = "the program is not the one of its package"
        yield drift(
            Code.PACKAGE_FILE,
            HostFile(host, path),
            what,
            remedy=remedy,
            desired="as in the package",
            actual="another content, or gone",
            digest=digest(contents.get(path)),
        )
    for path in exposure["runtime_files"]:
        what = "the system follows this file until the next boot, and no role wrote it"
        remedy = f"`rm -- {shlex.quote(path)} && systemctl daemon-reload` on {host}"
        yield drift(Code.TRANSIENT, HostFile(host, path), what, remedy=remedy, digest=digest(contents.get(path)))
    for name in exposure["transient_units"]:
        if name in facts["units"]:
            continue  # it failed, which is a finding
        what = "the unit was created at run time: it has no file and is gone after the next boot"
        yield drift(
            Code.TRANSIENT,
            Unit(host, name),
            what,
            remedy=f"`systemctl status -- {shlex.quote(name)}` on {host} shows what it runs; `systemctl stop -- {shlex.quote(name)}` ends it",
            digest=digest(contents.get(name)),
        )
    for path in exposure["root_starts"]:
        what = "the file is not as the system installs it, and runs or counts when root logs in"
        remedy = f"{_restoring(path)} on {host}, and find out who wrote it"
        yield drift(Code.ROOT_START, HostFile(host, path), what, remedy=remedy, digest=digest(contents.get(path)))
    for one in exposure["system_keys"]:
        what = f"keys may log in as {one['user']}, a user of the system"
        remedy = f"`rm -- {shlex.quote(one['path'])}` on {host}, and find out who wrote it"
        yield drift(Code.SYSTEM_KEY, HostFile(host, one["path"]), what, remedy=remedy, digest=digest(contents.get(one["path"])))
    for one in exposure["listening"]:
        what = "a program of the system's users listens to the network, and belongs to no unit"
        remedy = f"`ss -tlnp` on {host} shows it; end it, or give it a unit by a role"
        yield drift(Code.LISTENING, HostPart(host, f"port {one['port']}"), what, remedy=remedy, actual=one["program"])
    for one in exposure["deleted"]:
        what = "a process of the system's users runs a program that is not on any disk"
        remedy = f"`ls -l /proc/*/exe` on {host} finds it; end it, and find out who started it"
        yield drift(Code.PROGRAM_GONE, HostPart(host, f"process {one['name']}"), what, remedy=remedy, actual=one["program"])
    for one in exposure["covering"]:
        what = "something is mounted over a folder of the system, and fstab does not name it"
        remedy = f"`umount -- {shlex.quote(one['path'])}` on {host}; what was below shows again"
        yield drift(Code.MOUNT_COVERING, Mount(host, one["path"]), what, remedy=remedy, actual=f"{one['kind']} {one['source']}")


def private_files(host: str, open_files: list[dict[str, str]]) -> Iterator[Finding]:
    """Report keys that others may read or change: whoever reads MUNGE's key can act as any user of the cluster."""
    for one in open_files:
        group = one["needed_owner"]
        needed = FileState(one["kind"], one["needed_mode"], one["needed_owner"], group)
        actual = FileState(one["kind"], one["mode"], one["owner"], one["group"])
        what = "others than its owner may read or change it, or it belongs to somebody else"
        remedy = f"`clusterwright drift fix --kind attributes` restores it; replace what others could read on {host}"
        yield drift(
            Code.FILE_ATTRIBUTES, HostFile(host, one["path"]), what, remedy=remedy, desired=needed, recorded=needed, actual=actual, level=Code.ROOT_KEY.level
        )


def _restoring(path: str) -> str:
    """Give the command that restores a file in root's home."""
    name = path.removeprefix("/root/")
    return f"`cp /usr/share/base-files/dot{name} {path}`" if name in (".bashrc", ".profile") else f"`rm -- {shlex.quote(path)}`"


def hostname(host: str, actual: str) -> Iterator[Finding]:
    """Compare the running hostname: Slurm's daemons find themselves by it."""
    if actual.partition(".")[0] != host:
        remedy = f"`hostname {host}` on it"
        yield drift(Code.HOSTNAME, HostPart(host, "hostname"), "the host goes by another name", remedy=remedy, desired=host, recorded=host, actual=actual)


def not_compared(exposure: Mapping[str, Any]) -> str:
    """Say why the rights of files could not be compared; empty when they were."""
    return "" if exposure["is_read"] else "reading all inodes took too long"


def _privileged(host: str, facts: Mapping[str, Any], shared: Common) -> Iterator[Finding]:
    differing = {place["path"] for place in facts["places"]}
    for one in facts["exposure"]["privileged"]:
        path, right = one["path"], one["right"]
        is_known = path in differing if path.startswith(RECORDED) else not (one["owned"] and _is_packaged(path))
        if not is_known or (path, right) in shared.privileged:
            continue
        owner = "its package did not give it that" if one["owned"] else "no package owns it"
        what = f"whoever runs the file gets its owner's or more rights, and {owner}"
        yield drift(
            Code.PRIVILEGED,
            HostFile(host, path),
            what,
            remedy=f"find out who put it there; `clusterwright drift fix` removes it, `clusterwright rebuild {host}` all that came with it",
            actual=right,
            digest=digest(facts["contents"].get(path)),
        )


def _is_packaged(path: str) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in _packaged())


@functools.cache
def _packaged() -> tuple[str, ...]:
    return tuple(yaml.safe_load(PACKAGED.read_text(encoding="utf-8"))["packaged"])
