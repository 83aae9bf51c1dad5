"""Every name that a stack has on the machine, built in one place, so that making, finding and sweeping can't disagree."""

import dataclasses
from pathlib import Path

from ... import short_names, stack_name
from ...files import cache

STATE_ROOT = Path("/var/lib/clusterwright")
RUN_ROOT = Path("/run/clusterwright")
STATE_VOLUME = "_state"
"""The controllers' data volume; no file system of a blueprint can have this name."""
SERVICE_SOCKET = "socket"
"""In the stack's `door`: of the service that starts hosts of elastic pools."""
PLAIN_TAG_LIMIT = 8  # "cw" + tag + "." + 4 hexadecimal digits fill an interface name (IFNAMSIZ - 1, <linux/if.h>)


def machine_lock() -> Path:
    """The lock for what all stacks of the machine share. It lies in the cache, the one folder that nobody removes under a holder."""
    return cache_root() / ".machine.lock"


def cache_root() -> Path:
    """The one folder that outlives every stack: engine, root file systems, layers."""
    return cache.root()


@dataclasses.dataclass(frozen=True, slots=True)
class StackNames:
    """Names of one stack; `stack` is Pulumi's stack name.

    Raises:
        ValueError: the name can't be one. Paths are made of it, and an empty one or `..` would reach beyond the stack.
    """

    stack: str

    def __post_init__(self) -> None:
        stack_name.require(self.stack)

    @property
    def tag(self) -> str:
        """The stack's name where little room is: itself when short and plain, else its start and a hash."""
        if len(self.stack) <= PLAIN_TAG_LIMIT and self.stack.isalnum() and self.stack.isascii() and self.stack.islower():
            return self.stack
        plain = "".join(letter for letter in self.stack.lower() if letter.isalnum() and letter.isascii())
        return short_names.shortened(plain, PLAIN_TAG_LIMIT, of=self.stack, digits=5, joint="")

    @property
    def label(self) -> str:
        """Carried by firewall rules as their comment."""
        return f"clusterwright:{self.stack}"

    @property
    def bridge(self) -> str:
        return f"cw-{self.tag}"

    @property
    def state(self) -> Path:
        """Disks, folders and records; gone after `destroy`."""
        return STATE_ROOT / self.stack

    @property
    def run(self) -> Path:
        """What is true of this boot of the machine only: process ids, mount points."""
        return RUN_ROOT / self.stack

    @property
    def owner_file(self) -> Path:
        return self.state / "owner.json"

    @property
    def declared_file(self) -> Path:
        """By what rule hosts declare their memory."""
        return self.state / "declared.json"

    @property
    def cluster_folder(self) -> Path:
        """Mounted on every host: names of all hosts, users."""
        return self.state / "cluster"

    @property
    def folders(self) -> Path:
        return self.state / "folders"

    def folder(self, name: str) -> Path:
        """A shared file system or a data volume."""
        return self.folders / name

    def folder_record(self, name: str) -> Path:
        """What is known of the folder: whether it is protected, and which making of it this is."""
        return self.folders / f".{name}.json"

    @property
    def elastic(self) -> Path:
        """Descriptions of elastic pools, and what belongs to the service that starts their hosts."""
        return self.state / "elastic"

    @property
    def door(self) -> Path:
        """Mounted on the controllers only: the socket of that service."""
        return self.elastic / "door"

    @property
    def service_record(self) -> Path:
        """Process id and start time of that service, as JSON."""
        return self.run / "elastic.json"

    @property
    def service_cgroup(self) -> str:
        """No host has an underscore in its name."""
        return f"{self.cgroup}/elastic_service"

    @property
    def service_unit(self) -> str:
        return f"clusterwright-{self.tag}-elastic_service.service"

    @property
    def hosts(self) -> Path:
        return self.state / "hosts"

    def host(self, hostname: str) -> "HostNames":
        return HostNames(self, hostname)

    @property
    def kept(self) -> Path:
        """What hosts keep from one disk to the next."""
        return self.state / "kept"

    @property
    def cgroup(self) -> str:
        """Path below every cgroup hierarchy's root."""
        return f"clusterwright/{self.stack}"

    @property
    def slice(self) -> str:
        """systemd's slice, where systemd runs the machine; a hyphen in the name would mean nesting."""
        return f"clusterwright-{self.tag}.slice"


@dataclasses.dataclass(frozen=True, slots=True)
class HostNames:
    """Names of one host of a stack."""

    names: StackNames
    hostname: str

    @property
    def state(self) -> Path:
        return self.names.hosts / self.hostname

    @property
    def record(self) -> Path:
        return self.state / "host.json"

    @property
    def launch(self) -> Path:
        """Which launch made it, as JSON; only hosts of elastic pools have one, and belong to the service that starts them."""
        return self.state / "launch.json"

    @property
    def upper(self) -> Path:
        """The host's own disk: what differs from its image."""
        return self.state / "upper"

    @property
    def work(self) -> Path:
        return self.state / "work"

    @property
    def volumes(self) -> Path:
        """Folders of the host's disk that are no part of its overlay."""
        return self.state / "volumes"

    @property
    def kept(self) -> Path:
        """Folders of the disk before, for the next disk."""
        return self.names.kept / self.hostname

    @property
    def console(self) -> Path:
        return self.state / "console.log"

    @property
    def run(self) -> Path:
        return self.names.run / self.hostname

    @property
    def root(self) -> Path:
        """Where the host's file system is mounted while it runs."""
        return self.run / "root"

    @property
    def leader(self) -> Path:
        """Process id and start time of the container's process, as JSON."""
        return self.run / "leader.json"

    @property
    def supply(self) -> Path:
        """The script that starts the container, and starts it again."""
        return self.run / "power.sh"

    @property
    def cable(self) -> Path:
        """Commands of `ip -batch` that plug the host in."""
        return self.run / "cable"

    @property
    def addresses(self) -> Path:
        """Commands of `ip -batch` that give the host its address, in its own network namespace."""
        return self.run / "addresses"

    @property
    def namespace(self) -> str:
        """The network namespace, in the form of `ip netns`."""
        return f"cw-{self.names.tag}-{self.hostname}"

    @property
    def cgroup(self) -> str:
        return f"{self.names.cgroup}/{self.hostname}"

    @property
    def unit(self) -> str:
        return f"clusterwright-{self.names.tag}-{self.hostname}.service"

    def interface(self, address: str) -> str:
        """The machine's end of the host's cable, named by the last 16 bits of its address, which are unique in a stack."""
        high, low = (int(part) for part in address.split(".")[2:])
        return f"cw{self.names.tag}.{high * 256 + low:04x}"
