"""Host lists, the fleet table, the memory and Slurm's texts: what is read and written."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints import hostlist
from blueprints.project import project_root
from components.elastic import memory, model, slurm
from components.elastic import table as fleet_table
from components.elastic.memory import Busy, Hold, Memory, Store
from tests.elastic.values import NOW, launch

# Fleet table

RECORD: dict[str, Any] = {
    "version": 1,
    "target": "aws",
    "cluster": "starter",
    "stack": "prod",
    "region": "us-east-1",
    "domain": "starter.internal",
    "node_sets": [
        {
            "name": "train",
            "pool": "train",
            "prefix": "train",
            "count": 16,
            "minimum": 2,
            "partition": "train",
            "launch_template": "lt-1",
            "launch_template_version": "3",
            "machine": "p5.48xlarge",
            "subnets": ["subnet-1"],
            "capacity": {"kind": "reserved", "id": "cr-1"},
            "placement_group": None,
            "boot_timeout_s": 1800,
        }
    ],
}


def test_a_fleet_table_is_read() -> None:
    [node_set] = fleet_table.read(RECORD).node_sets
    assert (node_set.count, node_set.minimum, node_set.capacity_id, node_set.pool_most) == (16, 2, "cr-1", None)
    assert [node for node in node_set.nodes if node_set.always_runs(node)] == ["train-0", "train-1"]
    assert node_set.template == "3"
    assert node_set.on_failure == "", "an older table says nothing of it"
    [other] = fleet_table.read({**RECORD, "node_sets": [{**RECORD["node_sets"][0], "on_failure": "keep"}]}).node_sets
    assert (other.on_failure, other.start) == ("keep", node_set.start)


def test_what_only_the_adapter_reads_is_left_to_it_as_it_is() -> None:
    table = fleet_table.read(RECORD)
    assert table.cloud == {"region": "us-east-1"}
    assert table.node_sets[0].start == {"launch_template": "lt-1", "subnets": ["subnet-1"], "placement_group": None}


@pytest.mark.parametrize("name", ["train-16", "train-00", "train-", "other-0", "train-a-0", "train-x"])
def test_names_that_are_not_of_a_set_have_no_number(name: str) -> None:
    assert fleet_table.read(RECORD).node_sets[0].number(name) is None


def test_nodes_of_another_scheduler_are_left_aside() -> None:
    record = {**RECORD, "node_sets": [{**RECORD["node_sets"][0], "partition": None}]}
    assert fleet_table.read(record).node_sets == ()


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({**RECORD, "version": 2}, "version 2"),
        ({}, "version None"),
        ({name: value for name, value in RECORD.items() if name != "stack"}, "stack"),
        ({**RECORD, "node_sets": [{"name": "train"}]}, "partition"),
    ],
)
def test_a_fleet_table_that_is_not_whole_says_what_is_missing(record: dict[str, Any], said: str) -> None:
    with pytest.raises(fleet_table.Unreadable, match=said):
        fleet_table.read(record)


# Memory

FULL = Memory(
    holds={"train": Hold("clusterwright: train is held", NOW, None, times=2, template="3")},
    launches=(launch("train-0", "train-1", jobs=(7,)),),
    failed_boots={"train": 3},
    last_failures={"train": "train-0: 7 of 8 GPUs"},
    failed_launches={"train": 2},
    missing={"train-2": NOW},
    terminated={"i-1": NOW},
    requeued={7: NOW},
    lives={"train-3": "i-3"},
    looked_at=NOW,
)


def test_what_is_remembered_is_read_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.read() == Memory()
    store.write(FULL)
    assert store.read() == FULL
    assert [path.name for path in store.file.parent.iterdir()] == ["elastic.json"], "nothing half-written stays"


def test_the_memory_of_a_version_that_kept_no_reasons_is_read() -> None:
    record = {name: value for name, value in memory.encode(FULL).items() if name != "last_failures"}
    assert memory.decode(record) == dataclasses.replace(FULL, last_failures={})


def test_what_is_the_same_is_not_written_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(FULL)
    before = store.file.stat().st_ino
    store.write(FULL)
    assert store.file.stat().st_ino == before
    store.write(dataclasses.replace(FULL, failed_boots={}))
    assert store.file.stat().st_ino != before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_makes_belongs_to_slurm_s_user(tmp_path: Path) -> None:
    """Root runs the program by hand; the next run may be Slurm's."""
    os.chown(tmp_path, 4711, 4712)
    store = Store(tmp_path)
    with store.lock(within_s=0):
        store.write(FULL)
    made = [store.folder, *store.folder.iterdir()]
    assert {(path.name, path.stat().st_uid, path.stat().st_gid) for path in made} == {(name, 4711, 4712) for name in ("clusterwright", "lock", "elastic.json")}


@pytest.mark.parametrize("text", ["", "{", '{"form": 2}', '{"form": 1}', "[]"])
def test_a_memory_that_cannot_be_read_is_an_error_and_stays(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    store.write(FULL)
    store.file.write_text(text)
    with pytest.raises(memory.Unreadable, match=str(store.file)):
        store.read()
    assert store.file.read_text() == text


def test_a_memory_that_cannot_be_written_leaves_the_old_one_and_nothing_half_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(FULL)
    half = store.file.with_name(f".{store.file.name}.{os.getpid()}")
    half.symlink_to("/dev/full")  # writes to it fail with ENOSPC (full(4))
    with pytest.raises(OSError, match="No space left"):
        store.write(Memory())
    assert store.read() == FULL
    assert [path.name for path in store.file.parent.iterdir()] == ["elastic.json"]


HOLDS = """
import pathlib, sys
from components.elastic.memory import Store
with Store(pathlib.Path(sys.argv[1])).lock(within_s=60):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_runs_do_not_overlap_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=project_root()) as other:
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        with pytest.raises(Busy), Store(tmp_path).lock(within_s=0.1):
            pass
        other.kill()
    with Store(tmp_path).lock(within_s=0):
        pass


# Slurm's texts

SHOWN = """\
NodeName=train-0 Arch=x86_64 CoresPerSocket=2 CPUAlloc=1 NodeAddr=10.103.193.0 NodeHostName=train-0 Version=24.11.5 OS=Linux 6.1 #1 SMP State=MIXED+CLOUD ThreadsPerCore=1 Partitions=train \
BootTime=1795298981 Reason=clusterwright: spot notice [root@1795298981] Comment=a [b@c] d
NodeName=train-1 CoresPerSocket=2 NodeAddr=train-1 NodeHostName=train-1 State=DOWN*+CLOUD+POWERED_DOWN Partitions=train BootTime=None Reason=Not responding [slurm@1795298981]
NodeName=train-2 CoresPerSocket=2 NodeAddr=train-2 NodeHostName=train-2 State=IDLE+CLOUD+NOT_RESPONDING+POWERING_UP Partitions=train BootTime=None
"""


def test_nodes_are_read() -> None:
    nodes = slurm.parse_nodes(SHOWN)
    assert [*nodes] == ["train-0", "train-1", "train-2"]
    assert (nodes["train-0"].base, nodes["train-0"].reason, nodes["train-0"].address) == ("mixed", "clusterwright: spot notice", "10.103.193.0")
    assert nodes["train-1"].base == "down"
    assert nodes["train-1"].flags == {"cloud", "powered_down", "not_responding"}
    assert (nodes["train-1"].reason, nodes["train-1"].reason_by, nodes["train-0"].reason_by) == ("Not responding", "slurm", "root")
    assert nodes["train-2"].is_starting
    assert (nodes["train-2"].reason, nodes["train-2"].reason_by) == ("", "")


def test_jobs_and_our_reservations_are_read() -> None:
    [job] = slurm.parse_jobs("7|CONFIGURING|train-[0-1]\n8|PENDING|\n")
    assert (job.id, job.state, job.nodes) == (7, "configuring", ("train-0", "train-1"))
    text = (
        "ReservationName=maint StartTime=1 EndTime=2 Nodes=train-0 NodeCnt=1\n"
        "ReservationName=clusterwright-lease-train StartTime=1795299701 EndTime=1826835701 Nodes=train-[0-5] NodeCnt=6\n"
    )
    [one] = slurm.parse_reservations(text)
    assert (one.name, one.start, len(one.nodes)) == ("clusterwright-lease-train", 1795299701.0, 6)
    assert slurm.parse_reservations("No reservations in the system\n") == ()


WINDOW = "ReservationName=clusterwright-maintenance-20261201T0200-4h StartTime=1 EndTime=2 Nodes=train-[0-1] Flags=MAINT,IGNORE_JOBS State={state}\n"
OF_SOMEBODY = "ReservationName=fans StartTime=1 EndTime=2 Nodes=train-1 Flags=MAINT,OVERLAP State=ACTIVE\n"


@pytest.mark.parametrize(
    ("reserved", "kept"),
    [
        (WINDOW.format(state="ACTIVE"), []),
        (WINDOW.format(state="ACTIVE") + OF_SOMEBODY, ["train-1"]),
        (WINDOW.format(state="INACTIVE") + OF_SOMEBODY, ["train-0", "train-1"]),
        ("No reservations in the system\n", ["train-0", "train-1"]),
    ],
)
def test_a_window_of_the_blueprint_keeps_no_node_from_the_program(reserved: str, kept: list[str]) -> None:
    nodes = slurm.parse_nodes("".join(f"NodeName=train-{number} Arch=x86_64 State=IDLE+CLOUD+MAINTENANCE Partitions=train \n" for number in range(2)))
    assert [name for name, node in slurm.outside_windows(nodes, reserved).items() if node.is_kept] == kept


def test_which_jobs_go_back_to_the_queue_is_read() -> None:
    shown = "7|RUNNING|train-0\n8|CONFIGURING|train-1\n9|CONFIGURING|train-2\n10|RUNNING|train-3\n"
    may = f"{7:<20}{1:<6}{1:<6}\n{8:<20}{0:<6}{1:<6}\n{9:<20}{1:<6}{0:<6}\n{11:<20}{0:<6}{0:<6}\n"
    jobs = slurm.parse_jobs(shown, may)
    assert {job.id: job.requeues for job in jobs} == {7: True, 8: False, 9: False, 10: True}, "neither one without a batch script nor one with --no-requeue"
    assert model.Slurm({}, jobs).bound == {"train-1", "train-2"}


def test_a_list_that_is_refused_is_asked_for_one_by_one() -> None:
    asked: list[str] = []

    def refuse(command: Any) -> str:
        asked.append(command[2])
        if "train-1" in hostlist.expand(command[2].removeprefix("nodename=")):
            raise slurm.Unanswered("Invalid node state specified")
        return ""

    assert slurm.Commands(refuse).set_state(["train-0", "train-1"], "IDLE") == ["Invalid node state specified"]
    assert asked == ["nodename=train-[0-1]", "nodename=train-0", "nodename=train-1"]


def test_addresses_are_set_in_the_order_of_their_nodes() -> None:
    asked: list[list[str]] = []

    def note(command: Any) -> str:
        asked.append(list(command))
        return ""

    slurm.Commands(note).set_addresses([("train-10", "10.0.0.3"), ("train-2", "10.0.0.1")])
    assert asked == [["scontrol", "update", "nodename=train-10,train-2", "nodeaddr=10.0.0.3,10.0.0.1"]]


def test_a_job_is_told_what_it_waits_for_and_one_that_is_gone_is_a_complaint() -> None:
    asked: list[list[str]] = []

    def slurmctld(command: Any) -> str:
        asked.append(list(command))
        if "jobid=8" in command:
            raise slurm.Unanswered("slurm_update error: Invalid job id specified")
        return ""

    assert slurm.Commands(slurmctld).explain([7, 8], "clusterwright: queued") == ["slurm_update error: Invalid job id specified"]
    assert asked[0] == ["scontrol", "update", "jobid=7", "admincomment=clusterwright: queued"]


def test_a_reservation_is_made_beside_others_and_moved_in_place() -> None:
    asked: list[list[str]] = []

    def slurmctld(command: Any) -> str:
        """Answer as 24.11 does where the nodes are in another reservation already."""
        asked.append(list(command))
        if command[1] == "create" and not {"flags=IGNORE_JOBS,OVERLAP"} & set(command):
            raise slurm.Unanswered("Error creating the reservation: Requested reservation overlaps with another reservation")
        return ""

    commands = slurm.Commands(slurmctld)
    commands.reserve("lease", ["train-0", "train-1"], NOW, is_there=False)
    commands.reserve("lease", ["train-0"], NOW, is_there=True)
    assert [command[1] for command in asked] == ["create", "update"]
    assert asked[1][2:] == ["reservationname=lease", "nodes=train-0", f"starttime=uts{NOW:.0f}", "duration=UNLIMITED"]


def test_a_program_that_fails_or_is_missing_is_one_line() -> None:
    with pytest.raises(slurm.Unanswered, match="`false` failed"):
        slurm.run(["false"])
    with pytest.raises(slurm.Unanswered, match="can't be started"):
        slurm.run(["no-such-program"])


def test_the_record_of_the_memory_is_plain_json() -> None:
    assert json.loads(json.dumps(memory.encode(FULL)))["form"] == memory.FORM
