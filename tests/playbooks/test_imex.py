"""The role that joins the machines of an NVLink domain: what it writes, the device file, and when it refuses."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.playbooks import templates

ROLE = templates.PLAYBOOKS / "roles/imex"


def tasks(name: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in yaml.safe_load((ROLE / f"tasks/{name}.yml").read_text())}


TASKS, LOOK, ABSENT = tasks("main"), tasks("look"), tasks("absent")
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


def look(**variables: Any) -> Any:
    """Give what a machine tells the others."""
    task = LOOK["What this machine tells the others"]["ansible.builtin.set_fact"]["imex_seen"]
    return {name: templates.evaluate(text, **variables) for name, text in task.items()}


def machine(name: str, known: list[str], wanted: list[str], *, state: str = "active", job: bool = False, restarts: bool = True) -> Any:
    asked = {"imex_known": {"stdout_lines": known}, "imex_state": {"stdout": state}, "imex_steps": {"rc": 0 if job else 1}}
    answers = asked if restarts else {one: {"skipped": True} for one in asked}
    return look(inventory_hostname=name, imex_wanted=wanted, imex_restarts=restarts, **answers)


def test_each_command_that_looks_waits_for_a_reason() -> None:
    assert [one.get("when") for one in LOOK.values()][:3] == ["imex_restarts"] * 3
    assert TASKS["What the machines of the rack see"]["vars"]["imex_restarts"] == "{{ imex_would.pending }}"
    assert TASKS["What would change"]["check_mode"] is True


def test_what_would_change_is_what_changes() -> None:
    assert TASKS["What would change"]["files"] == TASKS["Daemon and its domain"]["files"]


def test_the_machines_of_a_rack_are_asked_before_the_first_one_changes() -> None:
    assert [*TASKS].index("What the machines of the rack see") < [*TASKS].index("Daemon and its domain")


OLD, NEW = ["10.20.0.12", "10.20.0.13"], ["10.20.0.12", "10.20.0.13", "10.20.0.14"]
RACK = ["t1", "t2", "t3"]


def holds(name: str, *answers: Any, rack: list[str] = RACK, failed: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    asked = [*(one["name"] for one in answers), *failed]
    found = templates.evaluate("{{ answers | rack_holds(name, rack, asked) }}", answers=[*answers], name=name, rack=rack, asked=asked)
    return found["jobs"], found["silent"]


FREE: tuple[list[str], list[str]] = ([], [])


def test_one_job_in_a_rack_keeps_another_list_from_all_its_machines() -> None:
    answers = [machine("t1", OLD, NEW), machine("t2", OLD, NEW, job=True), machine("t3", [], NEW, state="inactive"), machine("u1", [], ["10.20.0.99"])]
    assert [holds(name, *answers) for name in RACK] == [(["t2"], [])] * 3
    assert holds("u1", *answers, rack=["u1"]) == FREE, "a job of another rack"


def test_another_list_is_taken_where_no_job_runs() -> None:
    answers = [machine("t1", OLD, NEW), machine("t2", OLD, NEW), machine("t3", [], NEW, state="inactive", job=True)]
    assert [holds(name, *answers) for name in RACK] == [FREE] * 3, "the daemon of the new machine has nothing to lose"


def test_a_restart_with_the_same_list_waits_for_the_jobs_of_its_machine_alone() -> None:
    answers = [machine("t1", NEW, NEW, job=True), machine("t2", NEW, NEW), machine("t3", NEW, NEW)]
    assert [holds(name, *answers) for name in RACK] == [(["t1"], []), FREE, FREE]


def test_where_nothing_restarts_jobs_hold_nothing() -> None:
    answers = [machine("t1", NEW, NEW, job=True, restarts=False), machine("t2", NEW, NEW, restarts=False), machine("t3", OLD, NEW)]
    assert [holds(name, *answers) for name in RACK] == [FREE] * 3


def test_the_first_start_of_a_daemon_waits_for_no_job() -> None:
    answers = [machine(name, [], NEW, state="inactive", job=True) for name in RACK]
    assert [holds(name, *answers) for name in RACK] == [FREE] * 3
    assert holds("t1", *answers[:2], failed=("t3",)) == FREE, "nothing is joined yet"


def test_a_machine_on_which_the_run_failed_before_may_have_jobs() -> None:
    answers = [machine("t1", OLD, NEW), machine("t3", [], NEW, state="inactive")]
    assert [holds(name, *answers, failed=("t2",)) for name in ("t1", "t3")] == [([], ["t2"])] * 2
    assert holds("t1", machine("t1", NEW, NEW), failed=("t2",)) == FREE, "the list stays"


def test_a_machine_that_leaves_a_rack_waits_for_the_jobs_there() -> None:
    answers = [machine("t1", NEW, OLD, job=True), machine("t2", NEW, OLD), machine("t3", NEW, ["10.20.0.14"])]
    assert holds("t3", *answers, rack=["t3"]) == (["t1"], [])


def test_no_daemon_stops_under_a_job_of_its_former_rack() -> None:
    assert next(iter(ABSENT)) == "What the machines of the former rack see"
    asked = ABSENT["What the machines of the former rack see"]["vars"]
    assert (asked["imex_wanted"], asked["imex_restarts"]) == ([], True)
    answers = [machine("t1", OLD, []), machine("t2", OLD, [], job=True), machine("u1", ["10.20.0.99"], [])]
    assert [holds(name, *answers, rack=[]) for name in ("t1", "t2", "u1")] == [(["t2"], []), (["t2"], []), FREE]


def fails(answer: dict[str, Any]) -> bool:
    condition = ABSENT["No daemon"]["failed_when"]
    return bool(templates.evaluate("{{ " + condition + " }}", imex_stopped=answer))


def test_a_daemon_that_does_not_stop_is_no_removed_one() -> None:
    """The answers of systemd_service, of ansible-core 2.19."""
    assert not fails({"changed": False, "failed": True, "msg": "Could not find the requested service nvidia-imex.service: host"})
    assert fails({"changed": False, "failed": True, "msg": "Unable to stop service nvidia-imex.service: Job timed out"})
    assert not fails({"changed": True})


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


def installs(*, there: bool, versions: dict[str, str], os: str = "ubuntu-24.04") -> list[str]:
    """Give the packages that join the driver of a server that is configured already."""
    task = TASKS["The daemon joins the driver"]
    known = {"spec": {"software": {"versions": [*versions.items()], "os": os}}}
    driver = templates.value("imex_driver", role="imex", **known)
    if not templates.evaluate("{{ " + task["when"] + " }}", imex_daemon={"stat": {"exists": there}}, imex_driver=driver, **known):
        return []
    package = templates.value("imex_package", role="imex", **known)
    first = task["block"][0]["server_software"]
    assert [templates.evaluate(one, imex_package=package) for one in first["hold"]] == [package]
    return [templates.evaluate(one, imex_package=package, imex_driver=driver) for one in first["names"]]


def test_a_configured_server_gets_the_daemon_once_its_rack_is_known() -> None:
    versions = {"driver": "580.178.04", "kernel": "6.8.0-149-generic"}
    assert installs(there=False, versions=versions) == ["nvidia-imex-580=580.178.04*"]
    assert installs(there=False, versions={"driver": "580"}) == ["nvidia-imex-580=580*"]
    assert installs(there=True, versions=versions) == []
    assert installs(there=False, versions={"kernel": "6.8.0-149-generic"}) == [], "the driver is the owner's"
    assert installs(there=False, versions=versions, os="debian-13") == []
    assert [*TASKS].index("The daemon joins the driver") < [*TASKS].index("The daemon is installed")
