"""The process around one playbook run; started by `playbook.run`, which speaks with it over its standard input and output. Its argument says to
people who look at the list of processes what it is for.

Whatever Ansible starts (forks, ssh with its persistent masters) becomes a child of this process when its own parent ends, so that at the end, which is also when standard input closes
because the process that wanted the run is gone, all of it can be ended and the folder with the secrets removed.
"""

import contextlib
import ctypes
import json
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import engine_watch
from ..files import disk_space, memory_folders

PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
TEMPLATE_MARKS = ("{{", "{%", "{#")
MESSAGE_KEYS = ("msg", "stderr", "stdout", "module_stderr", "reason")
MESSAGE_LIMIT = 2000
REFUSED = "Permission denied (publickey"
"""What ssh says when the host has no such key."""
SPACE_WITHIN_S = 30
ROLE_BEGINS = re.compile(r"^(?:(?P<role>\S+) : )?Validating arguments against arg spec '[^']+'(?: - (?P<purpose>.+))?$")
"""Ansible's own first task of each role that declares its arguments; its name ends in what the role does."""
IN_ROLE = re.compile(r"^(?P<role>\S+) : (?P<task>.+)$")
ALIVE_EVERY_S = 8
UNPACKED = Path("/run/clusterwright-modules")
"""Modules on hosts; gone with a reboot. The root of an image and this machine get none: they would keep it."""
CONNECTION = "ansible_connection"
"""Names how a host is reached that is not reached by SSH."""
ALIVE_MISSED = 3


def main() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.umask(0o077)
    memory_folders.clear_orphans()
    order = json.loads(sys.stdin.readline())
    folder = memory_folders.make_folder()
    ending = threading.RLock()  # a signal may come while its own thread is ending already

    def end(status: int) -> None:
        with ending:
            _end_descendants()
            memory_folders.remove(folder)
            os._exit(status)

    def watch() -> None:
        sys.stdin.read()  # returns when the other side is gone or wants no more
        end(1)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: end(1))
    threading.Thread(target=watch, daemon=True).start()
    try:
        _run(order, folder)
    except Exception as error:
        with contextlib.suppress(OSError):  # the reader may have gone
            _emit(event="end", status="error", through=[], changed=0, detail=f"{type(error).__name__}: {error}")
    finally:
        end(0)


def as_text(value: Any) -> Any:
    """Give values of variables in which Ansible evaluates nothing: a blueprint's description or a rack's name from an inventory may hold braces.

    Source: ansible-core 2.19, _internal/_json/_profiles/_legacy.py, which reads files of variables.
    """
    if isinstance(value, Mapping):
        return {key: as_text(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_text(one) for one in value]
    return {"__ansible_unsafe": value} if isinstance(value, str) and any(mark in value for mark in TEMPLATE_MARKS) else value


def _run(order: dict[str, Any], folder: Path) -> None:
    import ansible_runner

    key, known_hosts, secrets, variables = folder / "key", folder / "known_hosts", folder / "secrets.json", folder / "variables.json"
    key.write_text(order["private_key"])
    known_hosts.write_text("".join(f"{line}\n" for line in order["known_hosts"]))
    secrets.write_text(json.dumps(as_text({"secrets": order["secrets"]})))
    variables.write_text(json.dumps(as_text({**order["variables"], "stack_name": order["stack"]})))  # the name is for the commands that messages name
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps(order["inventory"]))
    playbooks = Path(order["playbooks"])
    environment = {
        "ANSIBLE_CONFIG": str(playbooks / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
        "ANSIBLE_PRIVATE_KEY_FILE": str(key),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        # A host that dies sends no farewell: without the keep-alive a connection waits for it for a quarter of an hour.
        "ANSIBLE_SSH_ARGS": f"-o ControlMaster=auto -o ControlPersist=60s -o UserKnownHostsFile={known_hosts} -o IdentitiesOnly=yes "
        f"-o ConnectTimeout=10 -o ServerAliveInterval={ALIVE_EVERY_S} -o ServerAliveCountMax={ALIVE_MISSED}",
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
    }
    tally = _Tally(frozenset(order["keep"]))
    unpacked = "" if order["of_image"] or CONNECTION in inventory.read_text() else str(UNPACKED / Path(order["modules"]).name)
    program = ["-m", "components.finish.ansible_program", order["modules"], unpacked if order["modules"] else "", order["playbook"]]
    runner = ansible_runner.interface.run(
        private_data_dir=str(folder),
        project_dir=str(playbooks),
        binary=sys.executable,
        inventory=str(inventory),
        cmdline=shlex.join([*program, "-e", f"@{variables}", "-e", f"@{secrets}"]),
        envvars=environment,
        limit=order["limit"] or None,
        forks=order["forks"],
        quiet=True,
        suppress_env_files=True,
        event_handler=tally.take,
        rotate_artifacts=0,
    )
    if runner.status != "successful" and tally.failed and not order["of_image"]:
        _report_space(tally.failed, folder, order, inventory=inventory, environment=environment)
    detail = "" if runner.status == "successful" else tally.last_words or f"ansible ended with status {runner.status}"
    _emit(event="end", status=runner.status, through=sorted(tally.through), changed=tally.changed, detail=detail[:MESSAGE_LIMIT])


def _report_space(hosts: set[str], folder: Path, order: dict[str, Any], *, inventory: Path, environment: dict[str, str]) -> None:
    """Say which file systems of failed hosts are full: whatever failed there, it may have failed for lack of space. A raw command needs no space itself."""
    import ansible_runner

    is_server = "in_place" in (order["variables"].get("provided") or {})

    def take(event: dict[str, Any]) -> bool:
        detail = event.get("event_data", {})
        if event["event"] == "runner_on_ok" and (text := disk_space.sentence(detail["host"], str(detail["res"].get("stdout", "")))):
            _emit(event="space", host=detail["host"], text=f"{text}; {disk_space.on_host(detail['host'], order['stack'], is_server=is_server)}")
        return False

    ansible_runner.interface.run(
        private_data_dir=str(folder), ident="space", inventory=str(inventory), envvars=environment, host_pattern=",".join(sorted(hosts)),
        module="raw", module_args=shlex.join(disk_space.COMMAND), quiet=True, suppress_env_files=True, event_handler=take, rotate_artifacts=0,
        timeout=SPACE_WITHIN_S,
    )  # fmt: skip


class _Tally:
    """Turns Ansible's events into the few that the resource wants."""

    def __init__(self, keep: frozenset[str]):
        self._keep = keep
        self.failed: set[str] = set()
        """Hosts on which a task failed and which answer."""
        self._reached: set[str] = set()
        """Hosts that came to the end of the latest task: after a failure the others may be left behind, although no task failed on them."""
        self.through: set[str] = set()
        self.changed = 0
        self.last_words = ""
        self._begins: re.Match[str] | None = None
        """The beginning of a role, until a host begins it: every host may skip it."""

    def take(self, event: dict[str, Any]) -> bool:
        detail = event.get("event_data", {})
        match event["event"]:
            case "playbook_on_task_start":
                self._reached = set()
                self._begins = ROLE_BEGINS.match(detail["name"])
                if not self._begins:
                    role = IN_ROLE.match(detail["name"])
                    _emit(event="task", name=role["task"] if role else detail["name"], role=role["role"] if role else "")
            case "runner_on_failed" if not detail.get("ignore_errors"):
                self.failed.add(detail["host"])
                _emit(event="failed", task=detail["task"], host=detail["host"], message=disk_space.plain(_message(detail["res"])))
            case "runner_on_unreachable":
                _emit(event="failed", task=detail["task"], host=detail["host"], message=_unreachable(_message(detail["res"]), detail["host"]), unreachable=True)
            case "runner_on_failed" | "runner_on_skipped":
                self._reached.add(detail["host"])
            case "runner_on_ok":
                self._reached.add(detail["host"])
                if self._begins:
                    _emit(event="role", name=self._begins["role"] or "", purpose=self._begins["purpose"] or "")
                    self._begins = None
                self.changed += bool(detail["res"].get("changed"))
                if detail["task"] in self._keep:
                    _emit(event="result", task=detail["task"], host=detail["host"], result=detail["res"])
            case "playbook_on_stats":
                # Ansible names the hosts that succeeded only at its end; a run that died before names none, so that none counts as finished.
                self.through = self._reached - set(detail["failures"]) - set(detail["dark"])
            case "verbose" | "warning" | "error" | "deprecated":
                self.last_words = (self.last_words + "\n" + event.get("stdout", "")).strip()[-MESSAGE_LIMIT:]
        return False  # nothing of it is kept as a file


def _unreachable(said: str, host: str) -> str:
    if REFUSED not in said:
        return f"the host does not answer: {said}"
    stack = sys.argv[1].partition(" ")[0]
    return f"the host refuses the stack's key: {said}\nA server of your own gets the key again: clusterwright up --stack {stack}\nAny other host has it on a new disk: clusterwright rebuild --stack {stack} {host}"


def _message(result: dict[str, Any]) -> str:
    """What a failed task said, in the order in which it helps; loops give the first failing item."""
    for item in result.get("results", ()):
        if item.get("failed"):
            return _message(item)
    said = [str(result[name]).strip() for name in MESSAGE_KEYS if result.get(name)]
    return "\n".join(dict.fromkeys(said))[:MESSAGE_LIMIT] or "no message"


def _emit(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def _end_descendants() -> None:
    """Kill every process below this one; orphans were handed to us by the kernel."""
    me = os.getpid()
    while children := engine_watch.children(me):
        for pid in children:
            for below in (*_all_below(pid), pid):
                try:
                    os.kill(below, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        for pid in children:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                continue


def _all_below(pid: int) -> list[int]:
    found = []
    for child in engine_watch.children(pid):
        found += [*_all_below(child), child]
    return found


if __name__ == "__main__":
    main()
