"""Run roles of the playbooks on plain servers, without a stack: by Ansible as finishing runs it, and as the servers' owner."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.finish import module_cache
from components.finish.playbook import PLAYBOOKS
from components.finish.supervise import UNPACKED
from tests.hosts.deployment import QUICK_SSH
from tests.hosts.plain import PlainHosts

WITHIN_S = 600


def run(
    servers: PlainHosts, names: Sequence[str], roles: Sequence[str], variables: Mapping[str, Any], *, folder: Path, group: str = "all"
) -> subprocess.CompletedProcess[str]:
    """Run roles in their order on servers; what Ansible prints and its exit status come back.

    Args:
        roles: `role`, or `role/tasks` for another task file than `main`.
        folder: where the files of the run go.
    """
    hosts = {name: {"ansible_host": servers[name].address, "ansible_user": servers.user} for name in names}
    known = "".join(f"{servers[name].address} {servers[name].host_key}\n" for name in names)
    tasks = [{"ansible.builtin.include_role": _role(role)} for role in roles]
    play = [{"hosts": group, "gather_facts": False, "become": True, "tasks": tasks}]
    files = {"inventory.json": {group: {"hosts": hosts}}, "variables.json": dict(variables), "play.yml": play}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "known_hosts").write_text(known)
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
        "ANSIBLE_FILTER_PLUGINS": str(PLAYBOOKS / "filter_plugins"),  # Ansible finds them beside a play, and this one is elsewhere
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_PRIVATE_KEY_FILE": str(servers.identity),
        "ANSIBLE_SSH_ARGS": f"-F none -o UserKnownHostsFile={folder / 'known_hosts'} -o BatchMode=yes -o ControlMaster=no {' '.join(QUICK_SSH)}",
    }
    modules = module_cache.folder(PLAYBOOKS)
    program = [sys.executable, "-m", "components.finish.ansible_program", str(modules or ""), str(UNPACKED / modules.name) if modules else ""]
    words = [*program, "-i", str(folder / "inventory.json"), "-e", f"@{folder / 'variables.json'}", str(folder / "play.yml")]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=WITHIN_S, check=False)


def changed(done: subprocess.CompletedProcess[str]) -> int:
    """Count the tasks that changed something on any server, of a run that succeeded."""
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    recap = done.stdout.rpartition("PLAY RECAP")[2]
    return sum(int(word.removeprefix("changed=")) for word in recap.split() if word.startswith("changed="))


def _role(role: str) -> dict[str, str]:
    name, _, tasks = role.partition("/")
    return {"name": name, **({"tasks_from": tasks} if tasks else {})}
