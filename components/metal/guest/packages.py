"""Packages of a host: what is installed, and what a release purges, installs again and leaves."""

from __future__ import annotations

import dataclasses
import fcntl
import glob
import os
import re
import struct
import time
from typing import TYPE_CHECKING, Any

from .system import CommandFailed, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .system import System

STATUS = "/var/lib/dpkg/status"
AUTO = "/var/lib/apt/extended_states"
LOCK = "/var/lib/dpkg/lock-frontend"
LINKS, LINKS_PACKAGE = "/usr/lib/*/pmix2/lib/libpmix.so", "libpmix-dev"
"""A link that Slurm's plugin for PMIx needs in some versions (playbooks/roles/mpi), and the package that has it, too."""
WHOLE_STATES = ("installed", "config-files", "not-installed", "triggers-pending", "triggers-awaited")
"""States in which apt works with a package; a package in any other is half-installed (dpkg(1), "Package states")."""
APT_WITHIN_S = 1200
Packages = dict[str, dict[str, Any]]  # name → {state, version, held, auto, needs, recommends, gives}
APT = (
    "apt-get",
    "--yes",
    "--quiet",
    "--allow-change-held-packages",
    "--no-install-recommends",
    "--option=Dpkg::Options::=--force-confold",
    "--purge",
    "remove",
)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is done to the packages of a host."""

    purge: tuple[str, ...]
    install: tuple[str, ...]
    """Packages that the stack removed."""
    hold: tuple[str, ...]
    unhold: tuple[str, ...]
    auto: tuple[str, ...]
    manual: tuple[str, ...]
    stay: Mapping[str, str]
    """Package that the stack installed → why it stays."""
    changed: Mapping[str, str]
    """Package → the change of its version, which is not taken back."""

    @classmethod
    def read(cls, recorded: Mapping[str, Any]) -> Plan:
        """Read what `dataclasses.asdict` gave and JSON kept."""
        values: dict[str, Any] = {name: value if isinstance(value, dict) else tuple(value) for name, value in recorded.items()}
        return cls(**values)


def installed(system: System) -> Packages:
    """Describe every package that dpkg knows and that is not absent."""
    automatic = {fields["Package"] for fields in _paragraphs(system.read(AUTO)) if fields.get("Auto-Installed") == "1"}
    paragraphs = [*_paragraphs(system.read(STATUS))]
    native = next((fields["Architecture"] for fields in paragraphs if fields.get("Package") == "dpkg"), "")
    found = {}
    for fields in paragraphs:
        want, _, state = [*fields.get("Status", "").split(), "", "", ""][:3]
        if state in ("", "not-installed"):
            continue
        name, architecture = fields["Package"], fields.get("Architecture", "all")
        found[name if architecture in ("all", native) else f"{name}:{architecture}"] = {
            "state": state,
            "version": fields.get("Version", ""),
            "held": want == "hold",
            "auto": name in automatic,
            "needs": [*_groups(fields.get("Pre-Depends", "")), *_groups(fields.get("Depends", ""))],
            "recommends": _groups(fields.get("Recommends", "")),
            "gives": [name, *(one for group in _groups(fields.get("Provides", "")) for one in group)],
        }
    return found


def recorded(packages: Packages) -> Packages:
    """Give what is recorded of packages: all but how they depend on each other."""
    return {name: {key: package[key] for key in ("state", "version", "held", "auto")} for name, package in packages.items()}


def plan(*, before: Packages, left: Packages, now: Packages) -> Plan:
    """Decide what a release does, from what was installed before the stack, what it left, and what is installed now. Pure.

    A package that the stack installed stays when its owner marked it as wanted since, or when a package depends on it that the stack did not install.
    """
    added = {name for name in left if _is_here(left, name) and not _is_here(before, name) and name in now}
    stay = {name: "somebody marked it as manually installed since" for name in added if left[name]["auto"] and not now[name]["auto"]}
    stay |= {name: "somebody holds it since" for name in added - set(stay) if now[name]["held"] and not left[name]["held"]}
    again = {name for name in before if _is_here(before, name) and not _is_here(left, name) and not _is_here(now, name)}
    stay |= needed(before, now, removable=added - set(stay), again=again)
    both = [name for name in left if _is_here(left, name) and _is_here(before, name) and _is_here(now, name)]

    def taken_back(key: str, value: bool) -> tuple[str, ...]:
        """Name packages whose mark the stack changed, and nobody since, where it was `value`."""
        return tuple(sorted(name for name in both if before[name][key] is value and left[name][key] is not value and now[name][key] is not value))

    return Plan(
        purge=tuple(sorted(added - set(stay))),
        install=tuple(sorted(again)),
        hold=taken_back("held", True),
        unhold=taken_back("held", False) + tuple(sorted(name for name in stay if left[name]["held"] and now[name]["held"])),
        auto=taken_back("auto", True),
        manual=taken_back("auto", False),
        stay=stay,
        changed={name: f"{before[name]['version']} → {now[name]['version']}" for name in sorted(both) if before[name]["version"] != left[name]["version"]},
    )


def needed(before: Packages, now: Packages, *, removable: set[str], again: set[str]) -> dict[str, str]:
    """Name the packages of `removable` that others depend on: package → why. Pure.

    A recommendation counts where its package is neither the stack's nor older than it.

    Args:
        again: packages that are installed again.
    """
    given: dict[str, set[str]] = {}
    for name, gives in (*((name, [name]) for name in again), *((name, now[name]["gives"]) for name in now if _is_here(now, name))):
        for one in gives:
            given.setdefault(one, set()).add(name)
    found: dict[str, str] = {}
    waiting = [name for name in now if _is_here(now, name) and name not in removable]
    while waiting:
        name = waiting.pop()
        recommends = [] if name in before or name in removable else now[name]["recommends"]
        for group in (*now[name]["needs"], *recommends):
            givers = set().union(*(given.get(one, set()) for one in group))
            if givers and givers <= removable - set(found):
                for giver in sorted(givers):
                    found[giver] = f"{name} depends on it"
                    waiting.append(giver)
    return found


def broken(packages: Packages) -> list[str]:
    """Name the half-installed packages."""
    return sorted(name for name, package in packages.items() if package["state"] not in WHOLE_STATES)


def wait_for_lock(system: System, within_s: float) -> None:
    """Wait until no package manager works on the host.

    Raises:
        Refused: one still does.
    """
    deadline = time.monotonic() + within_s
    while holder := lock_holder(system):
        if time.monotonic() > deadline:
            raise Refused(
                "the package manager of this host is in use",
                why=f"{holder} holds {LOCK}, and did not end within {within_s:.0f} s",
                remedy="wait until it has ended (on Ubuntu: `systemctl list-jobs | grep apt`), then run the same command again",
            )
        time.sleep(min(0.5, max(within_s, 0.01)))


def lock_holder(system: System) -> str:
    """Name the program that has the package manager locked; empty: none, or root alone may know. Asking locks nothing."""
    try:
        with open(system.path(LOCK), "rb") as stream:
            # struct flock of a 64-bit Linux: type, whence, start, length, process id
            answer = fcntl.fcntl(stream, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    except OSError:
        return ""
    kind, _, _, _, pid = struct.unpack("hhqqi4x", answer)
    name = system.read(f"/proc/{pid}/comm").strip() or "another program"
    return "" if kind == fcntl.F_UNLCK else f"{name} (process {pid})"


def mend(system: System, before: Packages, left: Packages | None) -> None:
    """Complete half-installed packages, and purge those that are the stack's own.

    Args:
        left: what the stack left; None: a finishing was cut off, so that everything new is the stack's.
    Raises:
        Refused: one that is not the stack's can't be completed.
    """
    if not broken(installed(system)):
        return
    system.answer("dpkg", "--configure", "--pending")
    still = broken(installed(system))
    for name in [one for one in still if not _is_here(before, one) and (left is None or one in left)]:
        system.answer("dpkg", "--purge", "--force-remove-reinstreq", "--force-depends", name)
    if others := broken(installed(system)):
        raise Refused(
            f"packages of this host are half-installed: {', '.join(others)}",
            why="apt can neither install nor remove anything before they are complete, and they are not the stack's",
            remedy="sudo dpkg --configure --pending; sudo apt-get --fix-broken install\nthen run the same command again",
        )


def carry_out(system: System, decided: Plan) -> list[tuple[str, str]]:
    """Bring the packages to the plan in one transaction; give what stays otherwise: (package, why).

    Raises:
        CommandFailed: apt failed.
    """
    stays: list[tuple[str, str]] = []
    now = installed(system)
    _remove_links(system)
    purge = [name for name in decided.purge if name in now]
    install = [name for name in decided.install if not _is_here(now, name)]
    if purge or install:
        try:
            said = _transact(system, purge, install, is_simulated=True)
        except CommandFailed as failure:
            stays += [(name, f"it was installed before, and can't be installed again: {failure}") for name in install]
            install, said = [], _transact(system, purge, [], is_simulated=True)
        if _taken_along(said, purge):
            purge, others = _safe(system, purge)
            stays += others
        purged = {path for name in purge for path in files_of(system, name)}
        _transact(system, purge, install, is_simulated=False)
        _remove_dangling(system, purged)
    for verb, names in (("hold", decided.hold), ("unhold", decided.unhold), ("auto", decided.auto), ("manual", decided.manual)):
        if chosen := [name for name in names if _is_here(installed(system), name)]:
            system.run("apt-mark", verb, *chosen)
    return stays


def _remove_links(system: System) -> None:
    """Remove the stack's links in folders of packages, unless a package has brought them: the packages would leave these folders behind."""
    for path in glob.glob(system.path(LINKS)):
        if os.path.islink(path) and system.inside(path) not in files_of(system, LINKS_PACKAGE):
            os.unlink(path)


def _remove_dangling(system: System, purged: set[str]) -> None:
    """Remove links that ldconfig(8) made to libraries that are gone. It removes those with usual names itself."""
    for folder in {os.path.dirname(path) for path in purged if ".so" in os.path.basename(path)}:
        for path in glob.glob(f"{glob.escape(system.path(folder))}/lib*"):
            if os.path.islink(path) and not os.path.exists(path) and os.path.join(folder, os.readlink(path)) in purged:
                os.unlink(path)


def _safe(system: System, purge: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Leave out of the purge what would take a package with it that is not in it."""
    along = {name: [one for one in _taken_along(_transact(system, [name], [], is_simulated=True), [name]) if one not in purge] for name in purge}
    stays = [(name, f"{', '.join(others)} would be removed with it") for name, others in along.items() if others]
    return [name for name in purge if not along[name]], stays


def _taken_along(said: str, purge: list[str]) -> list[str]:
    """Name the packages that apt would remove and that are not in the purge."""
    return sorted(set(re.findall(r"^(?:Remv|Purg) (\S+)", said, re.MULTILINE)) - {name.partition(":")[0] for name in purge} - set(purge))


def _transact(system: System, purge: Iterable[str], install: Iterable[str], *, is_simulated: bool) -> str:
    simulate = ("--simulate",) if is_simulated else ()
    return system.run(*APT, *simulate, *purge, *(f"{name}+" for name in install), within_s=APT_WITHIN_S)


def files_of(system: System, package: str) -> set[str]:
    """Name what a package has on the host."""
    for name in (package, f"{package.partition(':')[0]}:{_architecture(system, package)}"):
        text = system.read(f"/var/lib/dpkg/info/{name}.list")
        if text:
            return set(text.splitlines())
    return set()


def _architecture(system: System, package: str) -> str:
    if ":" in package:
        return package.partition(":")[2]
    return next((fields.get("Architecture", "") for fields in _paragraphs(system.read(STATUS)) if fields.get("Package") == package), "")


def _is_here(packages: Mapping[str, Any], name: str) -> bool:
    """Say whether a package is installed, not just its configuration."""
    return name in packages and packages[name]["state"] != "config-files"


def _groups(field: str) -> list[list[str]]:
    """Read a field of relations: a group for each comma, its alternatives by name."""
    return [
        [alternative.split()[0].partition(":")[0] for alternative in group.split("|") if alternative.split()] for group in field.split(",") if group.strip()
    ]


def _paragraphs(text: str) -> Iterable[dict[str, str]]:
    for paragraph in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and not line.startswith((" ", "\t")))
        if "Package" in fields:
            yield fields
