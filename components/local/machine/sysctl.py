"""Kernel settings that hosts need, with the machine's own values kept and restored with the last stack."""

from pathlib import Path

from . import record
from .names import STATE_ROOT, machine_lock

ORIGINALS = STATE_ROOT / ".sysctl.json"

MINIMUMS = {
    "net.ipv4.ip_forward": 1,  # hosts reach package archives through the machine
    "fs.inotify.max_user_instances": 8192,  # systemd in each host takes several; the usual 128 stops at about 30 hosts
    "kernel.keys.maxkeys": 20000,  # each login session of each host holds a keyring; the usual 200 stops at about 30 hosts
    "kernel.keys.maxbytes": 2_000_000,
    "net.ipv4.neigh.default.gc_thresh3": 8192,  # a bridge of several hundred hosts overflows the usual 1024 neighbours
}


def _file(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")


def missing() -> dict[str, int]:
    """Settings that are below what hosts need."""
    return {name: value for name, value in MINIMUMS.items() if _file(name).exists() and int(_file(name).read_text()) < value}


def raise_to_minimums() -> None:
    """Raise what is too low, keeping what the machine had."""
    with record.lock(machine_lock()):
        originals = record.read(ORIGINALS) or {}
        for name, value in missing().items():
            originals.setdefault(name, int(_file(name).read_text()))
            record.write(ORIGINALS, originals)  # before the change, so that a kill in between loses nothing
            _file(name).write_text(str(value))


def restore() -> None:
    """Give the machine its own values back; called by the last stack, under the machine's lock."""
    for name, value in (record.read(ORIGINALS) or {}).items():
        _file(name).write_text(str(value))
    ORIGINALS.unlink(missing_ok=True)
