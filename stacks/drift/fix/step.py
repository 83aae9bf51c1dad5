"""What a repair consists of: steps, their kinds, and what a plan knows of the cluster."""

import dataclasses
import enum
import shlex
from collections.abc import Mapping

from blueprints.finding import Finding
from components.bmc.model import Action
from components.inspection.codes import Code

Argv = tuple[str, ...]


class Kind(enum.StrEnum):
    """A family of repairs, by which a person narrows them."""

    FILES = "files"
    ATTRIBUTES = "attributes"
    PACKAGES = "packages"
    HOLDS = "holds"
    UNITS = "units"
    ENABLEMENT = "enablement"
    SETTINGS = "settings"
    USERS = "users"
    KEYS = "keys"
    MOUNTS = "mounts"
    DEVICES = "devices"
    CONFIGURATION = "configuration"
    PARTITIONS = "partitions"
    NODES = "nodes"
    ACCOUNTING = "accounting"
    ADDED = "added"
    """What somebody added: files are moved aside, packages and objects of the scheduler are removed."""
    DRAINS = "drains"
    """Nodes that somebody drained."""
    RESERVATIONS = "reservations"
    POWER = "power"
    """Servers that are off, or that do not answer and whose BMC does."""
    BOOT = "boot"
    """What only runs on a node and is in no file: a reboot removes it."""


BY_NAME_ONLY = frozenset({Kind.DRAINS, Kind.RESERVATIONS, Kind.POWER, Kind.BOOT})
"""What an administrator probably set on purpose, and what cuts the power or boots: it is repaired only when somebody names the kind or the finding."""
REMOVING = frozenset({Kind.ADDED}) | BY_NAME_ONLY
"""What `clusterwright up` leaves to `clusterwright drift fix`."""

KIND_OF: Mapping[str, Kind] = {
    Code.POWER_OFF: Kind.POWER,
    Code.UNREACHABLE: Kind.POWER,
    Code.FILE_CHANGED: Kind.FILES,
    Code.FILE_GONE: Kind.FILES,
    Code.FILE_ADDED: Kind.ADDED,
    Code.FILE_ATTRIBUTES: Kind.ATTRIBUTES,
    Code.FILE_KIND: Kind.FILES,
    Code.PACKAGE_GONE: Kind.PACKAGES,
    Code.PACKAGE_ADDED: Kind.ADDED,
    Code.PACKAGE_VERSION: Kind.PACKAGES,
    Code.PACKAGE_HOLD: Kind.HOLDS,
    Code.PACKAGE_FILE: Kind.PACKAGES,
    Code.PRIVILEGED: Kind.ADDED,
    Code.WORLD_WRITABLE: Kind.ATTRIBUTES,
    Code.UNOWNED: Kind.ADDED,
    Code.TRANSIENT: Kind.ADDED,
    Code.FIREWALL: Kind.BOOT,
    Code.ROUTE: Kind.BOOT,
    Code.LISTENING: Kind.BOOT,
    Code.MOUNT_COVERING: Kind.BOOT,
    Code.PROGRAM_GONE: Kind.BOOT,
    Code.HOSTNAME: Kind.SETTINGS,
    Code.UNLIKE: Kind.SETTINGS,
    Code.CLOCK: Kind.SETTINGS,
    Code.ROOT_START: Kind.ADDED,
    Code.SYSTEM_KEY: Kind.ADDED,
    Code.UNIT_STOPPED: Kind.UNITS,
    Code.UNIT_FAILED: Kind.UNITS,
    Code.UNIT_ENABLEMENT: Kind.ENABLEMENT,
    Code.SYSCTL: Kind.SETTINGS,
    Code.KERNEL_MODULE: Kind.SETTINGS,
    Code.USER_MISSING: Kind.USERS,
    Code.USER_ADDED: Kind.USERS,
    Code.USER_CHANGED: Kind.USERS,
    Code.ADMINS: Kind.USERS,
    Code.CERTIFICATE: Kind.KEYS,
    Code.API_SILENT: Kind.KEYS,
    Code.ROOT_KEY: Kind.KEYS,
    Code.USER_KEY: Kind.KEYS,
    Code.MUNGE_KEY: Kind.KEYS,
    Code.PENDING: Kind.CONFIGURATION,
    Code.TOPOLOGY: Kind.CONFIGURATION,
    Code.SCHEDULER_SILENT: Kind.CONFIGURATION,
    Code.CONFIG_VALUE: Kind.CONFIGURATION,
    Code.NODE_MISSING: Kind.NODES,
    Code.NODE_ADDED: Kind.ADDED,
    Code.NODE_CHANGED: Kind.NODES,
    Code.NODE_DRAINED: Kind.DRAINS,
    Code.PARTITION_MISSING: Kind.PARTITIONS,
    Code.PARTITION_ADDED: Kind.ADDED,
    Code.PARTITION_CHANGED: Kind.PARTITIONS,
    Code.ACCOUNT_MISSING: Kind.ACCOUNTING,
    Code.ACCOUNT_ADDED: Kind.ADDED,
    Code.ACCOUNT_CHANGED: Kind.ACCOUNTING,
    Code.MEMBER_MISSING: Kind.ACCOUNTING,
    Code.MEMBER_ADDED: Kind.ADDED,
    Code.QOS_MISSING: Kind.ACCOUNTING,
    Code.QOS_ADDED: Kind.ADDED,
    Code.QOS_CHANGED: Kind.ACCOUNTING,
    Code.ADMIN_LEVEL: Kind.ACCOUNTING,
    Code.RESERVATION: Kind.RESERVATIONS,
    Code.GPU_MISSING: Kind.DEVICES,
    Code.GPU_ADDED: Kind.ADDED,
    Code.GPU_DEVICE: Kind.DEVICES,
    Code.MIG_LAYOUT: Kind.DEVICES,
    Code.MOUNT_MISSING: Kind.MOUNTS,
    Code.MOUNT_CHANGED: Kind.MOUNTS,
    Code.MARK_GONE: Kind.SETTINGS,
    Code.INTERFACE_CHANGED: Kind.SETTINGS,
}
"""Codes of which some findings can be repaired; all others are left to a person."""


class Order(enum.IntEnum):
    """When a step runs: what a later one needs comes first."""

    POWER = 0
    CONTENT = 1
    PACKAGES = 2
    RELOAD = 3
    RUNNING = 4
    FINISH = 5
    SCHEDULER = 6
    BOOT = 7


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A program that root runs on a host."""

    argv: Argv
    stdin: str = ""
    shown: str = ""
    """What it does, where the command itself is a script; empty: the command is shown."""

    def __str__(self) -> str:
        return self.shown or shlex.join(self.argv)


@dataclasses.dataclass(frozen=True, slots=True)
class Finish:
    """Configure the host again with the roles of its group, from the inputs that the stack records."""

    group: str

    def __str__(self) -> str:
        return f"configure the host again with the roles of the group {self.group}"


@dataclasses.dataclass(frozen=True, slots=True)
class Switch:
    """Switch the server through its BMC."""

    action: Action

    def __str__(self) -> str:
        return "switch the server on" if self.action is Action.ON else "cut the server's power and switch it on again"


@dataclasses.dataclass(frozen=True, slots=True)
class Boot:
    """Let Slurm reboot the node, which removes what runs there and is in no file."""

    def __str__(self) -> str:
        return "reboot the node through Slurm, which lets a job that comes meanwhile end first"


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One repair on one host."""

    host: str
    action: Command | Finish | Switch | Boot
    order: Order
    findings: tuple[Finding, ...]
    is_quiet: bool = False
    """A running job can't notice it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """A finding that is not repaired."""

    finding: Finding
    why: str
    waits: bool = False
    """Its repair could disturb jobs on its host, or no controller says that there are none."""
    needs_kind: bool = False
    """It can be repaired and was not chosen."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """What a plan has to know beside the findings."""

    controller: str
    """The host that runs scontrol; empty: no controller answers."""
    name: str
    groups: Mapping[str, str]
    """Host → its group."""
    finishing: frozenset[str]
    """Groups whose hosts can be finished again."""
    control: tuple[str, ...]
    """Hosts of the controllers' group."""
    compute: frozenset[str]
    """Hosts that run jobs."""
    root_keys: Mapping[str, str]
    """Host → what its /root/.ssh/authorized_keys should hold, where that is known."""
    unreachable: frozenset[str]
    """Hosts that do not answer."""
    aside: str
    """Folder on the host into which files are moved that somebody added or changed."""
    api_servers: tuple[str, ...] = ()
    """Hosts of the control plane of Kubernetes."""
    servers: Mapping[str, Action] = dataclasses.field(default_factory=dict)
    """Hosts whose BMC answers → what lets them run again: those that are off are switched on."""
    slurm_nodes: frozenset[str] = frozenset()
    """Of the hosts that run jobs, those that are nodes of Slurm."""
    due: frozenset[str] = frozenset()
    """Hosts that a roll is due for: it empties them, then installs kernel, drivers and libraries, and restarts them."""

    def finish(self, host: str) -> Finish | None:
        group = self.groups.get(host, "")
        return Finish(group) if group in self.finishing else None
