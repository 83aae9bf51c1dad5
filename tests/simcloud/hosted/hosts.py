"""The bodies: hosts for instances, for load balancers, and block devices for volumes. Each function makes one thing so, or removes it; what is there already is fine."""

import dataclasses
import hashlib
import ipaddress
import json
import subprocess
import sys
import time
from pathlib import Path, PurePosixPath

from blueprints.project import project_root
from components.files import atomic_files
from components.local.elastic import fleet
from components.local.machine import command, record
from components.local.machine import host as hosts
from components.local.machine.names import HostNames, StackNames

from .place import Place, loops
from .seeds import EC2, Platform, seeds
from .shares import Export
from .wanted import Disk, Front, Guest

GONE_WITHIN_S = 20.0
LOOP_MAJOR = 7  # Documentation/admin-guide/devices.txt
FRONT_FOLDER = "/etc/balancer"
CONSOLE_MOST = 64 * 1024  # EC2 API reference, GetConsoleOutput
FIRST_BOOT = "var/log/cloud-init-output.log"
"""What cloud-init says on the console of an instance, too; hosts of this machine have none but their first process's output."""
BY_ID = "/dev/disk/by-id"
IMAGE = "simulated"


@dataclasses.dataclass(frozen=True, slots=True)
class Body:
    """What is seen of one host on the machine."""

    is_running: bool
    started_with: str
    """Empty: its container never ran, as a server was killed before."""


def bodies(names: StackNames) -> dict[str, Body]:
    """Give all hosts that are there in any form."""
    found = {path.name for folder in (names.hosts, names.run) if folder.is_dir() for path in folder.iterdir() if path.is_dir()}
    return {name: body(names.host(name)) for name in found}


def body(host: HostNames) -> Body:
    return Body(hosts.recorded(host) is not None and hosts.is_running(host), hosts.booted_with(host))


def start(place: Place, guest: Guest, *, lowers: tuple[str, ...], authority: str, platform: Platform = EC2) -> None:
    """Start an instance's host, on a new disk."""
    asked_at = time.monotonic()
    host = place.names.host(guest.id)
    remove(host)
    hosts.make_disk(host, image=IMAGE)
    hostname = f"ip-{guest.address.replace('.', '-')}"
    given = seeds(hostname=hostname, gateway=place.gateway, authority=authority, lowers=lowers, gpus=guest.gpus, efa=guest.efa, platform=platform)
    hosts.write_seeds(host, given)
    boot = _boot(place, guest.address, lowers)
    time.sleep(max(0.0, asked_at + fleet.NOT_BEFORE_S - time.monotonic()))  # Slurm takes no node that seems to have booted before it was asked for
    hosts.start(host, boot, fingerprint=IMAGE, boots_after_power_off=False)  # a cloud stops an instance that is powered off inside


def _boot(place: Place, address: str, lowers: tuple[str, ...]) -> hosts.Boot:
    prefix = ipaddress.ip_network(place.cidr).prefixlen
    return hosts.Boot(address=address, prefix=prefix, gateway=place.gateway, bridge=place.names.bridge, lowers=lowers, binds=())


def remove(host: HostNames) -> None:
    """End a host and remove its disk; what its console said stays for a while, as EC2 keeps it."""
    said = console(host)
    hosts.kill(host)
    deadline = time.monotonic() + GONE_WITHIN_S
    while not hosts.is_gone(host):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the processes of {host.hostname} do not end")
        time.sleep(0.02)
    hosts.remove(host)
    if said:
        atomic_files.write_text(_last_words(host), said)


def console(host: HostNames) -> str:
    """Give the end of what a host's console said, also of one that is gone."""
    found = [path.read_bytes() for path in (host.console, host.upper / FIRST_BOOT) if path.is_file()]
    if not found and _last_words(host).is_file():
        found = [_last_words(host).read_bytes()]
    return b"".join(found)[-CONSOLE_MOST:].decode(errors="replace")


def say(host: HostNames, text: str) -> None:
    """Write a line on the console of a host that may have never been."""
    atomic_files.write_text(_last_words(host), f"{console(host)}simulated: {text}\n")


def _last_words(host: HostNames) -> Path:
    return host.names.state / "consoles" / host.hostname


def first_process(host: HostNames) -> int | None:
    """Give the process id, as this machine counts it, of a host's first process; None when there is none, or none yet that has only the host's own files."""
    leader = record.read(host.leader)
    if leader is None or hosts.start_time(int(leader["pid"])) != leader["started"]:
        return None
    try:
        children = Path(f"/proc/{leader['pid']}/task/{leader['pid']}/children").read_text().split()
        # At first the process still sees this machine's files: what is made in it then would be made here.
        return next((int(pid) for pid in children if Path(f"/proc/{pid}/root").samefile(host.root)), None)
    except OSError:
        return None


# File systems over the network


def folder(names: StackNames, file_system: str) -> Path:
    return names.folders / file_system


def mount(place: Place, guest: str, exported: Export, target: str, *, read_only: bool) -> None:
    """Put what is exported at a path of a guest.

    Raises:
        CommandFailed: it can't be; the text says why.
    """
    pid = first_process(place.names.host(guest))
    if exported.host:
        server = first_process(place.names.host(exported.host))
        source = f"{server}:{exported.path}"
    else:
        root = folder(place.names, exported.file_system)
        source = f":{root / exported.path.lstrip('/')}"
    argv = [sys.executable, "-m", "tests.simcloud.hosted.graft", source, str(pid), target, *(["ro"] if read_only else [])]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=project_root(), check=False, timeout=60)
    if done.returncode:
        raise command.CommandFailed(done.stderr.strip().splitlines()[-1])
    if exported.host:
        # The table of mounts shows the other host's device where NFS shows an address and a folder: whoever looks for disks that are gone must find it.
        device = f"device=$(awk -v at='{target}' '$5 == at {{ print $(NF - 1) }}' /proc/1/mountinfo | tail -n 1)"
        shown = f'{device}; [ -e "$device" ] || ln -s loop0 "$device"'
        command.succeeds("nsenter", f"--target={pid}", "--mount", "--", "/bin/sh", "-c", shown)


def exported_to(host: HostNames, path: str, client: str) -> str:
    """Say why a host doesn't export a folder to an address; empty: it does."""
    pid = first_process(host)
    if pid is None or not command.succeeds("nsenter", f"--target={pid}", "--all", "--", "systemctl", "is-active", "--quiet", "nfs-server.service"):
        return "Connection refused; the host's NFS server does not run"
    for line in "".join(file.read_text() for file in sorted((host.upper / "etc/exports.d").glob("*.exports"))).splitlines():
        folder, _, clients = line.partition(" ")
        is_of_it = PurePosixPath(path).is_relative_to(folder)
        if is_of_it and any(ipaddress.ip_address(client) in ipaddress.ip_network(one.partition("(")[0]) for one in clients.split()):
            return ""
    return f"access denied by server; {path} is not exported to {client}"


# Volumes


def _file(names: StackNames, volume: str) -> Path:
    return names.state / "disks" / volume


def attach(place: Place, one: Disk) -> bool:
    """Make a volume a block device of its instance; False when the host is not there yet."""
    pid = first_process(place.names.host(str(one.instance)))
    if pid is None:
        return False
    file = _file(place.names, one.id)
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        with file.open("xb") as made:
            made.truncate(one.size_gib * 2**30)
    device = loops(place.names).get(str(file)) or command.run("losetup", "--find", "--show", str(file)).strip()
    minor = Path(device).name.removeprefix("loop")
    node, link = f"/dev/nvme{one.number}n1", f"{BY_ID}/{one.link}"
    script = f"[ -b {node} ] || mknod -m 0660 {node} b {LOOP_MAJOR} {minor}; mkdir -p {BY_ID}; ln -sfn {node} {link}"
    return command.succeeds("nsenter", f"--target={pid}", "--mount", "--", "/bin/sh", "-c", script)


def detach(place: Place, volume: str) -> None:
    """Take the block device of a volume away, when nobody uses it."""
    if device := loops(place.names).get(str(_file(place.names, volume))):
        command.succeeds("losetup", "--detach", device)


def delete(place: Place, volume: str) -> None:
    detach(place, volume)
    _file(place.names, volume).unlink(missing_ok=True)


def volumes(names: StackNames) -> set[str]:
    """Name the volumes that have a file."""
    return {path.name for path in (names.state / "disks").glob("*")}


# Load balancers


def front_host(names: StackNames, front: str) -> HostNames:
    return names.host(f"lb-{front}")


def serve(place: Place, front: Front, *, lowers: tuple[str, ...]) -> None:
    """Start a load balancer with what stands behind it now."""
    host = front_host(place.names, front.name)
    remove(host)
    hosts.make_disk(host, image=IMAGE)
    atomic_files.write_text(host.state / "haproxy" / "haproxy.cfg", configuration(front))
    binds = (hosts.Bind(str(host.state / "haproxy"), FRONT_FOLDER, read_only=True),)
    program = ("/usr/sbin/haproxy", "-W", "-db", "-f", f"{FRONT_FOLDER}/haproxy.cfg")
    boot = dataclasses.replace(_boot(place, front.address, lowers), binds=binds, program=program)
    hosts.start(host, boot, fingerprint=mark(front))


def mark(front: Front) -> str:
    """Give a hash of what a balancer was started with."""
    return hashlib.sha256(json.dumps(dataclasses.asdict(front), sort_keys=True).encode()).hexdigest()


def configuration(front: Front) -> str:
    """Write HAProxy's configuration: connections are passed on as a network load balancer does, to targets that take any."""
    lines = [
        "global",
        "    log stderr format raw local0 notice",
        "defaults",
        "    mode tcp",
        "    timeout connect 5s",
        "    timeout client 350s",
        "    timeout server 350s",
    ]
    for listener in front.listeners:
        lines += [f"listen port-{listener.port}", f"    bind {front.address}:{listener.port}", "    balance source"]
        lines += [f"    server {name} {address}:{port} check inter 1s fall 3 rise 1" for name, address, port in listener.targets]
    return "\n".join(lines) + "\n"
