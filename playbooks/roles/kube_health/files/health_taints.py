"""Keep new pods from nodes of Kubernetes that lack something, and return the nodes when they have it again.

Runs on hosts of the control plane as root, with Python's standard library and kubectl. Each node writes what it lacks into its condition (node_health.py); what follows is decided here, for all nodes alike.
Pods that run stay. A taint or cordon that anybody else set stays as it is. On several hosts at once it decides the same.
"""

import json
import subprocess
import sys
from typing import Any

KUBECONFIG = "/etc/kubernetes/admin.conf"
CONDITION = "ClusterwrightHealthy"
TAINT = "clusterwright.io/unhealthy"
EFFECT = "NoSchedule"
POOL = "clusterwright.io/pool"
BRAKES = "/usr/lib/clusterwright/health-brakes.json"
"""Pool → how many of its nodes may be tainted at once, a number or a share; always one: what all nodes lack at once is no fault of each. As on Slurm (role guard)."""
BRAKE = "25%"
"""Of pools that are not in BRAKES."""
ANSWER_WITHIN_S = 30
PATH = "/usr/local/bin:/usr/bin:/bin"


def main() -> int:
    nodes = json.loads(kubectl("get", "nodes", "--output=json"))["items"]
    with open(BRAKES) as file:
        brakes = json.load(file)
    failed = False
    for name, word, message in decided(nodes, brakes):
        print(f"{name}: {message}", file=sys.stderr)
        if word:
            try:
                kubectl("taint", "--overwrite", "node", name, word)
            except subprocess.CalledProcessError as error:
                # A node that is gone, or whose taint somebody else removed in the meantime.
                print(f"{name}: {error.stderr.strip()}", file=sys.stderr)
                failed |= "not found" not in error.stderr
    return int(failed)


def decided(nodes: list[dict[str, Any]], brakes: dict[str, str]) -> list[tuple[str, str, str]]:
    """Give what changes: node, the word for `kubectl taint` (empty: nothing is done), and what to say. Pure."""
    changes: list[tuple[str, str, str]] = []
    for pool in sorted({pool_of(one) for one in nodes}):
        members = sorted((one for one in nodes if pool_of(one) == pool), key=lambda one: str(one["metadata"]["name"]))
        whole = [one["metadata"]["name"] for one in members if is_tainted(one) and condition(one)[0] == "True"]
        changes += [(name, f"{TAINT}:{EFFECT}-", "complete again, and takes pods") for name in whole]
        tainted = sum(is_tainted(one) and condition(one)[0] != "True" for one in members)
        most = at_most(brakes.get(pool, BRAKE), len(members))
        for one in members:
            status, message = condition(one)
            if status != "False" or is_tainted(one):
                continue
            if tainted >= most:
                changes.append((one["metadata"]["name"], "", f"{message}; not tainted: {tainted} of the {len(members)} nodes of its pool are already"))
                continue
            tainted += 1
            changes.append((one["metadata"]["name"], f"{TAINT}=:{EFFECT}", message))
    return changes


def at_most(brake: str, nodes: int) -> int:
    word = brake.replace(" ", "")
    return max(1, nodes * int(word[:-1]) // 100 if word.endswith("%") else int(word))


def pool_of(node: dict[str, Any]) -> str:
    return str((node["metadata"].get("labels") or {}).get(POOL, ""))


def is_tainted(node: dict[str, Any]) -> bool:
    return any(one["key"] == TAINT for one in node["spec"].get("taints") or ())


def condition(node: dict[str, Any]) -> tuple[str, str]:
    """Give status and message of the node's own word; a node that said nothing is left alone."""
    found = next((one for one in node.get("status", {}).get("conditions") or () if one["type"] == CONDITION), {})
    return str(found.get("status", "")), str(found.get("message", ""))


def kubectl(*words: str) -> str:
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "KUBECONFIG": KUBECONFIG, "HOME": "/root"}
    return subprocess.run(["kubectl", *words], env=environment, capture_output=True, text=True, check=True, timeout=ANSWER_WITHIN_S).stdout


if __name__ == "__main__":
    sys.exit(main())
