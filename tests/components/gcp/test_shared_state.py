"""Two controllers: what they share is on file systems, and what only one can have stays on the first one's disk."""

from typing import Any

from blueprints import live
from blueprints.plan import estimate
from components import host_folders
from components.gcp.discovery import Discovery
from tests.components.gcp import programs
from tests.components.registered import Program, Registered

STATE = f"{host_folders.STATE}/slurmctld"
PAIR: dict[str, Any] = {"control__highly_available": True}


def two() -> Program:
    return programs.program(programs.CPU, **PAIR)


def mounted(host: Registered) -> dict[str, tuple[str, str]]:
    """Give mount point → source and options of what a host mounts, over the network and from its disks."""
    said = programs.user_data(host)
    disks = [line.rsplit(maxsplit=5) for file in said["write_files"] if file["path"] == "/etc/fstab" for line in file["content"].splitlines()]
    return {target: (source, options) for source, target, _, options, *_ in (*said["mounts"], *disks)}


def controllers(found: Program) -> list[Registered]:
    return [one for one in programs.of(found, "compute:Instance") if one.name.startswith("control-")]


def test_both_controllers_write_the_same_state_and_tables() -> None:
    found = two()
    first, second = (mounted(one) for one in controllers(found))
    assert first[STATE] == second[STATE] == ("address of _state-file-system:/share", first[STATE][1])
    assert first[host_folders.CLUSTER] == second[host_folders.CLUSTER]
    assert first[host_folders.CLUSTER][0] == "address of _tables-file-system:/share"
    assert "ro" not in first[host_folders.CLUSTER][1].split(",")


def test_the_accounting_database_stays_on_the_first_controller_s_disk() -> None:
    found = two()
    first, second = controllers(found)
    assert mounted(first)[f"{host_folders.STATE}/mysql"][0].endswith("google-accounting")
    assert not {f"{host_folders.STATE}/mysql", host_folders.STATE} & mounted(second).keys()
    assert host_folders.STATE not in mounted(first), "it would hide Slurm's state below it"
    assert [one["deviceName"] for one in first.inputs["attachedDisks"]] == ["data", "accounting"]
    assert second.inputs.get("attachedDisks", []) == []
    assert mounted(second)["/data"][0] == "address of control-0-address:/data", "the first one exports it"
    assert len({one.inputs["networkInterfaces"][0]["networkIp"] for one in (first, second)}) == 2


def test_other_hosts_read_the_tables_and_see_nothing_of_the_state() -> None:
    found = two()
    templates = programs.of(found, "InstanceTemplate")
    logins = [one for one in programs.of(found, "compute:Instance") if one.name.startswith("login-")]
    for host in (*templates, *logins):
        there = mounted(host)
        source, options = there[host_folders.CLUSTER]
        assert source == "address of _tables-file-system:/share"
        assert {"ro", "soft"} <= set(options.split(","))
        assert STATE not in there


def test_one_controller_needs_no_file_system_of_its_own() -> None:
    names = {one.name for one in programs.of(programs.library(programs.CPU), "filestore:Instance")}
    assert names == {"home-file-system"}
    assert {one.name for one in programs.of(two(), "filestore:Instance")} == {*names, "_state-file-system", "_tables-file-system"}


def test_the_state_is_protected_as_accounting_is_and_the_tables_are_not() -> None:
    found = programs.program(programs.CPU, **PAIR, accounting__protect=True)
    protected = {one.name: one.inputs["deletionProtectionEnabled"] for one in programs.of(found, "filestore:Instance")}
    assert (protected["_state-file-system"], protected["_tables-file-system"]) == (True, False)


def test_the_estimate_counts_what_two_controllers_share() -> None:
    one, pair = (estimate.estimate(programs.resolved(programs.CPU, given)) for given in ({}, {"control.highly_available": True}))
    more = {part.name for part in pair.parts} - {part.name for part in one.parts}
    assert more == {"controllers' state", "tables of hosts and users"}
    assert all(part.unit_usd_per_hour for part in pair.parts if part.name in more)


def test_a_drift_check_expects_the_mounts_that_controllers_have() -> None:
    assert Discovery().mounts("control", controllers=1) == (host_folders.STATE,)
    assert Discovery().mounts("control", controllers=2) == (STATE,)
    assert Discovery().mounts("compute", controllers=2) == ()


def test_two_controllers_need_the_api_of_filestore_whatever_the_blueprint_stores() -> None:
    without = {"storage.home": {"kind": "existing", "mount": "/home", "source": "10.0.0.5:/home"}}
    apis = [live.questions(programs.resolved(programs.CPU, {**without, **given}), stack="test").apis for given in ({}, {"control.highly_available": True})]
    assert ["file.googleapis.com" in one for one in apis] == [False, True]
