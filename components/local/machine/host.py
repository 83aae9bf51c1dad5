"""One host on the machine: a container with its own disk, processes, network and systemd, which outlives the engine that started it."""

import contextlib
import dataclasses
import hashlib
import json
import os
import signal
import socket
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from ...bootstrap.files import File
from ...files import atomic_files
from . import cgroup, command, disk, power, record
from .names import HostNames

SSH_PORT = 22
CONNECT_WITHIN_S = 2.0
GREETING_WITHIN_S = 10.0
START_WITHIN_S = 20.0
LOOK_EVERY_S = 0.002
CAPABILITIES = "CAP_NET_ADMIN,CAP_IPC_LOCK,CAP_SYS_NICE"
CONTAINER_SYSTEM_CALLS = "bpf add_key keyctl request_key @mount @module perf_event_open"
"""What runc, the kubelet and network plug-ins call beside what systemd-nspawn allows."""
STATE_FOLDERS = ("/var/lib/etcd", "/var/lib/clusterwright/etcd-snapshots")
"""The state of a Kubernetes cluster, on a host of its control plane."""
CONTAINER_FOLDERS = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods", *STATE_FOLDERS)
"""Folders of a host that runs containers which are not on its overlay: containers have overlays of their own, and none can be made over another."""
GUEST_CLUSTER_FOLDER = "/var/lib/clusterwright/cluster"
GUEST_DOOR = "/var/lib/clusterwright/elastic"
"""Where a controller finds the service that starts hosts of elastic pools."""
HOST_KEY = "etc/ssh/ssh_host_ed25519_key"
PRIVATE_FOLDERS = frozenset({"root", "secrets"})
"""Names of folders that only root may look into; a folder on the host's own disk takes the place of the image's, mode included."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bind:
    """A folder of the machine, mounted into the host."""

    source: str
    target: str
    read_only: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Boot:
    """All that starting a host takes."""

    address: str
    prefix: int
    gateway: str
    bridge: str
    lowers: tuple[str, ...]
    """Layers of its image, topmost first."""
    binds: tuple[Bind, ...]
    program: tuple[str, ...] = ()
    """What runs as the host's only process; empty: its systemd."""
    runs_containers: bool = False
    """The host runs containers itself: all rights within its namespaces, and folders where containers can have their overlays."""


def fingerprint(seeds: Sequence[File], boot: Boot) -> str:
    """Give a hash of all that a host boots with; a running host with another one has to boot again."""
    # Earlier versions wrote of some hosts that they have an uptime of their own, as all have now. Running hosts keep their fingerprint.
    described = {**dataclasses.asdict(boot), "has_own_uptime": False}
    if not boot.runs_containers:
        del described["runs_containers"]  # earlier versions did not write it
    total = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for seed in seeds:
        total.update(hashlib.sha256(f"{seed.path} {seed.mode:o}".encode()).digest() + hashlib.sha256(seed.content).digest())
    return total.hexdigest()[:16]


def make_disk(host: HostNames, *, image: str, lowers: Sequence[str] = (), group: str = "") -> str:
    """Make the host's disk when it has none, and give its incarnation, which is new whenever the disk is.

    Args:
        lowers: the image's folders, topmost first, for a host that keeps its image.
        group: the group of a host whose name doesn't say it.
    """
    existing = record.read(host.record)
    if existing:
        return str(existing["incarnation"])
    disk.remove_tree(host.state)  # an interrupted attempt left a disk without a record
    host.upper.mkdir(parents=True)
    incarnation = uuid.uuid4().hex
    record.write(host.record, {"incarnation": incarnation, "image": image, "lowers": ":".join(lowers), **({"group": group} if group else {})})
    return incarnation


def write_seeds(host: HostNames, seeds: Sequence[File]) -> None:
    """Write the seeds on the disk of a host that does not run."""
    for seed in seeds:
        path = host.upper / seed.path.lstrip("/")
        for folder in (*reversed(path.relative_to(host.upper).parents), path.parent.relative_to(host.upper)):
            made = host.upper / folder
            if not made.exists():
                made.mkdir(mode=0o700 if PRIVATE_FOLDERS & set(folder.parts) else 0o755)
        atomic_files.write_bytes(path, seed.content, mode=seed.mode)


def host_key(host: HostNames) -> str:
    """Give the public half of the host's SSH key (`ssh-ed25519 AAAA…`); empty when it has none yet."""
    try:
        return " ".join((host.upper / HOST_KEY).with_suffix(".pub").read_text().split()[:2])
    except FileNotFoundError:
        return ""


def make_host_key(host: HostNames) -> None:
    """Make the host's SSH key unless it has or was seeded with one, and its public half."""
    private = host.upper / HOST_KEY
    public = private.with_suffix(".pub")
    if not private.exists():
        private.parent.mkdir(parents=True, exist_ok=True)
        command.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", host.hostname, "-f", str(private))
    else:
        atomic_files.write_text(public, command.run("ssh-keygen", "-y", "-f", str(private)))


def start(host: HostNames, boot: Boot, *, fingerprint: str, boots_after_power_off: bool = True) -> None:
    """Start the host; returns when its container process runs, which is before it answers. Its uptime counts from its own boot, where the kernel can do that.

    Args:
        boots_after_power_off: a host that is powered off inside comes back; a reboot always does.
    Raises:
        CommandFailed: no container process was started.
    """
    host.run.mkdir(parents=True, exist_ok=True)
    binds = (*boot.binds, *_container_binds(host, boot))
    disk.mount(host.root, lowers=[Path(lower) for lower in boot.lowers], upper=host.upper, work=host.work)
    _plug_in(host, boot)
    argv = ["systemd-nspawn", "--quiet", f"--directory={host.root}", "--register=no", "--keep-unit"]
    argv += [f"--machine={power.container(host)}", f"--hostname={host.hostname}"]
    argv += [f"--network-namespace-path=/run/netns/{host.namespace}", "--resolv-conf=copy-host", "--timezone=off", "--link-journal=no", "--console=pipe"]
    argv += [f"--capability={'all' if boot.runs_containers else CAPABILITIES}", *_bind_options(binds)]
    argv += ["--as-pid2", *boot.program] if boot.program else _boot_options(runs_containers=boot.runs_containers)
    host.leader.unlink(missing_ok=True)  # of an earlier start
    power.on(host, argv, interface=host.interface(boot.address), fingerprint=fingerprint, boots_after_power_off=boots_after_power_off)
    deadline = time.monotonic() + START_WITHIN_S
    while not host.leader.exists():
        if time.monotonic() > deadline:
            raise command.CommandFailed(
                f"the container of {host.hostname} did not start within {START_WITHIN_S:.0f} s. The end of its console ({host.console}):\n{console_tail(host)}"
            )
        time.sleep(LOOK_EVERY_S)


def _boot_options(*, runs_containers: bool) -> list[str]:
    calls = [f"--system-call-filter={CONTAINER_SYSTEM_CALLS}"] if runs_containers else []
    if cgroup.is_version_1():
        # systemd 256 and later refuses version 1 hierarchies unless told twice; older ones ignore the second word.
        return [*calls, "--boot", "systemd.unified_cgroup_hierarchy=0", "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"]
    # In version 2, Slurm keeps a job from devices that are not its own by a program in the kernel (eBPF).
    return [*(calls or ["--system-call-filter=bpf"]), "--boot"]


def _container_binds(host: HostNames, boot: Boot) -> tuple[Bind, ...]:
    """Give the folders of a host that runs containers. A missing one is what was set aside, or what earlier versions had on the overlay; else it is created."""
    binds = tuple(Bind(str(host.volumes / _volume(target)), target) for target in CONTAINER_FOLDERS if boot.runs_containers)
    for bind in binds:
        source = Path(bind.source)
        source.parent.mkdir(parents=True, exist_ok=True)
        for before in (host.kept / _volume(bind.target), host.upper / bind.target.lstrip("/")):
            if before.is_dir() and not source.exists():
                before.rename(source)
        source.mkdir(exist_ok=True)
    return binds


def _volume(target: str) -> str:
    return target.strip("/").replace("/", "-")


def set_state_aside(host: HostNames) -> None:
    """Let the next disk of a killed host have the state of Kubernetes that is on this one. Without a next disk, this one gets it back when it starts."""
    for target in STATE_FOLDERS:
        kept = host.kept / _volume(target)
        # On the overlay where an earlier version started the host.
        source = next((one for one in (host.volumes / _volume(target), host.upper / target.lstrip("/")) if one.is_dir()), None)
        if source is not None:
            disk.remove_tree(kept)
            kept.parent.mkdir(parents=True, exist_ok=True)
            source.rename(kept)


def _bind_options(binds: Sequence[Bind]) -> list[str]:
    return [f"--bind{'-ro' if bind.read_only else ''}={bind.source}:{bind.target}" for bind in binds]


def hardware_address(address: str) -> str:
    """Give a host's hardware address: a host that is born again has its predecessor's, which all others still have in their tables of neighbours."""
    return ":".join(["02", *(f"{int(part):02x}" for part in address.split(".")), "00"])


def _plug_in(host: HostNames, boot: Boot) -> None:
    """Give the host its network namespace and a cable to the bridge."""
    interface = host.interface(boot.address)
    if not Path(f"/sys/class/net/{boot.bridge}").exists():
        raise command.CommandFailed(
            f"the stack's network is missing (bridge {boot.bridge}), as after a reboot: `make up` or `pulumi up --refresh` creates it again"
        )
    if not Path(f"/run/netns/{host.namespace}").exists():
        command.run("ip", "netns", "add", host.namespace)
    _unplug(interface)
    host.run.mkdir(parents=True, exist_ok=True)
    # Kept, since the host is plugged in again when it reboots.
    host.cable.write_text(f"""\
link add {interface} type veth peer name host0 address {hardware_address(boot.address)} netns {host.namespace}
link set {interface} master {boot.bridge} alias {_alias(host)} up
""")
    host.addresses.write_text(f"""\
link set lo up
address add {boot.address}/{boot.prefix} dev host0
link set host0 up
route add default via {boot.gateway}
""")
    command.run("ip", "-batch", str(host.cable))
    command.run("ip", "-netns", host.namespace, "-batch", str(host.addresses))


def _is_of(interface: str, host: HostNames) -> bool:
    """Say whether a cable is the host's: it is named by the address, and another host may have the address by now, as when pools are renumbered."""
    with contextlib.suppress(OSError):
        return Path(f"/sys/class/net/{interface}/ifalias").read_text().strip() == _alias(host)
    return False


def _alias(host: HostNames) -> str:
    return f"{host.names.label}:{host.hostname}"


def _unplug(interface: str) -> None:
    """Remove a cable; fine when it is gone, or goes while we look, as it does with its host's namespace."""
    if Path(f"/sys/class/net/{interface}").exists() and not command.succeeds("ip", "link", "del", interface) and Path(f"/sys/class/net/{interface}").exists():
        raise command.CommandFailed(f"interface {interface} can't be removed")


def is_running(host: HostNames) -> bool:
    """Say whether the container's process lives and its cable is plugged in, or the host is between two boots."""
    if _leader(host) is None:
        return power.is_on(host)
    cable = (record.read(host.leader) or {}).get("interface")
    return Path(f"/run/netns/{host.namespace}").exists() and Path(f"/sys/class/net/{cable}/master").exists()


def booted_with(host: HostNames) -> str:
    """Fingerprint of what the host booted with; empty when it never started since the machine did."""
    return str((record.read(host.leader) or {}).get("boot", ""))


def _leader(host: HostNames) -> int | None:
    """The container's process; None when it does not live."""
    leader = record.read(host.leader)
    return int(leader["pid"]) if leader and start_time(leader["pid"]) == leader["started"] else None


def boot_mark(host: HostNames) -> int:
    """A number that is another after every start of the host; 0 when it never started."""
    leader = record.read(host.leader)
    return int(leader["started"]) if leader else 0


def age_s(host: HostNames) -> float:
    """Seconds since the host was last started; infinite when it never was."""
    started = boot_mark(host)
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK") if started else float("inf")


def answers(address: str) -> bool:
    """Say whether SSH greets at `address`: the boot is far enough to be worked on."""
    try:
        with socket.create_connection((address, SSH_PORT), timeout=CONNECT_WITHIN_S) as connection:
            # Each connection costs the host a process: on a slow one, asking again instead of waiting would keep it from ever answering.
            connection.settimeout(GREETING_WITHIN_S)
            return connection.recv(4).startswith(b"SSH")
    except OSError:
        return False


def kill(host: HostNames) -> None:
    """Kill the host, as a power failure would; the disk stays. A stopped host is no error."""
    power.off(host)
    if leader := _leader(host):
        with contextlib.suppress(ProcessLookupError):
            os.kill(leader, signal.SIGKILL)
    if (cable := (record.read(host.leader) or {}).get("interface")) and _is_of(cable, host):
        _unplug(cable)  # before the namespace, which frees its cable only later
    if Path(f"/run/netns/{host.namespace}").exists():
        command.run("ip", "netns", "del", host.namespace)
    disk.unmount(host.root)
    for folder in power.leftovers(host):
        disk.unmount(folder)
        disk.remove_tree(folder)


def is_gone(host: HostNames) -> bool:
    """Say whether nothing of the killed host runs any more, removing its groups when so."""
    return cgroup.remove(cgroup.of_supply(host)) and cgroup.remove(cgroup.of_host(host))


def remove(host: HostNames) -> None:
    """Delete a killed host's disk and records."""
    host.record.unlink(missing_ok=True)  # first: a disk that is half deleted is no host to start
    disk.remove_tree(host.run)
    disk.remove_tree(host.state)


def console_tail(host: HostNames, *, lines: int = 5) -> str:
    """The last lines of the host's console, for messages about a host that does not come up."""
    try:
        return "\n".join(host.console.read_text(errors="replace").strip().splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def start_time(pid: int) -> int | None:
    """Start of a process in clock ticks since boot (proc(5)), which tells a reused number apart; None when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def recorded(host: HostNames) -> dict[str, str] | None:
    """What was recorded when the disk was made: incarnation, image, and the image's folders as the mount option has them."""
    found = record.read(host.record)
    return None if found is None else {str(name): str(value) for name, value in found.items()}
