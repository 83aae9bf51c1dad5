"""Networks of the nodes' interfaces in which pods ask for one of their own: their objects, and what Multus writes of it. Pure.

A node has the configuration of each network in a file, since its interface can have another name on each node (playbooks/roles/kubeadm_node). The object has the name alone: Multus then reads the file.
Sources: Multus v4.2, docs/how-to-use.md (annotations, configuration in files); Kubernetes Network Custom Resource Definition De-facto Standard v1.3, sections 3.3 and 5.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from blueprints.spec import NodeSet, SecondaryNetwork, Site

API, KIND = "k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition"
RULE = {"apiGroups": ["k8s.cni.cncf.io"], "resources": ["network-attachment-definitions"], "verbs": ["get", "list", "watch"]}
"""What members of an account may do with the networks: find their names."""
ASKED, STATUS = "k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/network-status"


def objects(namespace: str, names: Iterable[str], *, marks: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Give what pods of a namespace name in the annotation `k8s.v1.cni.cncf.io/networks`."""
    for name in names:
        yield {"apiVersion": API, "kind": KIND, "metadata": {"name": name, "namespace": namespace, "labels": dict(marks)}}


def given(pod: Mapping[str, Any]) -> dict[str, str]:
    """Give the first address of each network in which Multus gave a pod an interface, by the network's name. Pure."""
    written = (pod["metadata"].get("annotations") or {}).get(STATUS, "[]")
    entries = [one for one in json.loads(written) if one.get("interface") and one.get("ips")]
    return {str(one["name"]).rpartition("/")[2]: str(one["ips"][0]) for one in entries}


def of_pools(node_sets: Sequence[NodeSet], networks: Sequence[SecondaryNetwork], site: Site | None) -> dict[str, dict[str, str]]:
    """Give the networks of each pool whose nodes have their interfaces, and the addresses that pods get there. Pure."""
    having = {host.name: {one.name for one in host.interfaces} for host in site.hosts} if site else {}
    found: dict[str, dict[str, str]] = {}
    for one in node_sets:
        own = {network.name: network.pods for network in networks if not site or all(network.name in having.get(name, ()) for name in one.hosts.hostnames)}
        if own:
            found[one.pool] = own
    return found
