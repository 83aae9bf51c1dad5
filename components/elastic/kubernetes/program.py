"""Look, decide, act, again and again; on several hosts of the control plane, the one that has the lease."""

import hashlib
import json
import logging
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from blueprints import hostlist

from .. import table as fleet_table
from ..act import Unreachable
from ..decide.answers import Answer
from ..memory import Launch
from ..model import Cloud, Life
from ..table import Table
from . import decide
from .cluster import Unanswered
from .decide import End, Mark, Memory, Start, Stop
from .model import Kubernetes, Node, Pod, Template, launch_token

FOLDER = Path("/etc/clusterwright/autoscaler")
"""`fleet.json`, the fleet table, and for each node set `<name>.json`: what its nodes are told (playbooks/roles/elastic)."""
EVERY_S = 4.0
RENEWS_EVERY_S = 10.0
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"

log = logging.getLogger("clusterwright-autoscaler")


class ClusterPort(Protocol):
    def view(self) -> Kubernetes: ...
    def token(self, why: str) -> str: ...
    def mark(self, node: str, *, labels: Mapping[str, str], taints: str, told: str) -> None: ...
    def begin_to_stop(self, node: str, why: str) -> None: ...
    def keep(self, node: str) -> None: ...
    def drain(self, node: str) -> None: ...
    def forget(self, node: str) -> None: ...
    def warn(self, pod: Pod, reason: str) -> None: ...
    def publish(self, status: Mapping[str, Any]) -> None: ...
    def leads(self, holder: str, *, now: float) -> bool: ...


class FleetPort(Protocol):
    """The instances of this stack; the settings of a new host go with its launch."""

    def view(self, *, is_brief: bool = False) -> Cloud: ...
    def launch(self, launch: Launch, *, told: str = "") -> Answer: ...
    def terminate(self, instances: list[str]) -> None: ...


class Autoscaler:
    """What one process remembers from one look to the next.

    Args:
        told: node set → what its nodes are told, without the token.
        holder: who has the lease then; each autoscaler has another name.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        table: Table,
        told: Mapping[str, Mapping[str, Any]],
        *,
        cluster: ClusterPort,
        fleet: FleetPort,
        holder: str,
        clock: Callable[[], float] = time.time,
    ):
        self._table, self._told, self._cluster, self._fleet, self._holder, self._clock = table, told, cluster, fleet, holder, clock
        self._renewed: float | None = None
        self._forget()

    def _forget(self) -> None:
        """Another autoscaler has worked since: what was seen before says nothing."""
        self._memory = Memory()
        self._published: dict[str, Any] = {}

    def look(self) -> None:
        """Look once, and do what is to be done, as long as no other autoscaler has the lease.

        Raises:
            Unreachable: the fleet does not answer; nothing was done.
            Unanswered: the API server does not answer, or the lease was lost meanwhile; the next look, or the other autoscaler, does the rest.
        """
        if not self._leads():
            return
        cloud = self._fleet.view()
        kubernetes = self._cluster.view()
        idle_s = float(self._table.cloud.get("idle_s", 60))
        before = self._memory
        steps, self._memory = decide.decide(
            self._table, self.templates(kubernetes), kubernetes=kubernetes, cloud=cloud, memory=before, now=self._clock(), idle_s=idle_s
        )
        for step in steps:
            self._keep_lease()
            try:
                self._do(step)
            except (Unreachable, Unanswered) as error:  # one failed step must not block the others; the next look repeats it
                log.warning("%s: %s", step.node_set if isinstance(step, Start) else step.node, error)
        self._keep_lease()
        for name, pause in self._memory.pauses.items():
            if before.pauses.get(name) != pause:
                self._say(name, pause)
        self._publish(cloud, kubernetes)

    def _leads(self) -> bool:
        """Take the lease, or renew it."""
        now = self._clock()
        if self._renewed is None or now - self._renewed >= RENEWS_EVERY_S:
            if self._cluster.leads(self._holder, now=now):
                self._renewed = now
            else:
                self._renewed = None
                self._forget()
        return self._renewed is not None

    def _keep_lease(self) -> None:
        """Renew the lease before what takes long: steps together can outlast it, none does alone.

        Raises:
            Unanswered: another autoscaler has it.
        """
        if not self._leads():
            raise Unanswered("another autoscaler has the lease")

    def templates(self, kubernetes: Kubernetes) -> dict[str, Template]:
        """Say what a node of each set will be. Where hosts share one machine, each shows all of it, as those of the control plane do."""
        whole = next((node for _, node in sorted(kubernetes.nodes.items()) if CONTROL_PLANE in node.labels), None)
        return {name: template(told, whole) for name, told in self._told.items()}

    def _do(self, step: decide.Step) -> None:
        match step:
            case Start(node_set, nodes, pods):
                log.info("start %s%s", hostlist.compress(nodes), f" for {pods[0].namespace}/{pods[0].name} and {len(pods) - 1} more" if pods else "")
                self._start(node_set, nodes, pods)
            case Stop(node, instance, why):
                self._stop(node, instance, why)
            case End(node, instance, why):
                log.warning("end %s: %s", node, why)
                if instance:
                    self._fleet.terminate([instance])
                self._cluster.forget(node)
            case Mark(node, node_set, told):
                known = self._told[node_set]["node"]
                self._cluster.mark(node, labels=known["labels"], taints=known["taint_words"], told=told)

    def _start(self, node_set: str, nodes: tuple[str, ...], pods: tuple[Pod, ...]) -> None:
        now = self._clock()
        token = launch_token(mark(self._told[node_set]), unique=hashlib.sha256(f"{node_set} {nodes} {now}".encode()).hexdigest()[:32])
        launch = Launch(token, node_set, nodes, group=token, jobs=(), requested_at=now, is_whole=False)
        told = json.dumps({**self._told[node_set], "token": self._cluster.token(f"nodes of {node_set}")})
        answer = self._fleet.launch(launch, told=told)
        if answer.refusal:
            log.warning("%s of %s: %s: %s", hostlist.compress(nodes), node_set, answer.refusal.value, answer.detail)
            self._memory = self._memory.paused(node_set, f"{answer.refusal.value}: {answer.detail}", pods, now)

    def _stop(self, node: str, instance: str, why: str) -> None:
        """Also the rest of a stop that was cut off."""
        seen = self._cluster.view()
        known = seen.nodes.get(node)
        if known and not known.is_stopping:
            self._cluster.begin_to_stop(node, why)
            seen = self._cluster.view()
        if known and any(pod.node == node and not pod.is_of_node for pod in seen.pods):
            self._cluster.keep(node)  # the scheduler was faster
            return
        log.info("stop %s: %s", node, why)
        if known:
            self._keep_lease()
            self._cluster.drain(node)
        self._keep_lease()
        self._fleet.terminate([instance])
        self._cluster.forget(node)

    def _say(self, name: str, pause: decide.Pause) -> None:
        reason = f"pool {name}: {pause.reason}; the next start is tried in {pause.until - self._clock():.0f} s"
        log.warning("%s", reason)
        for pod in pause.pods[:5]:
            try:
                self._cluster.warn(pod, reason)
            except Unanswered as error:
                log.warning("%s/%s: %s", pod.namespace, pod.name, error)

    def _publish(self, cloud: Cloud, kubernetes: Kubernetes) -> None:
        live = {one.node for one in cloud.instances if one.life is Life.LIVE}
        ready = {name for name, node in kubernetes.nodes.items() if node.is_ready}
        now = self._clock()
        status = {
            one.name: {
                "ready": hostlist.compress(sorted(live & ready & {*one.nodes})),
                "coming": hostlist.compress(sorted((live - ready) & {*one.nodes})),
                **({"paused": pause.reason, "failures": pause.times} if (pause := self._memory.pauses.get(one.name)) and now < pause.until else {}),
            }
            for one in self._table.node_sets
        }
        if status != self._published:
            self._cluster.publish(status)
            self._published = status


def template(told: Mapping[str, Any], whole: Node | None) -> Template:
    """Say what a node with these settings will be. Pure."""
    known = told["node"]
    offers = {"cpu": float(known["cpus"]), "memory": float(known["memory_mib"]) * 1024**2, "ephemeral-storage": float("inf"), "pods": 110.0}
    if known["shares_machine"] and whole:
        offers |= {key: whole.allocatable[key] for key in ("cpu", "memory", "pods") if key in whole.allocatable}
    offers[known["gpu_resource"]] = float(known["gpus"])
    return Template(known["labels"], known["taints"], offers, mark(told))


def mark(told: Mapping[str, Any]) -> str:
    """Give a hash of what nodes are told. Pure."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def read(folder: Path = FOLDER) -> tuple[Table, dict[str, dict[str, Any]]]:
    """Read the fleet table, and what nodes are told.

    Raises:
        fleet_table.Unreadable: the table is another program's.
    """
    table = fleet_table.read(json.loads((folder / "fleet.json").read_text()), of_kubernetes=True)
    return table, {one.name: json.loads((folder / f"{one.name}.json").read_text()) for one in table.node_sets}


def run(cluster: ClusterPort, make_fleet: Callable[[Table], FleetPort]) -> None:
    """Go on until the process is ended."""
    table, told = read()
    autoscaler = Autoscaler(table, told, cluster=cluster, fleet=make_fleet(table), holder=socket.gethostname())
    while True:
        try:
            autoscaler.look()
        except (Unreachable, Unanswered) as error:
            log.warning("%s", error)
        time.sleep(EVERY_S)
