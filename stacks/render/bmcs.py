"""What BMCs say, as tables and as plain values. Pure."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from components.bmc.model import Action, Facts, Power, Unanswered

from .tables import Cell, Column, Section, Table
from .tables import Facts as Lines

VERBS = {
    Action.ON: "switch on",
    Action.OFF: "shut down",
    Action.HARD_OFF: "cut the power of",
    Action.CYCLE: "cut the power of, and switch on again,",
}
COLUMNS = (Column("host"), Column("power"), Column("health"), Column("model"), Column("serial"), Column("BIOS"), Column("BMC"))
OWN = ("BIOS", "BMC")


def section(answers: Mapping[str, Facts | Unanswered]) -> Section:
    """Write one line for each host."""
    return Section("servers", (Table(COLUMNS, tuple(_row(name, answer) for name, answer in answers.items())),))


def details(name: str, facts: Facts) -> Section:
    """Write the firmware of parts, the next boot and the end of the log of one host."""
    lines = [(part, version) for part, version in facts.firmware.items() if part not in OWN]
    lines += [("next boot", facts.boot)] if facts.boot else []
    lines += [("log" if number == 0 else "", event) for number, event in enumerate(facts.events)]
    lines += [("not read", facts.incomplete)] if facts.incomplete else []
    return Section(name, (Lines(tuple(lines) or (("", "nothing more"),)),))


def as_record(answer: Facts | Unanswered) -> dict[str, Any]:
    """Turn an answer into plain JSON values."""
    if isinstance(answer, Unanswered):
        return {"unanswered": str(answer.cause), "why": str(answer)}
    return {**dataclasses.asdict(answer), "firmware": dict(answer.firmware), "events": list(answer.events)}


def _row(name: str, answer: Facts | Unanswered) -> tuple[str | Cell, ...]:
    if isinstance(answer, Unanswered):
        return (name, Cell(str(answer.cause), "bad"), str(answer), "", "", "", "")
    power = Cell(str(answer.power), "good" if answer.power is Power.ON else "care")
    health = Cell(answer.health, "good" if answer.health == "OK" else "bad" if answer.health else "")
    model = " ".join(filter(None, (answer.manufacturer, answer.model)))
    return (name, power, health, model, answer.serial, answer.firmware.get("BIOS", ""), answer.firmware.get("BMC", ""))
