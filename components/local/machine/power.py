"""The power supply of a host: it starts the host's container again whenever that ends, until `off`.

A host that was rebooted or powered off inside comes back by itself, and so does one whose container was killed. Where systemd runs the machine, the host's unit is the supply; elsewhere it is a
shell beside the host, in a control group of its own (`power.sh`). `off` ends the supply first: such a host stays off, as after a power failure, until `up` starts it.
"""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...files import atomic_files
from . import cgroup, command, disk
from .names import HostNames

NSPAWN_FOLDERS = (disk.NSPAWN_ROOT / "unix-export", disk.NSPAWN_ROOT / "propagate")
"""systemd-nspawn leaves its containers' folders in these when it is killed; from version 256 on it starts no container whose folder is there."""
RESTARTS = ("Restart=always", "RestartSec=3", "StartLimitIntervalSec=120", "StartLimitBurst=8")
RESTARTS_AFTER_REBOOT = ("RestartForceExitStatus=133", "SuccessExitStatus=133", *RESTARTS[1:])  # as in systemd-nspawn@.service
SHELL = "/bin/sh"
SCRIPT = Path(__file__).with_name("power.sh")
PAUSE_S = 3
"""Between two boots. Slurm takes no node that seems to have booted before its request. An uptime is rounded up (sysinfo(2)), begins with the fraction of a second that `unshare` leaves, and is taken from the
moment in whole seconds: a boot seems to have been up to 3 s before it was."""


def has_own_uptimes() -> bool:
    """Say whether the kernel can give a host an uptime of its own (time_namespaces(7), from 5.6)."""
    return Path("/proc/self/ns/time").exists()


def leftovers(host: HostNames) -> tuple[Path, ...]:
    """List the folders that systemd-nspawn may leave of the host's container."""
    return tuple(folder / container(host) for folder in NSPAWN_FOLDERS)


def container(host: HostNames) -> str:
    """Name the host's container among all containers of the machine, where hosts of several stacks have the same hostname."""
    return host.namespace


def on(host: HostNames, argv: Sequence[str], *, interface: str, fingerprint: str, boots_after_power_off: bool) -> None:
    """Start the supply, which runs `argv` as the host's container; returns before the container runs.

    Args:
        interface: the machine's end of the host's cable.
        fingerprint: of what the host boots with, for its record.
        boots_after_power_off: False: only a reboot starts it again, as an instance of a cloud.
    Raises:
        CommandFailed: systemd refused the unit.
    """
    groups = () if cgroup.has_systemd() else tuple(file.parent for file in cgroup.make(cgroup.of_host(host)))
    values = variables(host, groups=groups, interface=interface, fingerprint=fingerprint, boots_after_power_off=boots_after_power_off)
    atomic_files.write_text(host.supply, script(values, argv), mode=0o600)
    # The network's kernel settings are each host's own: what sysctl.d(5) says of them counts here, too.
    environment = {
        "SYSTEMD_NSPAWN_LOCK": "0",
        "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network",
        "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        "LC_ALL": "C.UTF-8",
    }
    if cgroup.has_systemd():
        settings = [f"--setenv={name}={value}" for name, value in environment.items()]
        properties = ["Delegate=yes", "KillMode=mixed", "Type=exec", f"StandardOutput=append:{host.console}", f"StandardError=append:{host.console}"]
        properties += RESTARTS if boots_after_power_off else RESTARTS_AFTER_REBOOT
        command.run(
            "systemd-run", "--quiet", "--collect", f"--unit={host.unit}", f"--slice={host.names.slice}",
            *[f"--property={one}" for one in properties], *settings, SHELL, str(host.supply), "boot",
        )  # fmt: skip
        return
    group = cgroup.make_in_one_hierarchy(cgroup.of_supply(host))
    with host.console.open("ab") as console:
        subprocess.Popen(
            [SHELL, "-c", f"echo $$ > {shlex.quote(str(group))} && exec {SHELL} {shlex.quote(str(host.supply))}"],
            stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True, env=environment, cwd="/",
        )  # fmt: skip


def variables(host: HostNames, *, groups: Sequence[Path], interface: str, fingerprint: str, boots_after_power_off: bool) -> dict[str, str]:
    """List what the script has to know of the host."""
    return {
        "leader": str(host.leader),
        "groups": " ".join(map(str, groups)),
        "namespace": host.namespace,
        "interface": interface,
        "cable": str(host.cable),
        "addresses": str(host.addresses),
        "leftovers": " ".join(map(str, leftovers(host))),
        "fingerprint": fingerprint,
        "has_own_uptime": "yes" if has_own_uptimes() else "no",
        "after_power_off": "boot" if boots_after_power_off else "stay off",
        "pause_s": str(PAUSE_S),
    }


def script(values: Mapping[str, str], argv: Sequence[str]) -> str:
    """Write the script that runs `argv` as the container of one host. Pure."""
    lines = [*(f"{name}={shlex.quote(value)}" for name, value in values.items()), "boot_container() {", f"    boot {shlex.join(argv)}", "}"]
    return "\n".join(lines) + "\n" + SCRIPT.read_text()


def is_on(host: HostNames) -> bool:
    """Say whether the supply runs, so that the host comes back when its container has ended."""
    if cgroup.has_systemd():
        state = command.run("systemctl", "show", "--property=ActiveState", "--value", host.unit).strip()
        return state in ("active", "activating", "reloading")
    return bool(cgroup.processes(cgroup.of_supply(host)))


def off(host: HostNames) -> None:
    """Kill the supply, and then the host: nothing starts it again."""
    cgroup.kill(cgroup.of_supply(host))
    cgroup.kill(cgroup.of_host(host))
    if cgroup.has_systemd():
        command.succeeds("systemctl", "stop", host.unit)  # also one that is about to be started
