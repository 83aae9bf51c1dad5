"""Slurm's side of a rebuild, through a controller: which jobs run on nodes, and taking nodes out of service and back."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from blueprints import hostlist
from components import errors
from components.elastic import slurm
from components.elastic.model import OURS, Node
from components.finish.inventory import FinishedHost
from components.inspection.recorded_cluster import Known
from components.ssh import remote

from ..errors import Problem

REASON = f"{OURS}rebuild"
"""A node with this reason was drained by `rebuild`, which returns it to service."""
ENVIRONMENT = ("env", "LC_ALL=C.UTF-8", "SLURM_TIME_FORMAT=%s")


@dataclasses.dataclass(frozen=True, slots=True)
class RunningJob:
    id: int
    user: str
    left: str
    """Until its time limit, as Slurm writes it (`1:02:03`, `UNLIMITED`)."""
    nodes: tuple[str, ...]
    requeues: bool
    """It goes back to the queue when it is asked to: not so a job of srun or salloc, or one with `--no-requeue`."""

    def __str__(self) -> str:
        return f"{self.id} of {self.user} ({'no time limit' if self.left == 'UNLIMITED' else f'at most {self.left} left'})"


class Scheduler:
    """Slurm's commands on one controller.

    Args:
        reason: what Slurm shows of a node that is drained.
    """

    def __init__(self, session: remote.Session, reason: str = REASON):
        self._session, self._reason = session, reason
        self._commands = slurm.Commands(self._run)

    def nodes(self) -> Mapping[str, Node]:
        """Give all nodes.

        Raises:
            Problem: Slurm does not answer.
        """
        try:
            return slurm.parse_nodes(self._run(["scontrol", "--oneliner", "show", "nodes"]))
        except slurm.Unanswered as error:
            raise _silent(str(error)) from error

    def jobs(self, nodes: Sequence[str]) -> tuple[RunningJob, ...]:
        """Give the jobs that have one of these nodes.

        Raises:
            Problem: Slurm does not answer.
        """
        try:
            found = self._commands.view().jobs
            asked = ["squeue", "--noheader", f"--states={slurm.JOB_STATES}", "--format=%A|%u|%L"]
            about = {int(number): (user, left) for number, user, left in (line.split("|") for line in self._run(asked).splitlines())}
        except slurm.Unanswered as error:
            raise _silent(str(error)) from error
        wanted = set(nodes)
        # A job that only one of the answers names has just come or gone.
        return tuple(RunningJob(job.id, *about[job.id], job.nodes, job.requeues) for job in found if wanted & set(job.nodes) and job.id in about)

    def drain(self, nodes: Sequence[str]) -> None:
        self._set(nodes, "DRAIN", reason=self._reason)

    def resume(self, nodes: Sequence[str]) -> None:
        """Return drained nodes to service."""
        self._set(nodes, "RESUME")

    def await_boot(self, nodes: Sequence[str]) -> None:
        """Replace the drain of nodes whose hosts are gone: Slurm returns a node that is down to service when it registers (ReturnToService)."""
        self._set(nodes, "DOWN", reason=self._reason)
        self._set(nodes, "UNDRAIN")

    def reboot(self, nodes: Sequence[str], *, resumes: bool, reason: str = "") -> list[str]:
        """Let nodes reboot as soon as they have no jobs, and give what Slurm said of those that it refused.

        Args:
            reason: what Slurm shows of them meanwhile; empty: the one of this scheduler's own.
        """
        return self._commands.reboot(nodes, reason=reason or self._reason, resumes=resumes)

    def explain(self, node: str, reason: str) -> list[str]:
        """Give a node a reason and leave its state; give what Slurm said where it refused."""
        return self._commands.set_reason([node], reason)

    def requeue(self, jobs: Sequence[RunningJob]) -> list[str]:
        """Put jobs back into the queue, and give what Slurm said of those that it refused."""
        return self._commands.requeue(job.id for job in jobs)

    def leave(self, nodes: Sequence[str]) -> None:
        """Do nothing: what Slurm runs on nodes are jobs, and those have ended."""

    def start_now(self, jobs: Sequence[RunningJob]) -> None:
        """Let jobs start that were put back into the queue; Slurm would wait two minutes. One that was cancelled meanwhile has nothing to start."""
        self._commands.start_now(job.id for job in jobs)

    def power_down(self, nodes: Sequence[str]) -> None:
        self._set(nodes, "POWER_DOWN")

    def power_up(self, nodes: Sequence[str]) -> None:
        """Start nodes that are off, and take back that they were drained."""
        self._set(nodes, "IDLE")
        self._set(nodes, "POWER_UP")

    def _set(self, nodes: Sequence[str], state: str, *, reason: str = "") -> None:
        if nodes and (complaints := self._commands.set_state(nodes, state, reason=reason)):
            raise Problem(
                f"Slurm did not set {hostlist.compress(nodes)} to {state}",
                why="\n".join(complaints),
                remedy="correct what it names and run the same command again",
            )

    def _run(self, argv: Sequence[str]) -> str:
        try:
            return self._session.run([*ENVIRONMENT, *argv])
        except errors.HostUnanswered as error:
            raise slurm.Unanswered(str(error)) from error


def controllers(known: Known) -> tuple[FinishedHost, ...]:
    """Give the recorded controllers of a stack."""
    return tuple(host.as_finished for host in known.hosts if host.role == "control")


@contextlib.contextmanager
def answering(controllers: Sequence[FinishedHost], *, private_key: str, reason: str = REASON) -> Iterator[Scheduler]:
    """Give Slurm through the first controller on which it answers.

    Raises:
        Problem: none answers.
    """
    said: list[str] = []
    with contextlib.ExitStack() as stack:
        for controller in controllers:
            scheduler = Scheduler(stack.enter_context(remote.session(controller, private_key=private_key)), reason)
            try:
                scheduler.nodes()
            except Problem as silent:
                said.append(silent.why)
                continue
            yield scheduler
            return
    raise _silent("\n".join(said) or "the stack has no controller")


def _silent(why: str) -> Problem:
    return Problem(
        "Slurm does not answer, so that the jobs on the nodes are unknown",
        why=why,
        remedy="run `clusterwright up`, or rebuild the controller first (`clusterwright rebuild control-0`)",
    )
