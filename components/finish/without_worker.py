"""Let Ansible answer tasks without a process of their own where no host is asked: those that are skipped, inclusions, and checks of values.

Ansible forks a worker for each task on each host, also to find that its condition is false or to name the file that comes next. Most tasks of a playbook are such, and the fork takes ten times
as long as the answer. What Ansible's own executor does with a task stays as it is; only where it does it changes.
"""

from __future__ import annotations

from typing import Any

from ansible._internal import _task
from ansible.executor.task_executor import TaskExecutor
from ansible.executor.task_result import _RawTaskResult
from ansible.playbook.task import Task
from ansible.plugins import loader
from ansible.plugins.strategy import StrategyBase

INCLUSIONS = ("include_role", "include_tasks")
CHECKS = ("assert", "set_fact", "validate_argument_spec")
OF_VALUES = frozenset(f"{prefix}{name}" for name in (*INCLUSIONS, *CHECKS) for prefix in ("", "ansible.builtin."))
"""Actions that run where Ansible runs, and read and give values only."""
ELSEWHERE = ("async_val", "delegate_to", "loop", "loop_with", "retries", "timeout", "until")
"""Keys of tasks of which a worker takes care: they repeat the task, end it, or lend it another host."""


class NeedsHost(BaseException):
    """A task is not skipped, and asks its host: a worker's work. No error, which Ansible would take for the task's."""


def use() -> None:
    """From now on, let strategies answer such tasks themselves. Nobody is told that they begin: the answer follows at once."""
    queue_task = StrategyBase._queue_task  # noqa: SLF001 - Ansible has no setting for it

    def queue(strategy: StrategyBase, host: Any, task: Task, task_vars: dict[str, Any], play_context: Any) -> None:
        try:
            result = answer(strategy, host, task, task_vars, play_context)
        except NeedsHost:
            queue_task(strategy, host, task, task_vars, play_context)
            return
        strategy._queued_task_cache[host.name, task._uuid] = {"host": host, "task": task, "task_vars": task_vars, "play_context": play_context}  # noqa: SLF001
        strategy._pending_results += 1  # noqa: SLF001
        strategy._final_q.send_task_result(result)  # noqa: SLF001

    StrategyBase._queue_task = queue  # noqa: SLF001


def answer(strategy: StrategyBase, host: Any, task: Task, task_vars: dict[str, Any], play_context: Any) -> _RawTaskResult:
    """Do a task for a host, and give its result.

    Raises:
        NeedsHost: the task is not skipped, and asks the host.
    """
    is_of_values = task.action in OF_VALUES
    if not (is_of_values or task.when) or any(getattr(task, key) for key in ELSEWHERE):
        raise NeedsHost
    own = task.copy(exclude_parent=True, exclude_tasks=True)  # the executor fills in values in place: of one host
    own._parent = task._parent  # noqa: SLF001
    if not is_of_values:
        own.post_validate = _stop  # what the executor calls first when a condition is true
    with _task.TaskContext(own):
        executor = TaskExecutor(
            host, own, task_vars, play_context, strategy._loader, loader.get_plugin_loader_namespace(), strategy._final_q, strategy._variable_manager,  # noqa: SLF001
        )  # fmt: skip
        done = executor.run()
    return _RawTaskResult(host=host, task=own, return_data=done, task_fields=own.dump_attrs())


def _stop(templar: Any) -> None:  # noqa: ARG001
    raise NeedsHost
