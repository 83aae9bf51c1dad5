"""The parts of the report that nobody likes to read: findings, and what is simulated, untested or not known yet. Pure."""

import dataclasses
from collections.abc import Iterator, Sequence

from blueprints.finding import Finding
from blueprints.spec import ClusterSpec, Late

from .contents import Notice, Section


def findings(found: Sequence[Finding], accepted: Sequence[Finding]) -> Section:
    """Write down what the checks found, and what the blueprint accepts of it."""
    notices = tuple(Notice(one.level, one.what, one.why, one.remedy, f"{one.code}{f', {one.where}' if one.where else ''}") for one in found)
    points = tuple(f"Accepted in the blueprint for a time: {one.what} ({one.code})." for one in accepted)
    return Section("findings", "Findings", () if notices else ("The checks found nothing to say.",), notices=notices, points=points)


def reality(spec: ClusterSpec) -> Section:
    """Say what is simulated, what never ran, and what nobody can know yet."""
    points = [*spec.simulated, *_untested(spec), *(f"Not known yet: {late.what}." for late in _late(spec))]
    lead = "What here is not the real thing, was never tried, or is not known yet." if points else "Nothing is simulated, and nothing is left open."
    return Section("reality", "Simulated, untested, not known yet", (lead,), points=tuple(dict.fromkeys(points)))


def _untested(spec: ClusterSpec) -> Iterator[str]:
    software = spec.software
    if not software.tested_on:
        yield f"The software profile {software.profile} has never run: its versions are taken from those who run them together."
    elif software.tested_on == "simulated":
        yield f"The software profile {software.profile} has run on simulated hosts only, without GPUs."
    for one in spec.node_sets:
        if one.fabric and one.fabric.expected and one.fabric.expected.provisional:
            yield f"The expected bandwidth of {one.hosts.name} is provisional: it rests on one measurement, or on none."


def _late(value: object) -> Iterator[Late]:
    """Find everything in a spec that only the account can tell."""
    if isinstance(value, Late):
        yield value
    elif isinstance(value, tuple):
        for entry in value:
            yield from _late(entry)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _late(getattr(value, field.name))
