"""Which restarted nodes a roll returns to service. Stand-ins for ssh(1), systemctl(1) and scontrol(1) answer as hosts and Slurm do; the project's own programs run."""

import dataclasses
import datetime as dt
import json
import os
import sys
from pathlib import Path

import pytest

from blueprints.load import load
from components import this_machine
from components.elastic.model import GUARD
from components.inspection.in_place import Lack
from components.inspection.recorded_cluster import Known, KnownHost
from stacks.rolling import order, plan
from stacks.rolling.window import Permission

LACKING = f"{GUARD}7 of 8 GPUs"
DRAINED = "IDLE+DRAIN"

SSH = """
import json, os, subprocess, sys
argv = sys.argv[1:]
host = next(word for word in argv if word.startswith("root@")).removeprefix("root@")
environment = {**os.environ, "HOST": host, "PATH": FOLDER + ":" + os.environ["PATH"]}
program = sys.stdin.read().replace("/run/clusterwright", FOLDER)
sys.exit(subprocess.run(["sh", "-c", argv[-1]], input=program, text=True, env=environment).returncode)
"""
SYSTEMCTL = """
import json, os, sys
units = json.load(open(FOLDER + "/units.json"))[os.environ["HOST"]]
print("\\n\\n".join(units[name] for name in sys.argv[-2:]))
"""
SCONTROL = """
import json, sys
if "show" in sys.argv:
    print(open(FOLDER + "/nodes").read())
else:
    print(*sys.argv[1:], file=open(FOLDER + "/asked", "a"))
"""
SQUEUE = """
import sys
forms = {"--format=%A|%T|%N": "7|RUNNING|gpu-1", "--format=%A|%u|%L": "7|ada|1:00:00"}
print(next((forms[word] for word in sys.argv if word in forms), "7 1 1"))
"""


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    folder: Path

    def write(self, *, units: dict[str, tuple[str, str]], nodes: dict[str, tuple[str, str]]) -> None:
        """Set what hosts say of guard and daemon, and what Slurm says of nodes: state and reason."""
        named = {f"192.0.2.{name[-1]}": dict(zip((order.GUARD_UNIT, order.DAEMON_UNIT), states, strict=True)) for name, states in units.items()}
        (self.folder / "units.json").write_text(json.dumps(named))
        lines = [f"NodeName={name} State={state}{f' Reason={reason} [root@1767225600]' if reason else ''}\n" for name, (state, reason) in nodes.items()]
        (self.folder / "nodes").write_text("".join(lines))

    @property
    def asked(self) -> str:
        """What Slurm was told."""
        return (self.folder / "asked").read_text() if (self.folder / "asked").exists() else ""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, body in (("ssh", SSH), ("systemctl", SYSTEMCTL), ("scontrol", SCONTROL), ("squeue", SQUEUE)):
        (tmp_path / name).write_text(f"#!{sys.executable}\nFOLDER = {str(tmp_path)!r}\n{body}")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(order, "LOOK_EVERY_S", 0.0)
    return World(tmp_path)


@pytest.fixture
def roll(monkeypatch: pytest.MonkeyPatch) -> order.Roll:
    monkeypatch.setattr(order, "SERVES_WITHIN_S", 3.0)
    cluster = load("starter", target="local", stack="test", facts=this_machine.facts(), overrides={})
    hosts = (
        KnownHost("head-9", "control", "control", "192.0.2.9", "", ""),
        *(KnownHost(f"gpu-{n}", "train", "compute", f"192.0.2.{n}", "", "") for n in (1, 2)),
    )
    known = Known(cluster, hosts, "key", "", "", {}, (), None, ())
    members = {"train": ("gpu-1", "gpu-2")}
    decided = plan.Plan({}, (), frozenset(), members, dict.fromkeys(members["train"], plan.COMPUTE), {"train": 1}, {})
    return order.Roll("test", known, cluster, decided, order.Wishes(), say=print)


def test_a_node_returns_when_its_guard_has_passed_and_its_daemon_runs(world: World, roll: order.Roll) -> None:
    world.write(units={"gpu-1": ("active", "active")}, nodes={"gpu-1": (DRAINED, plan.REASON)})
    assert roll._returned(["gpu-1"]) == {}
    assert world.asked == "update nodename=gpu-1 state=RESUME\n"


def test_a_node_whose_guard_failed_stays_out_with_the_guards_reason_and_the_other_returns(world: World, roll: order.Roll) -> None:
    units = {"gpu-1": ("failed", "inactive"), "gpu-2": ("active", "active")}
    world.write(units=units, nodes={"gpu-1": ("DOWN+DRAIN", LACKING), "gpu-2": (DRAINED, plan.REASON)})
    assert roll._returned(["gpu-1", "gpu-2"]) == {"gpu-1": LACKING}
    assert world.asked == "update nodename=gpu-2 state=RESUME\n"


def test_what_the_guard_said_before_the_restart_does_not_count(world: World, roll: order.Roll) -> None:
    world.write(units={"gpu-1": ("active", "active")}, nodes={"gpu-1": (DRAINED, LACKING)})
    assert roll._returned(["gpu-1"]) == {}
    assert world.asked == "update nodename=gpu-1 state=RESUME\n"


@pytest.mark.parametrize(
    ("units", "state"),
    [
        (("active", "activating"), DRAINED),
        (("active", "inactive"), DRAINED),
        (("activating", "inactive"), "DOWN+DRAIN"),
        (("inactive", "active"), DRAINED),
        (("active", "active"), "DOWN+DRAIN+NOT_RESPONDING"),
    ],
)
def test_a_node_that_is_not_ready_in_time_stays_out(
    world: World, roll: order.Roll, monkeypatch: pytest.MonkeyPatch, units: tuple[str, str], state: str
) -> None:
    monkeypatch.setattr(order, "SERVES_WITHIN_S", 0.5)
    world.write(units={"gpu-1": units}, nodes={"gpu-1": (state, plan.REASON)})
    assert [*roll._returned(["gpu-1"])] == ["gpu-1"]
    assert not world.asked


def test_a_window_that_is_over_gives_nodes_with_jobs_back_and_takes_no_further_one(world: World, roll: order.Roll) -> None:
    decided = dataclasses.replace(roll._plan, due=dict.fromkeys(("gpu-1", "gpu-2"), (Lack("kernel", "2", "1"),)))
    ended = order.Wishes(permission=Permission(dt.datetime(2025, 12, 2, 6, tzinfo=dt.UTC)))
    world.write(units={}, nodes={"gpu-1": ("MIXED+DRAIN", plan.REASON), "gpu-2": ("IDLE", "")})
    assert order.Roll("test", roll._known, roll._cluster, decided, ended, say=print).carry_out() == frozenset()
    assert world.asked == "update nodename=gpu-1 state=RESUME\n"
