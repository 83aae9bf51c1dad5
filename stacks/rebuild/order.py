"""Carry out a rebuild: drain, wait for jobs, delete the hosts, let the engine create and finish them, and test what is new.

Everything may be killed and run again. Nodes that this command drained have its reason until they are back in service; a host whose disk is gone is created by the next `up` or `rebuild`; and Slurm returns the
nodes of new hosts to service by itself when they register.
"""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blueprints import hostlist
from blueprints.load import Loaded
from blueprints.plan import changes
from components import errors, registry
from components.finish.inventory import FinishedHost
from components.inspection import elastic, record
from components.inspection.recorded_cluster import Known
from components.ssh import remote

from ..engine import account, commands, operations, recovery, state
from ..errors import EngineFailed, Problem
from . import plan, pods, restart, scheduler
from .plan import Host, Plan, Running
from .scheduler import Scheduler

SLURM, KUBERNETES = "slurm", "kubernetes"
Service = Scheduler | pods.Pods
"""What takes nodes of a scheduler out of service and back."""

DAEMONS = ("slurmctld.service", "slurmdbd.service", "mariadb.service")
"""Of a controller, in the order in which each needs the next."""
NODE_DAEMONS = {SLURM: "slurmd.service", KUBERNETES: "kubelet.service"}
"""What makes a node of a host."""
LOOK_EVERY_S = 2.0
SAY_AGAIN_S = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What is rebuilt, and how to reach its scheduler."""

    stack: str
    known: Known
    resources: tuple[Mapping[str, Any], ...]
    """As the engine records them."""
    plan: Plan
    whole_pools: tuple[str, ...]
    """Pools of which every host is rebuilt."""
    instances: Mapping[str, str]
    """Elastic node that runs → its instance."""
    by_owner: bool
    """Only their owner can install the hosts again."""

    @property
    def controllers(self) -> tuple[FinishedHost, ...]:
        return scheduler.controllers(self.known)

    @property
    def sides(self) -> dict[str, list[str]]:
        """Scheduler → its nodes that are rebuilt."""
        return _by_scheduler(self.known, self.plan.hosts)

    def service(self, side: str) -> contextlib.AbstractContextManager[Service]:
        """Reach a scheduler.

        Raises:
            Problem: it does not answer.
        """
        if side == KUBERNETES:
            return pods.answering(self.stack)
        return scheduler.answering(self.controllers, private_key=self.known.private_key)


def prepare(stack: str, words: Sequence[str], loaded: Loaded) -> Order:
    """Decide what a rebuild of the named hosts does; nothing is changed.

    Args:
        words: hosts and host lists.
        loaded: the stack's blueprint.
    Raises:
        Refusal: the stack is not up, its blueprint has changed, a host can't be rebuilt, or Slurm does not answer.
    """
    commands.require()
    operations.prepare(stack)
    known, resources = _recorded(stack)
    registry.require_sdk(known.cluster.target)
    if whose := account.require_credentials(known.cluster.target, known.cluster.network.region):
        print(f"the account is {whose}")
    _refuse_changes(stack, loaded)
    listing = elastic.look(stack, known)
    running = {host.name: host.group for host in listing.hosts}
    target = registry.rebuild(known.cluster.target)
    recorded = {host.name: (host.group, host.role) for host in known.hosts}
    hosts = plan.choose(words, cluster=known.cluster, recorded=recorded, running=running, keeps_state=target is not None and target.keeps_state)
    if target:
        target.check(stack, {host.name: host.role for host in hosts if not host.is_elastic}, resources)
    whole_pools = plan.whole_pools(hosts, known.cluster)
    instances = {host.name: host.incarnation for host in listing.hosts}
    by_owner = target is not None and target.by_owner
    order = Order(stack, known, tuple(resources), plan.plan(hosts, nodes={}, jobs=()), whole_pools, instances, by_owner)
    nodes: dict[str, plan.Node] = {}
    jobs: list[Running] = []
    for side, names in order.sides.items():
        with order.service(side) as service:
            nodes |= service.nodes()
            jobs += service.jobs(names)
    return dataclasses.replace(order, plan=plan.plan(hosts, nodes=nodes, jobs=jobs))


def carry_out(order: Order, *, requeues: bool, wait_s: float | None, say: Callable[[str], None]) -> None:
    """Rebuild the hosts; those that only their owner can install again are taken out of service.

    Args:
        requeues: put jobs back into the queue instead of waiting for them.
        wait_s: how long to wait for jobs; None: until they have ended.
    Raises:
        Problem: jobs did not end in time (their nodes are back in service), or the engine failed.
    """
    instances = restart.Instances(order.instances, lambda: _instances(order.stack, order.known))
    requeued: dict[str, list[Any]] = {}
    for side, names in order.sides.items():
        part = plan.only(order.plan, names)
        with order.service(side) as service:
            awaited = functools.partial(restart.awaited, part, service, instances) if isinstance(service, Scheduler) else None
            requeued[side] = empty(part, service, awaited=awaited, requeues=requeues, wait_s=wait_s, say=say)
            service.leave(part.nodes)
            if isinstance(service, Scheduler):
                restart.restart(part, service, instances, say=say)
    if order.by_owner:
        _hand_over(order)
    elif order.plan.together:
        _create(order, order.plan.together, say=say)
    for side, jobs in requeued.items():
        if jobs:
            with order.service(side) as service:
                service.start_now(jobs)
    for controller in order.plan.controllers:
        _create(order, [controller], say=say)


def _instances(stack: str, known: Known) -> Mapping[str, str] | None:
    listing = elastic.look(stack, known)
    return None if listing.why or listing.failure else {host.name: host.incarnation for host in listing.hosts}


def _recorded(stack: str) -> tuple[Known, list[dict[str, Any]]]:
    if state.exists(stack):
        exported = commands.record(stack, show_secrets=True)
        try:
            return record.read(exported), commands.resources_of(exported)
        except errors.NotUp as error:
            raise Problem(f"stack {stack} is not up", why=str(error), remedy=f"run `clusterwright up --stack {stack}` first") from error
    raise Problem(
        f"there is no stack {stack}", why="nothing is recorded under this name here", remedy="name a stack with --stack; `pulumi stack ls` lists them"
    )


def _refuse_changes(stack: str, loaded: Loaded) -> None:
    """Refuse to apply a changed blueprint beside the rebuild."""
    found = changes.compare(state.spec(stack) or {}, loaded.spec)
    if found:
        shown = "\n".join(str(change.key or change.path) for change in found)
        raise Problem(
            f"the blueprint of stack {stack} has changed since its last `up`, and a rebuild would apply the changes too",
            why=f"these values differ:\n{shown}",
            remedy=f"run `clusterwright up --stack {stack}` first, or undo the changes",
        )


def _by_scheduler(known: Known, hosts: Sequence[Host]) -> dict[str, list[str]]:
    of_kubernetes = {one.hosts.name for one in known.cluster.node_sets if one.scheduler == KUBERNETES}
    found: dict[str, list[str]] = {}
    for host in hosts:
        if host.role == plan.COMPUTE:
            found.setdefault(KUBERNETES if host.group in of_kubernetes else SLURM, []).append(host.name)
    return found


def empty(
    decided: Plan,
    service: Service,
    *,
    awaited: Callable[[], Sequence[str]] | None = None,
    requeues: bool,
    wait_s: float | None,
    say: Callable[[str], None],
) -> list[Any]:
    """Drain the nodes, wait until no job has any of them, and give the jobs that were put back into the queue.

    Args:
        awaited: give the nodes whose jobs are still waited for; by default all.
    """
    slurm: Any = service  # each side knows its own jobs alone
    slurm.drain(decided.drained)
    begun, said, said_at = time.monotonic(), "", 0.0
    requeued: dict[int | str, Any] = {}
    try:
        while jobs := slurm.jobs(awaited() if awaited else decided.nodes):
            if going := [job for job in jobs if requeues and job.requeues and job.id not in requeued]:
                requeued |= {job.id: job for job in going}  # each is asked once; its processes take a while to end
                for complaint in slurm.requeue(going):
                    say(f"a job was not put back into the queue: {complaint}")
            text = plan.waiting(jobs)
            if text.partition(" (")[0] != said or time.monotonic() - said_at > SAY_AGAIN_S:
                say(text)
                said, said_at = text.partition(" (")[0], time.monotonic()
            if wait_s is not None and time.monotonic() - begun > wait_s:
                raise Problem(
                    f"jobs still run on {hostlist.compress(decided.nodes)}; nothing was rebuilt",
                    why="\n".join(f"job {job}" for job in jobs),
                    remedy="run the command again later, with a longer --wait, or with --requeue; the nodes are back in service",
                )
            time.sleep(LOOK_EVERY_S)
    except (Problem, KeyboardInterrupt):
        nodes = slurm.nodes()  # Slurm refuses to resume a node that is in service
        slurm.resume([name for name in decided.drained if name in nodes and nodes[name].is_drained])
        slurm.start_now([*requeued.values()])
        raise
    return [*requeued.values()]


def _create(order: Order, hosts: Sequence[Host], *, say: Callable[[str], None]) -> None:
    """Delete hosts of one round and run the engine, which creates and finishes them and runs acceptance."""
    target = registry.rebuild(order.known.cluster.target)
    if target is None:
        raise Problem(f"this version can't rebuild hosts on {order.known.cluster.target}", why="it provisions none there", remedy="choose another stack")
    names = [host.name for host in hosts]
    say(f"rebuilding {hostlist.compress(names)}")
    recovery.settle(order.stack)
    for host in order.controllers:
        if host.name in names:
            _stop_daemons(host, order.known.private_key)
    urns = target.replaced(names, order.resources)
    only = plan.only_state(order.known.cluster)
    target.discard(order.stack, names, keeping_state=[name for name in names if name == only])
    _await_boot(order, hosts)
    replace = [word for urn in urns for word in ("--replace", urn)]
    status = operations.operate("up", "--refresh", "--yes", "--skip-preview", "--suppress-outputs", *replace, stack=order.stack).status
    if status:
        raise _failed(order, names, status)
    kept = _by_scheduler(order.known, [host for host in hosts if host.name in order.plan.kept])
    if KUBERNETES in kept:  # a new node takes pods
        with pods.answering(order.stack) as joined:
            joined.keep_out(kept[KUBERNETES])


def _hand_over(order: Order) -> None:
    """Stop what makes nodes of hosts, also after a restart, so that their owner can install them again. The next `up` finishes them, and Slurm returns them to service when they register."""
    for side, nodes in order.sides.items():
        for host in order.known.hosts:
            if host.name in nodes:
                # One that does not answer may be without a system already.
                with contextlib.suppress(errors.HostUnanswered), remote.session(host.as_finished, private_key=order.known.private_key) as session:
                    session.run(["systemctl", "disable", "--now", NODE_DAEMONS[side]])
    _await_boot(order, order.plan.together)


def _await_boot(order: Order, hosts: Sequence[Host]) -> None:
    """Tell the schedulers that hosts are gone, and come back new."""
    for side, nodes in _by_scheduler(order.known, hosts).items():
        # Slurm lets a node that somebody else drained be; Kubernetes forgets every node whose host is gone.
        gone = [name for name in nodes if side == KUBERNETES or name in order.plan.drained]
        if gone:
            with order.service(side) as service:
                service.await_boot(gone)


def _failed(order: Order, names: Sequence[str], status: int) -> EngineFailed:
    kept = [name for name in names if name in order.plan.kept]
    if not kept:
        return EngineFailed(
            f"{hostlist.compress(names)} {'is' if len(names) == 1 else 'are'} not rebuilt",
            why=f"the engine ended with status {status}; its output is above",
            remedy=f"correct the cause, then run `clusterwright up --stack {order.stack}`, which continues, or the same command again",
        )
    return EngineFailed(
        f"the rebuild of {hostlist.compress(names)} did not pass acceptance",
        why="\n".join(
            f"{name} was out of service before ({order.plan.kept[name] or 'no reason given'}), and stays so; acceptance counts it as a fault" for name in kept
        ),
        remedy=f"return it to service (`scontrol update nodename={hostlist.compress(kept)} state=resume` on the controller), then run `clusterwright up --stack {order.stack}`",
    )


def _stop_daemons(controller: FinishedHost, private_key: str) -> None:
    """Let a controller save what it knows: Slurm writes its state every few seconds only, and would take a job that just ended for one that runs."""
    with remote.session(controller, private_key=private_key) as session, contextlib.suppress(errors.HostUnanswered):  # a broken one is rebuilt as it is
        session.run(["systemctl", "stop", *DAEMONS])
