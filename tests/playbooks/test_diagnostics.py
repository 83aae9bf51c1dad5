"""The diagnostics of `health.check: full`: each fault that counting devices doesn't show is named with its GPU or port and with what ends it, and a tool that fails drains nothing."""

import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.playbooks import templates

ROLE = templates.PLAYBOOKS / "roles/guard"
RULES: dict[str, Any] = yaml.safe_load((ROLE / "vars/main.yml").read_text())["guard_diagnostics"]
GPUS = ("00000000:18:00.0", "00000000:3B:00.0")
HEALTHY = {
    "ecc_errors/volatile/sram_correctable": "0",
    "ecc_errors/volatile/sram_uncorrectable_parity": "0",
    "ecc_errors/volatile/sram_uncorrectable_secded": "0",
    "ecc_errors/volatile/dram_correctable": "12",
    "ecc_errors/volatile/dram_uncorrectable": "0",
    "ecc_errors/aggregate/dram_uncorrectable": "3",
    "ecc_errors/aggregate/sram_threshold_exceeded": "No",
    "retired_pages/pending_retirement": "N/A",
    "remapped_rows/remapped_row_unc": "1",
    "remapped_rows/remapped_row_pending": "No",
    "remapped_rows/remapped_row_failure": "No",
    "gpu_reset_status/reset_required": "No",
    "gpu_recovery_action": "None",
    "clocks_event_reasons/clocks_event_reason_gpu_idle": "Active",
    "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown": "Not Active",
    "clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown": "Not Active",
    "pci/pci_gpu_link_info/link_widths/max_link_width": "16x",
    "pci/pci_gpu_link_info/link_widths/current_link_width": "16x",
    "fabric/state": "Completed",
    "fabric/status": "Success",
}
"""What the checks read of an H100 in `nvidia-smi --query --xml-format` (driver 555 and later); errors that were corrected or remapped long ago are no fault."""


def document(*changed: tuple[int, str, str]) -> str:
    """Write the driver's answer for two GPUs: (number of the GPU, place, value) where one is other than healthy."""
    log = ET.Element("nvidia_smi_log")
    for number, bus in enumerate(GPUS):
        gpu = ET.SubElement(log, "gpu", id=bus)
        for place, value in {**HEALTHY, **{place: value for which, place, value in changed if which == number}}.items():
            inner = gpu
            for tag in place.split("/"):
                found = inner.find(tag)
                inner = ET.SubElement(inner, tag) if found is None else found
            inner.text = value
    return f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n{ET.tostring(log, encoding="unicode")}\n'


class Host:
    """A host with two GPUs, one port of InfiniBand and one of RoCE, whose tools answer what a test says."""

    def __init__(self, folder: Path):
        self.folder, self.root = folder, folder / "root"
        (self.root / "usr/bin").mkdir(parents=True)
        (self.root / "proc/driver/nvidia").mkdir(parents=True)
        (self.root / "proc/sys/kernel/random").mkdir(parents=True)
        self.boot("first")
        (folder / "rules.json").write_text(json.dumps(RULES))
        self.tool("nvidia-smi", document())
        self.log()
        for device in ("mlx5_0", "mlx5_1"):
            self.port(device)

    def boot(self, number: str) -> None:
        (self.root / "proc/sys/kernel/random/boot_id").write_text(f"{number}\n")

    def tool(self, name: str, said: str, *, status: int = 0, before: str = "") -> None:
        (self.folder / name).write_text(said)
        (self.root / "usr/bin" / name).write_text(f'#!/bin/sh\necho "$*" >> {self.folder}/{name}.asked\n{before}\ncat {self.folder}/{name}\nexit {status}\n')
        (self.root / "usr/bin" / name).chmod(0o755)

    def log(self, *lines: str, after_s: float = 100.0) -> None:
        """Let the journal hold lines of the kernel. Without one it fails, as journalctl's search does."""
        entries = [json.dumps({"MESSAGE": line, "__MONOTONIC_TIMESTAMP": str(int((after_s + number) * 1e6))}) for number, line in enumerate(lines)]
        self.tool("journalctl", "".join(f"{one}\n" for one in entries), status=0 if lines else 1)

    def port(
        self, device: str, counted: Mapping[str, int] | None = None, *, state: str = "4: ACTIVE", rate: str = "400 Gb/sec (4X NDR)", fell: int = 0
    ) -> None:
        place = self.root / f"sys/class/infiniband/{device}/ports/1"
        (place / "counters").mkdir(parents=True, exist_ok=True)
        for name, value in (
            ("state", state),
            ("rate", rate),
            ("counters/link_downed", fell),
            *((f"counters/{one}", value) for one, value in (counted or {}).items()),
        ):
            (place / name).write_text(f"{value}\n")

    def age(self, seconds: float) -> None:
        """Let what the ports counted be older."""
        place = self.folder / "state/diagnostics.json"
        state = json.loads(place.read_text())
        for port in state["ports"].values():
            for one in port["counted"].values():
                one["grown"] = [[at - seconds, by] for at, by in one["grown"]]
        place.write_text(json.dumps(state))

    def process(self, number: int, state: str, command: str = "python3 train.py") -> None:
        place = self.root / "proc" / str(number)
        place.mkdir(exist_ok=True)
        (place / "cmdline").write_text(command.replace(" ", "\0"))
        (place / "stat").write_text(f"{number} (py (thon) 3) {state} 1 {number} 0 0 -1 4194560\n")

    def look(self, *words: str, **changed: Any) -> dict[str, Any]:
        places = {"RULES": "rules.json", "STATE": "state/diagnostics.json"}
        if changed:
            (self.folder / "rules.json").write_text(json.dumps({**RULES, **changed}))
        script = f"import runpy, sys\nown = runpy.run_path({str(ROLE / 'files/diagnostics.py')!r})['main'].__globals__\n"
        script += "".join(f"own[{name!r}] = {str(self.folder / path)!r}\n" for name, path in places.items())
        script += f"sys.argv = ['diagnostics', '--hardware', {str(self.root)!r}, *{list(words)!r}]\nsys.exit(own['main']())\n"
        done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def wrong(self, *words: str) -> list[tuple[str, str]]:
        found = self.look(*words)
        assert found["unasked"] == []
        return [(one["what"], one["action"]) for one in found["wrong"]]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


OWN, PEER, GONE = "10.20.0.12", "10.20.0.13", "10.20.0.14"
FIB_TRIE = f"""Main:
  +-- 0.0.0.0/0 3 0 5
     |-- {OWN}
        /32 host LOCAL
     |-- 10.20.0.255
        /32 link BROADCAST
"""
"""As the kernel writes it."""


def imex(**status: str) -> str:
    """Write the answer of `nvidia-imex-ctl -N -j` (580.178.04), in which one machine doesn't answer and the others do."""
    hosts, between = (OWN, PEER, GONE), {"own": "READY", "peer": "CONNECTED", **status}
    states = {OWN: between["own"], PEER: "READY", GONE: "UNAVAILABLE"}

    def connection(one: str, other: str) -> str:
        return "INVALID" if GONE in (one, other) else between["peer"] if {one, other} == {OWN, PEER} else "CONNECTED"

    nodes = {
        str(number): {
            "status": states[one],
            "host": one,
            "connections": {str(count): {"host": other, "status": connection(one, other), "changed": False} for count, other in enumerate(hosts)},
            "changed": False,
            "version": "580.178.04",
            "hostName": "",
        }
        for number, one in enumerate(hosts)
    }
    return json.dumps({"nodes": nodes, "timestamp": "11/28/2026 01:20:26.529", "status": "DEGRADED"})


NOT_STARTED = (
    '{"nodes":{"1":{"status":"UNAVAILABLE","host":"10.20.0.13","connections":{"1":{"host":"10.20.0.13","status":"INVALID","changed":false},'
    '"0":{"host":"10.20.0.12","status":"INVALID","changed":false}},"changed":false,"version":"","hostName":""},'
    '"0":{"status":"UNAVAILABLE","host":"10.20.0.12","connections":{"1":{"host":"10.20.0.13","status":"INVALID","changed":false},'
    '"0":{"host":"10.20.0.12","status":"INVALID","changed":false}},"changed":false,"version":"","hostName":""}},'
    '"timestamp":"11/28/2026 01:20:26.529","status":"DOWN"}'
)
"""What the program of Ubuntu's package 580.178.04 answered where no daemon ran, with other addresses."""


def joined(host: Host, said: str) -> None:
    """Let the host be a machine of an NVLink domain."""
    (host.root / "etc/nvidia-imex").mkdir(parents=True, exist_ok=True)
    (host.root / "etc/nvidia-imex/nodes_config.cfg").write_text(f"{OWN}\n{PEER}\n{GONE}\n")
    (host.root / "proc/net").mkdir(exist_ok=True)
    (host.root / "proc/net/fib_trie").write_text(FIB_TRIE)
    host.tool("nvidia-imex-ctl", said)


def test_a_machine_of_an_nvlink_domain_is_not_blamed_for_others_that_do_not_answer(host: Host) -> None:
    joined(host, imex())
    assert [host.wrong(), host.wrong()] == [[], []]
    assert set((host.folder / "nvidia-imex-ctl.asked").read_text().splitlines()) == {"-N -j"}


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (NOT_STARTED, "its IMEX daemon is UNAVAILABLE"),
        (imex(own="WAITING_FOR_RECOVERY"), "its IMEX daemon is WAITING_FOR_RECOVERY"),
        (imex(peer="NEVER_CONNECTED"), f"its IMEX daemon and that of {PEER} are not connected (NEVER_CONNECTED)"),
    ],
)
def test_a_machine_that_is_not_joined_with_its_nvlink_domain_is_named_at_two_looks(host: Host, said: str, what: str) -> None:
    joined(host, said)
    assert [host.wrong(), host.wrong()] == [[], [(what, "restart-imex")]]


@pytest.mark.parametrize(("said", "why"), [("{}", "can't be read"), (imex().replace(OWN, "10.20.0.99"), "none of its 3 machines has an address of this node")])
def test_an_answer_about_the_nvlink_domain_that_says_nothing_of_this_node_drains_nothing(host: Host, said: str, why: str) -> None:
    joined(host, said)
    found = host.look()
    assert found["wrong"] == []
    assert [why in one for one in found["unasked"]] == [True]


def test_a_machine_of_no_nvlink_domain_asks_no_daemon(host: Host) -> None:
    host.tool("nvidia-imex-ctl", NOT_STARTED)
    assert [host.wrong(), host.wrong()] == [[], []]


SECOND = "GPU 0000:3B:00.0"
THERMAL, BRAKE = (f"clocks_event_reasons/clocks_event_reason_hw_{name}" for name in ("thermal_slowdown", "power_brake_slowdown"))
OF_GPUS = [
    ("ecc_errors/volatile/dram_uncorrectable", "1", 1, "uncorrectable errors of its memory: 1", "reset-gpu"),
    ("ecc_errors/volatile/sram_uncorrectable_parity", "2", 1, "uncorrectable parity errors of its SRAM: 2", "reset-gpu"),
    ("ecc_errors/volatile/sram_uncorrectable_secded", "1", 1, "uncorrectable errors of its SRAM: 1", "reset-gpu"),
    ("ecc_errors/volatile/sram_uncorrectable", "4", 1, "uncorrectable errors of its SRAM: 4", "reset-gpu"),
    ("ecc_errors/aggregate/sram_threshold_exceeded", "Yes", 1, "more SRAM errors than NVIDIA allows", "replace"),
    ("remapped_rows/remapped_row_failure", "Yes", 1, "a row of its memory could not be remapped", "replace"),
    ("remapped_rows/remapped_row_pending", "Yes", 1, "a row of its memory waits to be remapped", "reset-gpu"),
    ("ecc_errors/channel_repair_pending", "Yes", 1, "a channel of its memory waits to be repaired", "reset-gpu"),
    ("ecc_errors/tpc_repair_pending", "Yes", 1, "a processing cluster waits to be repaired", "reset-gpu"),
    ("retired_pages/pending_retirement", "Yes", 1, "a page of its memory waits to be retired", "reboot"),
    ("gpu_reset_status/reset_required", "Yes", 1, "the driver asks for a reset", "reset-gpu"),
    ("gpu_recovery_action", "Reboot", 1, "the driver asks for a reboot of the node", "reboot"),
    ("gpu_recovery_action", "Drain and Reset", 1, "the driver asks for a reset", "reset-gpu"),
    ("pci/pci_gpu_link_info/link_widths/current_link_width", "8x", 2, "8 of 16 PCIe lanes", "reboot"),
    ("fabric/state", "In Progress", 2, "not registered with the NVSwitch fabric (In Progress)", "restart-fabric-manager"),
    ("fabric/status", "Insufficient Resources", 2, "the NVSwitch fabric reports: Insufficient Resources", "restart-fabric-manager"),
    (THERMAL, "Active", 3, "slowed down by its temperature", "replace"),
    (BRAKE, "Active", 3, "slowed down by the power brake", "replace"),
    ("clocks_throttle_reasons/clocks_throttle_reason_hw_thermal_slowdown", "Active", 3, "slowed down by its temperature", "replace"),
]


def test_healthy_gpus_ports_and_processes_say_nothing(host: Host) -> None:
    host.process(4711, "S")
    host.process(12, "D", command="")  # a thread of the kernel
    assert [host.look() for _ in range(4)] == [{"wrong": [], "unasked": []}] * 4


@pytest.mark.parametrize(("place", "value", "looks", "what", "action"), OF_GPUS, ids=lambda value: str(value))
def test_what_the_driver_reports_names_the_gpu_and_what_ends_it(host: Host, place: str, value: str, looks: int, what: str, action: str) -> None:
    host.tool("nvidia-smi", document((1, place, value)))
    assert [host.wrong() for _ in range(looks)] == [[]] * (looks - 1) + [[(f"{SECOND}: {what}", action)]]


@pytest.mark.parametrize("value", ["N/A", "[N/A]", "Unknown Error", ""])
def test_what_the_driver_does_not_know_is_not_wrong_and_hides_nothing(host: Host, value: str) -> None:
    unknown = [(0, place, value) for place, *_ in OF_GPUS]
    host.tool("nvidia-smi", document(*unknown))
    assert [host.look() for _ in range(3)] == [{"wrong": [], "unasked": []}] * 3
    place, wrong, looks, what, action = OF_GPUS[0]
    assert looks == 1
    host.tool("nvidia-smi", document(*unknown, (1, place, wrong)))
    assert host.wrong() == [(f"{SECOND}: {what}", action)]


def test_a_gpu_that_cools_down_between_looks_is_not_drained(host: Host) -> None:
    for _ in range(3):
        host.tool("nvidia-smi", document((0, THERMAL, "Active")))
        assert [host.wrong(), host.wrong()] == [[], []]
        host.tool("nvidia-smi", document())
        assert host.wrong() == []


XIDS = [
    ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1122, GPU has fallen off the bus.", "Xid 79: GPU has fallen off the bus", "reboot"),
    (
        "NVRM: Xid (PCI:0000:3b:00): 48, pid=2, name=python, An uncorrectable double bit error (DBE)",
        "Xid 48: An uncorrectable double bit error (DBE)",
        "reset-gpu",
    ),
    ("NVRM: Xid (PCI:0000:3b:00): 119, Timeout after 6s of waiting for RPC response", "Xid 119: Timeout after 6s of waiting for RPC response", "reset-gpu"),
    ("NVRM: Xid (PCI:0000:3b:00): 54, Auxiliary power is not connected", "Xid 54: Auxiliary power is not connected", "replace"),
    *(
        (
            f"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to {wanted}",
            f"Xid 154: GPU recovery action changed from 0x0 (None) to {wanted}",
            action,
        )
        for wanted, action in (
            ("0x1 (GPU Reset Required)", "reset-gpu"),
            ("0x1 (PF FLR)", "reset-gpu"),
            ("0x2 (Node Reboot Required)", "reboot"),
            ("0x2 (OS Reboot)", "reboot"),
            ("0x4 (Drain and Reset)", "reset-gpu"),
        )
    ),
]


@pytest.mark.parametrize(("line", "what", "action"), XIDS, ids=[what for _, what, _ in XIDS])
def test_an_error_in_the_kernels_log_names_the_gpu_and_what_ends_it(host: Host, line: str, what: str, action: str) -> None:
    host.log(line, line)
    assert host.wrong() == [(f"GPU 0000:3b:00: {what}", action)], "once, however often it is logged"


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:00:06): 31, pid=79749, name=exe, Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS",
        "NVRM: Xid (PCI:0000:00:06): 13, Graphics Exception",
        "NVRM: Xid (PCI:0000:00:06): 63, Row Remapper: New row marked for remapping",
        "NVRM: Xid (PCI:0000:00:06): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO",
    ],
)
def test_errors_of_programs_and_what_is_only_watched_drain_nothing(host: Host, line: str) -> None:
    host.log(line)
    assert host.wrong() == []


def test_a_fatal_error_of_an_nvswitch_asks_for_a_reboot(host: Host) -> None:
    host.log("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 19084, Fatal, Link 32 AN1 Heartbeat Timeout Error")
    assert host.wrong() == [("NVSwitch 0000:c1:00.0: SXid 19084: Link 32 AN1 Heartbeat Timeout Error", "reboot")]


def test_only_lines_of_the_kernel_itself_count(host: Host) -> None:
    host.wrong()
    host.wrong("--simulated")
    asked = (host.folder / "journalctl.asked").read_text().splitlines()
    assert [line.split()[-1] for line in asked] == ["_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=kernel"]


def test_errors_and_values_of_simulated_gpus_are_called_so(host: Host) -> None:
    host.log(XIDS[0][0])
    host.tool("nvidia-smi", document((1, "gpu_recovery_action", "Reboot")))
    assert [what.split(":")[0] for what, _ in host.wrong("--simulated")] == ["simulated GPU 0000", "simulated GPU 0000"]


def test_what_was_repaired_is_left_out_and_what_comes_later_is_not(host: Host) -> None:
    host.log(XIDS[0][0], after_s=1)
    assert host.wrong() != []
    host.look("--forget")
    assert host.wrong() == []
    host.log(XIDS[0][0], after_s=10_000_000)
    assert host.wrong() != []


def test_an_error_of_the_boot_before_is_gone_with_it(host: Host) -> None:
    host.look("--forget")
    host.boot("second")
    host.log(XIDS[0][0], after_s=1)
    assert host.wrong() != [], "the new boot's log counts from its beginning"


def test_a_port_that_goes_down_or_slows_down_is_named(host: Host) -> None:
    host.wrong()
    host.port("mlx5_1", state="1: DOWN", rate="10 Gb/sec (4X SDR)")
    assert [host.wrong(), host.wrong()] == [[], [("mlx5_1 port 1 is DOWN and was active", "replace")]]
    host.port("mlx5_1", rate="200 Gb/sec (2X NDR)")
    assert [host.wrong(), host.wrong()] == [[], [("mlx5_1 port 1 runs at 200 Gb/s and ran at 400", "replace")]]
    host.boot("second")
    assert [host.wrong(), host.wrong()][1] != [], "a reboot doesn't make a slow port the usual one"
    host.port("mlx5_1")
    assert host.wrong() == []


def test_a_port_that_never_was_active_is_nobodys_loss(host: Host) -> None:
    host.port("mlx5_2", state="1: DOWN")
    assert [host.wrong() for _ in range(3)] == [[]] * 3


def test_a_link_that_falls_five_times_in_a_day_is_named(host: Host) -> None:
    found = []
    for fell in (7, 8, 9, 10, 11, 12):
        host.port("mlx5_0", fell=fell)
        found = host.wrong()
        assert bool(found) is (fell == 12), "what was counted before the first look is not counted"
    assert found == [("mlx5_0 port 1 lost its link 5 times in a day", "replace")]


@pytest.mark.parametrize(
    ("counter", "few", "many", "said"),
    [
        ("symbol_error", 120, 121, "more than 120 symbol errors"),
        ("local_link_integrity_errors", 0, 1, "more than 0 errors of its link's integrity"),
        ("excessive_buffer_overrun_errors", 0, 1, "more than 0 overruns of its buffers"),
    ],
)
def test_a_port_that_counts_errors_within_an_hour_is_named_until_the_hour_is_over(host: Host, counter: str, few: int, many: int, said: str) -> None:
    host.port("mlx5_1", {counter: 5000})
    assert host.wrong() == [], "what was counted before the first look is not counted"
    host.port("mlx5_1", {counter: 5000 + many})
    assert [host.wrong(), host.wrong()] == [[], []], "one burst, as of a link that falls once"
    host.age(3601)
    host.port("mlx5_1", {counter: 5000 + many + few})
    assert host.wrong() == []
    host.port("mlx5_1", {counter: 5000 + 2 * many + 1})
    assert host.wrong() == ([(f"mlx5_1 port 1 counted {said} in an hour", "replace")] if few else [])
    host.port("mlx5_1", {counter: 5000 + 2 * many + 2})
    assert host.wrong() == [(f"mlx5_1 port 1 counted {said} in an hour", "replace")]
    host.port("mlx5_1", {counter: 0})
    host.age(3601)
    assert [host.wrong(), host.wrong()] == [[], []], "the hour is over, and the driver counts from 0 again"


def test_a_counter_that_can_not_be_read_is_no_counter_that_began_again(host: Host) -> None:
    for counted in ({"symbol_error": 5000}, {"symbol_error": 5001}):
        host.port("mlx5_1", counted)
        assert host.wrong() == []
    place = host.root / "sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error"
    for content in ("", "5002\n", "", "5003\n"):
        place.write_text(content)
        assert host.wrong() == []


def test_the_first_process_that_is_stuck_at_two_looks_is_named(host: Host) -> None:
    host.process(4711, "D")
    host.process(12345, "D", command="nvidia-smi")
    assert [host.wrong(), host.wrong()] == [[], [("process 4711 (py (thon) 3) is stuck in the kernel", "reboot")]]


def test_a_process_that_waits_for_a_disk_for_a_moment_hides_none_that_is_stuck(host: Host) -> None:
    host.process(4711, "D")
    for number in (50, 51):
        host.process(number, "D")
        found = host.wrong()
        host.process(number, "S")
    assert found == [("process 4711 (py (thon) 3) is stuck in the kernel", "reboot")]


def test_a_full_file_system_is_named(host: Host) -> None:
    found = host.look(file_systems={"/": {"least_mib": 1 << 40, "action": "free"}, "/missing": {"least_mib": 1, "action": "free"}})
    assert [(one["what"].split(" has ")[0], one["action"]) for one in found["wrong"]] == [("/", "free")]


def tracked(off_s: float, leap: str = "Normal") -> str:
    """Give what `chronyc -c tracking` prints (chronyc(1): the fields of `tracking` in their order; made up)."""
    return f"A9FEA97B,169.254.169.123,4,1795830000.123456789,{off_s:.9f},-0.000012345,0.000023456,-12.345,0.001,0.045,0.000543210,0.000123456,64.2,{leap}\n"


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (tracked(61.5), True),
        (tracked(-3600), True),
        (tracked(-59.0), False),
        (tracked(3600, "Not synchronised"), False),
    ],
    ids=["ahead", "behind", "a little", "no server answered"],
)
def test_a_clock_that_is_far_off_at_two_looks_is_named(host: Host, said: str, wrong: bool) -> None:
    host.tool("chronyc", said)
    found = [("its clock is more than 60 s off the time of its servers", "restart-time-service")] if wrong else []
    assert [host.wrong(), host.wrong()] == [[], found]


def test_the_clock_of_a_container_is_its_machine_s(host: Host) -> None:
    host.tool("chronyc", tracked(3600))
    (host.root / "run/systemd").mkdir(parents=True)
    (host.root / "run/systemd/container").write_text("systemd-nspawn")
    assert [host.wrong(), host.wrong()] == [[], []]


FAILING: list[tuple[str, Callable[[Host], None], str]] = [
    (
        "nvidia-smi fails",
        lambda host: host.tool("nvidia-smi", "Unable to determine the device handle", status=9),
        "nvidia-smi failed with 9: Unable to determine",
    ),
    ("nvidia-smi hangs", lambda host: host.tool("nvidia-smi", document(), before="exec sleep 60"), "nvidia-smi gave no answer within 1 s"),
    ("nvidia-smi is cut off", lambda host: host.tool("nvidia-smi", document()[:400]), "nvidia-smi: its answer can't be read"),
    ("nvidia-smi is not there", lambda host: (host.root / "usr/bin/nvidia-smi").unlink(), "nvidia-smi is not installed"),
    ("chronyc has no daemon", lambda host: host.tool("chronyc", "506 Cannot talk to daemon\n", status=1), "chronyc failed with 1: 506 Cannot talk"),
    ("chronyc says something new", lambda host: host.tool("chronyc", "1,2,3\n"), "chronyc: its answer can't be read: 1,2,3"),
    ("journalctl fails", lambda host: host.tool("journalctl", "no journal", status=2), "journalctl failed with 2: no journal"),
]


@pytest.mark.parametrize(("breaks", "said"), [(breaks, said) for _, breaks, said in FAILING], ids=[name for name, *_ in FAILING])
def test_a_tool_that_fails_is_said_and_hides_nothing_of_the_others(host: Host, breaks: Callable[[Host], None], said: str) -> None:
    host.log(XIDS[0][0])
    host.look()
    breaks(host)
    host.port("mlx5_0", state="1: DOWN")
    host.look(within_s={"nvidia-smi": 1, "journalctl": 10, "chronyc": 2})
    found = host.look(within_s={"nvidia-smi": 1, "journalctl": 10, "chronyc": 2})
    assert [one[: len(said)] for one in found["unasked"]] == [said]
    assert "mlx5_0 port 1 is DOWN and was active" in [one["what"] for one in found["wrong"]]
    assert any("Xid 79" in one["what"] for one in found["wrong"]) is (not said.startswith("journalctl"))


def test_a_host_without_gpus_asks_no_driver(host: Host) -> None:
    (host.root / "usr/bin/nvidia-smi").unlink()
    (host.root / "proc/driver/nvidia").rmdir()
    assert host.look() == {"wrong": [], "unasked": []}


def test_all_tools_together_have_the_time_that_they_are_given() -> None:
    given_s: int = runpy.run_path(str(ROLE / "files/node_looks.py"))["DIAGNOSED_WITHIN_S"]
    assert sum(RULES["within_s"].values()) < given_s
