"""Start and end the service's process, which outlives the engine as hosts do: in the stack's own group, so that nothing of it is left when the stack goes."""

import functools
import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

from blueprints.project import project_root

from ..machine import cgroup, command, record
from ..machine import host as hosts
from ..machine.names import SERVICE_SOCKET, StackNames

PASSED_ON = ("CLUSTERWRIGHT_CACHE", "XDG_CACHE_HOME")
"""Beside what every tool may see: where the project's own folders are."""


def is_serving(names: StackNames) -> bool:
    """Say whether the service runs, with the code that is here now."""
    known = record.read(names.service_record)
    if known is None or known["code"] != code():
        return False
    if cgroup.has_systemd():  # which starts it anew when it fails, as another process
        return command.succeeds("systemctl", "--quiet", "is-active", names.service_unit)
    return hosts.start_time(known["pid"]) == int(known["started"])


def ensure(names: StackNames) -> None:
    """Start the service unless it runs. Call it under the stack's lock (`lock`)."""
    if is_serving(names):
        return
    end(names)
    names.elastic.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "components.local.elastic", names.stack]
    environment = {**command.environment(), **{name: os.environ[name] for name in PASSED_ON if name in os.environ}, "PYTHONPATH": str(project_root())}
    output = names.elastic / "service.log"
    if cgroup.has_systemd():
        settings = [f"--setenv={name}={value}" for name, value in environment.items()]
        properties = [f"--property={one}" for one in ("Type=exec", "Restart=on-failure", f"StandardOutput=append:{output}", f"StandardError=append:{output}")]
        command.run("systemd-run", "--quiet", "--collect", f"--unit={names.service_unit}", f"--slice={names.slice}", *properties, *settings, *argv)
        pid = int(command.run("systemctl", "show", "--property=MainPID", "--value", names.service_unit))
    else:
        groups = cgroup.make(names.service_cgroup)
        join = "".join(f"echo $$ > {shlex.quote(str(group))} && " for group in groups)
        with output.open("ab") as log:
            process = subprocess.Popen(
                ["/bin/sh", "-c", f"{join}exec {shlex.join(argv)}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment, cwd="/",
            )  # fmt: skip
        pid = process.pid
    started = hosts.start_time(pid)
    if started is None:
        raise command.CommandFailed(f"the service of elastic pools ended at once; its log is {output}")
    record.write(names.service_record, {"pid": pid, "started": started, "code": code()})


def end(names: StackNames) -> None:
    """End the service; fine when it does not run."""
    if cgroup.has_systemd():
        command.succeeds("systemctl", "stop", names.service_unit)
    else:
        cgroup.kill(names.service_cgroup)
        cgroup.remove(names.service_cgroup)
    names.service_record.unlink(missing_ok=True)
    (names.door / SERVICE_SOCKET).unlink(missing_ok=True)  # of one that was killed: it would look as if the next one answered already


@functools.cache
def code() -> str:
    """Give a hash of the code that the service runs; it runs on with what it began with, so another code is another service."""
    total = hashlib.sha256()
    for file in sources():
        total.update(file.read_bytes())
    return total.hexdigest()[:12]


def sources() -> tuple[Path, ...]:
    """List the files of the service's code, those that other components share with it too: what a host boots with is computed there, and the engine computes the same with the code that is here now."""
    components = Path(__file__).parents[2]
    local = components / "local"
    shared = [components / name for name in ("files/atomic_files.py", "files/cache.py", "node_expectations.py", "short_names.py", "stack_name.py")]
    return tuple(
        sorted(
            [
                local / "recipe.py",
                local / "join.py",
                *local.glob("elastic/*.py"),
                *local.glob("machine/*.py"),
                *local.glob("machine/*.sh"),
                *components.glob("bootstrap/*.py"),
                *shared,
            ]
        )
    )
