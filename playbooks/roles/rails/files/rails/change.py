"""One change of a host's rails, as a transaction: remember, arm the way back, apply, wait for somebody who still reaches the host to confirm.

The folder `/var/lib/clusterwright/rails` has what the transaction needs:
- `before.json`: files and kernel state from before the first change, for `remove`;
- `pending.json`: the same from before this change, and what is wanted; while the file exists, the change is not confirmed;
- `result.json`: how the latest change ended.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import files, live, service, snapshots, wanted

FOLDER = Path("/var/lib/clusterwright/rails")
PENDING, RESULT, BEFORE, OWN = FOLDER / "pending.json", FOLDER / "result.json", FOLDER / "before.json", FOLDER / "own.json"
APPLY_UNIT, ROLLBACK_UNIT = "clusterwright-rails-apply", "clusterwright-rails-rollback"
BOOT_FILE = Path("/etc/systemd/system/clusterwright-rails-boot.service")
BOOT_LINK = Path("/etc/systemd/system/sysinit.target.wants") / BOOT_FILE.name
APPLY_AFTER_S = 1
"""The caller's answer leaves the host before anything changes."""
LOOK_EVERY_S = 0.2
BOOT_TEXT = """\
# Written by clusterwright: network settings that nobody confirmed don't survive a reboot.
[Unit]
Description=Take back network settings that nobody confirmed
DefaultDependencies=no
ConditionPathExists={pending}
After=local-fs.target
Before=network-pre.target systemd-networkd.service networking.service
Wants=network-pre.target

[Service]
Type=oneshot
WorkingDirectory={folder}
ExecStart=/usr/bin/python3 -B -m rails rollback --at-boot
"""


def begin(interfaces: "Sequence[Mapping[str, Any]]", *, confirm_within_s: int, is_check: bool = False) -> "dict[str, Any]":
    """Compare the host with what is wanted of it; arm the way back and start the change where they differ.

    Returns:
        `changes`: what differs; `pending`: whether somebody has to confirm.
    Raises:
        Failed: the host can't become what is wanted.
    """
    with _locked():
        if PENDING.exists() and not is_check:
            _take_back("an earlier change was not confirmed")
        rails = wanted.read(interfaces)
        if not rails:
            return _begin_removal(confirm_within_s, is_check=is_check)
        now = live.state()
        found = live.find(rails, now)
        pairs = [(rail, found[rail.name]) for rail in rails]
        _refuse_to_cut_ssh(pairs, now)
        set_up_by = service.name()
        texts = service.render(set_up_by, pairs)
        owned = _read(OWN) or {}
        stale = [path for path in owned.get("files", ()) if path not in texts]
        changes = _differences(pairs, texts, stale, now)
        if is_check or not changes:
            return {"changes": changes, "pending": False}
        touched = sorted({interface.name for _, interface in pairs} | set(owned.get("interfaces", ())))
        snapshot = snapshots.take([*texts, *stale], touched, now)
        FOLDER.mkdir(parents=True, exist_ok=True)
        if not BEFORE.exists():
            _write(BEFORE, snapshot)
        else:
            _write(BEFORE, snapshots.with_more(_read(BEFORE) or {}, snapshot))
        RESULT.unlink(missing_ok=True)
        order = {"service": set_up_by, "interfaces": [*interfaces], "files": {path: dataclasses.asdict(file) for path, file in texts.items()}, "stale": stale}
        _write(PENDING, {"before": snapshot, "order": order, "touched": touched})
        _arm(confirm_within_s)
    return {"changes": changes, "pending": True}


def _begin_removal(confirm_within_s: int, *, is_check: bool) -> "dict[str, Any]":
    """Arm the way back, and start to give files and kernel the state from before the first change: that may be no way in by now."""
    before, owned = _read(BEFORE), _read(OWN)
    if before is None or is_check:
        return {"changes": ["removed"] if before and owned else [], "pending": False}
    if owned is None:  # nothing was ever confirmed, so that all was taken back
        _forget()
        return {"changes": [], "pending": False}
    touched = sorted({*before["interfaces"], *owned["interfaces"]})
    RESULT.unlink(missing_ok=True)
    _write(PENDING, {"before": snapshots.take([*before["files"]], touched, live.state()), "order": {"interfaces": []}, "touched": touched})
    _arm(confirm_within_s)
    return {"changes": ["removed"], "pending": True}


def apply() -> None:
    """Carry out the change that is pending, and take it back at once when the kernel doesn't have what is wanted afterwards."""
    with _locked():
        pending = _read(PENDING)
        if pending is None:
            return
        order = pending["order"]
        try:
            if order["interfaces"]:
                _carry_out(order, pending["touched"])
            else:
                snapshots.restore(_read(BEFORE) or {}, pending["touched"])
        except (live.Failed, OSError) as error:
            _take_back(f"{error}")
            return
        _write(RESULT, {"applied": True})


def result() -> "dict[str, Any]":
    """Say whether the pending change is applied by now.

    Raises:
        Failed: the change was taken back; why.
    """
    is_pending, found = PENDING.exists(), _read(RESULT) or {}
    if not is_pending:
        raise live.Failed(_taken_back(found))
    return {"applied": bool(found.get("applied"))}


def confirm() -> "dict[str, Any]":
    """Keep the pending change. The caller came by a connection that is younger than the change.

    Raises:
        Failed: the change was taken back; why.
    """
    with _locked():
        pending, found = _read(PENDING), _read(RESULT) or {}
        if pending is None or not found.get("applied"):
            raise live.Failed(_taken_back(found))
        rails = wanted.read(pending["order"]["interfaces"])
        if rails:
            names = {name: one.name for name, one in live.find(rails, live.state()).items()}
            addresses = [[names[rail.name], rail.address] for rail in rails if rail.address]
            _write(OWN, {"files": sorted(pending["order"]["files"]), "interfaces": sorted(names.values()), "addresses": addresses})
        PENDING.unlink()
        _disarm()
        if not rails:
            _forget()
    return {"changes": [], "pending": False}


def rollback(*, is_boot: bool = False) -> None:
    """Take back a change that nobody confirmed in time."""
    with _locked():
        if PENDING.exists():
            why = (
                "the host was started again before anybody confirmed them"
                if is_boot
                else "nobody confirmed them over a new SSH connection in time, so they would have cut it"
            )
            _take_back(why, is_boot=is_boot)


def remove() -> "dict[str, Any]":
    """Give files and kernel the state from before the first change, at once: a server that is released has nobody who could confirm."""
    with _locked():
        if PENDING.exists():
            _take_back("the rails are being removed")
        before, owned = _read(BEFORE), _read(OWN)
        if before is None:
            return {"changes": [], "pending": False}
        snapshots.restore(before, sorted({*before["interfaces"], *(owned or {}).get("interfaces", ())}))
        _forget()
    return {"changes": ["removed"], "pending": False}


def _taken_back(found: "Mapping[str, Any]") -> str:
    return f"The network settings of {os.uname().nodename} were taken back: {found.get('reason', 'another run did it')}."


def status(interfaces: "Sequence[Mapping[str, Any]]") -> "dict[str, Any]":
    """Say what of the rails the kernel lacks."""
    rails, now = wanted.read(interfaces), live.state()
    found = live.find(rails, now)
    return {"changes": [text for rail in rails for text in (*live.lacking(rail, found[rail.name], now), *live.lacking_settings(found[rail.name].name))]}


def _refuse_to_cut_ssh(pairs: "Sequence[tuple[wanted.Rail, live.Interface]]", now: live.State) -> None:
    carrier, address = live.carries_ssh(now)
    for rail, interface in pairs:
        if carrier == interface.name and rail.address and rail.own_address != address:
            raise live.Failed(
                f"{rail.name}: the interface {interface.name} ({interface.mac}) carries this SSH connection with the address {address}, and the inventory gives it {rail.address}. "
                f"Nothing was changed. Correct `mac`, or write `address: {address}/…` to have the interface set up as it is."
            )


def _differences(
    pairs: "Sequence[tuple[wanted.Rail, live.Interface]]", texts: "Mapping[str, files.File]", stale: "Sequence[str]", now: live.State
) -> "list[str]":
    changes = [text for rail, interface in pairs for text in (*live.lacking(rail, interface, now), *live.lacking_settings(interface.name))]
    changes += [f"{path} differs" for path, file in texts.items() if snapshots.content(path) != (file.content, file.mode)]
    return changes + [f"{path} is no longer needed" for path in stale if Path(path).exists()]


def _carry_out(order: "Mapping[str, Any]", touched: "Sequence[str]") -> None:
    rails, now = wanted.read(order["interfaces"]), live.state()
    found = live.find(rails, now)
    service.write({path: files.File(**file) for path, file in order["files"].items()}, order["stale"])
    is_set_up = service.reload(order["service"], touched)
    _drop_own_leftovers(rails, found)
    for rail in rails:
        if not is_set_up:
            service.apply_directly(rail, found[rail.name])
        for name, value in live.SETTINGS.items():
            Path(f"/proc/sys/net/ipv4/conf/{found[rail.name].name}/{name}").write_text(str(value))
    deadline = time.monotonic() + service.SETTLES_WITHIN_S
    while True:
        missing = status(order["interfaces"])["changes"]
        if not missing:
            return
        if time.monotonic() > deadline:
            raise live.Failed(f"{order['service']} did not set them up: {'; '.join(missing)}")
        time.sleep(LOOK_EVERY_S)


def _drop_own_leftovers(rails: "Sequence[wanted.Rail]", found: "Mapping[str, live.Interface]") -> None:
    """Remove rules and routes of tables that no rail uses so any longer; the addresses of former rails go with the service's reload, or here."""
    now = live.state()
    rules = {(rail.table, rail.own_address, rail.table) for rail in rails if rail.address}
    for priority, source, table in now.rules:
        if (priority, source, table) not in rules:
            live.run("ip", "-4", "rule", "del", "priority", str(priority), "from", source, "table", str(table))
    routes = {(found[rail.name].name, route.to, route.via, route.table) for rail in rails for route in rail.all_routes()}
    for device, route in now.routes:
        is_own = route.table != 0 or wanted.FIRST_TABLE <= route.metric < wanted.FIRST_TABLE + wanted.MOST_RAILS
        if is_own and (device, route.to, route.via, route.table) not in routes:
            snapshots.delete_route(device, route)
    kept = {(found[rail.name].name, rail.address) for rail in rails}
    for interface, address in _own_addresses():
        if (interface, address) not in kept:
            with contextlib.suppress(live.Failed):  # the service removed it meanwhile
                live.run("ip", "-4", "address", "del", address, "dev", interface)


def _own_addresses() -> "list[tuple[str, str]]":
    """List interfaces and addresses of the last confirmed change, except those that the owner had set before."""
    owned, before = _read(OWN) or {}, (_read(BEFORE) or {}).get("interfaces", {})
    return [(name, address) for name, address in owned.get("addresses", ()) if address not in before.get(name, {}).get("addresses", ())]


def _take_back(reason: str, *, is_boot: bool = False) -> None:
    pending = _read(PENDING)
    if pending is None:
        return
    snapshots.restore(pending["before"], pending["touched"], is_boot=is_boot)
    _write(RESULT, {"applied": False, "reason": reason})
    PENDING.unlink()
    _disarm()
    print(f"network settings taken back: {reason}", file=sys.stderr)


def _arm(confirm_within_s: int) -> None:
    """Have systemd take the change back after a while, then have it carried out: each in a process that doesn't end with the SSH session.

    Raises:
        Failed: systemd refuses; nothing was changed.
    """
    folder = str(Path(__file__).resolve().parents[1])
    # Nobody needs to know the unit before the next boot, and `systemctl daemon-reload` would have netplan write the files of all interfaces again.
    service.store(str(BOOT_FILE), BOOT_TEXT.format(pending=PENDING, folder=folder), 0o644)
    BOOT_LINK.parent.mkdir(exist_ok=True)
    BOOT_LINK.unlink(missing_ok=True)
    BOOT_LINK.symlink_to(BOOT_FILE)
    try:
        _later(ROLLBACK_UNIT, folder, "rollback", after_s=confirm_within_s)
        _later(APPLY_UNIT, folder, "apply", after_s=APPLY_AFTER_S)
    except live.Failed:
        PENDING.unlink()
        _disarm()
        raise


def _later(unit: str, folder: str, verb: str, *, after_s: int) -> None:
    live.run(
        "systemd-run", "--quiet", "--collect", f"--unit={unit}", f"--on-active={after_s}s", "--timer-property=AccuracySec=100ms",
        f"--property=WorkingDirectory={folder}", "/usr/bin/python3", "-B", "-m", "rails", verb,
    )  # fmt: skip


def _disarm() -> None:
    """Stop the timers, and remove what a reboot would have needed. What runs now stops itself."""
    for unit in (ROLLBACK_UNIT, APPLY_UNIT):
        with contextlib.suppress(live.Failed):
            live.run("systemctl", "stop", f"{unit}.timer")
    BOOT_LINK.unlink(missing_ok=True)
    BOOT_FILE.unlink(missing_ok=True)


def _forget() -> None:
    for path in (BEFORE, OWN, RESULT):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked() -> "Iterator[None]":
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(path: Path) -> "dict[str, Any] | None":
    try:
        read: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return read


def _write(path: Path, value: "Mapping[str, Any]") -> None:
    service.store(str(path), json.dumps(value, indent=1), 0o600)
