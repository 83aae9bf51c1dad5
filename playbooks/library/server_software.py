"""Install packages in one transaction, hold some, and enable units."""

import fcntl
import fnmatch
import itertools
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ansible.module_utils import host_places, installed_record
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: server_software
short_description: Install packages in one transaction
description:
  - Gets all packages with one run of apt-get, holds them, and enables units. A host that has everything is not asked twice, since apt itself is started only
    where something is missing. Services are not started by their packages, unless O(starts) says so.
  - Lists of packages are fetched when they are older than an hour, and again when a package is not where they say.
  - Packages that an interrupted installation left are completed first. One that goes on although its run was killed is waited for.
  - What the transaction changes joins the host's record, where it has one (C(/var/lib/clusterwright/record/installed.json)). What somebody changed earlier
    stays drift.
options:
  names:
    description: Packages; a name may be followed by C(=) and a pattern of the version.
    type: list
    elements: str
    default: []
  hold:
    description: Names of packages, or patterns of names, to hold at the version that is installed.
    type: list
    elements: str
    default: []
  units:
    description: Units that start with the host.
    type: list
    elements: str
    default: []
  stay_off:
    description: Units that the packages would let start with the host. One that did so before stays as it was.
    type: list
    elements: str
    default: []
  starts:
    description: Whether packages start their services.
    type: bool
    default: false
"""
RETURN = r"""
installed:
  description: Names of packages that were not there in the version asked for.
  returned: always
  type: list
  elements: str
held:
  description: Names of packages that were not held.
  returned: always
  type: list
  elements: str
enabled:
  description: Units that were not enabled.
  returned: always
  type: list
  elements: str
"""

LISTS = ("/var/lib/apt/lists", "/var/lib/apt/periodic/update-success-stamp")
LISTS_COUNT_FOR_S = 3600
LOCK = "/run/clusterwright-packages.lock"
LOCKED_WITHIN_S = 900
CHANGING = f"{host_places.RECORD_FOLDER}/installing.json"
"""What was there before a transaction, until the record has what changed."""
TURNING_OFF = f"{host_places.RECORD_FOLDER}/turning_off.json"
"""On a host that has no record yet: which units a transaction must turn off, until it has."""
DPKG_LOCKED_WITHIN_S = 120
LOOK_EVERY_S = 0.5
POLICY = "/usr/sbin/policy-rc.d"
OWN_POLICY = "#!/bin/sh\n# Written by clusterwright while it installs packages.\nexit 101\n"
KEPT_POLICY = f"{POLICY}.clusterwright"
APT = ("apt-get", "--yes", "--quiet", "--option=DPkg::Lock::Timeout=120", "--option=Dpkg::Use-Pty=0", "--option=Acquire::Retries=3")
# Descriptions in other languages are as large as the lists, and nobody reads them here. Those of the host's owner stay.
UPDATE = (*APT, "--option=Acquire::Languages=none", "--option=APT::Get::List-Cleanup=false", "update")
INSTALL = (*APT, "--no-install-recommends", "--option=Dpkg::Options::=--force-confdef", "--option=Dpkg::Options::=--force-confold", "install")
ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "DEBIAN_PRIORITY": "critical", "LC_ALL": "C.UTF-8"}
LAST_LINES = 12
DOWNGRADES = "The following packages will be DOWNGRADED:"
WHOLE = ("installed", "config-files", "not-installed")
"""States that no interrupted installation leaves."""

Package = dict[str, str]
"""`version`, `state` and `want`, as dpkg-query(1) says."""


class Failed(Exception):
    """A command failed; the text is what it said."""


def main() -> None:
    listed = {"type": "list", "elements": "str", "default": []}
    starts = {"type": "bool", "default": False}
    module = AnsibleModule(argument_spec={"names": listed, "hold": listed, "units": listed, "stay_off": listed, "starts": starts}, supports_check_mode=True)
    wanted, patterns, units = module.params["names"], module.params["hold"], module.params["units"]
    try:
        installed = missing(wanted, known())
        was_killed = any(map(os.path.exists, (CHANGING, TURNING_OFF)))
        if (installed or was_killed) and not module.check_mode:
            install(installed, patterns, module.params["stay_off"], starts=module.params["starts"])
        held = loose(patterns, known())
        if held and not module.check_mode:
            run("apt-mark", "hold", *held)
        enabled = disabled(units)
        if enabled and not module.check_mode:
            run("systemctl", "enable", "--quiet", *enabled)
    except Failed as failure:
        module.fail_json(msg=str(failure))
    module.exit_json(changed=bool(installed or held or enabled), installed=installed, held=held, enabled=enabled)


def missing(wanted: Iterable[str], packages: dict[str, Package]) -> list[str]:
    """Name what is not installed as asked for. Pure."""
    found = []
    for one in wanted:
        name, _, version = one.partition("=")
        package = packages.get(name)
        if package is None or package["state"] != "installed" or not fnmatch.fnmatchcase(package["version"], version or "*"):
            found.append(one)
    return found


def loose(patterns: Iterable[str], packages: dict[str, Package]) -> list[str]:
    """Name the installed packages that match and are not held. Pure."""
    return sorted(
        name
        for name, package in packages.items()
        if package["state"] == "installed" and package["want"] != "hold" and any(fnmatch.fnmatchcase(name, one) for one in patterns)
    )


def install(names: list[str], holdable: Iterable[str], off: Iterable[str] = (), *, starts: bool = False) -> None:
    """Install packages in one transaction, and record what it changed.

    Args:
        holdable: packages that this module holds: one that is installed in another version may change.
        off: units that the packages must not let start with the host.
        starts: packages start their services.
    Raises:
        Failed: apt-get failed.
    """
    with alone(LOCK, within_s=LOCKED_WITHIN_S), recorded(off), nullcontext() if starts else no_service_starts():
        packages = known()
        names = missing(names, packages)  # the one before may have installed them
        if any(package["state"] not in WHOLE for package in packages.values()):
            configure_pending()
        if not names:
            return
        ours = set(holdable) & {one.partition("=")[0] for one in names}
        if held := sorted(name for name in ours if packages.get(name, {}).get("want") == "hold"):
            run("apt-mark", "unhold", *held)
        try:
            fetch(names)
        except Failed:
            if held:
                run("apt-mark", "hold", *held)
            raise
        if holds := loose(holdable, known()):  # with the installation in the record
            run("apt-mark", "hold", *holds)


@contextmanager
def recorded(off: Iterable[str]) -> Iterator[None]:
    """Let the host's record have what changes meanwhile, also where it fails. Units that don't start with the host yet don't afterwards. The next run completes one that was killed."""
    before, path = None, TURNING_OFF
    if host_places.read_json(host_places.INSTALLED) is not None:
        path = CHANGING
        before = installed_record.begin(path, off=[unit for unit in off if disabled([unit])])
        quiet = before["off"]
    elif quiet := sorted({*(host_places.read_json(path) or {"off": []})["off"], *(unit for unit in off if disabled([unit]))}):
        host_places.write_json(path, {"off": quiet})
    try:
        yield
    except Failed:  # what the host's owner changes until the next run is the owner's
        _complete(path, quiet, before)
        raise
    _complete(path, quiet, before)


def _complete(path: str, quiet: list[str], before: dict[str, Any] | None) -> None:
    """Turn units off, record what changed since `before` where the host has a record, and delete the file that has both."""
    disable(quiet)
    if before is not None:
        installed_record.end(before)
    if os.path.exists(path):
        os.unlink(path)


def disable(units: list[str]) -> None:
    """Keep units from starting with the host. Those of packages that a run did not come to install are not there, which systemctl refuses.

    Raises:
        Failed: systemctl failed.
    """
    if enabled := [unit for unit in units if not disabled([unit])]:
        run("systemctl", "disable", "--quiet", *enabled)


def fetch(names: list[str]) -> None:
    """Let apt-get install packages, with fresh lists where they are old or lack a package.

    Raises:
        Failed: apt-get failed.
    """
    is_fresh = lists_age_s() < LISTS_COUNT_FOR_S
    if not is_fresh:
        run(*UPDATE)
    try:
        run(*INSTALL, *names)
    except Failed:
        if not is_fresh:
            raise
        run(*UPDATE)
        run(*INSTALL, *names)


@contextmanager
def alone(path: str, *, within_s: float) -> Iterator[None]:
    """Let one process at a time install: a run that was killed leaves one on the host, which goes on, and needs the policy that keeps services from starting to its end.

    Raises:
        Failed: another process has not ended.
    """
    deadline = time.monotonic() + within_s
    with open(path, "w", encoding="utf-8") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Failed(f"an earlier run still installs packages after {within_s:g} s: `fuser {path}` on this host shows its process") from None
                time.sleep(LOOK_EVERY_S)
        yield


def configure_pending() -> None:
    """Complete packages that an interrupted installation left. Unlike apt-get, dpkg does not wait for its lock.

    Raises:
        Failed: dpkg failed, or another package manager has not ended.
    """
    deadline = time.monotonic() + DPKG_LOCKED_WITHIN_S
    while True:
        try:
            run("dpkg", "--configure", "--pending")
            return
        except Failed as failure:
            if "lock" not in str(failure) or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_EVERY_S)


def lists_age_s() -> float:
    return min((time.time() - os.stat(path).st_mtime for path in LISTS if os.path.exists(path)), default=float("inf"))


@contextmanager
def no_service_starts() -> Iterator[None]:
    """Keep packages from starting their services, as invoke-rc.d(8) lets an administrator do. A run that was killed left its policy, which the next one takes for its own."""
    if os.path.lexists(POLICY) and not _is_own(POLICY):
        os.replace(POLICY, KEPT_POLICY)
    with open(POLICY, "w", encoding="utf-8") as stream:
        stream.write(OWN_POLICY)
    os.chmod(POLICY, 0o755)  # noqa: S103 - a program that everyone runs
    try:
        yield
    finally:
        os.unlink(POLICY)
        if os.path.lexists(KEPT_POLICY):
            os.replace(KEPT_POLICY, POLICY)


def _is_own(path: str) -> bool:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read() == OWN_POLICY


def known() -> dict[str, Package]:
    """Describe the packages that dpkg knows."""
    found = {}
    shown = run("dpkg-query", "--show", "--showformat", "${Package}\t${db:Status-Want}\t${db:Status-Status}\t${Version}\n")
    for line in shown.splitlines():
        name, want, state, version = line.split("\t")
        if name not in found or state == "installed":
            found[name] = {"want": want, "state": state, "version": version}
    return found


def disabled(units: list[str]) -> list[str]:
    """Name the units that don't start with the host."""
    if not units:
        return []
    shown = subprocess.run(["systemctl", "is-enabled", *units], capture_output=True, text=True, check=False, timeout=60).stdout.split()
    return [unit for unit, state in zip(units, shown, strict=False) if state != "enabled"] if len(shown) == len(units) else units


def run(*argv: str) -> str:
    """Run a command and give what it prints.

    Raises:
        Failed: with the command's last words.
    """
    environment: dict[str, Any] = {**os.environ, **ENVIRONMENT}
    done = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).splitlines()
        reasons = [*downgraded(said), *(line for line in said if line.startswith(("E:", "dpkg:", "Failed")))] or said
        raise Failed("\n".join([f"{argv[0]} failed:", *reasons[-LAST_LINES:]]))
    return done.stdout


def downgraded(said: list[str]) -> list[str]:
    """Give what apt-get would replace by older versions, with its heading: names on lines of their own, which begin with a blank. Pure."""
    if DOWNGRADES not in said:
        return []
    after = said[said.index(DOWNGRADES) + 1 :]
    return [DOWNGRADES, *itertools.takewhile(lambda line: line.startswith(" "), after)]


if __name__ == "__main__":
    main()
