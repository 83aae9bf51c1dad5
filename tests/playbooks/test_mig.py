"""GPUs are divided as the blueprint says, again after each restart, and never under a job. nvidia-smi is simulated (simulated_nvidia_smi.py); no GPU is here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.playbooks import simulated_nvidia_smi, templates

PROGRAM = templates.PLAYBOOKS / "roles/mig/files/mig.py"
SEVEN = {"1g.5gb": 7}
IN_JOB = "the GPUs are to be divided otherwise, and a job runs here: it is done when the jobs have ended"
MIXED = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
"""In this order the driver has no place for the last one."""


class Host:
    def __init__(self, folder: Path, **changes: Any):
        self.folder, self.root = folder, folder / "root"
        self.state = simulated_nvidia_smi.write(self.root, **changes)
        self.systemctl("exit 3")
        self.wants(SEVEN)

    def wants(self, layout: dict[str, int], **changes: Any) -> None:
        gpus = {"count": len(self.gpus), "simulated": False, **({"mig": layout} if layout else {}), **changes}
        (self.folder / "expected.json").write_text(json.dumps({"check": "basic", "gpus": gpus, "mounts": []}))

    def systemctl(self, what: str) -> None:
        (self.root / "usr/bin/systemctl").write_text(f'#!/bin/sh\necho "$*" >>{self.folder}/systemctl\n{what}\n')
        (self.root / "usr/bin/systemctl").chmod(0o755)

    @property
    def systemctl_calls(self) -> list[str]:
        path = self.folder / "systemctl"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def gpus(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.state.read_text())["gpus"]
        return found

    @property
    def changes(self) -> list[list[str]]:
        """What nvidia-smi was asked to change."""
        return [one for one in json.loads(self.state.read_text())["calls"] if not one[0].startswith("--query") and one[-1] not in ("-lgi", "-lci")]

    def set(self, number: int, **changes: Any) -> None:
        state = json.loads(self.state.read_text())
        state["gpus"][number].update(changes)
        self.state.write_text(json.dumps({**state, "calls": []}))

    def forget_calls(self) -> None:
        self.set(0)

    def restart(self) -> None:
        """The driver forgets instances when the host restarts; the mode stays, and a pending one becomes effective."""
        for number, gpu in enumerate(self.gpus):
            self.set(number, instances={}, mode=gpu["pending"], clients=False, used=[])
        for folder in (self.root / simulated_nvidia_smi.CAPABILITIES, self.root / "dev/nvidia-caps", self.root / "dev/clusterwright-mig"):
            subprocess.run(["rm", "-rf", str(folder)], check=True)

    def runs(self, command: str) -> None:
        """Let one process be on the host."""
        (self.root / "proc/4242").mkdir(exist_ok=True)
        (self.root / "proc/4242/cmdline").write_text(command)

    def layouts(self) -> list[list[str]]:
        return [sorted(one["profile"] for one in gpu["instances"].values()) for gpu in self.gpus]

    def run(self, action: str) -> "subprocess.CompletedProcess[str]":
        words = [sys.executable, "-I", "-S", str(PROGRAM), action, "--expected", str(self.folder / "expected.json"), "--root", str(self.root)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    def apply(self) -> tuple[int, str]:
        done = self.run("apply")
        return done.returncode, done.stderr.strip()

    def check(self) -> str:
        done = self.run("check")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def links(self) -> dict[str, str]:
        folder = self.root / "dev/clusterwright-mig"
        return {one.name: str(one.readlink()) for one in folder.iterdir()} if folder.exists() else {}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize("layout", [SEVEN, MIXED, {"7g.40gb": 1}, {"3g.20gb": 2}, {"4g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}])
def test_a_gpu_gets_the_layout_whatever_the_order_in_the_blueprint(tmp_path: Path, layout: dict[str, int]) -> None:
    host = Host(tmp_path, minors=(0,))
    host.wants(layout)
    assert host.apply() == (0, "")
    assert host.layouts() == [sorted(profile for profile, count in layout.items() for _ in range(count))]
    assert host.check() == ""


def test_mode_and_instances_are_made_with_nvidias_own_command_line(host: Host) -> None:
    host.apply()
    seven = ["-cgi", ",".join(["1g.5gb"] * 7), "-C"]
    assert host.changes == [["-i", "0", "-mig", "1"], ["mig", "-i", "0", *seven], ["-i", "1", "-mig", "1"], ["mig", "-i", "1", *seven]]


def test_a_second_run_changes_nothing(host: Host) -> None:
    host.apply()
    before = host.links()
    host.forget_calls()
    assert host.apply() == (0, "")
    assert (host.changes, host.links()) == ([], before)


def test_after_a_restart_the_instances_are_made_again(host: Host) -> None:
    host.apply()
    host.restart()
    assert host.check() == "MIG layout: 0 of 14 instances"
    assert host.apply() == (0, "")
    assert host.layouts() == [["1g.5gb"] * 7] * 2
    assert not any("-mig" in one for one in host.changes), "the mode was still on"


def test_another_layout_replaces_the_first_and_whole_gpus_replace_all(host: Host) -> None:
    host.apply()
    host.wants({"3g.20gb": 2})
    assert host.check() == "MIG layout: 7 x 1g.5gb on each GPU instead of 2 x 3g.20gb"
    assert host.apply() == (0, "")
    assert host.layouts() == [["3g.20gb"] * 2] * 2
    host.wants({})
    assert host.check() == "MIG layout: 2 x 3g.20gb on each GPU instead of whole GPUs"
    assert host.apply() == (0, "")
    assert ([gpu["mode"] for gpu in host.gpus], host.links(), host.check()) == (["Disabled"] * 2, {}, "")


def test_a_gpu_that_is_as_it_should_be_is_left_alone(host: Host) -> None:
    host.apply()
    for words in (["-dci"], ["-dgi"], ["-cgi", "3g.20gb", "-C"]):
        subprocess.run([str(host.root / "usr/bin/nvidia-smi"), "mig", "-i", "1", *words], check=True, capture_output=True)
    host.forget_calls()
    assert host.apply() == (0, "")
    assert {one[2] for one in host.changes} == {"1"}
    assert host.layouts() == [["1g.5gb"] * 7] * 2


def test_a_host_with_whole_gpus_is_not_even_asked(host: Host) -> None:
    host.wants({})
    (host.root / "usr/bin/nvidia-smi").unlink()
    assert (host.apply(), host.check()) == ((0, ""), "")


def test_instances_that_somebody_made_or_took_are_seen_without_asking_the_driver(host: Host) -> None:
    host.apply()
    folder = host.root / simulated_nvidia_smi.CAPABILITIES / "gpu0/mig"
    gone = next(folder.glob("gi*/ci0"))
    (gone / "access").unlink()
    gone.rmdir()
    assert host.check() == "MIG layout: 13 of 14 instances"
    (folder / "gi1/ci0").mkdir(parents=True)
    assert host.check() == "MIG layout: 13 of 14 instances, and 1 that somebody made"


def test_slurm_finds_each_instance_by_a_name_of_its_gpus_device_number(tmp_path: Path) -> None:
    """The driver's index and the number of the device differ on some machines."""
    host = Host(tmp_path, minors=(1, 0))
    host.wants(MIXED)
    assert host.apply() == (0, "")
    links = host.links()
    assert {name.rpartition("-")[0] for name in links} == {f"gpu{gpu}-{name}" for gpu in (0, 1) for name in ("1g.5gb-0", "1g.5gb-1", "2g.10gb-0", "3g.20gb-0")}
    large = [number for number, one in host.gpus[0]["instances"].items() if one["profile"] == "3g.20gb"]
    minor = 3 + 135 * 1 + 9 * int(large[0])
    assert (links["gpu1-3g.20gb-0-instance"], links["gpu1-3g.20gb-0-compute"]) == tuple(f"/dev/nvidia-caps/nvidia-cap{one}" for one in (minor, minor + 1))


REFUSALS = [
    (
        "a client holds the GPU",
        {"clients": True},
        SEVEN,
        "GPU 0: Warning: MIG mode is in pending enable state for GPU 00000000:36:00.0:In use by another client",
    ),
    ("no such profile", {}, {"1g.24gb": 1}, "GPU 0: Option \"--create-gpu-instance\" has invalid profile '1g.24gb'."),
    ("more than fit", {}, {"3g.20gb": 3}, "GPU 0: Unable to create a GPU instance on GPU  0 using profile 9: Insufficient Resources"),
    (
        "an instance in use",
        {"mode": "Enabled", "pending": "Enabled", "used": [1], "instances": {"1": {"profile": "3g.20gb", "start": 4, "computes": [0]}}},
        SEVEN,
        "GPU 0: Unable to destroy compute instance ID  0 from GPU  0 GPU instance ID  1: In use by another client",
    ),
]


@pytest.mark.parametrize(("changes", "layout", "why"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_what_the_driver_refuses_is_said_and_stays_wrong(tmp_path: Path, changes: dict[str, Any], layout: dict[str, int], why: str) -> None:
    host = Host(tmp_path, **changes)
    host.wants(layout)
    assert host.apply() == (1, f"MIG: {why}")
    assert host.check() == f"MIG layout: {why}"
    assert "reboot" not in host.systemctl_calls


def test_a_refusal_is_forgotten_when_it_works(tmp_path: Path) -> None:
    host = Host(tmp_path, clients=True)
    host.apply()
    for number in (0, 1):
        host.set(number, clients=False)
    assert (host.apply(), host.check()) == ((0, ""), "")


def test_a_mode_that_only_a_restart_makes_effective_restarts_the_host_once(tmp_path: Path) -> None:
    host = Host(tmp_path, can_reset=False)
    assert host.apply() == (1, "MIG: GPU 0: the host restarts to make MIG mode effective")
    assert host.systemctl_calls.count("reboot") == 1
    assert host.apply()[0] == 1
    assert host.systemctl_calls.count("reboot") == 1, "a restart that did not help is not repeated"
    host.set(1, pending="Enabled")
    host.restart()
    assert (host.apply(), host.check()) == ((0, ""), "")


def test_nothing_is_divided_under_a_job(host: Host) -> None:
    host.apply()
    host.wants({"3g.20gb": 2})
    host.runs("slurmstepd: [17.batch]\0")
    host.forget_calls()
    assert (host.apply(), host.changes) == ((1, f"MIG: {IN_JOB}"), [])
    host.runs("/usr/sbin/slurmstepd\0")
    assert host.apply() == (1, f"MIG: {IN_JOB}"), "it has begun and not yet named itself"
    host.runs("/usr/sbin/slurmstepd\0infinity\0")
    assert host.apply() == (0, "")


def test_dcgm_lets_go_of_the_gpus_for_a_moment(host: Host) -> None:
    host.systemctl("exit 0")
    host.apply()
    assert host.systemctl_calls == ["is-active --quiet nvidia-dcgm.service", "stop nvidia-dcgm.service", "start --no-block nvidia-dcgm.service"]
    host.apply()
    assert len(host.systemctl_calls) == 3, "nothing had to be changed"


def test_fewer_gpus_than_expected_are_no_layout(host: Host) -> None:
    host.wants(SEVEN, count=8)
    assert host.apply() == (1, "MIG: nvidia-smi sees 2 of 8 GPUs")


def test_a_host_without_nvidia_smi_says_so(host: Host) -> None:
    (host.root / "usr/bin/nvidia-smi").unlink()
    assert host.apply() == (1, "MIG: there is no nvidia-smi on this host")


@pytest.fixture
def simulating(host: Host) -> Host:
    """Simulated GPUs, divided. It takes root: device files are made."""
    (host.root / "etc/clusterwright").mkdir(parents=True)
    (host.root / "etc/clusterwright/node.env").write_text("CLUSTERWRIGHT_ROLE=compute\nCLUSTERWRIGHT_GPU_MAJOR=60\n")
    (host.root / "usr/bin/nvidia-smi").unlink()
    host.wants({"3g.40gb": 1, "1g.10gb": 2}, simulated=True)
    assert (host.apply(), host.check()) == ((0, ""), "")
    return host


def test_simulated_instances_are_made_again_only_where_they_are_missing_and_never_under_a_job(simulating: Host) -> None:
    host, folder = simulating, simulating.root / "dev/nvidia-caps"
    host.runs("slurmstepd: [17.batch]\0")
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    assert host.apply() == (0, "")
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == before, "nothing was missing"
    gone = folder / Path(host.links()["gpu0-1g.10gb-1-compute"]).name
    gone.unlink()
    assert (host.apply(), host.check()) == ((1, f"MIG: {IN_JOB}"), f"MIG layout: {IN_JOB}")
    del before[gone.name]
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == before
    host.wants({"1g.10gb": 7}, simulated=True)
    assert host.apply() == (1, f"MIG: {IN_JOB}")
    host.runs("sleep\0")
    assert (host.apply(), host.check(), len(host.links())) == ((0, ""), "", 2 * 2 * 7)


def test_what_ends_the_unit_half_way_waits_until_every_gpu_is_divided(host: Host) -> None:
    """A node's own check and a repair restart the unit beside each other; systemd sends SIGTERM to all of its processes."""
    program = host.root / "usr/bin/nvidia-smi"
    own = host.root / "usr/bin/nvidia-smi-itself"
    own.write_text(program.read_text())
    own.chmod(0o755)
    program.write_text(f'#!/bin/sh\ncase "$*" in *-cgi*) kill -TERM $PPID $$ ;; esac\nexec {own} "$@"\n')
    assert host.apply() == (0, "")
    assert (host.layouts(), host.check()) == ([["1g.5gb"] * 7] * 2, "")


def test_simulated_instances_are_device_files_of_no_driver(simulating: Host) -> None:
    host = simulating
    links = host.links()
    assert len(links) == len(set(links.values())) == 2 * 2 * 3
    devices = {one: (host.root / path.lstrip("/")).stat().st_rdev for one, path in links.items()}
    assert {os.major(device) for device in devices.values()} == {61}
    (host.root / links["gpu0-1g.10gb-1-compute"].lstrip("/")).unlink()
    assert host.check() == "MIG layout: 5 of 6 instances"
    assert (host.apply(), host.check()) == ((0, ""), "")


@pytest.mark.parametrize(
    "words",
    [["mig", "-cgi", "19", "-C"], ["mig", "-i", "0", "-cgi", "1g.5gb"], ["-mig", "1"], ["-i", "2", "-mig", "1"], ["mig", "-i", "0", "--list"]],
)
def test_the_stand_in_refuses_what_nobody_should_ask(host: Host, words: list[str]) -> None:
    host.set(0, mode="Enabled")
    assert subprocess.run([str(host.root / "usr/bin/nvidia-smi"), *words], capture_output=True, check=False).returncode == 2


def test_the_stand_in_places_instances_as_nvidias_guide_shows(host: Host) -> None:
    """MIG User Guide, example 2: three small ones first leave no place for the large one."""
    host.set(0, mode="Enabled")
    words = [str(host.root / "usr/bin/nvidia-smi"), "mig", "-i", "0", "-cgi", "1g.5gb,1g.5gb,2g.10gb,3g.20gb", "-C"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout.splitlines()[-2:] == [
        "Unable to create a GPU instance on GPU  0 using profile 9: Insufficient Resources",
        "Failed to create GPU instances: Insufficient Resources",
    ]


# Tables of the MIG User Guide and of NVIDIA/go-nvml#146, with the driver's spacing.
OLDER = """\
+----------------------------------------------------+
| GPU instances:                                     |
| GPU   Name          Profile  Instance   Placement  |
|                       ID       ID       Start:Size |
|====================================================|
|   0  MIG 1g.5gb       19        7          0:1     |
+----------------------------------------------------+
|   0  MIG 3g.20gb       9        2          4:4     |
+----------------------------------------------------+
"""
NEWER = """\
+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   2  MIG 2g.20gb         14        3          0:2     |
+-------------------------------------------------------+
|   2  MIG 1g.10gb+me      20       13          6:1     |
+-------------------------------------------------------+
"""
COMPUTE = """\
+-------------------------------------------------------+
| Compute instances:                                    |
| GPU     GPU       Name             Profile   Instance |
|       Instance                       ID        ID     |
|         ID                                            |
|=======================================================|
|   0      1       MIG 1c.3g.20gb       0         0     |
+-------------------------------------------------------+
|   0      1       MIG 1c.3g.20gb       0         1     |
+-------------------------------------------------------+
"""


@pytest.mark.parametrize(("what", "table", "found"), [
    ("instances", OLDER, {7: "1g.5gb", 2: "3g.20gb"}),
    ("instances", NEWER, {3: "2g.20gb", 13: "1g.10gb+me"}),
    ("computes", COMPUTE, [(1, 0), (1, 1)]),
])  # fmt: skip
def test_the_drivers_tables_are_read(host: Host, what: str, table: str, found: Any) -> None:
    (host.root / "table").write_text(table)
    (host.root / "usr/bin/nvidia-smi").write_text(f"#!/bin/sh\ncat {host.root}/table\n")
    script = f"import runpy\nown = runpy.run_path({str(PROGRAM)!r})\nprint(repr(own[{what!r}]('0', {str(host.root)!r})))\n"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == repr(found)
