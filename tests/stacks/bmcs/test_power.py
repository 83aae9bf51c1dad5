"""`clusterwright power` before the first `up`: what BMCs say, switching with a question and brakes, and bad input as one page each."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.bmc import inquiry
from stacks import project
from stacks.cli import main
from tests.bmcs import redfish

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
STACK = f"test-power-{WORKER}"
MARKER = "planted-Zk93-marker"
PORT = 9443 + int(WORKER.removeprefix("gw"))
"""Of all BMCs, which have an address each."""
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4"
ADDRESSES = {"gpu-001": "127.71.0.11", "gpu-002": "127.71.0.12"}
BLUEPRINT = """
name: lab
inventory:
  user: ubuntu
  bmc: {{user: operator, password_file: {password}, port: {port}}}
  hosts:
    head-1: {{address: 10.20.0.2, host_key: {key}f, bmc: 127.71.0.2, bmc_certificate: "{certificate}"}}
    login-1: {{address: 10.20.0.3, host_key: {key}g}}
{hosts}
control: {{hosts: head-1}}
access: {{hosts: login-1}}
pools: {{train: {{hosts: "gpu-[001-002]"}}}}
"""
HOST = '    {name}: {{address: {address}, host_key: {key}{last}, bmc: {bmc}, bmc_certificate: "{certificate}"}}'


class Lab:
    """Two servers with BMCs, and a controller whose BMC does not answer."""

    def __init__(self, folder: Path, bmcs: dict[str, redfish.Bmc], run: Callable[[], str]):
        self.bmcs, self._run = bmcs, run
        self.password = folder / "password"
        self.password.write_text(f"{MARKER}\n")
        self.password.chmod(0o600)
        hosts = [
            HOST.format(name=name, address=f"10.20.0.{11 + number}", key=KEY, last="hi"[number], bmc=ADDRESSES[name], certificate=bmc.certificate)
            for number, (name, bmc) in enumerate(bmcs.items())
        ]
        self.blueprint = folder / "lab.yaml"
        certificate = next(iter(bmcs.values())).certificate
        self.blueprint.write_text(BLUEPRINT.format(password=self.password, port=PORT, key=KEY, certificate=certificate, hosts="\n".join(hosts)))

    def power(self, *words: str) -> tuple[int, str]:
        """Run the command; give its status and all that it printed."""
        status = main.main(["power", "--stack", STACK, "--blueprint", str(self.blueprint), "--target", "metal", *words])
        return status, self._run()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Lab]:
    backend = tmp_path / "state"
    backend.mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", backend.as_uri())
    with contextlib.ExitStack() as stack:
        bmcs = {}
        for name, address in ADDRESSES.items():
            (tmp_path / name).mkdir()
            bmcs[name] = stack.enter_context(redfish.Bmc(tmp_path / name, password=MARKER).serving(address, PORT))
        try:
            yield Lab(tmp_path, bmcs, lambda: "".join(capsys.readouterr()))
        finally:
            shutil.rmtree(project.private_folder(STACK), ignore_errors=True)


def test_shows_every_server_and_names_the_bmc_that_is_silent(lab: Lab) -> None:
    lab.bmcs["gpu-002"].serial = "SN-0002"

    status, said = lab.power("status")

    rows = {line.split()[0]: line.split() for line in said.splitlines() if line.startswith("  ")}
    assert (rows["gpu-001"][1], rows["gpu-002"][6], rows["head-1"][1]) == ("on", "SN-0002", "absent")
    assert status == 1
    assert MARKER not in said


def test_gives_the_same_as_json(lab: Lab) -> None:
    status, said = lab.power("status", "gpu-001", "--json")

    host = json.loads(said)["hosts"]["gpu-001"]
    assert (status, host["power"], host["serial"], host["firmware"]["NIC_1"]) == (0, "on", "SN-0001", "28.39.1002")


def test_switches_only_what_somebody_agrees_to(lab: Lab) -> None:
    refused, said = lab.power("cycle", "gpu-001")
    assert (refused, lab.bmcs["gpu-001"].resets) == (1, [])
    assert "gpu-001" in said

    done, _ = lab.power("cycle", "gpu-001", "--yes")
    assert (done, lab.bmcs["gpu-001"].resets, lab.bmcs["gpu-002"].resets) == (0, ["PowerCycle"], [])


def test_a_host_is_not_cycled_again_and_again(lab: Lab) -> None:
    for _ in range(2):
        assert lab.power("cycle", "gpu-001", "--yes")[0] == 0

    status, said = lab.power("cycle", "gpu-001", "--yes")

    assert (status, len(lab.bmcs["gpu-001"].resets)) == (1, 2)
    assert "look for what is broken" in said


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("cycle", "gpu-[001-002]", "--yes"), 1, "one command switches 1"),
        (("hard-off", "gpu-001", "head-1", "--at-most", "2", "--yes"), 1, "name a controller or login host alone"),
        (("cycle", "login-1", "--yes"), 2, "there is no BMC for login-1"),
        (("cycle", "gpu-9", "--yes"), 2, "there is no host gpu-9"),
        (("cycle", "gpu-[", "--yes"), 2, "a host list can't be read"),
        (("cycle", "--yes"), 2, "no host is named"),
    ],
)
def test_refuses_on_one_page(lab: Lab, words: tuple[str, ...], status: int, said: str) -> None:
    given, page = lab.power(*words)

    assert (given, [bmc.resets for bmc in lab.bmcs.values()]) == (status, [[], []])
    assert said in page
    assert "\n  do:  " in page


def test_a_server_that_does_not_shut_down_is_named(lab: Lab) -> None:
    lab.bmcs["gpu-001"].ignores_shutdown = True

    status, said = lab.power("off", "gpu-001", "--yes", "--wait", "1")

    assert (status, lab.bmcs["gpu-001"].power) == (1, "On")
    assert "gpu-001: it is not off after 1 s: `hard-off` cuts its power" in said
    assert lab.power("hard-off", "gpu-001", "--yes", "--wait", "60")[0] == 0
    assert lab.bmcs["gpu-001"].power == "Off"


def test_a_bmc_that_refuses_is_named_with_its_reason(lab: Lab) -> None:
    lab.bmcs["gpu-001"].fault.refuses_resets = True

    status, said = lab.power("cycle", "gpu-001", "--yes")

    assert status == 1
    assert f"gpu-001: 127.71.0.11:{PORT} refuses: HTTP 409 The change of the power state is in use." in said


def test_a_wrong_password_is_tried_once_whatever_is_run(lab: Lab) -> None:
    lab.password.write_text("wrong")

    for words in (("status",), ("status", "gpu-001"), ("cycle", "gpu-001", "--yes")):
        assert lab.power(*words)[0] == 1
    assert [bmc.log_ins for bmc in lab.bmcs.values()] == [1, 1]

    lab.password.write_text(MARKER)
    assert lab.power("status", "gpu-001")[0] == 0


def test_looks_certificates_up_without_any_request(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    own = lab.bmcs["gpu-001"].certificate
    text = lab.blueprint.read_text().replace(f', bmc_certificate: "{own}"', "", 2)  # that of head-1 is written as the same
    lab.blueprint.write_text(text.replace(lab.bmcs["gpu-002"].certificate, "ab" * 32))

    status = main.main(["lookup", "bmcs", str(lab.blueprint), "--json"])
    states = {one["host"]: one.get("state", one.get("unanswered")) for one in json.loads(capsys.readouterr().out)["bmcs"]}
    assert main.main(["lookup", "bmcs", str(lab.blueprint)]) == 1
    said = capsys.readouterr().out

    assert (status, states) == (1, {"head-1": "unreachable", "gpu-001": "new: compare it", "gpu-002": "DIFFERS from the inventory"})
    [line] = [line for line in said.splitlines() if line.startswith("  gpu-001: {…, bmc_certificate:")]
    assert line.partition('"')[2].strip('"}').replace(":", "").lower() == own
    assert [bmc.requests for bmc in lab.bmcs.values()] == [[], []]


def test_looks_up_what_bmcs_with_a_pinned_certificate_say_and_sends_the_password_to_no_other(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.bmcs["gpu-001"].serial = "SN-0007"
    lab.blueprint.write_text(lab.blueprint.read_text().replace(lab.bmcs["gpu-002"].certificate, "ab" * 32))

    words = ["lookup", "bmcs", str(lab.blueprint), "--stack", STACK]
    assert main.main([*words, "--json"]) == 1  # head-1 does not answer
    servers = {one["host"]: one.get("server") for one in json.loads(capsys.readouterr().out)["bmcs"]}
    assert main.main(words) == 1
    said = capsys.readouterr().out

    assert (servers["gpu-001"]["serial"], servers["gpu-001"]["power"], servers["gpu-001"]["firmware"]["NIC_1"]) == ("SN-0007", "on", "28.39.1002")
    assert (servers["gpu-002"], lab.bmcs["gpu-002"].requests) == (None, [])
    assert "SN-0007" in said
    assert MARKER not in said


def test_looks_certificates_up_where_there_is_no_password_yet(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.password.unlink()

    assert main.main(["lookup", "bmcs", str(lab.blueprint), "--stack", STACK]) == 1
    shown = capsys.readouterr()

    assert shown.out.count("as in the inventory") == 2
    assert "power, serial numbers and firmware were not read: the password of the BMCs can't be read" in shown.err


def test_lookup_of_bmcs_needs_a_blueprint_that_names_some(lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab.blueprint.write_text(lab.blueprint.read_text().replace("  bmc: {user: operator", "  bmc: {protocol: ipmi, user: operator"))

    assert main.main(["lookup", "bmcs"]) == 2
    assert main.main(["lookup", "bmcs", str(lab.blueprint)]) == 2
    assert main.main(["lookup", "bmcs", str(lab.blueprint), "--write"]) == 2


def test_the_password_is_nowhere_in_what_is_kept(lab: Lab) -> None:
    lab.power("status")
    lab.power("cycle", "gpu-001", "--yes")
    lab.password.write_text("wrong")
    lab.power("status")

    kept = [path for path in project.private_folder(STACK).rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if MARKER in path.read_text()]


def test_a_bmc_that_is_too_slow_is_asked_a_second_time(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inquiry, "FACTS_WITHIN_S", 1.0)
    lab.bmcs["gpu-001"].fault.slow_s = 0.6

    status, said = lab.power("status", "gpu-001")

    assert status == 0, said
    assert "gpu-001" in said
    assert lab.bmcs["gpu-001"].serial in said
    assert lab.bmcs["gpu-001"].refused_log_ins == 0
