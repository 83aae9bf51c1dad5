"""The settings of elastic Kubernetes nodes: what finishing gives to other nodes (playbooks/kubernetes.yml, play "Nodes"), as files and as kubeadm's answers. Pure; a template brings the texts."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

Record = Mapping[str, Any]

UNITS, TIMER = "/etc/systemd/system", "clusterwright-node-health.timer"


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "elastic_node_sets": elastic_node_sets,
            "on_only_interface": on_only_interface,
            "yaml_as_json": yaml_as_json,
            "elastic_node_settings": elastic_node_settings,
        }


def elastic_node_sets(node_sets: Sequence[Record], fleet: Record) -> list[Record]:
    """Give the node sets that the fleet table has."""
    names = {one["name"] for one in fleet["node_sets"]}
    return [one for one in node_sets if one["hosts"]["name"] in names]


def on_only_interface(networks: Sequence[Record]) -> list[Record]:
    """Give the further networks that a host with one interface can have: those that no inventory binds to hardware addresses."""
    return [one for one in networks if "macs" not in one]


def yaml_as_json(text: str, key: str = "") -> str:
    """Give a YAML file of the project as JSON; with a key, what stands there, in the order of the file."""
    known = yaml.safe_load(text)
    return json.dumps(known[key]) if key else json.dumps(known, sort_keys=True)


def elastic_node_settings(
    node_set: Record,
    texts: Mapping[str, Any],
    *,
    programs: str,
    networks: Sequence[Record],
    manifest: Record,
    taints: Sequence[Record],
    taint_words: Sequence[str],
    join: Record,
    shares_machine: bool,
) -> dict[str, Any]:
    """Give all that a node of a node set needs to join, but the token.

    Args:
        texts: path → content of files; a record is written as JSON.
        programs: the list of kubelet's programs, as YAML.
        networks: files and folders for further networks of pods.
        manifest: a node of the set as it registers.
        join: how nodes of every set join.
    """
    files = [{"path": path, "content": json.dumps(text) if isinstance(text, Mapping) else text} for path, text in texts.items()]
    timer = {"path": f"{UNITS}/timers.target.wants/{TIMER}", "link": f"{UNITS}/{TIMER}"}
    machine = node_set["hosts"]["machine"]
    return {
        "files": [*yaml.safe_load(programs), *(one for one in networks if "folder" not in one), *files, timer],
        "units": [TIMER],
        "join": {**join, "mark": hashlib.sha256(join["authority"].encode()).hexdigest()},
        "node": {
            "labels": manifest["metadata"]["labels"],
            "taints": taints,
            "taint_words": " ".join(taint_words),
            "cpus": machine["sockets"] * machine["cores_per_socket"] * machine["threads_per_core"],
            "memory_mib": machine["memory_mib"],
            "gpus": machine["gpus"]["count"] if machine["gpus"] else 0,
            "gpu_resource": "nvidia.com/gpu",  # as components/kubernetes/labels.py has it, which Ansible's filters can't import
            "shares_machine": shares_machine,
        },
    }
