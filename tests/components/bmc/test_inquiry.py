"""BMCs are asked by Redfish and IPMI: what they say, how they switch servers, and what happens when they are broken, slow or not who they should be."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components import bmc as package
from components.bmc import certificates, inquiry, ipmi
from components.bmc.model import Access, Action, Board, Cause, Facts, Power, Protocol, Unanswered
from tests.bmcs import ipmi as simulated_ipmi
from tests.bmcs import mockup, redfish

USER, PASSWORD = "operator", "correct horse"
MARKER = "planted-Zk93-marker"


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[redfish.Bmc]:
    with redfish.Bmc(tmp_path, user=USER, password=PASSWORD).serving() as serving:
        yield serving


def board(bmc: redfish.Bmc) -> Board:
    return Board("gpu-001", bmc.address, bmc.certificate)


def access(password: str = PASSWORD, protocol: Protocol = Protocol.REDFISH) -> Access:
    return Access(USER, password, protocol)


def refused(ask: Callable[[], object]) -> Unanswered:
    with pytest.raises(Unanswered) as raised:
        ask()
    return raised.value


def test_says_power_serial_firmware_health_boot_and_the_end_of_the_log(bmc: redfish.Bmc) -> None:
    found = inquiry.facts(board(bmc), access())

    assert (found.power, found.serial, found.model, found.health, found.boot) == (Power.ON, "SN-0001", "HGX H100", "OK", "Pxe (Once)")
    assert found.firmware == {"BIOS": "1.4.2", "BMC": "24.09.1", "GPU_SXM_1": "96.00.A5.00.01", "NIC_1": "28.39.1002"}
    assert [event.rpartition(" ")[2] for event in found.events] == ["3", "4", "5", "6", "7"]
    assert found.incomplete == ""


def test_reads_the_same_firmware_from_a_service_that_cannot_expand(bmc: redfish.Bmc) -> None:
    expanded = inquiry.facts(board(bmc), access()).firmware
    bmc.expands = False

    assert inquiry.facts(board(bmc), access()).firmware == expanded


def test_counts_only_what_runs_among_the_entries_of_an_idrac(bmc: redfish.Bmc) -> None:
    # Ids as Dell's iDRAC9 writes them: the version is part of them, and older versions are listed too.
    bmc.parts = {
        "Installed-159-1.2.3__BIOS.Setup.1-1": "1.2.3",
        "Previous-159-1.1.0__BIOS.Setup.1-1": "1.1.0",
        "Installed-25227-7.10__iDRAC.Embedded.1-1": "7.10",
    }

    found = inquiry.facts(board(bmc), access()).firmware

    assert (found["BIOS.Setup.1-1"], found["iDRAC.Embedded.1-1"]) == ("1.2.3", "7.10")
    assert not [name for name in found if "Previous" in name or "Installed" in name]


def test_closes_every_session(bmc: redfish.Bmc) -> None:
    for _ in range(bmc.most_sessions + 1):
        inquiry.power(board(bmc), access())
    bmc.fault.refuses_resets = True
    refused(lambda: inquiry.act(board(bmc), access(), Action.CYCLE))

    assert bmc.sessions == {}


@pytest.mark.parametrize(
    ("action", "before", "reset", "after"),
    [
        (Action.CYCLE, "On", "PowerCycle", "On"),
        (Action.CYCLE, "Off", "On", "On"),
        (Action.OFF, "On", "GracefulShutdown", "Off"),
        (Action.HARD_OFF, "On", "ForceOff", "Off"),
        (Action.ON, "Off", "On", "On"),
    ],
)
def test_switches_a_server(bmc: redfish.Bmc, action: Action, before: str, reset: str, after: str) -> None:
    bmc.power = before

    inquiry.act(board(bmc), access(), action)

    assert (bmc.resets, bmc.power) == ([reset], after)


def test_takes_the_next_best_reset_that_a_service_offers(bmc: redfish.Bmc) -> None:
    bmc.offered, bmc.lists_resets_apart = ("On", "ForceOff", "ForceRestart"), True

    inquiry.act(board(bmc), access(), Action.CYCLE)
    error = refused(lambda: inquiry.act(board(bmc), access(), Action.OFF))

    assert bmc.resets == ["ForceRestart"]
    assert error.cause is Cause.REFUSED
    assert "ForceOff, ForceRestart, On" in str(error)


def test_waits_for_the_task_of_a_reset(bmc: redfish.Bmc) -> None:
    bmc.task_s = 0.5

    inquiry.act(board(bmc), access(), Action.HARD_OFF)

    assert bmc.power == "Off"


def test_tries_a_refused_password_once(bmc: redfish.Bmc) -> None:
    # `auto` must not go on with IPMI, where the same wrong password would count again.
    error = refused(lambda: inquiry.facts(board(bmc), access("wrong", Protocol.AUTO)))

    assert (error.cause, bmc.log_ins, bmc.refused_log_ins) == (Cause.PASSWORD, 1, 1)


def test_sends_no_password_to_a_bmc_with_another_certificate(bmc: redfish.Bmc) -> None:
    error = refused(lambda: inquiry.facts(Board("gpu-001", bmc.address, "ab" * 32), access()))

    assert (error.cause, bmc.requests) == (Cause.CERTIFICATE, [])
    assert bmc.certificate in str(error)


def test_sends_nothing_to_a_bmc_without_a_known_certificate(bmc: redfish.Bmc) -> None:
    error = refused(lambda: inquiry.facts(Board("gpu-001", bmc.address), access()))

    assert (error.cause, bmc.requests) == (Cause.CERTIFICATE, [])


def test_trusts_a_certificate_that_the_named_authority_signed(bmc: redfish.Bmc) -> None:
    by_authority = Access(USER, PASSWORD, Protocol.REDFISH, authority=str(bmc.authority))

    assert inquiry.power(Board("gpu-001", bmc.address), by_authority) is Power.ON


def test_trusts_no_certificate_that_another_authority_signed(bmc: redfish.Bmc, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    by_another = Access(USER, PASSWORD, Protocol.REDFISH, authority=str(redfish.Bmc(other).authority))

    assert refused(lambda: inquiry.power(Board("gpu-001", bmc.address), by_another)).cause is Cause.CERTIFICATE
    assert bmc.requests == []


def test_shows_the_fingerprint_of_a_certificate_without_any_request(bmc: redfish.Bmc) -> None:
    shown = certificates.fingerprint(board(bmc), within_s=5)

    assert shown.replace(":", "").lower() == bmc.certificate
    assert certificates.FINGERPRINT.fullmatch(shown)
    assert bmc.requests == []


def test_follows_no_redirect(bmc: redfish.Bmc, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with redfish.Bmc(other).serving() as elsewhere:
        bmc.fault.elsewhere = f"https://{elsewhere.address}/redfish/v1/"
        error = refused(lambda: inquiry.facts(board(bmc), access()))

        assert (error.cause, elsewhere.requests) == (Cause.UNUSABLE, [])


def test_ignores_proxies_and_passwords_of_the_environment(bmc: redfish.Bmc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    netrc.chmod(0o600)
    for name, value in (("HTTPS_PROXY", "http://127.0.0.1:1"), ("ALL_PROXY", "http://127.0.0.1:1"), ("NETRC", str(netrc))):
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)

    assert inquiry.power(board(bmc), access()) is Power.ON


@pytest.mark.parametrize("fault", [redfish.Fault(silent=True), redfish.Fault(drips=True)], ids=["silent", "drips"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the thread that is left behind holds its connection
def test_a_half_dead_bmc_delays_no_other(bmc: redfish.Bmc, fault: redfish.Fault, tmp_path: Path) -> None:
    well = tmp_path / "well"
    well.mkdir()
    bmc.fault = fault
    with redfish.Bmc(well, user=USER, password=PASSWORD).serving() as other:
        boards = [board(bmc), Board("gpu-002", other.address, other.certificate)]
        begun = time.monotonic()
        found = inquiry.all_at_once(boards, lambda one: inquiry.facts(one, access(), within_s=10.0), within_s=10.0)
        took_s = time.monotonic() - begun

    half_dead, alive = found["gpu-001"], found["gpu-002"]
    assert isinstance(half_dead, Unanswered)
    assert half_dead.cause is Cause.SILENT
    assert isinstance(alive, Facts)
    assert took_s < 15.0


def test_a_slow_bmc_gives_what_it_can_in_time_and_its_session_back(bmc: redfish.Bmc) -> None:
    bmc.fault.slow_s = 0.4

    found = inquiry.facts(board(bmc), access(), within_s=4.0)

    assert (found.power, found.serial) == (Power.ON, "SN-0001")
    assert found.incomplete
    assert bmc.sessions == {}


def test_a_bmc_with_an_unexpected_answer_does_not_hide_the_others(bmc: redfish.Bmc) -> None:
    def ask(one: Board) -> Power:
        return {"gpu-001": Power.ON}[one.host]

    found = inquiry.all_at_once([board(bmc), Board("gpu-002", bmc.address)], ask, within_s=5)

    odd = found["gpu-002"]
    assert found["gpu-001"] is Power.ON
    assert isinstance(odd, Unanswered)
    assert odd.cause is Cause.UNUSABLE


def test_a_missing_client_is_named_with_the_command_that_installs_it(bmc: redfish.Bmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redfish", None)
    monkeypatch.setitem(sys.modules, "redfish.rest", None)
    monkeypatch.delitem(sys.modules, "components.bmc.redfish_service", raising=False)
    monkeypatch.delattr(package, "redfish_service", raising=False)

    error = refused(lambda: inquiry.facts(board(bmc), access()))

    assert "`make setup EXTRAS=metal`" in str(error)
    assert bmc.requests == []


def test_nothing_of_the_password_or_the_session_is_logged_or_said(bmc: redfish.Bmc, caplog: pytest.LogCaptureFixture) -> None:
    bmc.password = MARKER
    keys: list[str] = []
    opened = bmc.log_in

    def log_in(body: object) -> redfish.Answer:
        answer = opened(body)
        keys.append(answer.headers.get("X-Auth-Token", ""))
        return answer

    bmc.log_in = log_in  # type: ignore[method-assign]
    with caplog.at_level(logging.DEBUG):
        said = [repr(inquiry.facts(board(bmc), access(MARKER))), repr(access(MARKER))]
        said += [str(refused(lambda: inquiry.facts(board(bmc), access(f"{MARKER}-wrong"))))]

    assert len(list(filter(None, keys))) == 1
    assert not [text for text in (caplog.text, *said) for secret in (MARKER, keys[0]) if secret in text]


@pytest.mark.parametrize(
    ("action", "before", "reset"), [(Action.OFF, "On", "GracefulShutdown"), (Action.CYCLE, "On", "ForceRestart"), (Action.ON, "Off", "On")]
)
def test_reads_and_switches_the_server_of_dmtf_s_mockup(tmp_path: Path, action: Action, before: str, reset: str) -> None:
    with mockup.Bmc(tmp_path, password=PASSWORD).serving() as served:
        served.power = before
        found = inquiry.facts(board(served), access())
        inquiry.act(board(served), access(), action)

    assert (found.manufacturer, found.model, found.serial, found.health) == ("Contoso", "3500", "437XR1138R2", "OK")
    assert (found.power, found.boot) == (Power.ON if before == "On" else Power.OFF, "Pxe (Once)")
    assert found.firmware == {"BIOS": "P79 v1.45 (12/06/2017)", "BMC": "1.00"}
    assert found.incomplete == "the firmware of parts (refused), its log (refused)", "the mockup links to what its copy does not have"
    assert (served.resets, served.sessions) == ([reset], {})


@pytest.mark.skipif(bool(simulated_ipmi.MISSING), reason="`tools/setup bmc` installs ipmitool and OpenIPMI's simulated BMC")
def test_ipmi_says_the_facts_and_switches_the_server(tmp_path: Path) -> None:
    with simulated_ipmi.serving(tmp_path) as simulated:
        asked, known = Board("gpu-001", simulated.address), Access(simulated_ipmi.USER, simulated_ipmi.PASSWORD, Protocol.IPMI)
        found = inquiry.facts(asked, known)
        inquiry.act(asked, known, Action.CYCLE)
        wrong = refused(lambda: inquiry.power(asked, Access(simulated_ipmi.USER, MARKER, Protocol.IPMI)))

        assert (found.power, found.serial, found.model, found.firmware) == (Power.ON, "SN-0002", "HGX H100", {"BMC": "9.08"})
        # The simulated chassis gives the power back some seconds later.
        assert simulated.orders[0] == "power 0"
        assert wrong.cause is Cause.PASSWORD
        assert MARKER not in str(wrong)


def test_ipmi_refuses_a_password_that_the_protocol_cuts_off() -> None:
    assert refused(lambda: inquiry.power(Board("gpu-001", "127.0.0.1:1"), access("x" * 21, Protocol.IPMI))).cause is Cause.REFUSED


def test_ipmi_reads_the_log_the_fault_and_the_boot_device() -> None:
    # As ipmitool 1.8.19 prints them with -v.
    said = """System Power         : on
Drive Fault          : true
 Boot Flags :
   - Boot Flag Valid
   - Boot Device Selector : Force PXE
SEL Record ID          : 0001
 Timestamp             : 11/20/2026 10:00:00
 Sensor Type           : Memory
 Description           : Uncorrectable ECC
"""
    found = ipmi.parse(said)

    assert (found.health, found.boot, found.events) == ("Critical", "Force PXE", ("11/20/2026 10:00:00 Memory Uncorrectable ECC",))
