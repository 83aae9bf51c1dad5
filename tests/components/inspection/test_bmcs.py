"""Drift of servers as their BMCs see them: each difference is one finding in one place, and equal servers are none."""

import dataclasses
from collections.abc import Mapping

import pytest

from blueprints import spec
from blueprints.facts import Facts as MachineFacts
from blueprints.load import examine
from components.bmc import recorded
from components.bmc.model import Cause, Facts, Power, Protocol, Unanswered
from components.inspection import bmcs
from components.inspection.codes import Code

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4"
NAMES = ("gpu-1", "gpu-2", "gpu-3", "gpu-4")
WELL = Facts(Protocol.REDFISH, Power.ON, "Simulated", "HGX H100", "SN", "OK", "", {"BIOS": "1.4", "BMC": "24.09", "NIC_1": "28.39"})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> spec.ClusterSpec:
    file = tmp_path_factory.mktemp("lab") / "lab.yaml"
    hosts = "\n".join(
        f"    {name}: {{address: 10.20.0.{number}, host_key: {KEY}{'fghijk'[number]}, bmc: 10.30.0.{number}, serial: {'SN-1' if name == 'gpu-1' else ''!r}}}"
        for number, name in enumerate(NAMES, start=1)
    )
    file.write_text(
        f"name: lab\ninventory:\n  bmc: {{user: operator, password_file: /p, authority: /a}}\n  hosts:\n{hosts}\n"
        f"    head-1: {{address: 10.20.0.9, host_key: {KEY}f}}\n    login-1: {{address: 10.20.0.10, host_key: {KEY}l}}\n"
        "control: {hosts: head-1}\naccess: {hosts: login-1}\npools: {train: {hosts: 'gpu-[1-4]'}}\n"
    )
    return examine(str(file), target="metal", stack="lab", facts=MachineFacts(1, 2, 1, 24_000)).spec


def of(cluster: spec.ClusterSpec, answers: Mapping[str, Facts | Unanswered], before: Mapping[str, recorded.Server] | None = None) -> list[tuple[str, str]]:
    return [(one.code, one.place) for one in bmcs.findings(cluster, answers, before or {}, stack="lab")]


def all_well(**changed: Facts | Unanswered) -> dict[str, Facts | Unanswered]:
    alike: dict[str, Facts | Unanswered] = {name: dataclasses.replace(WELL, serial=f"SN-{name[-1]}") for name in NAMES}
    return {**alike, **{name.replace("_", "-"): answer for name, answer in changed.items()}}


def with_firmware(serial: str, **firmware: str) -> Facts:
    return dataclasses.replace(WELL, serial=serial, firmware={**WELL.firmware, **firmware})


def test_equal_servers_that_run_are_no_drift(cluster: spec.ClusterSpec) -> None:
    assert of(cluster, all_well()) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (dataclasses.replace(WELL, power=Power.OFF), (Code.POWER_OFF, "gpu-2: power")),
        (dataclasses.replace(WELL, health="Critical"), (Code.BMC_HEALTH, "gpu-2: health")),
        (dataclasses.replace(WELL, health="Warning"), (Code.BMC_HEALTH, "gpu-2: health")),
        (dataclasses.replace(WELL, boot="Pxe (Once)"), (Code.NEXT_BOOT, "gpu-2: next boot")),
        (Unanswered(Cause.SILENT, "no answer"), (Code.BMC_SILENT, "gpu-2: BMC")),
        (with_firmware("SN-2", BIOS="1.3", NIC_1="28.38"), (Code.BMC_FIRMWARE, "gpu-2: firmware")),
    ],
)
def test_each_difference_is_one_finding(cluster: spec.ClusterSpec, answer: Facts | Unanswered, found: tuple[Code, str]) -> None:
    assert of(cluster, all_well(gpu_2=answer)) == [found]


def test_the_serial_number_is_that_of_the_inventory_and_then_the_recorded_one(cluster: spec.ClusterSpec) -> None:
    before = {name: recorded.Server(f"SN-{name[-1]}", "HGX H100", WELL.firmware) for name in NAMES}
    swapped = all_well(gpu_1=dataclasses.replace(WELL, serial="SN-9"), gpu_2=dataclasses.replace(WELL, serial="SN-8"))

    assert of(cluster, swapped) == [(Code.BMC_SERIAL, "gpu-1: serial number")]
    assert of(cluster, swapped, before) == [(Code.BMC_SERIAL, "gpu-1: serial number"), (Code.BMC_SERIAL, "gpu-2: serial number")]


def test_recorded_firmware_counts_before_that_of_the_others(cluster: spec.ClusterSpec) -> None:
    older = with_firmware("SN-2", BIOS="1.3")
    accepted = {"gpu-2": recorded.of(older)}

    assert of(cluster, all_well(gpu_2=older), accepted) == []
    assert of(cluster, all_well(), accepted) == [(Code.BMC_FIRMWARE, "gpu-2: firmware")]


def test_a_component_that_is_gone_is_reported_only_when_the_bmc_listed_everything(cluster: spec.ClusterSpec) -> None:
    less = dataclasses.replace(WELL, serial="SN-2", firmware={"BIOS": "1.4", "BMC": "24.09"})

    assert of(cluster, all_well(gpu_2=less)) == [(Code.BMC_FIRMWARE, "gpu-2: firmware")]
    assert of(cluster, all_well(gpu_2=dataclasses.replace(less, incomplete="the firmware of parts"))) == []


def test_of_two_versions_that_are_as_frequent_none_is_usual(cluster: spec.ClusterSpec) -> None:
    assert of(cluster, all_well(gpu_1=with_firmware("SN-1", BIOS="1.3"), gpu_2=with_firmware("SN-2", BIOS="1.3"))) == []


def test_components_that_are_not_shown_are_in_the_digest_of_the_finding(cluster: spec.ClusterSpec) -> None:
    parts = {f"GPU_{number}": "1" for number in range(8)}
    before = {"gpu-2": recorded.Server("SN-2", "HGX H100", parts)}
    versions = [{**parts, "GPU_7": last, **dict.fromkeys(list(parts)[:4], "2")} for last in ("2", "3")]
    servers = [dataclasses.replace(WELL, serial="SN-2", firmware=firmware) for firmware in versions]
    one, other = (next(bmcs.findings(cluster, all_well(gpu_2=server), before, stack="lab")).values for server in servers)
    assert one
    assert other
    assert one.actual == other.actual
    assert one.digest != other.digest


def test_servers_of_another_model_have_their_own_firmware(cluster: spec.ClusterSpec) -> None:
    other = dataclasses.replace(WELL, serial="SN-2", model="HGX B200", firmware={"BIOS": "3.0"})

    assert of(cluster, all_well(gpu_2=other)) == []


def test_names_what_was_not_compared(cluster: spec.ClusterSpec) -> None:
    found = list(bmcs.unchecked(cluster, all_well(gpu_2=dataclasses.replace(WELL, incomplete="its log")), {}, stack="lab"))

    assert [one.where for one in found] == [
        "serial numbers and firmware of gpu-[1-4]",
        "gpu-2: its log",
        "power and firmware of head-1,login-1",
    ]


def test_a_recorded_file_reads_back() -> None:
    servers_of = {"gpu-1": recorded.of(WELL), "gpu-2": recorded.Server("", "", {})}

    assert recorded.read(recorded.write(servers_of)) == servers_of


@pytest.mark.parametrize("text", ["", "- 1", "format: 2\nhosts: {}", "format: 1\nhosts: {gpu-1: 3}", "format: 1\nhosts: {gpu-1: {firmware: 1}}", "{"])
def test_a_broken_recorded_file_is_refused(text: str) -> None:
    with pytest.raises(recorded.Unreadable):
        recorded.read(text)
