"""Plain servers for tests of adoption: systems of this machine that no stack made.

Each has a distribution's minimal system with an SSH server, Python and sudo, a user `ubuntu` who may become root without a password, a name and keys of its own, and addresses on a network of their own.
What is named here belongs to the test: `plain_hosts` removes it when the test ends, and a guard beside the test removes it when the test is killed.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import ipaddress
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from blueprints import ssh_places
from blueprints.project import project_root
from components.bootstrap.files import File
from components.local.machine import claim, command, network, record, rootfs, sweep
from components.local.machine import host as hosts
from components.local.machine.names import HostNames, StackNames, cache_root
from tests.hosts.deployment import QUICK_SSH, SOON_S, Deployment, wait_until

USER, USER_ID = "ubuntu", 1000
HOMES = "/home"
DISTRIBUTIONS = {"bookworm": "debian", "trixie": "debian", "noble": "ubuntu"}
PACKAGES = ("cron", "ethtool", "iputils-ping", "kmod", "less", "nftables", "pciutils", "sudo", "systemd-timesyncd", "unattended-upgrades")
OWN_PACKAGES = {"debian": ("ifupdown",), "ubuntu": ("netplan.io",)}
"""Distribution → what its servers configure their network with."""
INSTALL = f"""
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq --no-install-recommends -o Dpkg::Use-Pty=0 install "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
touch --date=@0 /var/lib/apt/lists  # a young folder would pass for fresh package lists
id {USER} 2>/dev/null || useradd --create-home --shell /bin/bash --uid {USER_ID} {USER}
mkdir -p /etc/sudoers.d
printf '%s ALL=(ALL) NOPASSWD:ALL\\n' {USER} >/etc/sudoers.d/90-{USER}
chmod 0440 /etc/sudoers.d/90-{USER}
"""
NETWORKS = ipaddress.ip_network("10.96.0.0/12")
NETWORK_PREFIX = 24
FIRST_HOST = 11
GREETS_WITHIN_S = 10


@dataclasses.dataclass(frozen=True, slots=True)
class PlainHost:
    """One server: what its owner writes into an inventory."""

    name: str
    address: str
    suite: str
    names: HostNames
    macs: tuple[str, ...]
    """Hardware addresses of its interfaces; the first is `host0`, which has the address, the others are `eth1` … without one."""

    @property
    def host_key(self) -> str:
        return hosts.host_key(self.names)

    @property
    def host_key_file(self) -> Path:
        """Public half of the key that the server answers with."""
        return (self.names.upper / hosts.HOST_KEY).with_suffix(".pub")


@dataclasses.dataclass(frozen=True, slots=True)
class PlainHosts:
    """Servers of one test. Their owner logs in as `user` with the key in `identity`."""

    names: StackNames
    cidr: str
    identity: Path
    interfaces: int
    servers: dict[str, PlainHost]
    shared: str = ""
    """Where every server has one folder of this machine mounted, as a site's file system is; empty: nowhere."""
    runs_containers: bool = False
    """The servers can run containers, as real ones can: what a container needs for that, their owner has prepared."""
    port: int = ssh_places.SSH_PORT
    """Of the servers' SSH."""
    user: str = USER

    def __getitem__(self, name: str) -> PlainHost:
        return self.servers[name]

    @property
    def gateway(self) -> str:
        return str(ipaddress.ip_network(self.cidr)[1])

    def inventory(self, *names: str) -> dict[str, Any]:
        """Give the `inventory` of a blueprint with these servers; all of them where none is named."""
        chosen = [self[name] for name in names] or list(self.servers.values())
        entries = {one.name: {"address": one.address, "host_key": one.host_key} for one in chosen}
        moved = {} if self.port == ssh_places.SSH_PORT else {"port": self.port}
        return {"user": self.user, "identity": str(self.identity), "hosts": entries, **moved}

    def add(self, name: str, suite: str = "trixie") -> PlainHost:
        """Install a server and start it; it greets when this returns."""
        [added] = self.add_all([name], [suite])
        return added

    def add_all(self, names: Sequence[str], suites: Sequence[str]) -> list[PlainHost]:
        """Install servers and start them together."""
        added = [self._describe(name, suites[number % len(suites)], len(self.servers) + number) for number, name in enumerate(names)]
        for one in added:
            self.servers[one.name] = one
            self._install(one)
            self.power_on(one.name, wait=False)
        for one in added:
            self.wait_for(one.name)
        return added

    def reinstall(self, name: str, *, suite: str = "", keep_host_key: bool = False) -> PlainHost:
        """Give a server an empty disk with a new system, as its owner does: another machine-id, and another host key unless the owner keeps it."""
        old = self[name]
        kept = (old.names.upper / hosts.HOST_KEY).read_bytes() if keep_host_key else b""
        self.power_off(name)
        hosts.remove(old.names)
        self.servers[name] = dataclasses.replace(old, suite=suite or old.suite)
        self._install(self[name], kept)
        self.power_on(name)
        return self[name]

    def power_off(self, name: str) -> None:
        """Cut the power; the disk stays."""
        hosts.kill(self[name].names)
        wait_until(lambda: hosts.is_gone(self[name].names), awaiting=f"the processes of {name} to end", within_s=SOON_S)

    def power_on(self, name: str, *, wait: bool = True) -> None:
        """Start a server."""
        one = self[name]
        prefix = ipaddress.ip_network(self.cidr).prefixlen
        lowers = rootfs.lowers(_base(one.suite), _layer(one.suite))
        boot = hosts.Boot(
            address=one.address,
            prefix=prefix,
            gateway=self.gateway,
            bridge=self.names.bridge,
            lowers=lowers,
            binds=self._binds,
            runs_containers=self.runs_containers,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # the power supply runs on by itself, and tests take warnings for errors
            hosts.start(one.names, boot, fingerprint=hosts.fingerprint((), boot))
        self._plug_in_rails(one)
        if wait:
            self.wait_for(name)

    def wait_for(self, name: str) -> None:
        """Wait until a server greets by SSH."""
        wait_until(lambda: _greets(self[name].address, self.port), awaiting=f"SSH on {name} ({self[name].address})", within_s=SOON_S)

    def inside(self, name: str, *argv: str, stdin: str = "", within_s: float = SOON_S) -> str:
        """Run a command on a server as root, past SSH, and give what it prints."""
        return self._processes.inside(name, *argv, stdin=stdin, within_s=within_s)

    def inside_all(self, name: str, *argv: str) -> str:
        """Do as `inside`, in the server's control groups and root folder, too: for programs that speak to its systemd."""
        return self._processes.inside_all(name, *argv)

    def ssh(self, name: str, words: str) -> str:
        """Log in as the owner does, and give what the command prints."""
        one = self[name]
        known = self.names.state / f"known_hosts-{name}"
        known.write_text(f"{ssh_places.known_place(one.address, self.port)} {one.host_key}\n")
        options = ["-i", str(self.identity), "-o", f"UserKnownHostsFile={known}", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", *QUICK_SSH]
        return command.run("ssh", "-F", "none", *options, *ssh_places.port_option(self.port), f"{self.user}@{one.address}", words)

    @property
    def shared_folder(self) -> Path:
        """The folder of this machine that is mounted at `shared`."""
        return self.names.state / "shared"

    @property
    def _binds(self) -> tuple[hosts.Bind, ...]:
        return (hosts.Bind(str(self.shared_folder), self.shared),) if self.shared else ()

    @property
    def _processes(self) -> Deployment:
        return Deployment(self.names.stack, self.names.state)

    def _describe(self, name: str, suite: str, number: int) -> PlainHost:
        address = str(ipaddress.ip_network(self.cidr)[FIRST_HOST + number])
        own = hosts.hardware_address(address)
        macs = (own, *(f"{own[:-2]}{rail:02x}" for rail in range(1, self.interfaces)))
        return PlainHost(name=name, address=address, suite=suite, names=self.names.host(name), macs=macs)

    def _install(self, one: PlainHost, host_key: bytes = b"") -> None:
        hosts.make_disk(one.names, image=_layer(one.suite))
        seeds = [
            File("/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {one.name}\n::1 localhost ip6-localhost ip6-loopback\n".encode()),
            File("/etc/hostname", f"{one.name}\n".encode()),
            File(f"/home/{USER}/.ssh/authorized_keys", self.identity.with_suffix(".pub").read_bytes(), mode=0o600),
            _network_file(one, self.cidr, self.gateway),
            *([File("/etc/ssh/sshd_config.d/port.conf", f"Port {self.port}\n".encode())] if self.port != ssh_places.SSH_PORT else []),
            *([File(f"/{hosts.HOST_KEY}", host_key, mode=0o600)] if host_key else []),
            *(_container_host() if self.runs_containers else []),
        ]
        hosts.write_seeds(one.names, seeds)
        _give_home(one.names.upper / "home" / USER)
        if self.shared == HOMES:
            keys = self.shared_folder / USER / ".ssh" / "authorized_keys"
            keys.parent.mkdir(parents=True, exist_ok=True)
            keys.write_bytes(self.identity.with_suffix(".pub").read_bytes())
            _give_home(self.shared_folder / USER)
        hosts.make_host_key(one.names)

    def _plug_in_rails(self, one: PlainHost) -> None:
        """Plug in the interfaces beside the first, each into the switch of its rail, now and after each reboot (`power.sh` reads the file again)."""
        number = int(ipaddress.ip_address(one.address)) % 256
        lines = [
            f"link add cw{self.names.tag}.{rail:02x}{number:02x} type veth peer name eth{rail} address {mac} netns {one.names.namespace}\n"
            f"link set cw{self.names.tag}.{rail:02x}{number:02x} mtu 9216 master {rail_bridge(self.names, rail)} alias {self.names.label}:{one.name} up\n"
            for rail, mac in enumerate(one.macs[1:], start=1)
        ]
        if lines:
            command.run("ip", "-batch", "-", stdin="".join(lines))
            with one.names.cable.open("a") as cable:
                cable.writelines(lines)


@contextlib.contextmanager
def plain_hosts(
    name: str,
    count: int,
    *,
    suites: Sequence[str] = ("trixie",),
    interfaces: int = 1,
    names: Sequence[str] = (),
    shared: str = "",
    runs_containers: bool = False,
    port: int = ssh_places.SSH_PORT,
) -> Iterator[PlainHosts]:
    """Give `count` running servers that no stack made.

    Args:
        name: of the whole; two tests with the same name wait for each other.
        suites: the distributions' releases, dealt out in turn (`trixie`, `bookworm`, `noble`).
        interfaces: Ethernet interfaces of each server; those beside the first are rails: up to nobody yet, without address, each with a switch of its own.
        names: of the servers; `node-001` … where none are given.
        shared: where every server has the same folder of this machine mounted.
        runs_containers: the servers can run containers.
        port: of the servers' SSH.
    """
    stack = StackNames(f"plain-{name}")
    for suite in sorted(set(suites)):
        build(suite)
    with guarded(stack):
        remove(stack)
        cidr = _network(stack)
        made = PlainHosts(
            names=stack,
            cidr=cidr,
            identity=stack.state / "identity",
            interfaces=interfaces,
            servers={},
            shared=shared,
            runs_containers=runs_containers,
            port=port,
        )
        try:
            made.shared_folder.mkdir()
            command.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "owner", "-f", str(made.identity))
            for rail in range(1, interfaces):
                _add_switch(stack, rail)
            made.add_all(names or [f"node-{number:03}" for number in range(1, count + 1)], suites)
            yield made
        finally:
            remove(stack)


def build(suite: str) -> None:
    """Build the system of a release in the cache unless it is there: about a minute."""
    base = _base(suite)
    rootfs.build_base(base, check=lambda: None)
    with rootfs.building_layer(_layer(suite), base=base.path) as root:
        if root is None:
            return
        options = [
            "--quiet",
            f"--directory={root}",
            "--register=no",
            "--keep-unit",
            "--console=pipe",
            "--as-pid2",
            "--resolv-conf=replace-host",
            "--timezone=off",
        ]
        command.run(
            "systemd-nspawn", *options, f"--machine=cw-image-{os.getpid()}", "/bin/sh", "-c", INSTALL, "sh", *_packages(suite), within_s=600
        )  # fmt: skip


def remove(stack: StackNames) -> None:
    """Remove what there is of the servers."""
    if sweep.left_behind(stack):
        sweep.sweep(stack, wait_until=wait_until, say=lambda text: print(text, file=sys.stderr))


def rail_bridge(stack: StackNames, rail: int) -> str:
    """Name the switch of a rail, which is an interface of this machine: rail 1 connects `eth1` of all servers."""
    return f"cw{stack.tag}.r{rail}"


def _greets(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=GREETS_WITHIN_S) as connection:
            return connection.recv(4).startswith(b"SSH")
    except OSError:
        return False


def _give_home(home: Path) -> None:
    for path, mode in ((home, 0o750), (home / ".ssh", 0o700), (home / ".ssh/authorized_keys", 0o600)):
        os.chown(path, USER_ID, USER_ID)
        path.chmod(mode)


def _base(suite: str) -> rootfs.Base:
    return rootfs.Base(DISTRIBUTIONS[suite], suite)


def _packages(suite: str) -> tuple[str, ...]:
    return (*PACKAGES, *OWN_PACKAGES[DISTRIBUTIONS[suite]])


def _layer(suite: str) -> str:
    parts = "\0".join([_base(suite).key, INSTALL, *_packages(suite)])
    return f"plain-{suite}-{hashlib.sha256(parts.encode()).hexdigest()[:12]}"


def _network_file(one: PlainHost, cidr: str, gateway: str) -> File:
    """Write what the distribution's servers say of their network, which agrees with what the machine has set when they boot."""
    own = f"{one.address}/{ipaddress.ip_network(cidr).prefixlen}"
    if DISTRIBUTIONS[one.suite] == "ubuntu":
        text = f"network:\n  version: 2\n  ethernets:\n    host0:\n      addresses: [{own}]\n      routes: [{{to: default, via: {gateway}}}]\n"
        return File("/etc/netplan/50-server.yaml", text.encode(), mode=0o600)
    return File(
        "/etc/network/interfaces",
        f"source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n\niface host0 inet static\n    address {own}\n    gateway {gateway}\n".encode(),
    )


def _container_host() -> list[File]:
    """Write what a server that is itself a container needs to run containers: its owner's part, done at every start."""
    folder, role = "/usr/local/lib/container-host", project_root() / "playbooks/roles/container_host/files"
    unit = (role / "clusterwright-container-host.service").read_text().replace("FOLDER", folder).replace("RequiredBy=containerd.service", "")
    program = (role / "container-host.sh").read_text().replace("/run/clusterwright/proc", "/run/container-host")
    return [
        File(f"{folder}/container-host", program.encode(), mode=0o755),
        File("/etc/systemd/system/container-host.service", unit.encode()),
        File("/etc/systemd/system/multi-user.target.d/container-host.conf", b"[Unit]\nWants=container-host.service\n"),
    ]


def _network(stack: StackNames) -> str:
    """Claim a free network for the servers and create it; the same each time unless somebody else has it."""
    subnets = list(NETWORKS.subnets(new_prefix=NETWORK_PREFIX))
    start = int(hashlib.sha256(stack.stack.encode()).hexdigest(), 16) % len(subnets)
    for subnet in (str(subnets[(start + step) % len(subnets)]) for step in range(len(subnets))):
        if claim.conflict(stack, subnet) or network.conflict(stack, subnet):
            continue
        with contextlib.suppress(claim.Occupied):
            claim.make(stack, owner=str(project_root()), cidr=subnet)
            network.ensure(stack, cidr=subnet, gateway=str(ipaddress.ip_network(subnet)[1]))
            return subnet
    raise AssertionError(f"no network of {NETWORKS} is free")


def _add_switch(stack: StackNames, rail: int) -> None:
    bridge = rail_bridge(stack, rail)
    command.run("ip", "link", "add", bridge, "mtu", "9216", "type", "bridge", "forward_delay", "0")
    command.run("ip", "link", "set", bridge, "alias", stack.label, "up")


@contextlib.contextmanager
def guarded(stack: StackNames) -> Iterator[None]:
    """Hold a stack's name, and let a guard remove what carries it should this process end without doing so.

    The guard waits for the end of its input, which the kernel closes with this process, and holds the name until it has removed all.
    """
    path = cache_root() / f".{stack.stack}.lock"
    with record.lock(path) as lock:
        os.set_inheritable(lock, True)  # the lock is the guard's, too
        guard = subprocess.Popen(
            [sys.executable, "-m", "tests.hosts.plain", stack.stack], stdin=subprocess.PIPE, cwd=project_root(), pass_fds=(lock,), start_new_session=True
        )
        try:
            yield
        finally:
            assert guard.stdin
            guard.stdin.close()
            guard.wait()
            fcntl.flock(lock, fcntl.LOCK_UN)


if __name__ == "__main__":
    sys.stdin.read()
    deadline = time.monotonic() + SOON_S
    while True:
        try:
            remove(StackNames(sys.argv[1]))
            break
        except (OSError, command.CommandFailed, AssertionError):
            if time.monotonic() > deadline:
                raise
