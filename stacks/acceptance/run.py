"""Run acceptance on a stack that is up: on its nodes that are idle, with a job that takes nobody's place."""

import dataclasses
import datetime as dt
import threading
from collections.abc import Callable, Sequence
from typing import Any

from blueprints import message_text, spec
from blueprints.spec import ClusterSpec
from components.finish.acceptance import Acceptance, AcceptanceInputs
from components.finish.inventory import FinishedHost
from components.inspection.recorded_cluster import Known
from components.provider.kind import PartlyMade, Work
from components.schedulers import hardware

from ..errors import EXIT_USAGE, Problem
from .history import Run


def accept(stack: str, known: Known, pools: Sequence[str], *, say: Callable[[str], None], dcgm_level: int = 0) -> Run:
    """Run the checks of some pools, of all where none is named.

    Args:
        dcgm_level: of DCGM's diagnostic; 0: what each pool's `health.check` says.

    Raises:
        Problem: there is no such pool, none of the pools has DCGM where a level is asked for, or the checks could not run.
    """
    cluster = _of_pools(stack, known, pools)
    inputs = _inputs(known, cluster, dcgm_level)
    began = dt.datetime.now(dt.UTC).replace(microsecond=0)
    work = Work(show=lambda text, _kept: say(text), stopping=threading.Event(), timeout_s=Acceptance.timeout_s, stack=stack, purpose="acceptance")
    try:
        found: Any = Acceptance().create(inputs, work)
    except PartlyMade as partly:
        found = partly.outputs
        if not found.get("checks"):
            raise Problem(
                f"acceptance of stack {stack} gave no result",
                why="\n".join(partly.reasons),
                remedy=f"run `clusterwright drift --stack {stack}`, which looks at the hosts",
            ) from None
    return Run(began, float(found.get("seconds", 0.0)), tuple(pools), bool(found["ok"]), tuple(found["checks"]))


def _of_pools(stack: str, known: Known, pools: Sequence[str]) -> ClusterSpec:
    """Give the cluster with the node sets of the pools, without hosts that did not answer at the last `up`.

    Raises:
        Problem: there is no such pool, or no scheduler that runs the checks.
    """
    if known.cluster.slurm is None or not any(host.role == "access" for host in known.hosts):
        raise Problem(
            f"stack {stack} has no login node that could run the checks",
            why="acceptance on demand runs jobs of Slurm from a login node",
            remedy=f"run `clusterwright up --stack {stack}`, which proves the cluster",
            status=EXIT_USAGE,
        )
    answering: dict[str, list[str]] = {}
    for host in known.hosts:
        answering.setdefault(host.group, []).append(host.name)
    cluster = hardware.present(known.cluster, {**{one.hosts.name: one.hosts.hostnames for one in known.cluster.node_sets}, **answering})
    slurm = known.cluster.slurm
    names = tuple(dict.fromkeys(one.pool for one in slurm.node_sets))
    if unknown := [pool for pool in pools if pool not in names]:
        raise Problem(
            f"stack {stack} has no pool {message_text.listed(unknown)}",
            why=f"its pools are {message_text.listed(names)}",
            remedy="name one of these",
            status=EXIT_USAGE,
        )
    if not pools or cluster.slurm is None:
        return cluster
    return dataclasses.replace(cluster, slurm=dataclasses.replace(cluster.slurm, node_sets=tuple(one for one in cluster.slurm.node_sets if one.pool in pools)))


def _inputs(known: Known, cluster: ClusterSpec, dcgm_level: int) -> AcceptanceInputs:
    view = spec.acceptance_view(cluster, dcgm_level=dcgm_level)
    if dcgm_level and not view.get("diagnostics"):
        raise Problem(
            "no node of these pools has DCGM",
            why="a software profile installs it on nodes of Slurm with whole GPUs; simulated GPUs, MIG layouts and stand-ins of its archive have no diagnostic",
            remedy="remove `--dcgm-level`; docs/health.md says which profile installs it",
            status=EXIT_USAGE,
        )
    return AcceptanceInputs(
        hosts=_hosts(known, "access"),
        control=_hosts(known, "control"),
        spec=view,
        content="",
        secrets={},
        private_key=known.private_key,
        proves={},
    )


def _hosts(known: Known, role: str) -> tuple[FinishedHost, ...]:
    return tuple(host.as_finished for host in known.hosts if host.role == role)
