"""The start guard: what a node lacks is counted and told in one line, whatever it is, and to Slurm by commands alone."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprints import catalog, rolling
from tests.hosts.deployment import wait_until
from tests.playbooks import templates

PROGRAM = templates.PLAYBOOKS / "roles/guard/files/guard.py"
_described = importlib.util.spec_from_file_location("guard", PROGRAM)
assert _described
assert _described.loader
guard = importlib.util.module_from_spec(_described)
_described.loader.exec_module(guard)
DEVICES = templates.PLAYBOOKS.parent / "blueprints/catalog/fabric_devices.yaml"

NODE_ENV = "CLUSTERWRIGHT_ROLE=compute\nCLUSTERWRIGHT_CLUSTER=small\nCLUSTERWRIGHT_CONTROLLERS=10.0.0.4,10.0.0.5\n"
H100, NIC, EFA = ("0x10de", "0x2330", "0x030200"), ("0x1d0f", "0xec20", "0x020000"), ("0x1d0f", "0xefa2", "0x020000")
NVSWITCH = ("0x10de", "0x22a3", "0x068000")
MOUNTINFO = "36 25 0:31 / /home rw,relatime shared:1 - nfs4 fs:/ rw\n37 25 0:32 / /my\\040data rw - lustre a@tcp:/b rw\n"
MOUNTINFO += "38 25 9:127 / /scratch rw,noatime - xfs /dev/md127 rw\n39 25 9:126 / /whole rw - xfs /dev/md126 rw\n40 25 259:9 / /one rw - xfs /dev/nvme9n1 rw\n"


@pytest.fixture(autouse=True)
def fabrics(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue's file, as the role puts it beside the program, in a folder that has what the diagnostics could not ask, too."""
    path = tmp_path_factory.mktemp("guard") / "fabric-devices.json"
    path.write_text(json.dumps(yaml.safe_load(DEVICES.read_text())))
    monkeypatch.setattr(guard.node_looks, "FABRICS", str(path))
    monkeypatch.setattr(guard.node_looks, "UNASKED", str(path.with_name("unasked")))
    return path


def machine(root: Path, *, gpus: int = 8, driven: int | None = None, files: int | None = None, efa: int = 32, with_driver: int | None = None) -> str:
    """Lay out what a kernel shows of a machine: GPUs on the bus, with the driver and with device files; EFA devices on the bus and with the driver."""
    bus = [NIC, NVSWITCH, *[H100] * gpus, *[EFA] * efa]
    for number, words in enumerate(bus):
        folder = root / f"sys/bus/pci/devices/0000:{number:02x}:00.0"
        folder.mkdir(parents=True)
        for name, word in zip(("vendor", "device", "class"), words, strict=True):
            (folder / name).write_text(f"{word}\n")
    for number in range(gpus if driven is None else driven):
        (root / f"proc/driver/nvidia/gpus/0000:{number:02x}:00.0").mkdir(parents=True)
    (root / "dev").mkdir()
    for name, state in (("md127", "broken"), ("md126", "clean")):
        (root / "sys/class/block" / name / "md").mkdir(parents=True)
        (root / "sys/class/block" / name / "md/array_state").write_text(f"{state}\n")
    for name in ("nvidiactl", "nvidia-uvm", *(f"nvidia{number}" for number in range(gpus if files is None else files))):
        (root / "dev" / name).touch()
    # An interface of another maker carries no EFA.
    for name, kind in (("mlx5_0", "mlx5_core"), *((f"rdmap{number}s0", "efa") for number in range(efa if with_driver is None else with_driver))):
        device = root / "sys/class/infiniband" / name / "device"
        device.mkdir(parents=True)
        (device / "driver").symlink_to(f"../../../../bus/pci/drivers/{kind}")
    return str(root)


def record(folder: Path, **changed: Any) -> str:
    path = folder / "expected.json"
    path.write_text(json.dumps({"check": "basic", "gpus": {"count": 8, "simulated": False}, "efa": 32, "mounts": ["/home", "/my data"], **changed}))
    return str(path)


def patches(places: Mapping[str, str], folder: Path) -> str:
    """Write lines that let the guard find its files in a folder, for a program that has imported it."""
    rows = {name: ("guard.node_looks" if hasattr(guard.node_looks, name) else "guard", str(folder / path)) for name, path in places.items()}
    assert all(hasattr(guard.node_looks, name) or hasattr(guard, name) for name in rows)
    return "".join(f"{module}.{name} = {path!r}\n" for name, (module, path) in rows.items())


def looked(folder: Path, has: Mapping[str, int], **changed: Any) -> str:
    (folder / "mountinfo").write_text(MOUNTINFO)
    root = machine(folder / "root", **has)
    said: str = guard.node_looks.joined(
        guard.node_looks.look(record(folder, **changed), root, devices_s=0, mounts_s=0, mountinfo=str(folder / "mountinfo")), root
    )
    return said.replace(f" (hardware below {root})", "")


CASES: list[tuple[str, dict[str, int], dict[str, Any], str]] = [
    ("all there", {}, {}, ""),
    ("more than expected", {"gpus": 9, "efa": 33}, {}, ""),
    ("an EFA device off the bus", {"efa": 31}, {}, "31 of 32 EFA devices: 31 on the PCI bus, 31 with the driver"),
    ("an EFA device without its driver", {"with_driver": 30}, {}, "30 of 32 EFA devices: 32 on the PCI bus, 30 with the driver"),
    ("a GPU that fell off the bus", {"gpus": 7}, {}, "7 of 8 GPUs: 7 on the PCI bus, 7 with the driver, 7 device files"),
    ("a driver that didn't load", {"driven": 0, "files": 0}, {}, "0 of 8 GPUs: 8 on the PCI bus, 0 with the driver, 0 device files"),
    ("a GPU that its driver does not run", {"driven": 7, "files": 8}, {}, "7 of 8 GPUs: 8 on the PCI bus, 7 with the driver, 8 device files"),
    ("a device file that is missing", {"files": 7}, {}, "7 of 8 GPUs: 8 on the PCI bus, 8 with the driver, 7 device files"),
    (
        "both short",
        {"gpus": 7, "efa": 1},
        {},
        "7 of 8 GPUs: 7 on the PCI bus, 7 with the driver, 7 device files; 1 of 32 EFA devices: 1 on the PCI bus, 1 with the driver",
    ),
    ("simulated GPUs", {"gpus": 0, "efa": 0, "files": 8}, {"gpus": {"count": 8, "simulated": True}, "efa": 0}, ""),
    ("a simulated GPU short", {"gpus": 0, "efa": 0, "files": 7}, {"gpus": {"count": 8, "simulated": True}, "efa": 0}, "7 of 8 simulated GPUs"),
    ("a node without either", {"gpus": 0, "efa": 0}, {"gpus": None, "efa": 0}, ""),
    ("a file system that isn't there", {}, {"mounts": ["/home", "/data"]}, "/data is not mounted"),
    ("scratch space that lost a disk", {}, {"mounts": ["/scratch"]}, "/scratch has lost a disk (/dev/md127)"),
    ("scratch space whose only disk is gone", {}, {"mounts": ["/one"]}, "/one has lost a disk (/dev/nvme9n1)"),
    ("scratch space that is complete", {}, {"mounts": ["/whole", "/home"]}, ""),
    ("nothing is to be looked at", {"gpus": 0, "efa": 0}, {"check": "none", "mounts": ["/data"]}, ""),
    ("diagnostics, which are not built, are no reason not to count", {"gpus": 7}, {"check": "full", "efa": 0}, "7 of 8 GPUs: 7 on the PCI bus, 7 with the driver, 7 device files"),
]  # fmt: skip


@pytest.mark.parametrize(("has", "changed", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_missing_is_said_in_one_line(tmp_path: Path, has: dict[str, int], changed: dict[str, Any], said: str) -> None:
    assert looked(tmp_path, has, **changed) == said


def test_what_the_diagnostics_could_not_ask_is_kept_and_counts_as_nothing(tmp_path: Path, fabrics: Path) -> None:
    assert looked(tmp_path, {}, check="full") == ""
    assert fabrics.with_name("unasked").read_text().startswith("the diagnostics failed: ")


def test_mig_instances_are_counted_and_another_layout_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard.node_looks, "MIG", str(templates.PLAYBOOKS / "roles/mig/files/mig.py"))
    monkeypatch.setattr(guard.node_looks, "EXPECTED", str(tmp_path / "expected.json"))
    whole, divided = ({"gpus": {"count": 8, "simulated": False, **mig}, "efa": 0, "mounts": []} for mig in ({}, {"mig": {"1g.10gb": 7}}))
    assert looked(tmp_path, {"efa": 0}, **divided) == "MIG layout: whole GPUs on each GPU instead of 7 x 1g.10gb"
    made = tmp_path / "root/var/lib/clusterwright/mig.json"
    made.parent.mkdir(parents=True)
    made.write_text(json.dumps({"layout": {"1g.10gb": 7}, "refused": "GPU 3: in use"}))
    expected = record(tmp_path, **divided)
    root = str(tmp_path / "root")
    assert (
        guard.node_looks.joined(guard.node_looks.look(expected, root, devices_s=0, mounts_s=0, mountinfo=guard.node_looks.MOUNTINFO), "/")
        == "MIG layout: GPU 3: in use"
    )
    made.write_text(json.dumps({"layout": {"1g.10gb": 7}, "simulated": False, "instances": []}))
    record(tmp_path, **whole)
    found = guard.node_looks.look(expected, root, devices_s=0, mounts_s=0, mountinfo=guard.node_looks.MOUNTINFO)
    assert guard.node_looks.joined(found, "/") == "MIG layout: 7 x 1g.10gb on each GPU instead of whole GPUs"


def test_hardware_that_is_looked_for_elsewhere_is_said_to_be(tmp_path: Path) -> None:
    root = machine(tmp_path / "root", efa=31)
    assert guard.node_looks.joined(guard.node_looks.look(record(tmp_path), root, devices_s=0, mounts_s=0, mountinfo=guard.node_looks.MOUNTINFO), root).endswith(
        f" (hardware below {root})"
    )


def test_the_role_puts_the_catalogues_devices_beside_the_program() -> None:
    tasks = yaml.safe_load((templates.PLAYBOOKS / "roles/guard/tasks/looks.yml").read_text())
    (entry,) = [one for one in tasks[0]["files"]["entries"] if one["path"].endswith("/fabric-devices.json")]
    assert entry["path"].rpartition("/")[2] == Path(guard.node_looks.FABRICS).name
    assert json.loads(templates.evaluate(entry["content"])) == yaml.safe_load(DEVICES.read_text())
    assert {name for name, fabric in catalog.fabrics().items() if fabric.device_interfaces} == set(catalog.files.mapping("fabric_devices"))


def test_another_fabric_is_counted_by_its_own_numbers(tmp_path: Path, fabrics: Path) -> None:
    fabrics.write_text(json.dumps({"swift": {"title": "Swift", "driver": "mlx5_core", "vendor": "0x10de", "devices": ["0x22a3"]}}))
    assert looked(tmp_path, {"efa": 0}, efa=0, swift=2) == "1 of 2 Swift devices: 1 on the PCI bus, 1 with the driver"


def test_a_device_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    root, found = machine(tmp_path / "root", files=7), list[list[tuple[str, str]]]()
    path = record(tmp_path, mounts=[])
    looking = threading.Thread(target=lambda: found.append(guard.node_looks.look(path, root, devices_s=30, mounts_s=0, mountinfo=guard.node_looks.MOUNTINFO)))
    looking.start()
    (Path(root) / "dev/nvidia7").touch()
    looking.join(timeout=20)
    assert found == [[]]


def test_what_the_program_for_mounts_says_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = tmp_path / "mounted"
    mounted.write_text('#!/bin/sh\necho "/data (fs-1:/) is not mounted after $1 s: no answer" >&2\nexit 1\n')
    mounted.chmod(0o755)
    monkeypatch.setattr(guard.node_looks, "MOUNTED", str(mounted))
    assert looked(tmp_path, {}, mounts=["/home", "/data"]) == "/data (fs-1:/) is not mounted after 0 s: no answer"


def test_the_usual_brake_is_the_one_that_drift_knows() -> None:
    assert guard.BRAKE == rolling.HEALTH_BRAKE


KEPT = [
    ("State=IDLE+CLOUD+POWERING_UP Reason=", False),
    ("State=DOWN*+CLOUD Reason=Not responding [slurm@2026-11-21T20:00:00]", False),
    ("State=IDLE+DRAIN Reason=ada looks at the fans [ada@2026-11-21T20:00:00]", True),
    ("State=IDLE*+DRAIN Reason=clusterwright: its instance is gone [root@2026-11-21T20:00:00]", False),
    ("State=DOWN+MAINTENANCE+RESERVED", True),
    ("State=DOWN+MAINTENANCE+RESERVED ReservationName=fans", True),
    ("State=DOWN+MAINTENANCE+RESERVED ReservationName=clusterwright-maintenance-20261201T0200-4h", False),
]


@pytest.mark.parametrize(("shown", "is_kept"), KEPT)
def test_what_a_person_does_stays(shown: str, is_kept: bool) -> None:
    assert guard.is_kept(f"NodeName=train-0 Arch=x86_64 {shown}\n") is is_kept


class Host:
    """A host with a controller that answers through a program in the place of scontrol."""

    def __init__(self, folder: Path, fabrics: Path):
        self.folder, self.fabrics = folder, fabrics
        for name in ("bin", "run"):
            (folder / name).mkdir()
        (folder / "node.env").write_text(NODE_ENV)
        (folder / "mountinfo").write_text(MOUNTINFO)
        self.answers("NodeName=x State=IDLE+CLOUD+POWERING_UP")

    def answers(self, shown: str, status: int = 0) -> None:
        scontrol = self.folder / "bin/scontrol.new"
        scontrol.write_text(
            f'#!/bin/sh\necho "$*" >> {self.folder}/asked\ncat "$SLURM_CONF" > {self.folder}/configuration\n'
            f"[ {status} = 0 ] || echo 'slurm_update error: Unable to contact slurm controller (connect failure)' >&2\necho '{shown}'\nexit {status}\n"
        )
        scontrol.chmod(0o755)
        scontrol.replace(self.folder / "bin/scontrol")

    @property
    def asked(self) -> list[str]:
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def start(self) -> "subprocess.Popen[str]":
        places = {"EXPECTED": "expected.json", "SETTINGS": "node.env", "CONFIGURATION": "run/slurm.conf", "CONSOLE": "console", "STARTED": "started"}
        script = f"import sys\nsys.path.insert(0, {str(PROGRAM.parent)!r})\nimport guard\n" + patches(places, self.folder)
        script += f"guard.node_looks.FABRICS = {str(self.fabrics)!r}\n"
        script += f"guard.PATH = {str(self.folder / 'bin') + os.pathsep + os.environ['PATH']!r}\nguard.DEVICES_WITHIN_S = 0\nguard.TELL_EVERY_S = 0.05\n"
        script += f"sys.argv = ['guard', '--hardware', {str(self.folder / 'root')!r}]\nsys.exit(guard.main())\n"
        return subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)

    def run(self) -> tuple[int, str]:
        process = self.start()
        _, said = process.communicate(timeout=30)
        return process.returncode, said


@pytest.fixture
def host(tmp_path: Path, fabrics: Path) -> Host:
    return Host(tmp_path, fabrics)


def set_down(host: Host) -> list[str]:
    """Give the reasons with which the node was set down."""
    begin = f"update nodename={socket.gethostname().partition('.')[0]} state=DOWN reason="
    return [line.removeprefix(begin) for line in host.asked if line.startswith(begin)]


def test_a_whole_node_is_left_to_slurmd_without_a_word(host: Host) -> None:
    record(host.folder, mounts=[])
    machine(host.folder / "root")
    assert host.run() == (0, "")
    assert host.asked == []


def test_a_short_node_sets_itself_down_at_whichever_controller_serves(host: Host) -> None:
    record(host.folder, mounts=[])
    machine(host.folder / "root", efa=31)
    status, said = host.run()
    [reason] = set_down(host)
    assert status == 1
    assert reason.startswith("clusterwright: start guard: 31 of 32 EFA devices: ")
    assert said == f"{reason}\n"
    assert (host.folder / "configuration").read_text().splitlines()[-2:] == ["SlurmctldHost=controller-0(10.0.0.4)", "SlurmctldHost=controller-1(10.0.0.5)"]


def test_a_guard_that_fails_says_that_it_did(host: Host) -> None:
    (host.folder / "expected.json").write_text("{")
    assert host.run()[0] == 1
    [reason] = set_down(host)
    assert reason.startswith("clusterwright: start guard: the guard itself failed: JSONDecodeError: ")


def test_a_node_that_a_person_drained_keeps_that_reason_and_takes_no_jobs(host: Host) -> None:
    record(host.folder, mounts=[])
    machine(host.folder / "root", efa=31)
    host.answers("NodeName=x State=IDLE+DRAIN Reason=fans [ada@2026-11-21T20:00:00]")
    assert host.run()[0] == 1
    assert set_down(host) == []


def test_a_controller_that_is_not_there_yet_is_waited_for_and_what_comes_meanwhile_counts(host: Host) -> None:
    record(host.folder, mounts=[])
    machine(host.folder / "root", files=7)
    host.answers("", status=1)
    process = host.start()
    wait_until(lambda: len(host.asked) > 1, awaiting="a second attempt", within_s=20)
    (host.folder / "root/dev/nvidia7").touch()
    _, said = process.communicate(timeout=30)
    assert (process.returncode, set_down(host)) == (0, [])
    assert said.count("connect failure") == 1, "the same is said once"
