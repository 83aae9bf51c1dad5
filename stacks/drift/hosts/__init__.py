"""The hosts layer: what differs from what the roles made. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from .. import role_defaults
from ..codes import Code
from ..record import Known, KnownHost
from ..report import Drift, Layer, Unchecked, drift
from . import files

RUNNING = frozenset({"active", "activating", "reloading"})
NOT_STEADY = frozenset({"oneshot"})
"""Types of units that are done when they have run."""
DONE_AFTER_BOOT = frozenset({"cloud-init-main.service"})
"""Units of another type that end by themselves: it serves the stages of cloud-init, and ends with the last (cloud-init's documentation, "Boot stages")."""
NOT_COMPARED = (
    ("content of shared file systems", "it belongs to its users"),
    ("state of the accounting database", "its tables change with every job; what accounting says is the scheduler's layer"),
    ("keys in users' homes beside the stack's", "users may add their own"),
)


def findings(host: KnownHost, facts: Mapping[str, Any], known: Known, *, moment_s: float) -> Iterator[Drift]:
    """Compare one host with its records and with the cluster.

    Args:
        facts: what the module `drift_facts` gave.
        moment_s: when it was asked, seconds since 1970.
    """
    name = host.name
    yield from files.findings(name, facts["places"])
    yield from _packages(name, facts)
    yield from _units(name, facts["units"])
    yield from _kernel(name, facts)
    if known.spec["users"]:
        yield from _users(name, facts["users"], known)
        yield from _admins(name, facts["groups"], known)
    yield from _root_keys(name, facts["root_keys"], known)
    yield from _user_keys(facts.get("user_keys", {}), known)
    if known.munge_key_sha256 and facts["munge_key_sha256"] != known.munge_key_sha256:
        yield drift(
            Layer.HOSTS,
            Code.MUNGE_KEY,
            f"{name}: MUNGE key",
            "the key is not the cluster's: every message of this host is refused",
            remedy="restart clusterwright-boot.service and munge.service there, which put the key in place again",
            desired="the stack's key",
            recorded="the stack's key",
            actual="another key" if facts["munge_key_sha256"] else "no key",
        )
    yield from _clock(name, facts["epoch_s"], moment_s)
    for mark in facts["pending"]:
        what = f"a configuration of {mark} was written and is not in use yet"
        remedy = "`clusterwright up` goes on where it was interrupted; a restart of the daemon takes it over, too"
        yield drift(Layer.HOSTS, Code.PENDING, f"{name}: pending {mark}", what, remedy=remedy)


def unreachable(host: KnownHost, message: str) -> Drift:
    """Say that a host doesn't answer."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    remedy = "look at its console or power; `clusterwright up` starts or rebuilds a host that is gone"
    return drift(
        Layer.HOSTS,
        Code.UNREACHABLE,
        f"{host.name}: SSH",
        "the host does not answer",
        remedy=remedy,
        desired="answers",
        recorded=f"{host.name} at {host.address}",
        actual=lines[-1] if lines else "no answer",
    )


def unchecked(host: KnownHost, facts: Mapping[str, Any]) -> Iterator[Unchecked]:
    """Say what of one host could not be compared."""
    if not facts["has_record"]:
        yield Unchecked(Layer.HOSTS, f"{host.name}: files and packages", "the host was set up before records were kept; it has one as soon as it is built anew")
    elif not facts["is_born"]:
        yield Unchecked(Layer.HOSTS, f"{host.name}: files", "its first boot is not over, and what it leaves is recorded at its end")


def _packages(host: str, facts: Mapping[str, Any]) -> Iterator[Drift]:
    for one in facts["packages"]:
        name, recorded, actual = one["name"], one["recorded"], one["actual"]
        where = f"{host}: package {name}"
        before, now = _package(recorded), _package(actual)
        if actual is None:
            code, what, remedy = Code.PACKAGE_GONE, "the package was removed", f"`apt-get install {name}={recorded['version']}`, or build the host anew"
        elif recorded is None:
            code, what, remedy = Code.PACKAGE_ADDED, "the package was added by hand", f"put it into a role if it shall stay; `apt-get remove {name}` if not"
        elif recorded["version"] != actual["version"]:
            code, what, remedy = (
                Code.PACKAGE_VERSION,
                "the package has another version",
                f"`apt-get install {name}={recorded['version']}`, or build the host anew",
            )
        elif recorded["held"]:
            code, what, remedy = Code.PACKAGE_HOLD, "the package lost its hold: the next upgrade may change it", f"`apt-mark hold {name}`"
        else:
            code, what, remedy = Code.PACKAGE_HOLD, "the package is held, so that upgrades pass it by", f"`apt-mark unhold {name}`"
        yield drift(Layer.HOSTS, code, where, what, remedy=remedy, desired=before, recorded=before, actual=now)
    for path in facts["package_files"]:
        yield drift(
            Layer.HOSTS,
            Code.PACKAGE_FILE,
            f"{host}: {path}",
            "the file is not the one of its package",
            remedy="reinstall the package (`apt-get install --reinstall`), or build the host anew",
            desired="as in the package",
            actual="another content, or gone",
        )


def _package(package: Mapping[str, Any] | None) -> str | None:
    return None if package is None else f"{package['version']}{', held' if package['held'] else ''}"


def _units(host: str, units: Mapping[str, Mapping[str, str]]) -> Iterator[Drift]:
    for name, unit in sorted(units.items()):
        where, state = f"{host}: unit {name}", f"{unit['ActiveState']} ({unit['SubState']})"
        if unit["ActiveState"] == "failed" or unit["SubState"] == "auto-restart":
            remedy = f"`journalctl -u {name}` on {host} says why; `systemctl restart {name}` tries again"
            yield drift(Layer.HOSTS, Code.UNIT_FAILED, where, "the unit has failed", remedy=remedy, desired="active", recorded="active", actual=state)
        elif name not in DONE_AFTER_BOOT and _should_run(unit) and unit["ActiveState"] not in RUNNING:
            yield drift(
                Layer.HOSTS,
                Code.UNIT_STOPPED,
                where,
                "the unit is enabled, its conditions hold, and it does not run",
                remedy=f"`systemctl start {name}` on {host}, or `clusterwright up`",
                desired="active",
                recorded="active",
                actual=state,
            )


def _should_run(unit: Mapping[str, str]) -> bool:
    """Say whether an enabled unit is meant to run on this host: its conditions held when it was last started."""
    return unit["UnitFileState"].startswith("enabled") and unit.get("ConditionResult") == "yes" and unit.get("Type") not in NOT_STEADY


def _kernel(host: str, facts: Mapping[str, Any]) -> Iterator[Drift]:
    for name, one in sorted(facts["sysctls"].items()):
        if one["declared"] != one["actual"]:
            yield drift(
                Layer.HOSTS,
                Code.SYSCTL,
                f"{host}: sysctl {name}",
                "the kernel has another value than its file says",
                remedy=f"`sysctl --system` on {host} reads the files again",
                desired=one["declared"],
                recorded=one["declared"],
                actual=one["actual"] or None,
            )
    for name, is_loaded in sorted(facts["kernel_modules"].items()):
        if not is_loaded:
            what = "the module should be loaded at boot and isn't"
            yield drift(
                Layer.HOSTS,
                Code.KERNEL_MODULE,
                f"{host}: kernel module {name}",
                what,
                remedy=f"`modprobe {name}` on {host}",
                desired="loaded",
                recorded="loaded",
            )


def _users(host: str, present: Mapping[str, str], known: Known) -> Iterator[Drift]:
    home, shell = role_defaults.defaults("users")["users_home"], role_defaults.defaults("users")["users_shell"]
    wanted = {user["name"]: f"{user['name']}:x:{int(user['uid'])}:{int(user['uid'])}::{home}/{user['name']}:{shell}" for user in known.spec["users"]}
    back = "`clusterwright up` writes the cluster's users again when the controller is finished anew; the table lies in the folder that all hosts mount"
    for name in sorted({*wanted, *present}):
        where, line = f"{host}: user {name}", wanted.get(name)
        if name not in present:
            yield drift(Layer.HOSTS, Code.USER_MISSING, where, "the host doesn't know this user", remedy=back, desired=line, recorded=line)
        elif line is None:
            what = "the host knows a user that the blueprint doesn't"
            yield drift(Layer.HOSTS, Code.USER_ADDED, where, what, remedy=f"add the user to the blueprint, or: {back}", actual=present[name])
        elif present[name] != line:
            what = "the user has another number, group, home or shell"
            yield drift(Layer.HOSTS, Code.USER_CHANGED, where, what, remedy=back, desired=line, recorded=line, actual=present[name])


def _admins(host: str, groups: Mapping[str, str], known: Known) -> Iterator[Drift]:
    line = groups.get(role_defaults.defaults("users")["users_admin_group"]["name"], "")
    wanted = {user["name"] for user in known.spec["users"] if user.get("admin")}
    present = {name for name in line.rpartition(":")[2].split(",") if name}
    back = "`clusterwright up` writes the cluster's groups again when the controller is finished anew; the table lies in the folder that all hosts mount"
    for name in sorted(wanted ^ present):
        yes, no = "may become root", "may not become root"
        desired, actual = (yes, no) if name in wanted else (no, yes)
        what = f"the user {actual}, and is {'an' if name in wanted else 'no'} administrator by the blueprint"
        yield drift(Layer.HOSTS, Code.ADMINS, f"{host}: administrator {name}", what, remedy=back, desired=desired, recorded=desired, actual=actual)


def _root_keys(host: str, lines: list[str], known: Known) -> Iterator[Drift]:
    keys = {_key(line): line for line in lines if line.strip() and not line.lstrip().startswith("#")}
    own = _key(known.admin_public)
    for key, line in sorted(keys.items()):
        if key != own:
            comment = line.split()[-1] if len(line.split()) > 2 else key[:24]
            yield drift(
                Layer.HOSTS,
                Code.ROOT_KEY,
                f"{host}: root's key {key.split()[-1][-12:]}",
                "somebody else's key may log in as root",
                remedy=f"remove the line from /root/.ssh/authorized_keys on {host}, and find out who wrote it",
                actual=f"{key.split()[0]} … {comment}",
            )
    if own and own not in keys:
        what = "the stack's own key may not log in as root any more"
        remedy = "put the stack's key into /root/.ssh/authorized_keys, or build the host anew"
        yield drift(Layer.HOSTS, Code.ROOT_KEY, f"{host}: root's key of the stack", what, remedy=remedy, desired="there", recorded="there")


def asked_for_keys(known: Known) -> KnownHost | None:
    """Give the host that is asked for users' keys: one that has their homes, login nodes first."""
    in_order = sorted(known.hosts, key=lambda host: ("access", "control").index(host.role) if host.role in ("access", "control") else 2)
    return next(iter(in_order), None)


def home(user: Mapping[str, Any]) -> str:
    return f"{role_defaults.defaults('users')['users_home']}/{user['name']}"


def _user_keys(blocks: Mapping[str, list[str] | None], known: Known) -> Iterator[Drift]:
    """Compare the keys that the stack put into users' homes; a home that isn't there is told by its mount."""
    for user in known.spec["users"]:
        lines = blocks.get(user["name"])
        if lines is None:
            continue
        wanted = {_key(line) for line in (*user["ssh_keys"], known.user_keys.get(user["name"], "")) if line.strip()}
        present = {_key(line) for line in lines}
        path = f"{home(user)}/.ssh/authorized_keys"
        for key in sorted(wanted - present):
            remedy = "`clusterwright up` writes it again when the controller is finished anew"
            what = "the stack's key of this user is gone: the user may not be able to log in"
            yield drift(Layer.HOSTS, Code.USER_KEY, _key_place(user, key), what, remedy=remedy, desired=f"in {path}", recorded=f"in {path}")
        for key in sorted(present - wanted):
            what = "a key that is not the stack's is in the stack's block: whoever has it may log in as this user"
            yield drift(Layer.HOSTS, Code.USER_KEY, _key_place(user, key), what, remedy=f"remove the line from {path}, or name it in the blueprint", actual=key)


def _key_place(user: Mapping[str, Any], key: str) -> str:
    return f"user {user['name']}: key {key.split()[-1][-12:]}"


def _key(line: str) -> str:
    """Give kind and body of a line of authorized_keys(5), whatever options stand before them."""
    words = line.split()
    start = next((place for place, word in enumerate(words) if word.startswith(("ssh-", "ecdsa-", "sk-"))), 0)
    return " ".join(words[start : start + 2])


def _clock(host: str, epoch_s: float, moment_s: float) -> Iterator[Drift]:
    most = float(role_defaults.defaults("time")["time_max_skew_s"])
    skew = epoch_s - moment_s
    if abs(skew) > most:
        remedy = f"`chronyc tracking` on {host} says what its clock follows"
        what = f"the clock is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}: MUNGE refuses messages"
        yield drift(Layer.HOSTS, Code.CLOCK, f"{host}: clock", what, remedy=remedy, desired=f"at most {most:.0f} s off", actual=f"{skew:+.0f} s")
