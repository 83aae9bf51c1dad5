"""Rails are taken back as they were set up: the host keeps them unless a new connection confirms that it may lose them.

The program runs with a network, /etc and /var/lib of its own, on a kernel's real interfaces. systemd is a stand-in that starts nothing by itself: the test says which timer fires.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root

PROGRAM = project_root() / "playbooks/roles/rails/files"
RAIL = {"name": "rail0", "mac": "02:00:00:00:00:11", "address": "10.40.0.11/24", "mtu": 1400}
WORLD = """
set -e
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /mnt
mkdir /mnt/etc /mnt/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/work /etc
mount -t tmpfs tmpfs /var/lib
mkdir -p /etc/network/interfaces.d
echo 'source /etc/network/interfaces.d/*' >/etc/network/interfaces
ip link add eth1 type veth peer name other
ip link set other up
ip link set eth1 address 02:00:00:00:00:11
exec "$@"
"""
STAND_INS = {"systemd-run": "exit 0", "systemctl": "case $1 in is-active) exit 3;; esac", "ifup": "exit 0"}
PLAYED = """
import json, subprocess, sys
def rails(*words, **order):
    ended = subprocess.run([sys.executable, "-B", "-m", "rails", *words], input=json.dumps(order), capture_output=True, text=True)
    return json.loads(ended.stdout) if ended.returncode == 0 else ended.stderr.strip()
def is_set_up():
    return rails("status", interfaces=RAILS)["changes"] == []
def kernel():
    def shown(*words):
        return json.loads(subprocess.run(["ip", "-json", "-4", *words], capture_output=True, text=True, check=True).stdout or "[]")
    link = shown("link", "show", "eth1")[0]
    return [link["mtu"], "UP" in link["flags"], shown("address", "show", "eth1"), shown("rule", "show"), shown("route", "show", "table", "all")]
def set_up():
    rails("begin", interfaces=RAILS); rails("apply"); rails("confirm")
"""


def played(folder: Path, text: str) -> list[Any]:
    """Run a program in a world of its own, and give the value of its variable `found`."""
    for name, body in STAND_INS.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    program = f"RAILS = {[RAIL]!r}\n{PLAYED}\n{text}\nprint(json.dumps(found))"
    command = ["unshare", "--mount", "--net", "sh", "-c", WORLD, "sh", sys.executable, "-c", program]
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    ended = subprocess.run(command, cwd=PROGRAM, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if "Operation not permitted" in ended.stderr:
        pytest.skip("a network of its own takes root")
    assert ended.returncode == 0, ended.stderr
    found: list[Any] = json.loads(ended.stdout)
    return found


def test_a_removal_that_is_confirmed_gives_back_what_was_there(tmp_path: Path) -> None:
    text = """
before = kernel(); set_up(); found = [is_set_up(), rails("begin", interfaces=[], confirm_within_s=60), is_set_up()]
rails("apply"); found += [rails("result"), rails("confirm")["pending"], kernel() == before, rails("begin", interfaces=[])]
"""
    removal = {"changes": ["removed"], "pending": True}
    assert played(tmp_path, text) == [True, removal, True, {"applied": True}, False, True, {"changes": [], "pending": False}]


def test_a_removal_that_nobody_confirms_is_taken_back(tmp_path: Path) -> None:
    text = """
set_up(); rails("begin", interfaces=[], confirm_within_s=60); rails("apply"); gone = not is_set_up(); rails("rollback")
found = [gone, is_set_up(), rails("confirm"), rails("begin", "--check", interfaces=[])["changes"]]
"""
    gone, is_back, refused, still = played(tmp_path, text)
    assert (gone, is_back, still) == (True, True, ["removed"])
    assert "were taken back: nobody confirmed them over a new SSH connection in time" in refused


def test_what_was_never_confirmed_leaves_nothing_to_remove(tmp_path: Path) -> None:
    text = """
before = kernel(); rails("begin", interfaces=RAILS); rails("apply")
found = [rails("begin", interfaces=[]), kernel() == before, rails("begin", interfaces=[])]
"""
    nothing = {"changes": [], "pending": False}
    assert played(tmp_path, text) == [nothing, True, nothing]
