"""What of the spec concerns one scheduler: the records that its hosts are configured from.

A view holds what the playbooks read and nothing else, so that a change elsewhere (a pool of another scheduler, a tag, the price of a service) doesn't configure hosts again.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..errors import Unreadable
from .cluster import ClusterSpec
from .codec import from_record
from .hosts import HostGroup
from .nodes import IN_DOMAINS, NodeSet
from .people import User
from .site import SiteInterface
from .storage import HOMES, FileSystem

REWORDED = {
    "Both controllers stand on this machine, and the state that they share is a folder of it: nothing outlives the machine.": (
        "Both controllers run on this machine, and their shared state is a folder of it: neither survives the machine."
    )
}
"""Sentences of the greeting as earlier versions wrote them → as this version does."""


GATED = frozenset({"nodes", "gpus", "jobs", "accounting", "collectives", "storage"})
"""Kinds of checks of acceptance; a cluster that gates all of them need not say so."""
DIAGNOSTICS = {"basic": 1, "full": 2}
"""`health.check` → level of DCGM's diagnostic in acceptance. Level 3 takes a quarter of an hour (dcgmi-diag, read 2026-11-27), and acceptance should not."""


def slurm_view(spec: ClusterSpec) -> dict[str, Any]:
    """Give what Slurm's controllers are configured from, and what acceptance judges Slurm by.

    The record has the form of the spec's own (`as_record`), with fewer fields.
    """
    slurm = spec.slurm
    if slurm is None:
        raise ValueError(f"{spec.name} has no Slurm")
    software = dataclasses.asdict(spec.software)
    return {
        "version": spec.version,
        "name": spec.name,
        "target": spec.target,
        "software": {name: value for name, value in software.items() if name not in ("kubernetes", "tested_on")},
        "network": {"region": spec.network.region, "domain": spec.network.domain},
        "access": _hosts(spec.access),
        "storage": [_storage(one) for one in spec.storage],
        "accounts": [dataclasses.asdict(one) for one in spec.accounts],
        "users": [_user(one) for one in spec.users],
        "slurm": {
            "control": _hosts(slurm.control) if slurm.control else None,
            "qos": [dataclasses.asdict(one) for one in slurm.qos],
            "node_sets": [_node_set(one) for one in slurm.node_sets],
            **({"racks": domains} if (domains := nvlink_domains(spec)) else {}),
        },
    }


def login_view(spec: ClusterSpec) -> dict[str, Any]:
    """Give what login nodes are configured from: what Slurm's controllers are, and what a user reads after logging in."""
    return {**slurm_view(spec), "description": spec.description, "simulated": spec.simulated}


def kubernetes_view(spec: ClusterSpec) -> dict[str, Any]:
    """Give what the control plane and the nodes of Kubernetes are configured from.

    What runs in the cluster (add-ons, queues, users) is applied through the API server and configures no host.
    """
    kubernetes = spec.kubernetes
    if kubernetes is None:
        raise ValueError(f"{spec.name} has no Kubernetes")
    software = dataclasses.asdict(spec.software)
    own = {name: getattr(kubernetes, name) for name in ("version", "pod_cidr", "service_cidr", "pod_network", "endpoint", "registry")}
    return {
        "version": spec.version,
        "name": spec.name,
        "target": spec.target,
        "software": {name: value for name, value in software.items() if name not in ("slurm", "kubernetes", "tested_on")},
        "network": {"cidr": spec.network.cidr, "region": spec.network.region, "domain": spec.network.domain},
        "storage": [_storage(one) for one in spec.storage],
        "kubernetes": {
            **own,
            "control": _hosts(kubernetes.control) if kubernetes.control else None,
            "node_sets": [_kubernetes_nodes(one) for one in kubernetes.node_sets],
            **({"racks": racks} if spec.site and (racks := dict(spec.site.racks)) else {}),
            **({"secondary_networks": networks} if (networks := _secondary_networks(spec)) else {}),
        },
    }


def acceptance_view(spec: ClusterSpec, *, dcgm_level: int = 0) -> dict[str, Any]:
    """Give what acceptance judges Slurm by: beside its configuration, the kinds of checks that fail `up`, what fabrics must deliver, and the rails that compute nodes must have.

    Args:
        dcgm_level: of DCGM's diagnostic, for all nodes that have it; 0: what each pool's `health.check` says.
    """
    rails, fabrics = _rails(spec), {one.hosts.name: _fabric(one) for one in spec.node_sets if one.scheduler == "slurm" and one.collectives}
    gate = {} if set(spec.acceptance) >= GATED else {"gate": [*spec.acceptance]}
    stated = {
        one.mount: {"kind": one.kind, "throughput_mbs": one.throughput_mbs}
        for one in spec.storage
        if not one.simulated and (one.throughput_mbs or one.kind == "object")
    }
    others = {"fabrics": fabrics, "rails": rails, "file_systems": stated, "diagnostics": _diagnostics(spec, dcgm_level)}
    return {**slurm_view(spec), **gate, **{name: value for name, value in others.items() if value}}


def _fabric(node_set: NodeSet) -> dict[str, Any]:
    """Give what carries the traffic between nodes of a set, and the figures that acceptance demands."""
    fabric, note = node_set.fabric, node_set.fabric.note if node_set.fabric else ""
    judged = ("collective", "size_bytes", "nodes", "typical_gbs", "warn_gbs", "floor_gbs", "provisional", "source")
    collectives = [
        {
            **{name: getattr(one, name) for name in judged},
            "note": note if one.nodes > 1 else "",
            **({"measured_nodes": base} if base else {}),
            **({"lowered_from_gbs": one.lowered_from_gbs} if one.lowered_from_gbs else {}),
        }
        for one in node_set.collectives
        for base in [one.extrapolated_from]
    ]
    if fabric is None:
        return {"collectives": collectives}
    shown = {name: getattr(fabric, name) for name in ("title", "nics", "log_line", "direct", "environment_script")}
    return {"collectives": collectives, "fabric": {**shown, "bad_log_lines": [*fabric.bad_log_lines], "environment": dict(fabric.environment)}}


def _diagnostics(spec: ClusterSpec, asked: int) -> dict[str, int]:
    """Give the level of DCGM's diagnostic by node set, where nodes have whole GPUs and the profile installs DCGM."""
    versions, origins = dict(spec.software.versions), dict(spec.software.origins)
    if "dcgm" not in versions or "nvidia_archive_key" not in origins or "nvidia_archive_simulated" in origins:
        return {}
    return {
        one.hosts.name: level
        for one in spec.node_sets
        for gpus, level in [(one.hosts.machine.gpus, asked or DIAGNOSTICS.get(one.health_check, 0))]
        if one.scheduler == "slurm" and gpus and not gpus.simulated and not gpus.mig and level
    }


def _rails(spec: ClusterSpec) -> dict[str, list[dict[str, Any]]]:
    """List the rails of each compute node by the inventory; empty where the target sets up all interfaces itself."""
    known = spec.site.by_name if spec.site else {}
    found = {}
    for node_set in spec.node_sets:
        machine = node_set.hosts.machine
        fabric = sum(nic.kind != "ethernet" for nic in machine.nics)
        for name in node_set.hosts.hostnames if known else ():
            interfaces = [one for one in known[name].interfaces if one.address or one.mtu] if name in known else []
            gbps = machine.network_gbps / fabric if machine.network_gbps and fabric and fabric == len(interfaces) else 0
            if interfaces:
                found[name] = [_rail(one, gbps) for one in interfaces]
    return found


def _rail(one: SiteInterface, gbps: float) -> dict[str, Any]:
    of_partition = {"partition_key": one.partition_key} if one.partition_key else {}
    return {"name": one.name, "mac": one.mac, "address": one.address, "mtu": one.mtu, "gbps": gbps, **of_partition}


def upgrade_view(record: Mapping[str, Any], *, group: str = "") -> Mapping[str, Any]:
    """Bring the view that an older version recorded to the form of this version; of this version's form, it comes back as it is.

    Version 2 recorded the whole spec.

    Args:
        group: the group of hosts that the record configures.
    """
    if record.get("version") != 2:
        return _reworded(record)
    try:
        spec = from_record(record)
    except Unreadable:
        return record  # It differs from what is wanted, whatever it is.
    return _reworded(login_view(spec)) if group == spec.access.name else slurm_view(spec)


def _reworded(view: Mapping[str, Any]) -> Mapping[str, Any]:
    said = view.get("simulated") or ()
    return {**view, "simulated": [REWORDED.get(sentence, sentence) for sentence in said]} if REWORDED.keys() & {*said} else view


def _storage(file_system: FileSystem) -> dict[str, Any]:
    """Leave out the default, which stacks of earlier versions have, too."""
    is_usual = not file_system.writable_by and (file_system.mount == HOMES or file_system.writers == "users")
    return {"name": file_system.name, "mount": file_system.mount, **({} if is_usual else {"writable_by": file_system.writers})}


def _user(user: User) -> dict[str, Any]:
    """Leave out what the cloud alone reads: who logs in with which account configures no host."""
    return {name: value for name, value in dataclasses.asdict(user).items() if name != "cloud_identity"}


def _hosts(group: HostGroup) -> dict[str, Any]:
    named = {"members": group.members} if group.members else {}
    return {"name": group.name, "role": group.role, "prefix": group.prefix, "count": group.count, **named}


def _node_set(node_set: NodeSet) -> dict[str, Any]:
    machine, gpus = node_set.hosts.machine, node_set.hosts.machine.gpus
    declared = {name: getattr(machine, name) for name in ("sockets", "cores_per_socket", "threads_per_core", "memory_mib", "exists")}
    divided = {"mig": [dataclasses.asdict(one) for one in gpus.mig]} if gpus and gpus.mig else {}
    of_gpus = {"type": gpus.type, "count": gpus.count, "simulated": gpus.simulated, **divided} if gpus else None
    return {
        "pool": node_set.pool,
        "partition": dataclasses.asdict(node_set.partition) if node_set.partition else None,
        "hosts": {**_hosts(node_set.hosts), "machine": {**declared, "gpus": of_gpus}},
        "features": node_set.features,
        "minimum": node_set.minimum,
        "pool_most": node_set.pool_most,
        "weight": node_set.weight,
        **_environment(node_set),
    }


def _environment(node_set: NodeSet) -> dict[str, Any]:
    """Give what the fabric sets for jobs, and the daemon that joins their nodes' NVLink; nothing where there is nothing, as in records of older versions."""
    if node_set.placement == IN_DOMAINS:
        return {**_of_fabric(node_set), "daemon": "imex", "daemon_arguments": str(node_set.hosts.machine.domain_nodes)}
    return _of_fabric(node_set)


def _of_fabric(node_set: NodeSet) -> dict[str, Any]:
    if node_set.fabric is None:
        return {}
    variables, script = dict(node_set.fabric.environment), node_set.fabric.environment_script
    daemon = {"daemon": node_set.fabric.daemon} if node_set.fabric.daemon else {}
    if node_set.fabric.daemon_arguments:
        daemon["daemon_arguments"] = node_set.fabric.daemon_arguments
    return {**({"environment": variables} if variables else {}), **({"environment_script": script} if script else {}), **daemon}


def nvlink_domains(spec: ClusterSpec) -> dict[str, str]:
    """Give the NVLink domain of each of Slurm's nodes whose NVLink reaches other machines: its rack, or where the target starts nodes in domains, one by its number.

    Nothing unless that of all of them is known. Beside nodes that start in domains, a lone node is a domain of its own: no other one starts in it.
    """
    joined = [node_set for node_set in spec.node_sets if node_set.scheduler == "slurm" and node_set.hosts.machine.domain_nodes]
    racks = spec.site.distinct_racks if joined and spec.site else {}
    are_placed = any(node_set.placement == IN_DOMAINS for node_set in joined)
    found: dict[str, str | None] = {}
    for node_set in joined:
        size, names = node_set.hosts.machine.domain_nodes or 1, node_set.hosts.hostnames
        is_known = node_set.placement == IN_DOMAINS or (are_placed and len(names) == 1)
        numbered = {name: f"{node_set.hosts.name}-{number // size + 1}" for number, name in enumerate(names)} if is_known else {}
        found |= {name: numbered.get(name) or racks.get(name) for name in names}
    return {name: domain for name, domain in found.items() if domain is not None} if None not in found.values() else {}


def _secondary_networks(spec: ClusterSpec) -> list[dict[str, Any]]:
    """Give the networks in which pods ask for an interface, with the hardware address that each host has there; without an inventory, all hosts have it."""
    found = []
    for one in spec.kubernetes.secondary_networks if spec.kubernetes else ():
        hosts = spec.site.hosts if spec.site else ()
        macs = {host.name: interface.mac for host in hosts for interface in host.interfaces if interface.name == one.name}
        found.append({"name": one.name, "cidr": one.cidr, "first": one.first, "last": one.last, **({"macs": macs} if spec.site else {})})
    return found


def _kubernetes_nodes(node_set: NodeSet) -> dict[str, Any]:
    machine, gpus = node_set.hosts.machine, node_set.hosts.machine.gpus
    declared = {name: getattr(machine, name) for name in ("sockets", "cores_per_socket", "threads_per_core", "memory_mib", "exists", "domain_nodes")}
    of_gpus = {"type": gpus.type, "count": gpus.count, "simulated": gpus.simulated} if gpus else None
    return {
        "pool": node_set.pool,
        "hosts": {**_hosts(node_set.hosts), "machine": {**declared, "gpus": of_gpus}},
        "labels": node_set.labels,
        "taints": [dataclasses.asdict(one) for one in node_set.taints],
        **({"minimum": node_set.always} if node_set.is_elastic else {}),
        **({"brake": node_set.health_brake} if node_set.health_brake else {}),
    }
