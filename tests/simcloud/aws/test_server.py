"""The server's own life."""

import signal
import subprocess
import sys
from pathlib import Path

from blueprints.project import project_root
from tests.processes import Watched, below

STARTS_ONE = """
import pathlib, sys
from tests.simcloud.aws import client

cloud = client.SimulatedCloud(pathlib.Path(sys.argv[1]))
print("started", flush=True)
sys.stdin.read()
"""


def test_it_ends_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_ONE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=project_root()) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "started\n"
        with Watched(below(parent.pid)) as server:
            assert len(server.alive()) == 1
            parent.send_signal(signal.SIGKILL)
            server.wait_for_end()
