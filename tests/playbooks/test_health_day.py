"""A simulated day of eight nodes with `health.check: full`, a look every five minutes: what healthy nodes show in 24 hours drains none of them, and one fault is found on its node alone.

The driver's answers, the kernel's log, the ports and the clock are simulated; the program that judges them is the one on hosts.
"""

import dataclasses
import importlib.util
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.playbooks.test_diagnostics import BRAKE, ROLE, THERMAL, Host, document

_spec = importlib.util.spec_from_file_location("diagnostics", ROLE / "files/diagnostics.py")
assert _spec is not None
assert _spec.loader is not None
diagnostics: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(diagnostics)

LOOKS, EVERY_S = 24 * 12, 300
FAULTY, BEGINS = 1, 2
"""The node that breaks, and at which look."""
OF_PROGRAMS = (
    "NVRM: Xid (PCI:0000:3b:00): 13, pid=77, name=python3, Graphics Exception: ESR 0x50c730",
    "NVRM: Xid (PCI:0000:18:00): 31, pid=78, name=python3, Ch 00000008, intr 00000000. MMU Fault",
    "NVRM: Xid (PCI:0000:18:00): 94, pid=79, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
    "NVRM: Xid (PCI:0000:3b:00): 63, Row Remapper: New row marked for remapping, reset gpu to activate.",
)
"""Errors of users' programs, and events that NVIDIA only lets watch (docs.nvidia.com/deploy/xid-errors)."""


@dataclasses.dataclass
class Fault:
    """What a node shows from some look on."""

    values: tuple[tuple[int, str, str], ...] = ()
    line: str = ""
    port: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    counted: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Counter of the port → by what it grows from look to look."""


class Node:
    """A healthy node: it gets warm, corrects errors, sees users' programs crash, loses a link now and then, and its driver answers late once in a while."""

    def __init__(self, folder: Path, chance: random.Random):
        self.host, self.chance, self.state = Host(folder), chance, folder / "state.json"
        self.corrected, self.fell, self.lines, self.is_quiet, self.now_s = 0, 0, [""], False, 0.0

    def look(self, number: int, fault: Fault | None, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> list[str]:
        self.now_s = 1_800_000_000 + number * EVERY_S
        self.corrected += self.chance.choice([0, 0, 0, 1, 40])
        if self.chance.random() < 0.01 and self.fell < 4:
            self.fell += 1
        if self.chance.random() < 0.05:
            self.lines.append(self.chance.choice(OF_PROGRAMS))
        # An idle GPU may be hot for a look or two after a job.
        warm = [(0, self.chance.choice([THERMAL, BRAKE]), "Active")] if number % 3 < 2 and self.chance.random() < 0.2 else []
        noise = ((0, "ecc_errors/volatile/dram_correctable", str(self.corrected)), (1, "ecc_errors/volatile/sram_correctable", str(self.corrected)), *warm)
        self.is_quiet = fault is None and self.chance.random() < 0.02
        self.answer = document(*noise, *(fault.values if fault else ()))
        self.log = [*self.lines[1:], *([fault.line] if fault and fault.line else [])]
        # A link that falls brings symbols that nobody understands.
        self.host.port("mlx5_0", {"symbol_error": 25 * self.fell}, fell=self.fell)
        grown = {name: by * (number - BEGINS + 1) for name, by in (fault.counted if fault else {}).items()}
        self.host.port("mlx5_1", {"symbol_error": 0, **grown}, **(fault.port if fault else {}))
        monkeypatch.setattr(diagnostics, "answer", self.answers)
        monkeypatch.setattr(diagnostics, "RULES", str(self.host.folder / "rules.json"))
        monkeypatch.setattr(diagnostics, "STATE", str(self.state))
        monkeypatch.setattr(diagnostics.time, "time", lambda: self.now_s)
        monkeypatch.setattr("sys.argv", ["diagnostics", "--hardware", str(self.host.root)])
        monkeypatch.setattr("builtins.print", said.append)
        assert diagnostics.main() == 0
        return [one["what"] for one in json.loads(said.pop())["wrong"]]

    def answers(self, words: tuple[str, ...], _root: str, **_given: Any) -> str:
        if words[0] == "nvidia-smi":
            if self.is_quiet:
                raise diagnostics.Unasked("nvidia-smi gave no answer within 20 s")
            return self.answer
        return "".join(json.dumps({"MESSAGE": line, "__MONOTONIC_TIMESTAMP": str(number + 1)}) + "\n" for number, line in enumerate(self.log))


def day(folder: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault | None, *, nodes: int, looks: int) -> dict[int, tuple[int, list[str]]]:
    """Give the nodes that would have drained: node → first look that found something, and what."""
    found: dict[int, tuple[int, list[str]]] = {}
    seen = []
    for number in range(nodes):
        (folder / str(number)).mkdir()
        seen.append(Node(folder / str(number), random.Random(number)))
    with monkeypatch.context() as patched:
        for look in range(looks):
            for number, node in enumerate(seen):
                wrong = node.look(look, fault if number == FAULTY and look >= BEGINS else None, patched, [])
                if wrong and number not in found:
                    found[number] = (look, wrong)
    return found


@pytest.mark.soak
def test_a_day_of_healthy_nodes_drains_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert day(tmp_path, monkeypatch, None, nodes=8, looks=LOOKS) == {}


FAULTS = {
    "a memory error": (Fault(((1, "ecc_errors/volatile/dram_uncorrectable", "1"),)), 0, "uncorrectable errors of its memory: 1"),
    "a GPU off the bus": (Fault(line="NVRM: Xid (PCI:0000:3b:00): 79, pid=1122, GPU has fallen off the bus."), 0, "Xid 79"),
    "fewer PCIe lanes": (Fault(((0, "pci/pci_gpu_link_info/link_widths/current_link_width", "8x"),)), 1, "8 of 16 PCIe lanes"),
    "no NVSwitch fabric": (Fault(((1, "fabric/state", "In Progress"),)), 1, "not registered with the NVSwitch fabric"),
    "a port that is down": (Fault(port={"state": "1: DOWN"}), 1, "is DOWN and was active"),
    "a port at half its rate": (Fault(port={"rate": "200 Gb/sec (4X HDR)"}), 1, "runs at 200 Gb/s and ran at 400"),
    "a cable that garbles": (Fault(counted={"symbol_error": 500}), 1, "more than 120 symbol errors in an hour"),
    "a GPU that stays hot": (Fault(((1, THERMAL, "Active"),)), 2, "slowed down by its temperature"),
}
"""Fault → how many looks after its first one find it, and with which words."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_on_its_node_and_the_neighbours_are_untouched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fault, later, words = FAULTS[name]
    found = day(tmp_path, monkeypatch, fault, nodes=3, looks=6)
    assert {number: look for number, (look, _) in found.items()} == {FAULTY: BEGINS + later}
    assert all(words in what for what in found[FAULTY][1])
