"""Nodes of Kubernetes say what they lack, and get no pods until they have it. The programs run as they are, beside a kubectl that keeps nodes in a file; hosts have a real API server (tests/hosts/test_kubernetes.py)."""

import json
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprints.project import project_root
from tests.playbooks.test_guard import DEVICES, machine, record

ROLE = project_root() / "playbooks/roles/kube_health/files"
LOOKS = project_root() / "playbooks/roles/guard/files/node_looks.py"
ME = socket.gethostname().partition(".")[0]
HEALTHY, TAINT = "ClusterwrightHealthy", "clusterwright.io/unhealthy"
KUBECTL = """
import json, os, pathlib, sys
place = pathlib.Path(__file__).parent.parent
with open(place / "asked", "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if (place / "away").exists():
    sys.exit("The connection to the server was refused")
nodes = json.loads((place / "nodes").read_text())
words, options = [one for one in sys.argv[1:] if one[:2] != "--"], [one for one in sys.argv[1:] if one[:2] == "--"]
as_node = os.environ["KUBECONFIG"].endswith("kubelet.conf")
if words == ["replace"]:
    [raw, source] = options
    assert as_node and source == "--filename=-", sys.argv
    name = raw.removeprefix("--raw=/api/v1/nodes/").removesuffix("/status")
    given = json.load(sys.stdin)
    if (place / "conflicts").exists():
        (place / "conflicts").unlink()
        sys.exit("Error from server (Conflict): the object has been modified; please apply your changes to the latest version")
    nodes[name]["status"] = given["status"]
    if (place / "taints-at-once").exists():
        nodes[name]["spec"]["taints"] = [{"key": "clusterwright.io/unhealthy", "effect": "NoSchedule"}]
elif words[:2] == ["get", "node"]:
    print(json.dumps(nodes[words[2]]))
elif words[:2] == ["get", "pods"]:
    assert as_node and "--all-namespaces" in options, sys.argv
    [chosen] = [one.removeprefix("--field-selector=spec.nodeName=") for one in options if one.startswith("--field-selector")]
    pods = json.loads((place / "pods").read_text()) if (place / "pods").exists() else []
    print(json.dumps({"items": [one for one in pods if one["spec"]["nodeName"] == chosen]}))
elif words == ["create"]:
    [raw, source] = options
    eviction, path = json.load(sys.stdin), raw.removeprefix("--raw=/api/v1/").split("/")
    assert (eviction["kind"], path[0], path[2], path[4]) == ("Eviction", "namespaces", "pods", "eviction"), raw
    pods = json.loads((place / "pods").read_text())
    [evicted] = [one for one in pods if (one["metadata"]["namespace"], one["metadata"]["name"]) == (path[1], path[3])]
    if evicted["metadata"]["name"].startswith("guarded"):
        sys.exit("Error from server (TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget.")
    (place / "pods").write_text(json.dumps([one for one in pods if one is not evicted]))
elif words[:2] == ["get", "nodes"]:
    print(json.dumps({"items": [*nodes.values()]}))
elif words[:2] == ["taint", "node"]:
    if (place / f"refused-{words[2]}").exists():
        sys.exit((place / f"refused-{words[2]}").read_text())
    if as_node:
        sys.exit('nodes "node" is forbidden: is not allowed to modify taints')
    key, _, effect = words[3].removesuffix("-").partition(":")
    taints = nodes[words[2]]["spec"].get("taints", [])
    if words[3].endswith("-"):
        if not any(one["key"] == key for one in taints):
            sys.exit(f'error: taint "{words[3]}" not found')
        taints = [one for one in taints if one["key"] != key]
    else:
        taints = [*taints, {"key": key.removesuffix("="), "effect": effect}]
    nodes[words[2]]["spec"]["taints"] = taints
else:
    sys.exit("unexpected: " + " ".join(sys.argv))
(place / "nodes").write_text(json.dumps(nodes))
"""


class Cluster:
    """This host as a node with eight GPUs, other nodes of its pool, and the API server."""

    def __init__(self, folder: Path, others: int = 3):
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin/kubectl").write_text(f"#!{sys.executable}\n{KUBECTL}")
        (folder / "bin/kubectl").chmod(0o755)
        (folder / "bin/systemctl").write_text(f"#!/bin/sh\necho $@ >> {folder}/systemctl\n")
        (folder / "bin/systemctl").chmod(0o755)
        (folder / "repairs.json").write_text(json.dumps({"limits": {"every_s": 7200, "a_day": 3}}))
        (folder / "kubelet.conf").touch()
        (folder / "admin.conf").touch()
        (folder / "brakes.json").write_text("{}")
        (folder / "mountinfo").write_text("")
        record(folder, mounts=[], efa=0)
        machine(folder / "root", efa=0)
        devices = folder / "fabric-devices.json"
        devices.write_text(json.dumps(yaml.safe_load(DEVICES.read_text())))
        # The programs as they are, with the places of this folder.
        places = {"EXPECTED": "expected.json", "MOUNTINFO": "mountinfo", "FABRICS": "fabric-devices.json", "REPAIRS": "repairs.json"}
        (folder / "node_looks.py").write_text(LOOKS.read_text() + "".join(f"\n{name} = {str(folder / path)!r}" for name, path in places.items()))
        self.write({name: node(name) for name in (ME, *(f"other-{number}" for number in range(others)))})

    def write(self, nodes: dict[str, Any]) -> None:
        (self.folder / "nodes").write_text(json.dumps(nodes))

    @property
    def nodes(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "nodes").read_text())
        return found

    @property
    def said(self) -> tuple[str, str]:
        (found,) = (one for one in self.nodes[ME]["status"]["conditions"] if one["type"] == HEALTHY)
        return found["status"], found["message"].partition(" (hardware")[0]

    @property
    def tainted(self) -> set[str]:
        return {name for name, one in self.nodes.items() if any(taint["key"] == TAINT for taint in one["spec"].get("taints", ()))}

    def writes(self) -> int:
        path = self.folder / "asked"
        return sum(line.startswith("replace") for line in path.read_text().splitlines()) if path.exists() else 0

    def look(self, *words: str) -> int:
        return self._run(
            "node_health",
            {"LOOKS": "node_looks.py", "KUBECONFIG": "kubelet.conf", "REPORTED": "run/reported", "METRICS": "metrics/health.prom", "REBOOTS": "reboots"},
            "--hardware",
            str(self.folder / "root"),
            *words,
        )

    @property
    def reboots(self) -> int:
        path = self.folder / "systemctl"
        return path.read_text().splitlines().count("reboot") if path.exists() else 0

    def run_pods(self, *pods: dict[str, Any]) -> None:
        (self.folder / "pods").write_text(json.dumps(pods))

    @property
    def pods(self) -> set[str]:
        return {one["metadata"]["name"] for one in json.loads((self.folder / "pods").read_text())}

    def judge(self) -> int:
        return self._run("health_taints", {"KUBECONFIG": "admin.conf", "BRAKES": "brakes.json"})

    def _run(self, program: str, places: dict[str, str], *words: str) -> int:
        script = f"import runpy, sys\nown = runpy.run_path({str(ROLE / f'{program}.py')!r})['main'].__globals__\n"
        script += "".join(f"own[{name!r}] = {str(self.folder / path)!r}\n" for name, path in places.items())
        script += f"own.update(PATH={str(self.folder / 'bin')!r} + ':/usr/bin:/bin', DEVICES_WITHIN_S=0, DEVICES_AT_START_S=0, TAINTED_WITHIN_S=2, ASKED_EVERY_S=0.05)\n"
        script += f"sys.argv = [{program!r}, *{[*words]!r}]\nsys.exit(own['main']())\n"
        return subprocess.run([sys.executable, "-c", script], check=False, timeout=30).returncode


def node(name: str, *, healthy: str = "", tainted: bool = False, pool: str = "train") -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True"}, *([{"type": HEALTHY, "status": healthy, "message": "7 of 8 GPUs"}] if healthy else [])]
    taints = [{"key": "example.org/other", "effect": "NoSchedule"}, *([{"key": TAINT, "effect": "NoSchedule"}] if tainted else [])]
    return {"metadata": {"name": name, "labels": {"clusterwright.io/pool": pool}}, "spec": {"taints": taints}, "status": {"conditions": conditions}}


def pod(name: str, owner: str, *, on: str = ME, phase: str = "Running") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "research", "ownerReferences": [{"kind": owner}] if owner else []}
    return {"metadata": metadata, "spec": {"nodeName": on}, "status": {"phase": phase}}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_a_node_says_what_it_lacks_gets_a_taint_and_loses_it_again(cluster: Cluster) -> None:
    assert (cluster.look(), cluster.judge(), cluster.said[0], cluster.tainted) == (0, 0, "True", set())
    (cluster.folder / "root/dev/nvidia7").unlink()
    assert (cluster.look(), cluster.judge()) == (0, 0)
    assert cluster.said == ("False", "7 of 8 GPUs: 8 on the PCI bus, 8 with the driver, 7 device files")
    assert cluster.tainted == {ME}
    (cluster.folder / "root/dev/nvidia7").touch()
    assert (cluster.look(), cluster.judge()) == (0, 0)
    assert (cluster.said[0], cluster.tainted) == ("True", set())
    assert cluster.nodes[ME]["spec"]["taints"] == [{"key": "example.org/other", "effect": "NoSchedule"}]
    assert {one["type"] for one in cluster.nodes[ME]["status"]["conditions"]} == {"Ready", HEALTHY}


def test_metrics_say_what_a_node_has_also_while_the_api_server_is_away(cluster: Cluster) -> None:
    def metrics() -> list[str]:
        return (cluster.folder / "metrics/health.prom").read_text().splitlines()

    cluster.look()
    assert metrics() == ["clusterwright_node_complete 1", 'clusterwright_gpus_expected{simulated="false"} 8', 'clusterwright_gpus_found{simulated="false"} 8']
    (cluster.folder / "root/dev/nvidia7").unlink()
    (cluster.folder / "away").touch()
    assert cluster.look() == 1
    assert metrics() == ["clusterwright_node_complete 0", 'clusterwright_gpus_expected{simulated="false"} 8', 'clusterwright_gpus_found{simulated="false"} 7']
    (cluster.folder / "expected.json").unlink()
    cluster.look()
    assert metrics() == [], "nothing is known after a look that failed"


def test_what_stays_the_same_is_written_once(cluster: Cluster) -> None:
    assert [cluster.look() for _ in range(3)] == [0, 0, 0]
    assert cluster.writes() == 1


def test_a_node_that_was_deleted_and_joined_again_is_told_at_once(cluster: Cluster) -> None:
    cluster.look()
    cluster.write({**cluster.nodes, ME: node(ME)})
    assert (cluster.look("--start"), cluster.said[0]) == (0, "True")


def test_a_node_that_is_gone_hides_no_taint_that_was_refused(cluster: Cluster) -> None:
    cluster.write({name: node(name, healthy="False", pool=name) for name in ("a", "b")})
    (cluster.folder / "refused-a").write_text("Error from server (Forbidden): nodes is forbidden")
    (cluster.folder / "refused-b").write_text('Error from server (NotFound): nodes "b" not found')
    assert cluster.judge() == 1
    (cluster.folder / "refused-a").unlink()
    assert cluster.judge() == 0
    assert cluster.tainted == {"a"}


def test_a_status_that_somebody_changed_in_between_is_read_again(cluster: Cluster) -> None:
    (cluster.folder / "conflicts").touch()
    assert (cluster.look(), cluster.said[0], cluster.writes()) == (0, "True", 2)


def test_the_time_of_a_change_stays_while_the_message_changes(cluster: Cluster) -> None:
    (cluster.folder / "root/dev/nvidia7").unlink()
    cluster.look()
    (first,) = (one for one in cluster.nodes[ME]["status"]["conditions"] if one["type"] == HEALTHY)
    written = json.loads((cluster.folder / "run/reported").read_text())
    (cluster.folder / "run/reported").write_text(json.dumps({**written, "since": "2026-01-01T00:00:00Z"}))
    (cluster.folder / "root/dev/nvidia6").unlink()
    cluster.look()
    (second,) = (one for one in cluster.nodes[ME]["status"]["conditions"] if one["type"] == HEALTHY)
    assert first["message"] != second["message"]
    assert second["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_look_that_fails_drains_nothing(cluster: Cluster) -> None:
    (cluster.folder / "expected.json").write_text("{")
    assert (cluster.look("--start"), cluster.judge()) == (0, 0)
    assert cluster.said[0] == "Unknown"
    assert cluster.tainted == set()


def test_a_host_that_has_not_joined_is_not_looked_at(cluster: Cluster) -> None:
    (cluster.folder / "kubelet.conf").unlink()
    assert (cluster.look("--start"), cluster.writes()) == (0, 0)


def test_an_api_server_that_is_away_is_told_later(cluster: Cluster) -> None:
    (cluster.folder / "away").touch()
    assert cluster.look() == 1
    (cluster.folder / "away").unlink()
    assert (cluster.look(), cluster.said[0]) == (0, "True")


@pytest.mark.parametrize("at_once", [True, False])
def test_before_its_kubelet_starts_a_node_that_lacks_something_waits_for_its_taint_and_not_for_ever(cluster: Cluster, at_once: bool) -> None:
    (cluster.folder / "root/dev/nvidia7").unlink()
    if at_once:
        (cluster.folder / "taints-at-once").touch()
    assert cluster.look("--start") == 0
    asked = (cluster.folder / "asked").read_text().splitlines()
    # One look is for the status that is written.
    assert (sum(line.startswith("get node ") for line in asked) == 2) is at_once


def lacking(cluster: Cluster, on_failure: str = "reboot") -> Cluster:
    """A node of a pool that lost a GPU, looked at once."""
    record(cluster.folder, mounts=[], efa=0, **({"on_failure": on_failure} if on_failure else {}))
    (cluster.folder / "root/dev/nvidia7").unlink()
    cluster.look()
    return cluster


def test_a_node_without_pods_reboots_once_it_is_tainted_and_not_again_at_once(cluster: Cluster) -> None:
    assert lacking(cluster).reboots == 0, "pods could still begin there"
    cluster.judge()
    assert (cluster.look(), cluster.reboots) == (0, 1)
    assert (cluster.look(), cluster.reboots) == (0, 1)
    cluster.look("--start")
    assert cluster.reboots == 1, "a look before the kubelet starts reboots nothing"
    (cluster.folder / "reboots").write_text("1000\n")
    assert (cluster.look(), cluster.reboots) == (0, 2)


@pytest.mark.parametrize("on_failure", ["", "drain", "repair"])
def test_no_other_pool_reboots_its_nodes_or_moves_pods(cluster: Cluster, on_failure: str) -> None:
    cluster.run_pods(pod("web", "ReplicaSet"))
    lacking(cluster, on_failure).judge()
    assert (cluster.look(), cluster.reboots, cluster.pods) == (0, 0, {"web"})


@pytest.mark.parametrize(
    ("pods", "stay", "reboots"),
    [
        ([pod("train", "Job")], {"train"}, 0),
        ([pod("train", "Job", phase="Succeeded"), pod("exporter", "DaemonSet"), pod("elsewhere", "Job", on="other-0")], {"train", "exporter", "elsewhere"}, 1),
        ([pod("by-hand", "")], {"by-hand"}, 0),
        ([pod("guarded-web", "ReplicaSet")], {"guarded-web"}, 0),
        (
            [pod("by-file", "Node") | {"metadata": {"name": "by-file", "namespace": "kube-system", "annotations": {"kubernetes.io/config.mirror": "1"}}}],
            {"by-file"},
            1,
        ),
    ],
)
def test_a_node_reboots_under_no_job_and_no_pod_that_may_not_leave(cluster: Cluster, pods: list[dict[str, Any]], stay: set[str], reboots: int) -> None:
    cluster.run_pods(*pods)
    lacking(cluster).judge()
    assert (cluster.look(), cluster.pods, cluster.reboots) == (0, stay, reboots)


def test_services_leave_a_node_before_it_reboots(cluster: Cluster) -> None:
    cluster.run_pods(pod("web", "ReplicaSet"), pod("queue", "StatefulSet"))
    lacking(cluster).judge()
    assert (cluster.look(), cluster.pods, cluster.reboots) == (0, set(), 0), "they may still end their work"
    assert (cluster.look(), cluster.reboots) == (0, 1)


DECIDED = runpy.run_path(str(ROLE / "health_taints.py"))["decided"]


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node("a"), node("b", healthy="True")], []),
        ([node("a", healthy="Unknown"), node("b", healthy="Unknown", tainted=True)], []),
        ([node("a", healthy="False", tainted=True)], []),
        # Of four nodes one, whatever the order in which they are listed.
        ([node(name, healthy="False") for name in "dcba"], [("a", "+"), ("b", ""), ("c", ""), ("d", "")]),
        # One that is back makes room for another one.
        ([node("a", healthy="True", tainted=True), node("b", healthy="False"), node("c")], [("a", "-"), ("b", "+")]),
        # Each pool has its own share.
        ([node("a", healthy="False"), node("b", healthy="False", pool="serve")], [("b", "+"), ("a", "+")]),
        ([node(f"n{number}", healthy="False") for number in range(8)], [("n0", "+"), ("n1", "+"), *((f"n{number}", "") for number in range(2, 8))]),
    ],
)  # fmt: skip
def test_no_more_than_a_quarter_of_a_pool_is_tainted(nodes: list[dict[str, Any]], words: list[tuple[str, str]]) -> None:
    signs = {f"{TAINT}=:NoSchedule": "+", f"{TAINT}:NoSchedule-": "-", "": ""}
    assert [(name, signs[word]) for name, word, _ in DECIDED(nodes, {})] == words


@pytest.mark.parametrize(("brake", "tainted"), [("2", 2), ("50%", 4), ("50 %", 4), ("1%", 1), ("100%", 8)])
def test_a_pool_says_how_many_of_its_nodes_may_be_tainted(brake: str, tainted: int) -> None:
    nodes = [node(f"{pool}{number}", healthy="False", pool=pool) for pool in ("serve", "train") for number in range(8)]
    words = [name for name, word, _ in DECIDED(nodes, {"train": brake}) if word]
    assert words == ["serve0", "serve1", *(f"train{number}" for number in range(tainted))]
