"""What kubeadm and kubectl are told of a Kubernetes cluster: labels and taints of its nodes, names in its certificate, tags of its images; and what Multus is told. Pure; templates only lay it out."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

POOL, GPU, SIMULATED = "clusterwright.io/pool", "clusterwright.io/gpu", "clusterwright.io/simulated-gpus"
MULTUS = "/etc/cni/multus"
REGISTRY_PORT = 5000
POD_INTERFACES = {"flannel": ("lo", "cni0", "flannel.1")}
"""Network plug-in → interfaces by which packets to pods leave a node."""
RACK = "clusterwright.io/rack"
"""As Kueue's topology asks for it (components/kubernetes/labels.py): a node without the label takes no job there."""


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "node_manifests": node_manifests,
            "taint_objects": taint_objects,
            "taint_words": taint_words,
            "has_untainted": has_untainted,
            "certificate_names": certificate_names,
            "image_tags": image_tags,
            "image_mirrors": image_mirrors,
            "pod_interfaces": pod_interfaces,
            "multus_files": multus_files,
            "multus_files_gone": multus_files_gone,
            "networks_of": networks_of,
        }


def node_manifests(node_set: Record, hosts: Sequence[str], racks: Mapping[str, str]) -> list[dict[str, Any]]:
    """Give the nodes of a node set with the labels that the stack owns.

    Args:
        racks: hostname → rack, where the inventory names it.
    """
    labels = _labels(node_set)
    metadata = ({"name": host, "labels": labels | ({RACK: racks[host]} if host in racks else {})} for host in hosts)
    return [{"apiVersion": "v1", "kind": "Node", "metadata": one} for one in metadata]


def _labels(node_set: Record) -> dict[str, str]:
    gpus = node_set["hosts"]["machine"]["gpus"]
    own = {POOL: node_set["pool"]}
    if gpus:
        own[GPU] = f"{gpus['type']}-simulated" if gpus["simulated"] else gpus["type"]
        own |= {SIMULATED: "true"} if gpus["simulated"] else {}
    return dict(node_set.get("labels") or ()) | own


def taint_objects(node_set: Record) -> list[dict[str, str]]:
    """Give the taints with which nodes register."""
    return [{key: value for key, value in taint.items() if value is not None} for taint in node_set["taints"]]


def taint_words(node_set: Record) -> list[str]:
    """Give the taints as kubectl(1) takes them."""
    return [f"{taint['key']}={taint['value'] or ''}:{taint['effect']}" for taint in node_set["taints"]]


def has_untainted(node_sets: Sequence[Record]) -> bool:
    """Say whether some pool with nodes that always run takes every pod. Where none does, the control plane takes those that tolerate no taint."""
    return any(not node_set["taints"] and node_set.get("minimum") != 0 for node_set in node_sets)


def certificate_names(endpoint: str, hosts: Sequence[str]) -> list[str]:
    """Give the names and addresses under which the API server is asked: the cluster's, a host's own, and each host's of the control plane.

    Args:
        endpoint: address and port.
    """
    return list(dict.fromkeys([endpoint.rpartition(":")[0] or endpoint, "127.0.0.1", "localhost", *hosts]))


def image_tags(images: Iterable[str]) -> dict[str, str]:
    """Give the tag of each image of a release by its name (`registry.k8s.io/etcd`)."""
    return {name: tag for name, _, tag in (image.rpartition(":") for image in images)}


def image_mirrors(kubernetes: Record, hosts: Sequence[str]) -> list[str]:
    """Give the registries that serve all images: the site's own, or the one of each host of the control plane.

    Args:
        hosts: of the control plane.
    """
    own = kubernetes.get("registry")
    return [own] if own else [f"{host}:{REGISTRY_PORT}" for host in hosts]


def pod_interfaces(kubernetes: Record) -> list[str]:
    """Give the interfaces by which packets to pods leave a node."""
    return list(POD_INTERFACES.get(kubernetes["pod_network"], ()))


def multus_files(networks: Sequence[Record], host: str, address: str, links: Sequence[Record], *, interface: str = "") -> list[dict[str, Any]]:
    """Give a file for each network: Multus reads that of a network whose object has no configuration, since a rail's interface has its own name on each node.

    Args:
        networks: those that the host has.
        address: the host's own.
        links: its interfaces with their addresses, as ip(8) shows them.
        interface: the only one of a host that does not run yet; its address and links are not known then.
    """
    folders = [{"path": MULTUS, "folder": True}, {"path": f"{MULTUS}/net.d", "folder": True}]
    return [
        *folders,
        *({"path": f"{MULTUS}/net.d/{one['name']}.conf", "content": f"{json.dumps(_plugin(one, host, address, links, interface))}\n"} for one in networks),
    ]


def networks_of(networks: Sequence[Record], host: str) -> list[Record]:
    """Give the networks of interfaces that a host has: without an inventory all, and else those that name its hardware address. The former come first."""
    return [*(one for one in networks if "macs" not in one), *(one for one in networks if host in one.get("macs", ()))]


def multus_files_gone(before: Iterable[str], networks: Sequence[Record]) -> list[str]:
    """Give the files of networks that a host no longer has; those of Multus itself too, where it has none.

    Args:
        before: the files that are there.
        networks: those that the host has.
    """
    kept = {f"{MULTUS}/net.d/{one['name']}.conf" for one in networks}
    gone = list(dict.fromkeys(path for path in before if path not in kept))
    return [path for path in gone if not path.startswith("/etc/cni/net.d/")] if networks else gone


def _plugin(network: Record, host: str, address: str, links: Sequence[Record], interface: str) -> dict[str, Any]:
    addresses = {"type": "whereabouts", "range": network["cidr"], "range_start": network["first"], "range_end": network["last"]}
    plugin = {"cniVersion": "0.3.1", "name": network["name"], "type": "macvlan", "mode": "bridge", "ipam": addresses}
    if "macs" not in network:  # On this machine, hosts have one interface only. The plug-in of Debian 13 does not find it by its default route.
        own = (one["ifname"] for one in links if any(address in entry.values() for entry in one.get("addr_info", ())))
        return {**plugin, "master": interface or next(own, network["name"])}
    mac = network["macs"].get(host, "")
    # VLANs of a port have its hardware address, and so have a bond and its ports: not the VLAN, and not a port of a bond.
    found = [one for one in links if "master" not in one and one.get("address") == mac]
    ports = [one["ifname"] for one in sorted(found, key=lambda one: "link" in one)]
    return {**plugin, "master": next(iter(ports), network["name"])}
