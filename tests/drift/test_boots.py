"""Nodes that Slurm reboots for a repair: what it is asked, and when a node serves again."""

from collections.abc import Sequence
from typing import Any

import pytest

from components.elastic import slurm
from stacks.drift import boots
from stacks.rebuild.scheduler import Scheduler


class Controller:
    """A controller that answers as Slurm 24.11 does. Each node has a state for each look; the last one stays."""

    def __init__(self, **states: Sequence[str]):
        self.states = {name.replace("_", "-"): [*of_node] for name, of_node in states.items()}
        self.asked: list[str] = []

    def run(self, argv: Sequence[str]) -> str:
        words = [word for word in argv if word != "env" and "=%s" not in word and "LC_ALL" not in word]
        if words[:2] in (["scontrol", "reboot"], ["scontrol", "update"]):
            if words[-1] == "train-9":
                raise slurm.Unanswered("`scontrol reboot` failed: Invalid node name specified")
            self.asked.append(" ".join(words[2:]))
            return ""
        assert words == ["scontrol", "--oneliner", "show", "nodes"]
        seen = {name: left.pop(0) if len(left) > 1 else left[0] for name, left in self.states.items()}
        return "".join(f"NodeName={name} State={state}\n" for name, state in seen.items())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boots, "LOOK_EVERY_S", 0.0)


def reboot(controller: Any, *nodes: str) -> dict[str, str]:
    return boots.reboot(Scheduler(controller, boots.REASON), nodes, say=lambda _: None)


def test_a_node_is_awaited_until_it_registers_after_its_boot() -> None:
    looks = ["IDLE", "IDLE+DRAIN+REBOOT_REQUESTED", "DOWN+DRAIN+REBOOT_ISSUED", "DOWN+DRAIN+REBOOT_ISSUED", "IDLE+NOT_RESPONDING", "IDLE"]
    controller = Controller(train_0=looks, train_1=["IDLE"])
    assert reboot(controller, "train-0") == {}
    assert controller.asked == [f"ASAP nextstate=RESUME reason={boots.REASON} train-0"]
    assert controller.states["train-0"] == ["IDLE"]


def test_a_node_that_was_drained_is_not_returned_to_service() -> None:
    controller = Controller(train_0=["IDLE+DRAIN"])
    assert reboot(controller, "train-0") == {}
    assert controller.asked == [f"ASAP reason={boots.REASON} train-0"]


def test_a_node_that_was_drained_has_its_reason_again() -> None:
    controller = Controller(train_0=["IDLE+DRAIN Reason=bad fan [root@1]", "IDLE+DRAIN Reason=bad fan : reboot issued [slurm@2]"])
    assert reboot(controller, "train-0") == {}
    assert controller.asked == ["ASAP reason=bad fan train-0", "nodename=train-0 reason=bad fan"]


def test_what_slurm_refuses_or_does_not_know_is_said_of_that_node_alone() -> None:
    failed = reboot(Controller(train_0=["IDLE"], train_9=["IDLE"]), "train-0", "train-7", "train-9")
    assert failed == {"train-7": "Slurm has no such node", "train-9": "`scontrol reboot` failed: Invalid node name specified"}


def test_a_node_that_does_not_come_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boots, "SERVE_WITHIN_S", 0.0)
    assert reboot(Controller(train_0=["IDLE", "DOWN+DRAIN+REBOOT_ISSUED"], train_1=["IDLE"]), "train-0", "train-1").keys() == {"train-0"}
