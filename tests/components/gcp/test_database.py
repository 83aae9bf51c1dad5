"""Accounting in Cloud SQL: who reaches the server, how hosts know it, and what keeps its data."""

from typing import Any

import pytest

from blueprints import live
from components import host_folders
from tests.components.gcp import programs
from tests.components.gcp.test_shared_state import PAIR, controllers, mounted
from tests.components.registered import Program, Registered
from tests.contract import offerings

MANAGED: dict[str, Any] = {"accounting__database": "managed"}
NAME = "cpu-test-accounting"


def managed(**more: Any) -> Program:
    return programs.program(programs.CPU, **MANAGED, **more)


def server(found: Program) -> Registered:
    (one,) = programs.of(found, "sql:DatabaseInstance")
    return one


def test_the_server_has_no_public_address_and_refuses_who_does_not_encrypt() -> None:
    access = server(managed()).inputs["settings"]["ipConfiguration"]
    assert (access["ipv4Enabled"], access["sslMode"]) == (False, "ENCRYPTED_ONLY")
    assert access.get("privateNetwork") is None, "Google keeps a peering for days after the server is gone"
    assert access["pscConfigs"] == [{"pscEnabled": True, "allowedConsumerProjects": [programs.PROJECT]}]


def test_hosts_reach_it_at_an_address_in_their_own_subnet() -> None:
    found = managed()
    endpoint, address = found.named("accounting-endpoint"), found.named("accounting-address")
    assert endpoint.inputs["target"] == f"https://link/attachment-of-{NAME}"
    assert endpoint.inputs["ipAddress"] == "https://link/accounting-address"
    assert (address.inputs["addressType"], address.inputs["subnetwork"]) == ("INTERNAL", "https://link/cluster-subnet")


def test_only_controllers_may_connect() -> None:
    (rule,) = [one.inputs for one in programs.of(managed(), "Firewall") if one.inputs["direction"] == "EGRESS"]
    assert rule["destinationRanges"] == ["address of accounting-address/32"]
    assert rule["denies"] == [{"protocol": "all"}]
    assert sorted(rule["targetServiceAccounts"]) == [f"cpu-test-{part}@our-project" for part in ("access", "compute")]


def test_controllers_know_it_by_the_name_in_its_certificate_and_by_the_authority_that_signed_it() -> None:
    exported = managed().outputs
    assert (exported["database"], exported["authority"]) == (f"{NAME}.sql.goog", f"authority of {NAME}")
    assert exported["addresses"][f"{NAME}.sql.goog"] == "address of accounting-address"
    assert exported["addresses"]["control-0"] == "address of control-0-address"


def test_its_user_has_the_password_of_the_stack_and_its_tables_are_there_first() -> None:
    found = managed()
    user, tables = found.named("accounting-user"), found.named("accounting-tables")
    assert (user.inputs["name"], user.inputs["password"]) == ("slurm", "password")
    assert tables.inputs["name"] == "slurm_acct_db"
    assert {user.inputs["instance"], tables.inputs["instance"]} == {NAME}


@pytest.mark.parametrize("protect", [True, False])
def test_protection_holds_the_server_and_its_backups(protect: bool) -> None:
    one = server(managed(accounting__protect=protect))
    settings = one.inputs["settings"]
    assert (one.inputs["deletionProtection"], settings["deletionProtectionEnabled"], settings["retainBackupsOnDelete"]) == (protect, protect, protect)
    assert bool(settings.get("finalBackupConfig")) is protect
    assert one.protect is protect


def test_two_controllers_have_a_database_with_a_standby_and_neither_has_its_disk() -> None:
    alone, two = managed(), managed(**PAIR)
    assert [server(one).inputs["settings"]["availabilityType"] for one in (alone, two)] == ["ZONAL", "REGIONAL"]
    for host in controllers(two):
        assert f"{host_folders.STATE}/mysql" not in mounted(host)
    assert host_folders.STATE in mounted(controllers(alone)[0]), "Slurm's own state stays on a disk of its own"


def test_slurmdbd_finds_the_setting_that_it_requires() -> None:
    flags = {one["name"]: one["value"] for one in server(managed()).inputs["settings"]["databaseFlags"]}
    assert flags == {"innodb_lock_wait_timeout": "900"}


def test_an_embedded_database_creates_nothing_of_it() -> None:
    found = programs.library(programs.CPU)
    assert not [one for one in programs.gcp(found) if one.type.startswith("gcp:sql")]
    assert {"database", "authority"} & found.outputs.keys() == set()
    assert "accounting-endpoint" not in {one.name for one in programs.gcp(found)}


def test_a_new_server_has_a_name_that_none_had_before() -> None:
    """The name of a deleted server may be taken for a week."""
    assert "name" not in server(managed()).inputs
    assert server(managed()).name == NAME


def test_its_api_is_asked_for() -> None:
    asked = [live.questions(programs.resolved(programs.CPU, given), stack="test").apis for given in ({}, {"accounting.database": "managed"})]
    assert ["sqladmin.googleapis.com" in one for one in asked] == [False, True]


def test_configuring_controllers_is_told_the_name_and_the_authority_and_no_password_in_plain() -> None:
    found = offerings.GCP.run(programs.CPU, {"accounting.database": "managed"})
    finish = found.named("finish-control")
    provided = finish.inputs["provided"]
    assert (provided["database"], provided["database_authority"]) == (f"{NAME}.sql.goog", f"authority of {NAME}")
    assert provided["addresses"][provided["database"]] == "address of accounting-address"
    assert "password" in found.named("accounting-user").secret_inputs
