"""The servers of tests of adoption are what they seem, and go with the test that made them, however that ends."""

import os
import signal
import subprocess
import sys

import pytest

from blueprints.project import project_root
from components.local.machine import sweep
from components.local.machine.names import StackNames
from tests.hosts import plain
from tests.hosts.deployment import SOON_S, wait_until

pytestmark = pytest.mark.hosts

HOLD = "import sys\nfrom tests.hosts import plain\nwith plain.plain_hosts('killed', 1, interfaces=2):\n    print('running', flush=True)\n    sys.stdin.read()\n"


def test_a_killed_test_leaves_no_server() -> None:
    names = StackNames("plain-killed")
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=project_root()) as test:
        assert test.stdout
        assert test.stdout.readline() == "running\n"
        assert sweep.left_behind(names)
        os.kill(test.pid, signal.SIGKILL)
        wait_until(lambda: not sweep.left_behind(names), awaiting="the guard to remove the servers", within_s=SOON_S)


def test_a_reinstalled_server_is_another_one_at_the_same_address() -> None:
    with plain.plain_hosts("reinstalled", 1) as servers:
        server = servers["node-001"]
        before = servers.ssh(server.name, "cat /etc/machine-id; hostname"), server.host_key
        servers.reinstall(server.name)
        after = servers.ssh(server.name, "cat /etc/machine-id; hostname"), server.host_key
        assert before[0].split()[1] == after[0].split()[1] == "node-001"
        assert before[0].split()[0] != after[0].split()[0]
        assert before[1] != after[1]
