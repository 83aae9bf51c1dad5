"""The server's own life, and its journal."""

import signal
import subprocess
import sys
from pathlib import Path

from blueprints.project import project_root
from tests.processes import Watched, below
from tests.simcloud.store import Interface, Store, Thing

STARTS_ONE = """
import pathlib, sys
from tests.simcloud import client

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


def test_a_journal_brings_back_all_that_there_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "journal")
    name = store.new_hex()
    host = Thing("ec2.Instance", "i-1", "us-east-1", {"api": {"a": [1, None]}}, "api", 5.0, (Interface("subnet-1", "10.0.0.4", ("sg-1",), "eni-1"),))
    store.put(host)
    gone = store.put(Thing("ec2.Vpc", "vpc-1", "us-east-1", {}, "hand", 6.0))
    store.remove(gone)
    store.set_clock(60)
    store.set_setting("capacity", {"p5.48xlarge": 1})
    store.close()
    with (tmp_path / "journal").open("a") as journal:
        journal.write('{"put": {"kind"')  # killed in the middle of a line

    again = Store(tmp_path / "journal")
    assert list(again.everything()) == [host]
    assert again.taken("subnet-1") == {"10.0.0.4"}
    assert again.clock.offset_s == 60
    assert again.settings == {"capacity": {"p5.48xlarge": 1}}
    assert again.new_hex() != name
    again.put(gone)
    again.close()

    again = Store(tmp_path / "journal")
    assert list(again.everything()) == [host, gone]
    again.reset()
    assert list(again.everything()) == []
    assert again.taken("subnet-1") == set()
    again.close()
