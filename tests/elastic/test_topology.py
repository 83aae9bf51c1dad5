"""Where instances run in the cloud's network reaches Slurm as switches (topology.conf(5))."""

import contextlib
import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from components.elastic import cli, decide
from components.elastic import table as fleet_table
from components.elastic.decide import topology
from components.elastic.memory import Launch, Memory
from components.elastic.model import Cloud, Instance, Life, Slurm
from components.elastic.slurm import parse_switches
from tests.elastic import gce, values
from tests.elastic.google import ZONE
from tests.elastic.world import IDLE_S, JOB_S
from tests.simcloud.google.cloud import Cloud as SimulatedCloud

TABLE = dataclasses.replace(values.table(values.node_set(count=6), values.node_set("cpu", count=2)), topology="/etc/slurm/topology.conf")
NEAR = ("zone-cluster", "b1", "s1")
PLACES: Mapping[str, tuple[str, ...]] = {"train-3": NEAR, "train-0": NEAR, "train-1": ("zone-cluster", "b1", "s2"), "train-2": ("zone-cluster", "b2", "s3")}
SWITCHES = """\
SwitchName=block-b1 Switches=subblock-s1,subblock-s2
SwitchName=block-b2 Switches=subblock-s3
SwitchName=cluster-zone-cluster Switches=block-b1,block-b2
SwitchName=subblock-s1 Nodes=train-[0,3]
SwitchName=subblock-s2 Nodes=train-1
SwitchName=subblock-s3 Nodes=train-2
SwitchName=unplaced-cpu Nodes=cpu-[0-1]
SwitchName=unplaced-train Nodes=train-[4-5]
SwitchName=all Switches=cluster-zone-cluster,unplaced-cpu,unplaced-train
"""
ANSWER = """\
SwitchName=subblock-s1 Level=0 LinkSpeed=1 Nodes=train-[0,3]
SwitchName=block-b1 Level=1 LinkSpeed=1 Nodes=train-[0-1,3] Switches=subblock-s1,subblock-s2
"""
"""As `scontrol --oneliner show topology` of 22.05.8, 23.11.4 and 24.11.5 writes it."""


def _instance(node: str, place: tuple[str, ...], *, number: int = 1) -> Instance:
    return Instance(f"{node}/{number}", node, Life.LIVE, values.OLD, place=place)


def _step(
    places: Mapping[str, tuple[str, ...]], *, known: str, memory: Memory | None = None, off: tuple[str, ...] = ("train-4", "train-5", "cpu-0", "cpu-1")
) -> str | None:
    nodes = [values.node(name, values.OFF if name in off else values.UP) for name in TABLE.owners()]
    slurm = dataclasses.replace(values.slurm(*nodes), switches=_read(known))
    cloud = Cloud(tuple(_instance(node, place) for node, place in places.items()))
    step = decide.arrange(table=TABLE, slurm=slurm, cloud=cloud, memory=memory or Memory(), now=values.NOW)
    return step.text.removeprefix(topology.HEAD) if step else None


def _read(text: str) -> topology.Switches:
    return parse_switches(text.replace("=all Switches", "=all Level=2 Nodes=all Switches"))


def test_nodes_of_a_sub_block_share_a_switch_and_those_that_are_off_have_one_too() -> None:
    assert _step(PLACES, known=topology.unplaced(TABLE)) == SWITCHES
    assert _step(dict(reversed(list(PLACES.items()))), known=topology.unplaced(TABLE)) == SWITCHES


def test_slurm_that_knows_it_is_left_alone_and_a_node_that_moved_is_moved() -> None:
    assert _step(PLACES, known=SWITCHES) is None
    moved = _step({**PLACES, "train-3": PLACES["train-2"]}, known=SWITCHES)
    assert moved is not None
    assert {"SwitchName=subblock-s1 Nodes=train-0", "SwitchName=subblock-s3 Nodes=train-[2-3]"} <= set(moved.splitlines())


def test_the_instance_of_a_node_that_is_off_says_nothing_of_its_next_one() -> None:
    text = _step(PLACES, known=SWITCHES, off=("train-3", "train-4", "train-5"))
    assert text is not None
    assert "SwitchName=unplaced-train Nodes=train-[3-5]" in text.splitlines()


@pytest.mark.parametrize(
    ("ago_s", "starts", "is_told"),
    [(topology.EVERY_S - 1, False, False), (topology.EVERY_S, False, True), (topology.EVERY_S, True, False), (topology.WAITS_S, True, True)],
)
def test_slurm_is_not_told_at_every_look_nor_while_nodes_start(ago_s: float, starts: bool, is_told: bool) -> None:
    launch = Launch("t", "train", ("train-4",), "t", (), values.NOW, is_whole=False)
    memory = Memory(arranged_at=values.NOW - ago_s, launches=(launch,) if starts else ())
    assert (_step(PLACES, known=topology.unplaced(TABLE), memory=memory) is not None) is is_told


def test_slurm_without_switches_and_a_table_without_a_file_are_left_alone() -> None:
    assert _step(PLACES, known="") is None
    known = Slurm(values.slurm(also=TABLE).nodes, switches=_read(SWITCHES))
    bare = dataclasses.replace(TABLE, topology="")
    assert decide.arrange(table=bare, slurm=known, cloud=Cloud(()), memory=Memory(), now=values.NOW) is None


def test_a_place_that_slurm_can_not_write_gets_another_name() -> None:
    (leaf,) = [name for name in topology.switches(TABLE, ["train-0"], {"train-0": ("c", "b", "s[1-2],x")}) if name.startswith("subblock-")]
    assert topology.SAFE.fullmatch(leaf)


def test_the_answer_of_slurm_is_read() -> None:
    assert parse_switches(ANSWER) == {"subblock-s1": {"train-0", "train-3"}, "block-b1": {"subblock-s1", "subblock-s2"}}


def test_a_file_is_there_before_slurm_starts_and_is_written_again_when_it_lacks_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "state" / "topology.conf"
    owner = (4711, 4712) if os.geteuid() == 0 else (os.geteuid(), os.getegid())  # only root can give files away
    table = dataclasses.replace(TABLE, topology=str(path))
    monkeypatch.setattr(fleet_table, "read", lambda _: table)
    (tmp_path / "fleet.json").write_text("{}")
    monkeypatch.setenv(cli.TABLE_VARIABLE, str(tmp_path / "fleet.json"))
    os.chown(tmp_path, *owner)
    assert (cli.main(["topology"]), capsys.readouterr().out) == (0, f"{path}\n")
    assert {(one.stat().st_uid, one.stat().st_gid) for one in (path.parent, path)} == {owner}, "the next run may be Slurm's, and root's folder is closed to it"
    assert path.read_text() == topology.unplaced(table)
    path.write_text(topology.HEAD + SWITCHES)
    assert (cli.main(["topology"]), capsys.readouterr().out) == (0, "")
    path.write_text(SWITCHES.replace("train-[4-5]", "train-4"))
    assert (cli.main(["topology"]), capsys.readouterr().out) == (0, f"{path}\n")
    assert path.read_text() == topology.unplaced(table)


def test_nodes_that_start_reach_slurm_with_the_places_that_compute_engine_gives_them(tmp_path: Path) -> None:
    with contextlib.closing(SimulatedCloud()) as cloud:
        gce.ground(cloud)
        row = gce.row(cloud, "train", machine="a3-megagpu-8g", scheduling={"onHostMaintenance": "TERMINATE"}, count=20)
        world = gce.GceWorld(cloud, tmp_path, row)
        world.use(dataclasses.replace(world.table, topology=str(tmp_path / "topology.conf")))
        (tmp_path / "topology.conf").write_text(topology.unplaced(world.table))
        world.reconfigure()
        job = world.submit(18)
        world.advance(topology.EVERY_S)
        assert job.nodes == tuple(world.live())
        places = {node: _place(cloud, str(world.instance(node)["name"])) for node in job.nodes}
        assert 1 < len(set(places.values())) < 18, "some share a sub-block"
        told = world.switches()
        assert told == topology.switches(world.table, world.nodes, places)
        assert told["unplaced-train"] == {"train-18", "train-19"}
        assert len(world.reconfigured) == 2, "nothing changed after that"
        world.advance(JOB_S + IDLE_S + topology.EVERY_S)
        assert world.live() == {}
        assert world.switches() == topology.switches(world.table, world.nodes, {})
        assert len(world.reconfigured) == 3
        assert world.wrong == []


def _place(cloud: SimulatedCloud, name: str) -> tuple[str, ...]:
    shown = gce.ask(cloud, "GET", f"zones/{ZONE}/instances/{name}")["resourceStatus"]["physicalHostTopology"]
    return tuple(shown[part] for part in ("cluster", "block", "subblock"))
