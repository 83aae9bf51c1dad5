"""Live checks of hosts that exist already: compare a cluster with what they say about themselves. Pure; the target's folder asks them."""

from collections.abc import Mapping

from ... import document, finding, spec
from . import fault, hardware, login, ownership, paths, people, system
from .answers import Answer, Facts, Trouble, facts
from .subject import Subject, subjects

__all__ = ["Answer", "Facts", "Subject", "Trouble", "check", "facts", "subjects"]


def check(cluster: spec.ClusterSpec, source: document.Document, answers: Mapping[str, Answer], *, stack: str, owner: str) -> tuple[finding.Finding, ...]:
    """Compare a cluster with the answers of its hosts.

    Args:
        source: the blueprint as written; findings point into it.
        answers: host → what became of the question; hosts that were not asked are left out.
        owner: who runs the stack, as the mark on adopted hosts has it.
    """
    asked = tuple(subjects(cluster, answers))
    described = tuple(subject for subject in asked if subject.answer.facts is not None)
    answering = frozenset(subject.name for subject in asked if not subject.answer.is_off)
    faults = [
        *login.check(cluster, asked),
        *system.check(cluster, described),
        *hardware.check(cluster, described),
        *people.check(cluster, described),
        *ownership.check(described, stack=stack, owner=owner),
        *paths.check(cluster, described, answering=answering),
    ]
    return fault.findings(faults, cluster, source)
