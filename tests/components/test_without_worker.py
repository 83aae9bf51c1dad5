"""Tasks that ask no host are answered without a process of their own, and with what a process of their own would say."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprints.project import project_root

WHO = "{{ lookup('ansible.builtin.pipe', 'echo $PPID') }}"
"""The process that fills in values."""
TASKS: list[dict[str, Any]] = [
    {"name": "numbers", "ansible.builtin.set_fact": {"who": WHO, "deep": {"host": "{{ inventory_hostname }}", "list": ["{{ number }}", 2]}}},
    {"name": "skipped", "ansible.builtin.command": "false", "when": ["number == 1", "nothing is defined"], "register": "skipped"},
    {"name": "on one host", "ansible.builtin.command": "echo {{ deep.host }} {{ number }}", "when": "number == 2", "register": "ran", "changed_when": False},
    {"name": "looped", "ansible.builtin.set_fact": {"looped": "{{ looped | default([]) + [item] }}"}, "loop": ["{{ number }}", 3]},
    {"name": "of a list", "ansible.builtin.include_tasks": "more.yml", "vars": {"given": "{{ number + 1 }}"}},
    {"name": "no list", "ansible.builtin.include_tasks": "missing.yml", "when": "number > 2"},
    {"name": "holds", "ansible.builtin.assert": {"that": "number > 0", "quiet": True}},
    {"name": "fails on one", "ansible.builtin.assert": {"that": "number == 1", "fail_msg": "number {{ number }} of {{ deep.host }}"}, "ignore_errors": True, "register": "held"},
    {"name": "undefined", "ansible.builtin.command": "true", "when": "nothing > 1", "ignore_errors": True},
    {"name": "secret", "ansible.builtin.set_fact": {"word": "marzipan"}, "no_log": True},
    {"name": "once", "ansible.builtin.set_fact": {"once": "{{ inventory_hostname }}"}, "run_once": True},
    {"name": "lent", "ansible.builtin.set_fact": {"lent": "{{ inventory_hostname }}"}, "delegate_to": "two", "delegate_facts": True, "when": "number == 1"},
    {"name": "lists", "ansible.builtin.include_tasks": "more.yml", "loop": [1, 2], "loop_control": {"loop_var": "given"}, "when": "given == number"},
    {"name": "patient", "ansible.builtin.assert": {"that": "number == 2"}, "until": "patient is succeeded", "retries": 1, "delay": 0, "register": "patient", "ignore_errors": True},
    {
        "when": "number == 1",
        "block": [
            {"name": "of a block", "ansible.builtin.assert": {"that": "false"}},
            {"name": "left out", "ansible.builtin.command": "true"},
        ],
        "rescue": [{"name": "rescued", "ansible.builtin.set_fact": {"after": "{{ ansible_failed_task.name }}"}}],
        "always": [{"name": "always", "ansible.builtin.command": "true", "when": "after is defined", "changed_when": True, "notify": "told"}],
    },
    {"ansible.builtin.meta": "flush_handlers"},
    {"name": "role", "ansible.builtin.include_role": {"name": "greets"}, "vars": {"greets_whom": "{{ deep.host }}"}},
    {"name": "role without what it needs", "ansible.builtin.include_role": {"name": "greets"}, "ignore_errors": True},
]  # fmt: skip
HANDLERS = [
    {"name": "told", "ansible.builtin.set_fact": {"told": "{{ after }}"}},
    {"name": "told of nothing", "listen": "told", "ansible.builtin.command": "false", "when": "number > 1"},
]
MORE = [{"name": "seen", "ansible.builtin.set_fact": {"seen": "{{ [given, skipped is skipped, ran.stdout | default('none')] }}"}}]
OPTIONS = {"argument_specs": {"main": {"short_description": "greet", "options": {"greets_whom": {"type": "str", "required": True}}}}}
GREETS = [{"name": "greeting", "ansible.builtin.set_fact": {"greeting": "hello {{ greets_whom }} {{ number }}"}}]
PLAIN = "import sys\nfrom ansible.cli import playbook\nsys.exit(playbook.main())\n"
"""`ansible-playbook` itself."""
CALLBACK = """
import json, os
from ansible.plugins.callback import CallbackBase

class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME, CALLBACK_NEEDS_ENABLED = 2.0, "notification", "each", True

    def say(self, result, **_):
        with open(os.environ["SAID"], "a") as file:
            print(json.dumps([result.host.get_name(), result.task.get_name(), dict(result.result)], default=str), file=file)

    v2_runner_on_ok = v2_runner_on_failed = v2_runner_on_skipped = v2_runner_item_on_ok = say
"""
OF_ONE_RUN = ("start", "end", "delta")
OURS = ("-m", "components.finish.ansible_program", "", "")


@pytest.fixture
def playbooks(tmp_path: Path) -> Path:
    folder = tmp_path / "playbooks"
    files = {
        "play.yml": [{"hosts": "all", "gather_facts": False, "tasks": TASKS, "handlers": HANDLERS}],
        "more.yml": MORE,
        "roles/greets/tasks/main.yml": GREETS,
        "roles/greets/meta/argument_specs.yml": OPTIONS,
    }
    for name, document in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(yaml.safe_dump(document, sort_keys=False))
    (folder / "each.py").write_text(CALLBACK)
    python = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
    hosts = {name: {**python, "number": number} for number, name in enumerate(("one", "two"), start=1)}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    return folder


def said(folder: Path, *program: str) -> tuple[int, int, dict[str, Any]]:
    """Run the play; give its process, its status, and host → task → results."""
    lines = folder / "said"
    environment = {
        **os.environ,
        "ANSIBLE_CALLBACKS_ENABLED": "each",
        "ANSIBLE_CALLBACK_PLUGINS": str(folder),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "PYTHONPATH": str(project_root()),
        "SAID": str(lines),
    }
    command = [sys.executable, *program, "--inventory", "hosts.json", "play.yml"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        shown = run.communicate()[0]
    assert lines.exists(), shown
    found: dict[str, Any] = {}
    for host, task, result in map(json.loads, lines.read_text().splitlines()):
        found.setdefault(host, {}).setdefault(task, []).append({key: value for key, value in result.items() if key not in OF_ONE_RUN})
    lines.unlink()
    return run.pid, run.returncode, found


def test_results_are_those_of_workers(playbooks: Path) -> None:
    _, status, plain = said(playbooks, "-c", PLAIN)
    ours, same_status, found = said(playbooks, *OURS)
    process = [results.pop("numbers")[0]["ansible_facts"].pop("who") for results in (*plain.values(), *found.values())]
    assert found == plain
    assert same_status == status == 2
    of_role = {"greets : greeting", "greets : Validating arguments against arg spec 'main' - greet"}
    of_block = {"of a block", "rescued", "always", "told", "told of nothing"}
    assert set(found["one"]) == {task["name"] for task in TASKS if "name" in task} - {"numbers"} | {"seen"} | of_role | of_block
    assert [one == str(ours) for one in process] == [False, False, True, True], "no process of their own, where Ansible starts one for each"
