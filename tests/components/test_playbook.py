"""Playbook runs with a real Ansible on this machine: what is told of them, what they may see, and that nothing of them stays."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from components.files import memory_folders
from components.finish import playbook
from components.provider.kind import Stopped, Work
from tests import processes
from tests.processes import Watched

SECRET, KEY, PASSPHRASE = "marker-of-a-secret-4711", "marker-of-a-key-0815", "marker-of-a-passphrase-1234"
CONFIGURATION = """
[defaults]
interpreter_python = /usr/bin/python3
gathering = explicit
"""
PLAY = """
- name: Play
  hosts: {hosts}
  gather_facts: false
  tasks:
"""
BLOCKED = """
    - name: The secret is here
      ansible.builtin.assert:
        that: secrets.word is match('marker-of-a-secret')
      no_log: true
    - name: Wait
      ansible.builtin.command: cat {gate}
"""
CALLER = """
import json, sys, threading
from components.finish import playbook
from components.provider.kind import Work
work = Work(show=lambda text, kept: None, stopping=threading.Event(), timeout_s=0, stack="mine", purpose="group")
playbook.run(playbook.Run(**json.load(sys.stdin)), work)
"""


@dataclasses.dataclass
class Books:
    """A folder of playbooks, and runs of them on hosts that are all this machine."""

    folder: Path
    stopping: threading.Event
    said: list[str]

    @property
    def gate(self) -> Path:
        """A pipe that a blocked task reads."""
        return self.folder / "gate"

    def order(self, tasks: str, *, hosts: Mapping[str, Mapping[str, Any]] | None = None, **more: Any) -> playbook.Run:
        (self.folder / "play.yml").write_text(PLAY.format(hosts="all") + tasks.format(gate=self.gate))
        local = {"ansible_connection": "local"}
        return playbook.Run(
            playbook="play.yml",
            inventory={"group": {"hosts": {name: {**local, **variables} for name, variables in (hosts or {"one": {}}).items()}}},
            variables={"greeting": "hello"},
            secrets={"word": SECRET},
            private_key=KEY,
            known_hosts=[],
            playbooks=str(self.folder),
            **more,
        )

    def run(self, tasks: str, *, hosts: Mapping[str, Mapping[str, Any]] | None = None, **more: Any) -> playbook.Outcome:
        return playbook.run(self.order(tasks, hosts=hosts, **more), self.work())

    def work(self) -> Work:
        return Work(show=lambda text, _: self.said.append(text), stopping=self.stopping, timeout_s=0, stack="mine", purpose="group")


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Books]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where Ansible on this machine leaves its files
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", PASSPHRASE)
    folder = tmp_path / "playbooks"
    folder.mkdir()
    (folder / "ansible.cfg").write_text(CONFIGURATION)
    os.mkfifo(folder / "gate")
    one = Books(folder, threading.Event(), [])
    yield one
    one.stopping.set()


# What is told


def test_a_run_tells_its_tasks_what_changed_and_what_was_asked_for(books: Books) -> None:
    outcome = books.run(
        """
    - name: Greet
      ansible.builtin.command: echo {{{{ greeting }}}}
    - name: Look
      ansible.builtin.command: echo quiet
      changed_when: false
""",
        keep=("Greet",),
    )
    assert outcome.ok
    assert books.said == ["Greet", "Look"]
    assert outcome.changed == 1
    assert {task: result["stdout"] for task, result in outcome.results.items()} == {"Greet": "hello"}
    assert outcome.through == {"one"}


def test_a_role_is_shown_by_what_it_does_and_a_skipped_one_not_at_all(books: Books) -> None:
    for name in ("munge", "skipped"):
        (books.folder / "roles" / name / "tasks").mkdir(parents=True)
        (books.folder / "roles" / name / "meta").mkdir()
        specs = {"argument_specs": {"main": {"short_description": f"The purpose of {name}", "options": {}}}}
        (books.folder / "roles" / name / "meta/argument_specs.yml").write_text(json.dumps(specs))
        (books.folder / "roles" / name / "tasks/main.yml").write_text("- name: Begin\n  ansible.builtin.debug: {msg: well}\n")
    outcome = books.run(
        """
    - name: MUNGE
      ansible.builtin.import_role: {{name: munge}}
    - name: Skipped
      ansible.builtin.import_role: {{name: skipped}}
      when: false
    - name: Look
      ansible.builtin.command: echo quiet
"""
    )
    assert outcome.ok
    assert books.said == ["munge: The purpose of munge", "Look"]


def test_a_task_that_takes_long_is_shown() -> None:
    said: list[str] = []
    steps = playbook._Steps(said.append)
    steps.begin_role("munge", "MUNGE runs")
    steps.begin_task("Start MUNGE", role="munge", now=0)
    steps.look(playbook.SLOW_TASK_S - 0.1)
    assert said == ["munge: MUNGE runs"]
    steps.look(playbook.SLOW_TASK_S)
    steps.look(playbook.SLOW_TASK_S + 1)
    assert said == ["munge: MUNGE runs", "munge: Start MUNGE"]


def test_a_failure_is_a_task_a_host_and_what_the_task_said(books: Books) -> None:
    outcome = books.run(
        """
    - name: Speak
      ansible.builtin.shell: "echo {{{{ inventory_hostname }}}} is ill >&2; exit {{{{ status }}}}"
    - name: Go on
      ansible.builtin.debug: {{msg: well}}
""",
        hosts={"one": {"status": 0}, "two": {"status": 1}, "three": {"status": 1}},
    )
    assert not outcome.ok
    assert {(failure.task, failure.host) for failure in outcome.failures} == {("Speak", "two"), ("Speak", "three")}
    assert all(f"{failure.host} is ill" in failure.message for failure in outcome.failures)
    assert outcome.through == {"one"}


def test_hosts_that_a_failure_of_another_host_left_behind_are_not_through(books: Books) -> None:
    outcome = books.run(
        """
    - name: Begin
      ansible.builtin.debug: {{msg: well}}
    - name: Contract
      ansible.builtin.assert: {{that: false, fail_msg: not as agreed}}
      run_once: true
    - name: Work
      ansible.builtin.debug: {{msg: well}}
""",
        hosts={"one": {}, "two": {}},
    )
    (failure,) = outcome.failures
    assert (failure.task, failure.host, failure.message) == ("Contract", "one", "not as agreed")
    assert outcome.through == frozenset()


def test_a_failing_item_of_a_loop_gives_its_own_message(books: Books) -> None:
    outcome = books.run(
        """
    - name: Several
      ansible.builtin.assert: {{that: item != 2, fail_msg: "item {{{{ item }}}} is bad"}}
      loop: [1, 2, 3]
"""
    )
    assert [failure.message for failure in outcome.failures] == ["item 2 is bad"]


def test_a_failure_that_is_rescued_or_ignored_is_none(books: Books) -> None:
    outcome = books.run(
        """
    - name: Careful
      block:
        - name: Try
          ansible.builtin.command: "false"
      rescue:
        - name: Help
          ansible.builtin.debug: {{msg: better}}
    - name: Try again
      ansible.builtin.command: "false"
      ignore_errors: true
"""
    )
    assert outcome.ok
    assert outcome.failures == ()
    assert outcome.through == {"one"}


def test_a_host_that_does_not_answer_is_named(books: Books) -> None:
    deaf = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    outcome = books.run("    - {{name: Hello, ansible.builtin.ping: }}\n", hosts={"one": {}, "deaf": deaf})
    (failure,) = outcome.failures
    assert (failure.task, failure.host) == ("Hello", "deaf")
    assert failure.message.startswith("the host does not answer: ")
    assert outcome.through == {"one"}


def test_a_playbook_that_is_none_is_an_error_of_the_run(books: Books) -> None:
    outcome = books.run("    - name: Nonsense\n      no_such_module: {{}}\n")
    assert not outcome.ok
    assert outcome.failures == ()
    assert "no_such_module" in outcome.error


def test_a_run_that_cannot_begin_says_why(books: Books) -> None:
    order = dataclasses.replace(books.order(""), playbooks=str(books.folder / "missing"))
    assert playbook.run(order, books.work()).error == "[ERROR]: the playbook: play.yml could not be found"


# What a run may see, and what stays


@dataclasses.dataclass(frozen=True)
class Running:
    """A run whose task is blocked."""

    supervisor: int
    tree: list[int]
    """The supervisor and everything below it."""

    @property
    def folder(self) -> Path:
        (found,) = memory_folders.MEMORY.glob(f"{memory_folders.PREFIX}{self.supervisor}-*")
        return found


def blocked(books: Books, caller: int) -> Running:
    """Wait until the blocked task of a run that `caller` wanted reads its pipe."""

    def has_reader() -> bool:
        return any(processes.command_line(pid) == f"cat {books.gate}" for pid in processes.below(caller))

    processes.wait_until(has_reader, awaiting="the blocked task")
    (supervisor,) = [pid for pid in processes.below(caller) if "components.finish.supervise" in processes.command_line(pid)]
    return Running(supervisor, [supervisor, *processes.below(supervisor)])


def in_background(operation: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Start an operation in a thread; its result or exception comes in the list."""
    ended: list[Any] = []

    def carry_out() -> None:
        try:
            ended.append(operation())
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=carry_out)
    thread.start()
    return thread, ended


def test_secrets_are_in_no_command_line_no_environment_and_on_no_disk(books: Books, tmp_path: Path) -> None:
    thread, ended = in_background(lambda: books.run(BLOCKED))
    running = blocked(books, os.getpid())
    folder = running.folder
    with Watched(running.tree) as watched:
        assert len(running.tree) > 3
        shown = [(pid, processes.command_line(pid), str(processes.environment(pid))) for pid in running.tree]
        found = [(pid, marker) for pid, *texts in shown for marker in (SECRET, KEY, PASSPHRASE) if any(marker in text for text in texts)]
        environment = processes.environment(running.supervisor)
        mode, kind = folder.stat().st_mode & 0o777, file_system(folder)
        private = {path.name: path.stat().st_mode & 0o777 for path in folder.glob("*") if path.is_file()}
        title = processes.command_line(running.supervisor)
        books.gate.write_text("go")
        thread.join(processes.WITHIN_S)
        assert watched.alive() == []
    assert found == []
    assert environment.keys() <= {*playbook.PASSED_ON, "PYTHONPATH", "LC_CTYPE"}  # the last one is Python's own work
    assert title.endswith("-m components.finish.supervise mine group")
    assert (mode, kind) == (0o700, "tmpfs")
    assert {"key", "secrets.json"} <= private.keys()
    assert set(private.values()) == {0o600}
    assert ended[0].ok
    assert not folder.exists()
    assert holding(tmp_path, SECRET, KEY, PASSPHRASE) == []
    assert SECRET not in repr(ended) + repr(books.said)


def test_a_cancelled_run_leaves_nothing(books: Books) -> None:
    thread, ended = in_background(lambda: books.run(BLOCKED))
    running = blocked(books, os.getpid())
    folder = running.folder
    with Watched(running.tree) as watched:
        books.stopping.set()
        thread.join(processes.WITHIN_S)
        assert isinstance(ended[0], Stopped)
        assert watched.alive() == []
        assert not folder.exists()


def test_a_signal_to_the_run_ends_it_whole(books: Books) -> None:
    thread, ended = in_background(lambda: books.run(BLOCKED))
    running = blocked(books, os.getpid())
    folder = running.folder
    with Watched(running.tree) as watched:
        os.kill(running.supervisor, signal.SIGTERM)
        thread.join(processes.WITHIN_S)
        assert not ended[0].ok
        assert watched.alive() == []
        assert not folder.exists()


def test_the_run_of_a_killed_caller_ends_whole(books: Books) -> None:
    order = json.dumps(dataclasses.asdict(books.order(BLOCKED)))
    caller = subprocess.Popen([sys.executable, "-c", CALLER], stdin=subprocess.PIPE, cwd=project_root(), text=True, start_new_session=True)
    assert caller.stdin
    try:
        caller.stdin.write(order)
        caller.stdin.close()
        running = blocked(books, caller.pid)
        folder = running.folder
        with Watched(running.tree) as watched:
            caller.kill()
            watched.wait_for_end()
            processes.wait_until(lambda: not folder.exists(), awaiting="the folder in memory to be removed")
    finally:
        caller.kill()
        caller.wait()


def test_the_folder_of_a_killed_supervisor_goes_with_the_next_run(books: Books) -> None:
    thread, ended = in_background(lambda: books.run(BLOCKED))
    running = blocked(books, os.getpid())
    folder = running.folder
    with Watched(running.tree):  # ends what Ansible still does
        os.kill(running.supervisor, signal.SIGKILL)
        thread.join(processes.WITHIN_S)
        assert ended[0].error == "playbook play.yml ended without a result"
    assert books.run("    - {{name: Hello, ansible.builtin.ping: }}\n").ok
    assert not folder.exists()


def file_system(path: Path) -> str:
    done = subprocess.run(["stat", "--file-system", "--format=%T", str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def holding(folder: Path, *markers: str) -> list[Path]:
    """Files below a folder that hold one of the markers."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(marker.encode() in path.read_bytes() for marker in markers)]


# Lack of space


@pytest.fixture
def full_folder(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with no space left."""
    folder = tmp_path / "full"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=True)
    with pytest.raises(OSError, match="No space left"):
        (folder / "fill").write_bytes(bytes(2**17))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
@pytest.mark.parametrize("command", ["cp {{{{ ansible_playbook_python }}}} {full}/x", "'false'"], ids=["says so", "says nothing"])
def test_a_full_file_system_of_a_failed_host_is_named(books: Books, full_folder: Path, command: str) -> None:
    outcome = books.run(f"\n    - name: Copy\n      ansible.builtin.command: {command.format(full=full_folder)}\n".replace("{{{{", "{{").replace("}}}}", "}}"))
    [failure] = outcome.failures
    assert (failure.task, failure.host) == ("Copy", "one")
    said = failure.message.splitlines()[-1]
    assert said.startswith("no space is left on one: "), failure.message
    assert f"{full_folder} (0 of 1 MiB free)" in said
    assert "`clusterwright rebuild --stack mine one`" in said


def test_messages_can_name_the_stack(books: Books) -> None:
    outcome = books.run("    - {{name: Say, ansible.builtin.fail: {{msg: 'clusterwright up --stack {{{{ stack_name }}}}'}}}}\n")
    assert [failure.message for failure in outcome.failures] == ["clusterwright up --stack mine"]


@pytest.mark.parametrize("text", ["{{ 1 + 1 }}", "{% set x = 1 %}", "{# nothing #}", "{{ lookup('pipe', 'id') }}", "{{ broken"])
def test_braces_in_a_value_are_text(books: Books, text: str) -> None:
    """Whoever names a rack in an inventory runs nothing on the machine of whoever runs `up`."""
    order = dataclasses.replace(
        books.order("    - {{name: Say, ansible.builtin.fail: {{msg: '{{{{ spec.racks[0].name }}}} {{{{ secrets.word }}}}'}}}}\n"), secrets={"word": text}
    )
    order = dataclasses.replace(order, variables={"spec": {"racks": [{"name": text}]}})
    assert [failure.message for failure in playbook.run(order, books.work()).failures] == [f"{text} {text}"]
