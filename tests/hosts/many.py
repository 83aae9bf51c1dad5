"""Thousands of nodes that no machine has: the real slurmctld and elastic program of a stack, with what the roles write for a large blueprint, and a fleet that only notes what it is asked."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from blueprints import load
from blueprints import spec as specs
from blueprints.facts import Facts
from components.local import fleet
from tests.hosts.deployment import Deployment, wait_until
from tests.playbooks import templates
from tests.playbooks.clusters import _lists

BLUEPRINT, TARGET = "scale-7500", "aws"
SERVE_WITHIN_S = 60
ANSWER_WITHIN_S = 120
FOLDER, FLEET = "/run/noted", "/etc/clusterwright/fleet.json"
SERVICE = """
import json, os, socketserver, sys, time
folder = sys.argv[1]
instances = []

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        question = json.loads(self.rfile.readline())
        with open(folder + "/questions", "a") as file:
            file.write(json.dumps({"at": time.time(), **question}) + "\\n")
        made = []
        if question["do"] == "launch":
            made = [{"id": f"i-{node}", "node": node, "node_set": question["node_set"], "life": "live", "launched_at": time.time(), "launch": question["token"],
                     "template": "1", "address": "192.0.2.1"} for node in question["nodes"]]
            instances.extend(made)
        if question["do"] == "terminate":
            instances[:] = [one for one in instances if one["id"] not in question["instances"]]
        answer = {"list": {"instances": instances}, "launch": {"instances": made}, "terminate": {}, "console": {"text": ""}}[question["do"]]
        self.wfile.write(json.dumps(answer).encode() + b"\\n")

with socketserver.UnixStreamServer(folder + "/socket", Handler) as server:
    os.chmod(folder + "/socket", 0o666)
    server.serve_forever()
"""
DECIDE = """
import json, pathlib, sys, time
sys.path.insert(0, "/usr/lib/clusterwright")
from elastic import decide, slurm
from elastic import table as fleet_table
from elastic.fleets import fleet
from elastic.memory import Memory
table = fleet_table.read(json.loads(pathlib.Path("/etc/clusterwright/fleet.json").read_text()))
begun = time.monotonic()
seen, cloud = slurm.Commands().view(), fleet(table).view()
looked = time.monotonic()
decided = decide.sync(table=table, slurm=seen, cloud=cloud, memory=Memory(), now=time.time())
print(json.dumps({"look_s": looked - begun, "decide_s": time.monotonic() - looked, "nodes": len(seen.nodes), "steps": len(decided.steps)}))
"""


@dataclasses.dataclass(frozen=True, slots=True)
class ManyNodes:
    """A stack with an elastic pool, whose controller is told that it has the nodes of the large blueprint."""

    stack: Deployment
    partition: str
    nodes: int
    variables: dict[str, Any]
    """What Slurm's configuration was written from."""

    def on_controller(self, *argv: str) -> str:
        return self.stack.inside("control-0", *argv)

    def questions(self, do: str) -> list[dict[str, Any]]:
        """Give what the fleet was asked, in its order."""
        asked = [json.loads(line) for line in self.on_controller("cat", f"{FOLDER}/questions").splitlines()]
        return [one for one in asked if one["do"] == do]

    def decide(self) -> dict[str, Any]:
        """Have the controller's own Python look and decide once, and say how long each took."""
        measured: dict[str, Any] = json.loads(self.on_controller("python3", "-c", DECIDE))
        return measured

    def submit(self, nodes: int, *, partition: str = "") -> str:
        """Submit a job of so many nodes, as a user does, and give its number."""
        where = partition or self.partition
        return self.stack.ssh(f"sbatch --parsable --nodes={nodes} --partition={where} --gpus-per-node=8 --wrap 'srun hostname'").strip()

    def limit(self, node_set: str, most: int) -> None:
        """Tell the program, and not Slurm, of a limit of a pool."""
        table = json.loads(self.on_controller("cat", FLEET))
        [row] = [row for row in table["node_sets"] if row["name"] == node_set]
        row["pool_most"] = most
        _write(self, FLEET, json.dumps(table))

    def declare(self, node_set: str, most: int) -> None:
        """Write Slurm's configuration for a pool that has names for more nodes than it may have."""
        for row in self.variables["spec"]["slurm"]["node_sets"]:
            if row["hosts"]["name"] == node_set:
                row["pool_most"] = most
        _write(self, "/etc/slurm/slurm.conf", templates.render("slurm.conf.j2", role="slurm_config", **self.variables))
        self.on_controller("scontrol", "reconfigure")


def install(stack: Deployment) -> ManyNodes:
    """Give the controller of a stack that is up the large blueprint's nodes, and wait until it answers."""
    known = stack.outputs()["spec"]
    spec, record = _spec(known)
    count = sum(node_set.hosts.count for node_set in spec.node_sets)
    partition = next(node_set.partition for node_set in spec.node_sets if node_set.partition and node_set.partition.default)
    table = fleet.table(spec, stack.stack, {node_set.hosts.name: "1" for node_set in spec.node_sets})
    table |= {"target": "local", "service": {"socket": f"{FOLDER}/socket"}}
    variables = {"spec": record, "provided": {"fleet": table}, "slurm_config_cgroup": "v1"}
    many = ManyNodes(stack, partition.name, count, variables)
    many.on_controller("systemctl", "stop", "clusterwright-elastic.timer", "slurmctld")
    many.on_controller("install", "-d", "-m", "0777", FOLDER)
    many.on_controller("systemd-run", "--quiet", "--unit=noted", "python3", "-c", SERVICE, FOLDER)
    wait_until(lambda: _is_there(stack, f"{FOLDER}/socket"), awaiting="the fleet that notes", within_s=SERVE_WITHIN_S)
    for name in ("slurm.conf", "gres.conf"):
        _write(many, f"/etc/slurm/{name}", templates.render(f"{name}.j2", role="slurm_config", **variables))
    _write(many, FLEET, json.dumps(table))
    many.on_controller("systemctl", "start", "slurmctld")
    wait_until(lambda: _answers(many), awaiting=f"slurmctld with {count} nodes", within_s=ANSWER_WITHIN_S)
    return many


def _spec(known: dict[str, Any]) -> tuple[specs.ClusterSpec, dict[str, Any]]:
    """Resolve the large blueprint, as the cluster that the stack's controller belongs to: its name, its hosts, its versions."""
    facts = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
    examined = load.examine(BLUEPRINT, target=TARGET, stack="many", facts=facts, overrides={}).spec
    assert examined is not None
    record = dict(_lists(specs.as_record(examined)))
    record["slurm"]["control"] = known["slurm"]["control"]
    return examined, record | {name: known[name] for name in ("name", "software", "accounts", "users")}


def _write(many: ManyNodes, path: str, text: str) -> None:
    many.stack.inside("control-0", "sh", "-c", f"cat > {path}", stdin=text)


def _is_there(stack: Deployment, path: str) -> bool:
    return Path(f"/proc/{stack.guest('control-0')}/root{path}").exists()


def _answers(many: ManyNodes) -> bool:
    shown = many.on_controller("sh", "-c", "sinfo --noheader --format=%D 2>/dev/null || true").split()
    return sum(map(int, shown)) == many.nodes
