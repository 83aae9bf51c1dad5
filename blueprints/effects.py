"""What changing each field of the spec costs a cluster that stands: one table, and where a target's code does otherwise, one for that target.

Paths are those of the recorded spec, with `*` for what has a name; `+` is a named thing that comes, `-` one that goes. A list that is no collection of named
things is one value.
"""

import dataclasses
import enum
import functools
from collections.abc import Mapping


class Effect(enum.StrEnum):
    """From the cheapest to the dearest."""

    NONE = "none"
    """Nothing that stands is touched."""
    IN_PLACE = "in-place"
    """Hosts run on, and jobs with them."""
    ROLLING = "rolling"
    """Hosts boot again and keep their disks; jobs on them end unless they are drained first."""
    REPLACES_NODES = "replaces-nodes"
    """Hosts go or are made anew, with what only their disks hold."""
    DESTROYS_DATA = "destroys-data"
    """Shared files or records are lost."""

    @property
    def severity(self) -> int:
        return list(Effect).index(self)


DATA = {
    "storage": "every file system and bucket that the stack made",
    "networked": "file systems that stand in the network's subnets",
    "zonal": "file systems that stand in one zone",
    "database": "the accounting database",
    "managed-database": "the accounting database, where the cloud runs it",
    "own-database": "the accounting database, where the controller runs it",
    "state": "the scheduler's saved state: the queue, and what is known of nodes",
}
"""What a change can lose."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    effect: Effect
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What a change of one field costs."""

    cost: Cost
    less: Cost | None = None
    """Of a number that becomes smaller."""
    later: Cost | None = None
    """Of a list whose first entry stays."""
    given: tuple[tuple[str, object, Cost], ...] = ()
    """What it costs instead where the old record around the field has this value in this field; the first that fits counts."""
    reaches: tuple[str, ...] = ()
    """Kinds of data that are lost with it (keys of DATA); where there is any, the change destroys data."""
    is_anew: bool = False
    """Whether a cluster that stands can't have it: it has to be taken down first. Not where `less`, `later` or `given` hold."""


def rule(pattern: str, target: str) -> Rule:
    """Give what changing a field costs on a target.

    Raises:
        KeyError: the table has no such field.
    """
    return BY_TARGET.get(target, {}).get(pattern) or FIELDS[pattern]


def _rule(
    effect: Effect,
    why: str,
    *,
    less: Cost | None = None,
    later: Cost | None = None,
    given: tuple[tuple[str, object, Cost], ...] = (),
    reaches: tuple[str, ...] = (),
) -> Rule:
    return Rule(Cost(effect, why), less, later, given, reaches)


_none = functools.partial(_rule, Effect.NONE)
_in_place = functools.partial(_rule, Effect.IN_PLACE)
_rolling = functools.partial(_rule, Effect.ROLLING)
_replaces = functools.partial(_rule, Effect.REPLACES_NODES)
_destroys = functools.partial(_rule, Effect.DESTROYS_DATA)


def _machine(prefix: str, change: Rule) -> Mapping[str, Rule]:
    """Give the rules of a machine's fields, which all cost what another machine costs."""
    layout = ("name", "sockets", "cores_per_socket", "threads_per_core", "memory_mib", "nics", "network_gbps", "scratch_gib", "exists", "domain_nodes")
    gpus = ("gpus", "gpus.type", "gpus.count", "gpus.simulated", "gpus.memory_gib")
    return {
        **{f"{prefix}.machine.{field}": change for field in (*layout, *gpus)},
        f"{prefix}.machine.arch": _replaces("another architecture takes another image, and so another disk"),
        f"{prefix}.machine.gpus.mig": _rolling("a GPU is cut only while nothing uses it: the node is drained and boots again"),
    }


def _hosts(prefix: str, *, count: Rule, machine: Rule) -> Mapping[str, Rule]:
    """Give the rules of a group of hosts."""
    return {
        f"{prefix}.name": _replaces("hosts are made under the new name, and those of the old one go"),
        f"{prefix}.role": _replaces("hosts of another role are made anew"),
        f"{prefix}.prefix": _replaces("hosts are made under the new name, and those of the old one go"),
        f"{prefix}.count": count,
        f"{prefix}.first_address": _rolling("the hosts boot again with their new addresses"),
        **_machine(prefix, machine),
    }


_MORE_NODES = _in_place("nodes are added; the others run on", less=Cost(Effect.REPLACES_NODES, "the last nodes go, with their disks and the jobs on them"))
_OTHER_NODES = _replaces("its nodes are made anew as the other machine")
_OTHER_SIZE = _rolling("the host stops and starts with the new size; until it is back no job starts")
_OTHER_LOGIN = _rolling("the login nodes stop and start with the new size; sessions on them end")
_SCHEDULER_SETTING = "the controller reads its configuration anew; jobs run on"
_FROM_NOW_ON = "jobs that start from now on have it"
_ACCOUNTING_SETTING = "a record of Slurm's accounting; running jobs keep what they have"
_JUDGEMENT = "what acceptance judges by; nothing that stands changes"
_FOLLOWS = "it follows from other fields"
_STAND_IN_IT = "the hosts are made anew there"
_SIZE_UP = "the file system grows while it is mounted"

_IN_NETWORK = ("networked", "managed-database")
_IN_ZONE = ("zonal", "database")
_SOFTWARE = ("profile", "os", "suite", "slurm", "kubernetes", "arch", "versions", "origins")
_QOS = ("name", "priority", "max_time", "gpus_per_user", "jobs_per_user", "preempts")
_MAINTAINED = ("maintenance", "monitoring.metrics", "monitoring.retention_days", "monitoring.dashboards")


def _of_both(rules: Mapping[str, Rule]) -> Mapping[str, Rule]:
    """Give the rules with those of node sets for both schedulers."""
    found = {pattern: rule for pattern, rule in rules.items() if not pattern.startswith("node_sets.")}
    node_sets = {pattern: rule for pattern, rule in rules.items() if pattern.startswith("node_sets.")}
    return {**found, **{f"{scheduler}.{pattern}": rule for scheduler in ("slurm", "kubernetes") for pattern, rule in node_sets.items()}}


FIELDS: Mapping[str, Rule] = _of_both(
    {
        "version": _none("the form of the record itself"),
        "name": _replaces("everything is named by it, and so made anew", reaches=("storage", "database")),
        "description": _none("a text; login nodes greet with it"),
        "target": _replaces("the cluster is made anew in another place, and this one goes", reaches=("storage", "database")),
        "slurm": _replaces(
            "Slurm goes with its nodes, its queue and its accounting",
            given=(("slurm", None, Cost(Effect.IN_PLACE, "Slurm is added, with its own hosts and nodes")),),
            reaches=("database",),
        ),
        "slurm.run_by": _replaces("the queue and the accounting records stay with the scheduler that goes", reaches=("database",)),
        "slurm.product": _none(_FOLLOWS),
        "slurm.control": _replaces("the queue and the accounting records stay with the scheduler that goes", reaches=("database",)),
        "simulated": _none("a text"),
        "tags": _in_place("labels of what stands"),
        "acceptance": _none(_JUDGEMENT),
        # Software: hosts run the image of one set of versions.
        **{
            f"software.{field}": _replaces("hosts start from the image of the other versions; an older Slurm refuses the state of a newer one")
            for field in _SOFTWARE
        },
        "software.tested_on": _none("what is known of the same versions"),
        # The network, and what stands in it.
        "network.cidr": _replaces(_STAND_IN_IT, reaches=_IN_NETWORK),
        "network.existing": _replaces(_STAND_IN_IT, reaches=_IN_NETWORK),
        "network.region": _replaces("the cluster is made anew in the other region", reaches=("storage", "database")),
        "network.zones": _replaces(_STAND_IN_IT, reaches=_IN_ZONE, later=Cost(Effect.IN_PLACE, "subnets of further zones come or go")),
        "network.gateway": _rolling("hosts boot again with the new way out"),
        "network.balancer_address": _in_place("the balancer answers at another address; sessions through it end"),
        "network.domain": _in_place("full names of hosts change"),
        "network.egress": _in_place("routes change while hosts run; transfers to the Internet break off"),
        "network.private_endpoints": _in_place("endpoints come or go while hosts run"),
        "network.subnets.+": _in_place("a subnet is added"),
        "network.subnets.-": _replaces("what stands in it is made anew elsewhere", reaches=_IN_NETWORK),
        "network.subnets.*.name": _replaces(_STAND_IN_IT, reaches=_IN_NETWORK),
        "network.subnets.*.role": _replaces(_STAND_IN_IT),
        "network.subnets.*.cidr": _replaces(_STAND_IN_IT, reaches=_IN_NETWORK),
        "network.subnets.*.zone": _replaces(_STAND_IN_IT, reaches=_IN_ZONE),
        "network.subnets.*.needed": _none(_FOLLOWS),
        "network.subnets.*.usable": _none(_FOLLOWS),
        # The scheduler's own hosts, login nodes, services.
        **_hosts(
            "slurm.control",
            count=_replaces(
                "two controllers keep their state in a file system and one keeps it on a disk: the queue begins anew, on controllers with new disks",
                reaches=("state", "own-database"),
            ),
            machine=_OTHER_SIZE,
        ),
        **_hosts(
            "access",
            count=_in_place("login nodes are added", less=Cost(Effect.REPLACES_NODES, "the last login nodes go, and sessions on them end")),
            machine=_OTHER_LOGIN,
        ),
        "kubernetes": _replaces(
            "Kubernetes goes with its nodes, and what is recorded in its control plane",
            given=(("kubernetes", None, Cost(Effect.IN_PLACE, "Kubernetes is added, with its own hosts and nodes")),),
        ),
        "kubernetes.run_by": _replaces("nodes join another control plane; what is recorded in the one that goes is lost"),
        "kubernetes.product": _none(_FOLLOWS),
        "kubernetes.version": _rolling("the control plane is updated, then the nodes, a few at a time"),
        "kubernetes.control": _replaces("nodes join another control plane; what is recorded in the one that goes is lost"),
        **_hosts(
            "kubernetes.control",
            count=_rolling("members of the control plane come or go one at a time"),
            machine=_rolling("members of the control plane are exchanged one at a time"),
        ),
        "login.load_balancer": _in_place("the address to log in at changes"),
        "login.allowed_cidrs": _in_place("rules of the firewall; open sessions stay"),
        "login.ldap_uri": _in_place("hosts ask the other directory"),
        "login.ldap_base": _in_place("hosts ask the other directory"),
        "services.+": _in_place("a service is added"),
        "services.-": _in_place("a service goes; what used it goes another way"),
        "services.*.name": _in_place("a service is exchanged"),
        "services.*.product": _in_place("a service is exchanged"),
        "services.*.count": _in_place("services are added or go"),
        "slurm.database.placement": _replaces("a new database is made, and the records of the old one are not carried over", reaches=("database",)),
        "slurm.database.product": _replaces("a new database is made, and the records of the old one are not carried over", reaches=("database",)),
        "slurm.database.protect": _in_place("what is refused from now on; the database stays"),
        # Compute nodes.
        "node_sets.+": _in_place("its nodes are added; the others run on"),
        "node_sets.-": _replaces("its nodes go, with their disks and the jobs on them"),
        **_hosts("node_sets.*.hosts", count=_MORE_NODES, machine=_OTHER_NODES),
        "node_sets.*.pool": _in_place(_SCHEDULER_SETTING),
        "node_sets.*.partition": _replaces("the nodes join another scheduler"),
        **{
            f"node_sets.*.partition.{field}": _in_place(_SCHEDULER_SETTING)
            for field in ("name", "default", "max_time", "priority", "exclusive", "accounts", "qos")
        },
        "node_sets.*.features": _in_place(_SCHEDULER_SETTING),
        "node_sets.*.weight": _in_place(_SCHEDULER_SETTING),
        "node_sets.*.pool_most": _in_place(_SCHEDULER_SETTING),
        "node_sets.*.minimum": _in_place("nodes are started or left to stop when idle"),
        "node_sets.*.capacity.kind": _replaces("nodes are bought another way, and so made anew"),
        "node_sets.*.capacity.id": _replaces("nodes are made anew in the other reservation"),
        "node_sets.*.capacity.max_run": _in_place("nodes that start from now on have it"),
        "node_sets.*.fabric": _replaces("the interfaces of its nodes change, and so the nodes are made anew"),
        "node_sets.*.fabric.name": _replaces("the interfaces of its nodes change, and so the nodes are made anew"),
        "node_sets.*.fabric.nics": _replaces("the interfaces of its nodes change, and so the nodes are made anew"),
        "node_sets.*.fabric.title": _none("a text"),
        "node_sets.*.fabric.required": _none("what is refused or warned about; nothing that stands changes"),
        "node_sets.*.fabric.gbps_per_gpu": _none(_FOLLOWS),
        "node_sets.*.fabric.plugin": _in_place(_FROM_NOW_ON),
        "node_sets.*.fabric.environment": _in_place(_FROM_NOW_ON),
        "node_sets.*.fabric.log_line": _none(_JUDGEMENT),
        "node_sets.*.fabric.expected": _none(_JUDGEMENT),
        **{
            f"node_sets.*.fabric.expected.{field}": _none(_JUDGEMENT)
            for field in ("collective", "size_bytes", "nodes", "typical_gbs", "warn_gbs", "floor_gbs", "provisional", "source", "measured_nodes")
        },
        "node_sets.*.placement": _replaces("where a node stands is decided when it is made"),
        "node_sets.*.scratch_mount": _rolling("nodes mount their own disks when they boot"),
        "node_sets.*.health_check": _in_place("nodes that start from now on"),
        "node_sets.*.on_failure": _in_place("nodes that fail from now on"),
        "node_sets.*.labels": _in_place(_SCHEDULER_SETTING),
        "node_sets.*.taints": _in_place("pods that start from now on; `NoExecute` ends those that run too"),
        "node_sets.*.image": _replaces("nodes start from the other image"),
        "node_sets.*.chosen": _none("a text"),
        # Storage.
        "storage.+": _in_place("it is made, and hosts mount it"),
        "storage.-": _destroys(
            "the file system goes, with all files",
            given=(
                ("kind", "existing", Cost(Effect.ROLLING, "hosts unmount it; it stays where it is")),
                ("protect", True, Cost(Effect.DESTROYS_DATA, "the file system leaves the stack")),
                ("on_delete", "keep", Cost(Effect.ROLLING, "hosts unmount it; it stays, outside of the stack, and goes on to cost (on_delete: keep)")),
            ),
        ),
        "storage.*.name": _destroys("a new file system is made, and the old one goes with all files"),
        "storage.*.kind": _destroys(
            "a new file system is made, and the old one goes with all files",
            given=(("kind", "existing", Cost(Effect.ROLLING, "hosts mount the other one; this one stays where it is")),),
        ),
        "storage.*.mount": _rolling("hosts mount it at the other place; jobs that use the old one end"),
        "storage.*.protect": _in_place("what is refused from now on; the files stay"),
        "storage.*.simulated": _none("a text"),
        "storage.*.product": _none(_FOLLOWS),
        "storage.*.storage_class": _destroys("a new file system is made, and the old one goes with all files"),
        "storage.*.size_gib": _in_place(
            _SIZE_UP, less=Cost(Effect.DESTROYS_DATA, "it can't shrink: a smaller one is made, and the old one goes with all files")
        ),
        "storage.*.throughput_mbs_per_tib": _in_place("the file system is rebuilt around its files; it stands still for moments"),
        "storage.*.throughput_mbs": _none(_FOLLOWS),
        "storage.*.fabric": _none(_FOLLOWS),
        "storage.*.durability": _destroys("a new file system is made, and the old one goes with all files"),
        "storage.*.on_delete": _in_place("what happens at the end; the files stay"),
        "storage.*.backup_days": _in_place("backups from now on"),
        "storage.*.encrypted": _destroys("files are encrypted from the first on: a new file system is made, and the old one goes"),
        "storage.*.key": _destroys("files are encrypted from the first on: a new file system is made, and the old one goes"),
        "storage.*.source": _rolling("hosts mount the other one; what they mounted stays where it is"),
        "storage.*.exchange": _in_place("the link to the bucket; files stay"),
        **{f"storage.*.exchange.{field}": _in_place("the link to the bucket; files stay") for field in ("bucket", "import_files", "export_files")},
        "storage.*.user_quota_gib": _in_place("a limit; files stay"),
        "storage.*.group_quota_gib": _in_place("a limit; files stay"),
        # People.
        "accounts.+": _in_place("the account is added"),
        "accounts.-": _in_place("nobody's jobs go there any more; the account and its records stay in Slurm's database"),
        "accounts.*.users": _in_place("who is new may use it at once; who left keeps it in Slurm's database until an administrator removes it there"),
        **{
            f"accounts.*.{field}": _in_place(_ACCOUNTING_SETTING)
            for field in ("name", "description", "parent", "share", "most_gpus", "most_nodes", "most_jobs", "qos")
        },
        "slurm.qos.+": _in_place(_ACCOUNTING_SETTING),
        "slurm.qos.-": _in_place("jobs can't name it any more; waiting ones that do are held"),
        **{f"slurm.qos.*.{field}": _in_place(_ACCOUNTING_SETTING) for field in _QOS},
        "users.+": _in_place("the user can log in; everyone else notices nothing"),
        "users.-": _in_place("the user can't log in any more; home and records stay"),
        "users.*.name": _in_place("the user can log in by the new name"),
        "users.*.uid": _in_place("files of the user keep the old number: `up` stops at the home until an administrator has changed its owner"),
        "users.*.default_account": _in_place(_ACCOUNTING_SETTING),
        "users.*.ssh_keys": _in_place("keys of the blueprint in the user's home; the user's own stay"),
        "users.*.accounts": _in_place(_ACCOUNTING_SETTING),
        "users.*.admin": _in_place("rights from the next login on"),
        **{field: _in_place("a setting of the scheduler or of monitoring; jobs run on") for field in _MAINTAINED},
    }
)

_LOCAL_IMAGE = _replaces(
    "every host gets a new disk from the image of this set of versions; state, database and shared folders stay; an older Slurm refuses the state of a newer one"
)
_LOCAL_FOLDER = "on this machine it is a folder, whatever its kind"
_LOCAL_ADDRESS = _rolling("the hosts boot again with their new addresses, disks kept; jobs on them end")
_LOCAL_DECLARED = _in_place("Slurm is told the other number; jobs run on")
_LOCAL_GPUS = _rolling("device nodes are made at boot: the nodes boot again, disks kept; jobs on them end")
_LOCAL_UNREAD = "nothing on this machine depends on it"
LEFT_OUT = "this version leaves it out here"
_LOCAL_MOUNTS = "every host boots again to mount it, disks kept; jobs on them end"
_DECLARED = ("name", "sockets", "cores_per_socket", "threads_per_core", "memory_mib", "exists")
_UNDECLARED = ("arch", "network_gbps", "nics", "scratch_gib", "domain_nodes")

LOCAL: Mapping[str, Rule] = _of_both(
    {
        "name": _rolling(
            "every host boots again; Slurm refuses its saved state under another name until `clustername` is removed from it, and accounting begins anew"
        ),
        **{f"software.{field}": _LOCAL_IMAGE for field in (*_SOFTWARE, "tested_on")},
        "network.cidr": _rolling("every host boots again with a new address, disks kept; jobs on them end"),
        "network.gateway": _rolling("every host boots again, disks kept; jobs on them end"),
        **{f"network.{field}": _none(_LOCAL_UNREAD) for field in ("existing", "region", "zones", "egress", "private_endpoints", "subnets.+", "subnets.-")},
        **{f"network.subnets.*.{field}": _none(_LOCAL_UNREAD) for field in ("name", "role", "cidr", "zone")},
        "slurm.control.count": _rolling(
            "every host boots again, since each is told the controllers' names; disks, queue and accounting are kept, and jobs end"
        ),
        **{f"{group}.first_address": _LOCAL_ADDRESS for group in ("slurm.control", "access", "node_sets.*.hosts")},
        **{
            f"{group}.machine.{field}": _none("only compute nodes are declared to Slurm")
            for group in ("slurm.control", "access")
            for field in (*_DECLARED, *_UNDECLARED)
        },
        **{f"node_sets.*.hosts.machine.{field}": _LOCAL_DECLARED for field in _DECLARED},
        "node_sets.*.hosts.machine.gpus": _LOCAL_GPUS,
        "node_sets.*.hosts.machine.gpus.count": _LOCAL_GPUS,
        "node_sets.*.hosts.machine.gpus.type": _in_place(_SCHEDULER_SETTING),
        "node_sets.*.hosts.machine.gpus.simulated": _in_place(_SCHEDULER_SETTING),
        **{f"node_sets.*.hosts.machine.{field}": _none(_LOCAL_UNREAD) for field in (*_UNDECLARED, "gpus.memory_gib", "gpus.mig")},
        **{
            f"node_sets.*.{field}": _none(_LOCAL_UNREAD)
            for field in ("capacity.kind", "capacity.id", "capacity.max_run", "placement", "scratch_mount", "image")
        },
        **{f"node_sets.*.{field}": _none(_LOCAL_UNREAD) for field in ("fabric", "fabric.name", "fabric.nics", "fabric.plugin", "fabric.environment")},
        **{f"node_sets.*.{field}": _none(LEFT_OUT) for field in ("on_failure", "labels", "taints")},
        "node_sets.*.health_check": _rolling("what a node has to have is written before it boots: the nodes boot again, disks kept; jobs on them end"),
        "node_sets.*.minimum": _replaces("a pool that becomes elastic or fixed gets other hosts; another minimum alone starts hosts, or lets idle ones go"),
        **{f"login.{field}": _none(LEFT_OUT) for field in ("load_balancer", "allowed_cidrs", "ldap_uri", "ldap_base")},
        **{field: _none(LEFT_OUT) for field in (*_MAINTAINED, "tags", "slurm.run_by", "slurm.product", "slurm.control")},
        "storage.+": _rolling(_LOCAL_MOUNTS),
        "storage.-": _destroys("the folder goes with all files, and every host boots again without it"),
        "storage.*.mount": _rolling(_LOCAL_MOUNTS),
        **{
            f"storage.*.{field}": _none(_LOCAL_FOLDER)
            for field in (
                "kind",
                "storage_class",
                "size_gib",
                "throughput_mbs_per_tib",
                "durability",
                "on_delete",
                "backup_days",
                "encrypted",
                "key",
                "source",
                "exchange",
                "user_quota_gib",
                "group_quota_gib",
            )
        },
        **{f"storage.*.exchange.{field}": _none(_LOCAL_FOLDER) for field in ("bucket", "import_files", "export_files")},
        "slurm.database.placement": _none("on this machine the database is always the controller's"),
        "slurm.database.product": _none("on this machine the database is always the controller's"),
    }
)
"""What components/local and the playbooks do."""

AWS: Mapping[str, Rule] = {
    "network.subnets.-": dataclasses.replace(
        FIELDS["network.subnets.-"],
        given=(("name", "cluster-2", Cost(Effect.IN_PLACE, "the subnet of the second zone goes, when nothing is left there that needs it")),),
    ),
    **{field: dataclasses.replace(FIELDS[field], is_anew=True) for field in ("name", "network.cidr", "network.existing", "network.region", "network.zones")},
}
"""Security groups, subnets and the network hold one another and the hosts in them. A host of any kind keeps them from going, and another of the same name or with the same addresses can't stand beside
them: EC2 refuses such a change half-way (`DependencyViolation`, `InvalidSubnet.Conflict`)."""

BY_TARGET: Mapping[str, Mapping[str, Rule]] = {"local": LOCAL, "aws": AWS}
