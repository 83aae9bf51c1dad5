"""The role that joins the machines of an NVLink domain: what it writes, the device file, and when it refuses."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.playbooks import templates

ROLE = templates.PLAYBOOKS / "roles/imex"
TASKS: dict[str, dict[str, Any]] = {one["name"]: one for one in yaml.safe_load((ROLE / "tasks/main.yml").read_text())}
RACKS = {"r1": {"t1": "10.20.0.12", "t2": "10.20.0.13"}, "r2": {"t3": "10.20.0.14"}}


def domain(host: str, **variables: Any) -> Any:
    """Give what site.yml finds for a host."""
    play = yaml.safe_load((templates.PLAYBOOKS / "site.yml").read_text())[1]
    return templates.evaluate(play["vars"]["host_nvlink_domain"], inventory_hostname=host, **variables)


def nodes_file(addresses: list[str]) -> str:
    entry = TASKS["Daemon and its domain"]["files"]["entries"][0]
    assert entry["path"] == "{{ imex_nodes }}"
    return str(templates.evaluate(entry["content"], imex_addresses=addresses))


def test_each_tray_of_a_rack_gets_the_addresses_of_all_in_one_order() -> None:
    provided = {"nvlink_domains": RACKS}
    assert domain("t1", provided=provided) == domain("t2", provided=provided) == RACKS["r1"]
    assert domain("t3", provided=provided) == RACKS["r2"]
    assert domain("head", provided=provided) == domain("t1", provided={}) == domain("t1") == {}


def test_the_daemon_reads_one_address_a_line_and_starts_before_jobs() -> None:
    assert nodes_file(["10.20.0.12", "10.20.0.13"]) == "10.20.0.12\n10.20.0.13\n"
    unit = templates.value("imex_unit", role="imex").splitlines()
    assert {
        "ConditionPathExists=/etc/nvidia-imex/nodes_config.cfg",
        "After=clusterwright-gpu.service",
        "Before=slurmd.service",
        "ExecStartPre=/usr/lib/clusterwright/imex-channel",
    } <= {*unit}


@pytest.mark.parametrize(
    ("known", "wanted", "steps", "looks", "passes"),
    [
        ("", ["10.20.0.12"], "", False, True),
        ("10.20.0.12", ["10.20.0.12"], "4711", False, True),
        ("10.20.0.12", ["10.20.0.12", "10.20.0.13"], "", True, True),
        ("10.20.0.12", ["10.20.0.12", "10.20.0.13"], "4711", True, False),
    ],
    ids=["the first time", "the same machines", "other machines, and no job", "other machines under a job"],
)
def test_another_list_of_machines_waits_for_jobs(known: str, wanted: list[str], steps: str, looks: bool, passes: bool) -> None:
    before = {"stdout": known, "stdout_lines": known.splitlines()}
    is_asked = templates.evaluate("{{ " + TASKS["Jobs that run here"]["when"] + " }}", imex_known=before, imex_addresses=wanted)
    asked = {"stdout": steps} if is_asked else {"skipped": True}
    assert is_asked is looks
    assert templates.evaluate("{{ " + TASKS["No job loses its NVLink domain"]["ansible.builtin.assert"]["that"] + " }}", imex_steps=asked) is passes


DEVICES = "Character devices:\n  1 mem\n195 nvidia\n234 nvidia-caps-imex-channels\n509 nvidia-nvswitch\n"


def channel(folder: Path, devices: str) -> subprocess.CompletedProcess[str]:
    """Run the program with a stand-in for mknod(1), which notes its words and creates a plain file."""
    (folder / "devices").write_text(devices)
    (folder / "mknod").write_text('#!/bin/sh\necho "$*" >>"$0.asked"\n: >"$2"\n')
    (folder / "mknod").chmod(0o755)
    known = {"DEVICES": str(folder / "devices"), "CHANNELS": str(folder / "channels"), "MKNOD": str(folder / "mknod"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(["sh", str(ROLE / "files/imex-channel.sh")], env=known, capture_output=True, text=True, check=False)


def test_the_device_file_of_the_channel_has_the_number_that_the_driver_has_now(tmp_path: Path) -> None:
    assert channel(tmp_path, DEVICES).returncode == 0
    assert channel(tmp_path, DEVICES).returncode == 0
    assert (tmp_path / "mknod.asked").read_text() == f"--mode=0666 {tmp_path}/channels/channel0 c 234 0\n", "once"


def test_without_the_driver_there_is_no_channel_and_the_daemon_does_not_start(tmp_path: Path) -> None:
    done = channel(tmp_path, DEVICES.replace("234 nvidia-caps-imex-channels\n", ""))
    assert done.returncode == 1
    assert "is the module nvidia loaded?" in done.stderr
    assert not (tmp_path / "channels").exists()


def test_the_package_of_the_daemon_has_the_drivers_version_and_comes_with_it() -> None:
    software = {"arch": "arm64", "origins": [], "versions": [["driver", "580.178.04"], ["kernel", "6.8.0-149-generic"]], "profile": "x"}
    with_daemon = templates.value("gpu_driver_parts", role="gpu_driver", software=software)
    assert {*with_daemon} - {*templates.value("gpu_driver_parts", role="gpu_driver", software={**software, "arch": "x86_64"})} == {"nvidia-imex-580"}
    assert "nvidia-imex-580" in templates.value("gpu_driver_parts", role="gpu_driver", software={**software, "arch": "any"}, gpu_driver_joins_machines=True)
