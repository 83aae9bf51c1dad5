"""BMCs in a drift check: asked with the stack's password, compared with the recorded file, and a failure of the layer when they can't be asked."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import spec
from blueprints.facts import Facts
from blueprints.finding.subject import HostPart
from blueprints.load import examine
from components.inspection import causes
from components.inspection.codes import Code
from components.inspection.finding import drift
from components.inspection.recorded_cluster import Known
from stacks import project
from stacks.drift import bmcs
from tests.bmcs import redfish

STACK = f"test-drift-bmcs-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4"
PASSWORD = "correct horse"


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[redfish.Bmc]:
    with redfish.Bmc(tmp_path, password=PASSWORD).serving("127.73.0.1") as serving:
        yield serving


@pytest.fixture
def known(bmc: redfish.Bmc, tmp_path: Path) -> Iterator[Known]:
    """A stack whose only node has a BMC."""
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    password.chmod(0o600)
    file = tmp_path / "lab.yaml"
    file.write_text(
        f"name: lab\ninventory:\n  bmc: {{user: operator, password_file: {password}, port: {bmc.address.rpartition(':')[2]}}}\n  hosts:\n"
        f"    head-1: {{address: 10.20.0.9, host_key: {KEY}f}}\n    login-1: {{address: 10.20.0.10, host_key: {KEY}g}}\n"
        f'    gpu-1: {{address: 10.20.0.1, host_key: {KEY}h, bmc: 127.73.0.1, bmc_certificate: "{bmc.certificate}"}}\n'
        "control: {hosts: head-1}\naccess: {hosts: login-1}\npools: {train: {hosts: gpu-1}}\n"
    )
    cluster = examine(str(file), target="metal", stack=STACK, facts=Facts(1, 2, 1, 24_000)).spec
    yield Known(cluster, (), "", "", "", {}, (), None, ())
    for path in (project.servers_file(STACK), project.private_folder(STACK) / "bmc-refusals.json"):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        project.private_folder(STACK).rmdir()


def seen(known: Known) -> bmcs.Seen:
    asked = bmcs.begin(STACK, known)
    assert asked is not None
    return asked.result()


def with_password_file(known: Known, file: str) -> Known:
    site = known.cluster.site
    assert site is not None
    assert site.bmc is not None
    other = dataclasses.replace(site, bmc=dataclasses.replace(site.bmc, password_file=file))
    return dataclasses.replace(known, cluster=dataclasses.replace(known.cluster, site=other))


def test_a_server_is_compared_with_what_is_recorded_of_it(bmc: redfish.Bmc, known: Known) -> None:
    firmware = {"BIOS": "1.4.2", "BMC": "24.09.1", "GPU_SXM_1": "other", "NIC_1": "28.39.1002"}
    project.servers_file(STACK).write_text(f"format: 1\nhosts:\n  gpu-1: {{serial: SN-0001, model: HGX H100, firmware: {firmware}}}\n")

    found = seen(known)

    assert [(one.code, one.place) for one in found.findings] == [(Code.NEXT_BOOT, "gpu-1: next boot"), (Code.BMC_FIRMWARE, "gpu-1: firmware")]
    assert found.failure == ""
    assert bmc.sessions == {}


def test_a_stack_without_bmcs_asks_nobody(known: Known) -> None:
    assert known.cluster.site is not None
    without: spec.ClusterSpec = dataclasses.replace(known.cluster, site=dataclasses.replace(known.cluster.site, bmc=None))

    assert bmcs.begin(STACK, dataclasses.replace(known, cluster=without)) is None


def test_a_missing_password_is_a_failure_and_no_clean_check(bmc: redfish.Bmc, known: Known) -> None:
    found = seen(with_password_file(known, "/nonexistent/password"))

    assert "the password of the BMCs can't be read" in found.failure
    assert bmc.requests == []


def test_a_broken_recorded_file_is_a_failure(known: Known) -> None:
    project.servers_file(STACK).write_text("format: 3\n")

    assert "`format: 1`" in seen(known).failure


def test_a_server_that_is_off_is_why_its_host_does_not_answer() -> None:
    off = drift(Code.POWER_OFF, HostPart("gpu-1", "power"), "the server is switched off", remedy="")
    dark = drift(Code.UNREACHABLE, HostPart("gpu-1", "SSH"), "the host does not answer", remedy="")
    other = drift(Code.UNREACHABLE, HostPart("gpu-2", "SSH"), "the host does not answer", remedy="")

    kept = causes.fold([off, dark, other], hosts=[], controllers=[], requires={})

    assert [(one.code, one.place) for one in kept] == [(Code.POWER_OFF, "gpu-1: power"), (Code.UNREACHABLE, "gpu-2: SSH")]
    assert kept[0].what == "the server is switched off; because of it: gpu-1: SSH"
