"""A host's clock is judged by what it was when it was asked."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.playbooks import templates

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Ask
      host_facts:
        asked_s: "{{ now(utc=true).timestamp() - other_clock_s }}"
      register: asked
      when: other_clock_s is defined
    - name: Keep
      ansible.builtin.set_fact:
        host: "{{ asked }}"
      when: other_clock_s is defined
    - name: Judge
      ansible.builtin.include_role: {name: time, tasks_from: check}
"""
HOUR_S = 3600


def test_an_answer_that_waited_is_no_wrong_clock(tmp_path: Path) -> None:
    answer = {"epoch_s": time.time() - HOUR_S, "clock_ahead_s": 0.4}
    hosts: dict[str, dict[str, Any]] = {
        "right": {"other_clock_s": 0},
        "ahead": {"other_clock_s": HOUR_S},
        "behind": {"other_clock_s": -HOUR_S},
        "asked-an-hour-ago": {"host": answer},
    }
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "inventory.json").write_text(json.dumps({"all": {"hosts": {name: {**local, **variables} for name, variables in hosts.items()}}}))
    (tmp_path / "play.yml").write_text(PLAY)
    environment = {**os.environ, "ANSIBLE_CONFIG": str(templates.PLAYBOOKS / "ansible.cfg"), "ANSIBLE_HOME": str(tmp_path)}
    words = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(tmp_path / "inventory.json"), str(tmp_path / "play.yml")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
    recap = [line.split() for line in done.stdout.partition("PLAY RECAP")[2].splitlines() if "failed=" in line]
    assert {line[0]: "failed=1" in line for line in recap} == {"right": False, "ahead": True, "behind": True, "asked-an-hour-ago": False}, done.stdout[-3000:]
