"""Run a playbook for a resource: secrets in memory only, an environment that holds nothing of ours, progress as it comes, and an end in every case.

The run has a process of its own (`supervise.py`). It gets all it needs on its standard input, keeps ansible-runner's files in a memory-backed folder that it removes at the end, and ends with
everything it started when this process goes away, also by SIGKILL.
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprints.project import project_root

from ..provider.kind import Work
from . import module_cache

PLAYBOOKS = project_root() / "playbooks"
SLOW_TASK_S = 5.0
"""A task of a role is shown by itself once it has taken as long."""
PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "SSL_CERT_FILE")
"""What of our environment a playbook may see; the rest may hold passphrases and cloud credentials."""


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """One task that failed on one host."""

    task: str
    host: str
    message: str
    unreachable: bool = False
    """The host didn't answer, so that nothing is known of it."""

    def __str__(self) -> str:
        return f"{self.host}: task «{self.task}» failed: {self.message}"


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    failures: tuple[Failure, ...]
    results: Mapping[str, Any]
    """What tasks reported that were asked for by name: task name → result."""
    through: frozenset[str]
    """Hosts that came to the end of the last task, if the run came to its own end."""
    changed: int
    error: str
    """Why the run as a whole could not be done; empty when it could."""
    by_host: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """The same results for each host: hostname → task name → result."""

    @property
    def ok(self) -> bool:
        return not self.failures and not self.error


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A playbook run.

    Args:
        playbook: its file's name in `playbooks`.
        inventory: Ansible's inventory as plain values (the YAML plugin's form).
        variables: extra variables without secrets.
        secrets: extra variable `secrets`, never on a disk.
        private_key: OpenSSH private key for the hosts, never on a disk.
        known_hosts: lines of known_hosts(5); host keys are always verified.
        limit: hosts or groups to run on.
        keep: names of tasks whose results are wanted.
        forks: hosts worked on at once.
        playbooks: the folder with the playbook, its roles and `ansible.cfg`.
        of_image: the only host is the root of an image on this machine, whose space is this machine's.
    """

    playbook: str
    inventory: Mapping[str, Any]
    variables: Mapping[str, Any]
    secrets: Mapping[str, Any]
    private_key: str
    known_hosts: Sequence[str]
    limit: str = ""
    keep: tuple[str, ...] = ()
    forks: int = 16
    playbooks: str = str(PLAYBOOKS)
    of_image: bool = False


def run(order: Run, work: Work, *, on_progress: Callable[[str], None] | None = None) -> Outcome:
    """Run a playbook, and show on the resource's row what each role does, and tasks that take long.

    Raises:
        Stopped: the operation should end; everything the run started is gone by then.
    """
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = str(project_root())
    modules = module_cache.folder(Path(order.playbooks))
    complaints = os.memfd_create("complaints")  # a pipe would block the run once it is full
    process = subprocess.Popen(
        [sys.executable, "-m", "components.finish.supervise", work.title],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True, cwd=project_root(), env=environment, start_new_session=True,
    )  # fmt: skip
    orders, events = process.stdin, process.stdout
    if orders is None or events is None:
        raise RuntimeError("the run's pipes were not made")
    failures: list[Failure] = []
    spaces: dict[str, str] = {}
    results: dict[str, Any] = {}
    by_host: dict[str, dict[str, Any]] = {}
    ended: dict[str, Any] = {}
    steps = _Steps(on_progress or work.say)
    finished = threading.Event()

    def follow() -> None:
        for line in events:
            event = json.loads(line)
            match event["event"]:
                case "role":
                    steps.begin_role(event["name"], event["purpose"])
                case "task":
                    steps.begin_task(event["name"], role=event["role"], now=time.monotonic())
                case "failed":
                    failures.append(Failure(event["task"], event["host"], event["message"], event.get("unreachable", False)))
                case "space":
                    spaces[event["host"]] = event["text"]
                case "result":
                    results[event["task"]] = event["result"]
                    by_host.setdefault(event["host"], {})[event["task"]] = event["result"]
                case "end":
                    ended.update(event)
        finished.set()

    def is_over() -> bool:
        steps.look(time.monotonic())
        return finished.is_set()

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        # The supervisor reads one line and keeps the pipe: its end means that this process is gone.
        with contextlib.suppress(BrokenPipeError):  # it ended before it read: why is among its complaints
            orders.write(json.dumps({**dataclasses.asdict(order), "stack": work.stack, "modules": str(modules or "")}) + "\n")
            orders.flush()
        work.wait_until(is_over, awaiting=f"playbook {order.playbook}", within_s=24 * 3600)
    finally:
        with contextlib.suppress(BrokenPipeError):
            orders.close()
        process.wait()
        follower.join()
        events.close()
        error = _content(complaints)
    failures = [dataclasses.replace(one, message=f"{one.message}\n{spaces[one.host]}") if one.host in spaces else one for one in failures]
    if not ended:
        return Outcome(tuple(failures), results, frozenset(), 0, by_host=by_host, error=error or f"playbook {order.playbook} ended without a result")
    through = frozenset(ended["through"])
    if ended["status"] == "successful":
        return Outcome((), results, through, ended["changed"], "", by_host)  # what failed was rescued
    return Outcome(tuple(failures), results, through, ended["changed"], "" if failures else ended["detail"] or error, by_host)


class _Steps:
    """What a run shows of itself."""

    def __init__(self, say: Callable[[str], None]):
        self._say = say
        self._task: tuple[str, float] | None = None
        """The task of a role in progress that was not shown yet, and when it began."""

    def begin_role(self, name: str, purpose: str) -> None:
        self._say(f"{name}: {purpose}" if purpose else name)

    def begin_task(self, name: str, *, role: str, now: float) -> None:
        if role:
            self._task = f"{role}: {name}", now
        else:
            self._task = None
            self._say(name)

    def look(self, now: float) -> None:
        """Show the task in progress once it has taken long."""
        if self._task and now - self._task[1] >= SLOW_TASK_S:
            text, self._task = self._task[0], None
            self._say(text)


def _content(memory: int) -> str:
    with os.fdopen(memory) as file:
        file.seek(0)
        return file.read().strip()
