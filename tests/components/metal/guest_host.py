"""A folder that holds a host's files, and the program on hosts, sent to it as it is sent to real ones."""

import hashlib
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.metal import guest_program

OURS = {"stack": "lab", "owner": "/srv/ours", "token": "aaaa"}
THEIRS = {"stack": "hpc", "owner": "/srv/theirs", "token": "bbbb"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOwnKey somebody@somewhere"
KILL = """
import os
_left = [{number}]
def _dying(call):
    def dies(*args, **named):
        if _left[0] == 0:
            os._exit(9)
        _left[0] -= 1
        return call(*args, **named)
    return dies
for _name in ("replace", "unlink", "rename", "rmdir", "symlink", "makedirs", "chmod"):
    setattr(os, _name, _dying(getattr(os, _name)))
"""
"""Sent before the program: the process ends at the call of this number that changes files."""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host's files: users, an own table of hosts, an own key of root."""
    files = {
        "etc/passwd": "root:x:0:0::/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
        "etc/motd": "our server\n",
        "etc/ssh/ssh_host_rsa_key": "a key\n",
        "root/.ssh/authorized_keys": "ssh-rsa AAAA admin\n",
        "usr/local/bin/tool": "#!/bin/sh\n",
        "home/ubuntu/thesis": "words\n",
        "proc/self/mountinfo": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "etc/ssh/ssh_host_rsa_key").chmod(0o600)
    (tmp_path / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    for folder in ("var/lib/dpkg", "var/spool/cron", "run", "opt", "usr/lib", "usr/sbin", "var/lib/systemd/timers"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def sent(root: Path, do: str, *, before: str = "", **order: Any) -> dict[str, Any]:
    """Send an order; `before` is Python that runs first."""
    done = subprocess.run(
        [sys.executable, "-IS", "-"], input=before.encode() + guest_program.text({"do": do, "root": str(root), **order}), capture_output=True, check=False
    )
    return dict(guest_program.answer(done.stdout)) if done.returncode == 0 else {"ok": False, "killed": done.returncode, "said": done.stderr.decode()}


def some_of(points: Sequence[int]) -> list[Any]:
    """Give points at which a run is killed: every third one in each test run, all of them in the long one."""
    return [pytest.param(one, marks=() if place % 3 == 0 else pytest.mark.soak) for place, one in enumerate(points)]


def tree(root: Path) -> dict[str, str]:
    """Describe every file of the host but those that only a run leaves."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(("run", "proc")):
            continue
        status = path.lstat()
        if path.is_symlink():
            found[name] = f"link {path.readlink()}"
        elif path.is_dir():
            found[name] = f"folder {stat.S_IMODE(status.st_mode):o}"
        else:
            found[name] = f"file {stat.S_IMODE(status.st_mode):o} {hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    return found


def finish(root: Path) -> None:
    """Change what finishing changes."""
    (root / "etc/slurm").mkdir(exist_ok=True)
    (root / "etc/slurm/slurm.conf").write_text("ClusterName=lab\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n10.0.0.1 head\n")
    (root / "etc/passwd").write_text((root / "etc/passwd").read_text() + "slurm:x:64030:64030::/:/sbin/nologin\n")
    (root / "etc/ssh/ssh_host_rsa_key").unlink(missing_ok=True)
    (root / "etc/motd").unlink(missing_ok=True)
    (root / "etc/motd").symlink_to("/usr/lib/clusterwright/motd")
    (root / "etc/localtime").unlink(missing_ok=True)
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/UTC")
    (root / "usr/lib/clusterwright").mkdir(parents=True, exist_ok=True)
    (root / "usr/lib/clusterwright/boot").write_text("#!/bin/sh\n")
    for place in ("usr/sbin/clusterwright-database", "var/lib/systemd/timers/stamp-clusterwright-database.timer"):
        (root / place).write_text("")
    (root / "var/lib/slurm").mkdir(exist_ok=True)
    (root / "var/lib/slurm/job").write_text("")


def adopted(root: Path) -> dict[str, Any]:
    """Adopt a host, open a round of changes as every finishing does, finish it, record what that left."""
    answer = sent(root, "adopt", **OURS, admin_key=KEY)
    assert answer["ok"], answer
    assert sent(root, "open", token="aaaa")["ok"]
    finish(root)
    assert sent(root, "record", token="aaaa")["ok"]
    return answer
