"""The lines and values of slurm.conf(5), gres.conf(5) and topology.conf(5) that depend on the resolved cluster. Pure; templates only lay them out."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blueprints import hostlist as slurm_hostlist

Record = Mapping[str, Any]

ACCEPTANCE_ACCOUNT = ACCEPTANCE_QOS = "clusterwright-acceptance"
"""What the job of the acceptance runs with (roles `acceptance` and `accounting`): every partition admits it."""
LEAST_TREE_WIDTH = 16  # Slurm's own default (slurm.conf(5), TreeWidth)
MIG_DEVICES = "/dev/clusterwright-mig"


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"slurm_tables": slurm_tables}


def slurm_tables(spec: Record, provided: Record, *, version: Record, memory: Record, fair_share_weight: int) -> dict[str, Any]:
    """Return what the templates of this role lay out.

    Args:
        spec: the part of the resolved cluster that Slurm's hosts get.
        provided: what only the target knows: the fleet table, addresses of hosts that always run, the database's address.
        version: what differs in this version of Slurm (`slurm_config_versions`).
        memory: what of a machine's memory jobs get: `share`, and `system_mib` less.
        fair_share_weight: priority that fair share gives at most.
    """
    node_sets, accounts, qos = spec["slurm"]["node_sets"], spec["accounts"], spec["slurm"]["qos"]
    fleet, addresses = provided.get("fleet") or {}, provided.get("addresses") or {}
    present = [one for one in node_sets if one["hosts"]["count"] > 0]
    powered = [one["prefix"] for one in fleet.get("node_sets", ())]
    fixed = [one for one in present if one["hosts"]["prefix"] not in powered]
    exist = all(one["hosts"]["machine"]["exists"] for one in node_sets)
    control = spec["slurm"]["control"]
    controllers = slurm_hostlist.of_group(control["prefix"], control["count"], control.get("members") or "")
    return {
        "controllers": [f"{name}({addresses[name]})" if name in addresses else name for name in controllers],
        "accounting_hosts": [addresses.get(name, name) for name in controllers[: 2 if provided.get("database") else 1]],
        "controller_parameters": ["enable_configless", *(version["cloud_parameters"] if powered else ())],
        "machines_exist": exist,
        "has_fixed_nodes": bool(fixed),
        "is_powered": bool(powered),
        "boot_timeout_s": max((int(one["boot_timeout_s"]) for one in fleet.get("node_sets", ())), default=0),
        "always_on": [hostlist(one["hosts"]) for one in fixed]
        + [hostlist({"prefix": one["prefix"], "count": one["minimum"]}) for one in fleet.get("node_sets", ()) if one["minimum"] > 0],
        "tree_width": (version["cloud_tree_width"] if powered else 0) or tree_width(node_sets),
        "tres": tres(node_sets),
        "jobs_have_environment": any({"environment", "environment_script"} & one.keys() for one in node_sets),
        # One at most: machines of fabrics with different daemons differ in architecture, and a cluster has one.
        "job_daemon": next((one["daemon"] for one in node_sets if "daemon" in one), ""),
        "preempts": any(one["preempts"] for one in qos),
        "priority_weights": priority_weights(qos, accounts, fair_share_weight),
        "nodes": [node_line(one, memory, is_powered=one["hosts"]["prefix"] in powered) for one in present],
        "gres": [line for one in present if one["hosts"]["machine"]["gpus"] for line in gres_lines(one, version)],
        "partitions": [partition_line(some, memory, accounts) for some in by_partition(node_sets)],
        "topology": topology(present, spec["slurm"].get("racks") or {}, version["blocks"]),
    }


def hostlist(hosts: Record) -> str:
    """Write the hosts of a group in Slurm's bracket form; one host is written plain."""
    return str(hosts.get("members") or slurm_hostlist.counted(f"{hosts['prefix']}-", hosts["count"]))


def usable_mib(machine: Record, memory: Record) -> int:
    """Return the memory that jobs get: an instance shows less than it is sold with, and Slurm refuses a node that shows less than is configured."""
    return int(machine["memory_mib"] * memory["share"]) - int(memory["system_mib"])


def tree_width(node_sets: Sequence[Record]) -> int:
    """Return the fan-out of messages: the square root of the number of nodes, so that two steps reach all."""
    return max(LEAST_TREE_WIDTH, math.ceil(sum(one["hosts"]["count"] for one in node_sets) ** 0.5))


def tres(node_sets: Sequence[Record]) -> list[str]:
    gpus = [one["hosts"]["machine"]["gpus"] for one in node_sets]
    return ["gres/gpu", *(f"gres/gpu:{kind}" for kind in sorted({kind for one in gpus if one for kind in types(one)}))]


def types(gpus: Record) -> dict[str, int]:
    """Count what a node gives out, by Slurm's type of it: whole GPUs, or the MIG instances of all its GPUs by profile."""
    return {one["profile"]: one["per_gpu"] * gpus["count"] for one in gpus.get("mig") or ()} or {gpus["type"]: gpus["count"]}


def priority_weights(qos: Sequence[Record], accounts: Sequence[Record], fair_share_weight: int) -> dict[str, int]:
    """Return the weights of slurm.conf(5), by name.

    Slurm multiplies the part of the highest priority that a quality of service has (0 to 1) with the weight: with the highest priority as weight it is added as it is (Multifactor Priority Plugin, "Quality
    of Service (QOS) Factor"). With one account nobody has a share beside others.
    """
    top = max((one["priority"] for one in qos), default=0) or 0
    fair_share = {"PriorityWeightFairshare": fair_share_weight} if len(accounts) > 1 else {}
    return {**fair_share, **({"PriorityWeightQOS": top} if top > 0 else {})}


def node_line(node_set: Record, memory: Record, *, is_powered: bool) -> str:
    machine = node_set["hosts"]["machine"]
    gpus = machine["gpus"]
    return line(
        NodeName=hostlist(node_set["hosts"]),
        Sockets=machine["sockets"],
        CoresPerSocket=machine["cores_per_socket"],
        ThreadsPerCore=machine["threads_per_core"],
        RealMemory=usable_mib(machine, memory),
        Gres=",".join(f"gpu:{kind}:{count}" for kind, count in types(gpus).items()) if gpus else None,
        Feature=",".join(node_set["features"]) or None,
        Weight=node_set["weight"] if node_set["weight"] != 1 else None,
        State="CLOUD" if is_powered else "UNKNOWN",
    )


def gres_lines(node_set: Record, version: Record) -> list[str]:
    gpus, nodes = node_set["hosts"]["machine"]["gpus"], hostlist(node_set["hosts"])
    if gpus.get("mig"):
        # Of Slurm's ways to detect GPUs, only NVML's knows instances, and distributions build Slurm without it (gres.conf(5), AutoDetect).
        return [line(NodeName=nodes, AutoDetect="off", Name="gpu", Type=profile, MultipleFiles=",".join(files)) for profile, files in instances(gpus)]
    return [
        line(
            NodeName=nodes,
            AutoDetect="off" if gpus["simulated"] else version["gpu_autodetect"],
            Name="gpu",
            Type=gpus["type"],
            File="/dev/nvidia0" if gpus["count"] == 1 else f"/dev/nvidia[0-{gpus['count'] - 1}]",
        )
    ]


def instances(gpus: Record) -> list[tuple[str, tuple[str, str, str]]]:
    """List the MIG instances of a node: profile, and the device files that a job needs. The role `mig` gives them these names."""
    return [
        (one["profile"], (f"/dev/nvidia{gpu}", f"{MIG_DEVICES}/{base}-instance", f"{MIG_DEVICES}/{base}-compute"))
        for one in gpus["mig"]
        for gpu in range(gpus["count"])
        for base in (f"gpu{gpu}-{one['profile']}-{number}" for number in range(one["per_gpu"]))
    ]


def by_partition(node_sets: Sequence[Record]) -> list[list[Record]]:
    """Group the node sets of each partition, in the order of the partitions' names."""

    def name(one: Record) -> str:
        return str(one["partition"]["name"]).lower()

    return [list(some) for _, some in itertools.groupby(sorted(node_sets, key=name), key=name)]


def partition_line(node_sets: Sequence[Record], memory: Record, accounts: Sequence[Record]) -> str:
    """Write a partition, of which the node set with the least memory for each processor decides what a job gets by default."""
    partition = node_sets[0]["partition"]
    machines = [one["hosts"]["machine"] for one in node_sets]
    allowed = with_descendants(partition["accounts"], accounts)
    return line(
        PartitionName=partition["name"],
        Nodes=",".join(hostlist(one["hosts"]) for one in node_sets if one["hosts"]["count"] > 0) or None,
        Default="YES" if partition["default"] else "NO",
        MaxTime=partition["max_time"],
        DefMemPerCPU=min(usable_mib(one, memory) // (one["sockets"] * one["cores_per_socket"] * one["threads_per_core"]) for one in machines),
        MaxNodes=node_sets[0].get("pool_most") or None,  # a pool of several machines has more names than it may have nodes
        PriorityTier=partition["priority"] if partition["priority"] != 1 else None,
        OverSubscribe="EXCLUSIVE" if partition["exclusive"] else None,
        AllowAccounts=",".join([*allowed, ACCEPTANCE_ACCOUNT]) if allowed else None,
        AllowQos=",".join([*partition["qos"], ACCEPTANCE_QOS]) if partition["qos"] else None,
        State="UP",
    )


def topology(node_sets: Sequence[Record], racks: Mapping[str, str], sizes: str) -> list[str]:
    """Return the lines of topology.conf(5), with a block for the NVLink domain of each rack; none where no NVLink leaves its machine, or this Slurm can't have these blocks.

    A job that names a node outside of all blocks is refused ("requires nodes which are not in blocks", slurmctld 24.11.5), so each other node set is a block, too.

    Args:
        racks: hostname → rack, of the nodes in NVLink domains.
        sizes: blocks that this version takes: `any`, `equal` (slurmctld 23.11.4 ends where one has another size) or none.
    """
    if not racks or not sizes:
        return []
    members: dict[str, list[str]] = {}
    for one in node_sets:
        for name in slurm_hostlist.of_group(one["hosts"]["prefix"], one["hosts"]["count"], one["hosts"].get("members") or ""):
            members.setdefault(f"rack-{racks[name]}" if name in racks else one["hosts"]["prefix"], []).append(name)
    counts = {len(names) for names in members.values()}
    if sizes == "equal" and len(counts) > 1:
        return []
    blocks = [line(BlockName=f"block-{number}", Nodes=slurm_hostlist.compress(members[key])) for number, key in enumerate(sorted(members), start=1)]
    # Each block must have as many nodes at least (topology.conf(5), BlockSizes), and `--segment` can ask for as many at most.
    return [*blocks, *([line(BlockSizes=min(counts))] if sizes == "any" else [])]


def with_descendants(names: Sequence[str], accounts: Sequence[Record]) -> list[str]:
    """Add the accounts below the named ones: who may use a partition may do so from all of them, and not every version of Slurm knows that by itself."""
    allowed, found = list(names), list(names)
    while found:
        found = [one["name"] for one in accounts if one.get("parent") in found and one["name"] not in allowed]
        allowed += found
    return allowed


def line(**fields: object) -> str:
    """Write a line of Slurm's configuration files, without the fields that are None."""
    return " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
