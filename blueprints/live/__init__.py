"""Checks of a cluster against what the account says: what no file can tell. Pure, as all checks are; `account` says what to ask, and the target's folder asks."""

from collections.abc import Iterator

from .. import document, finding, spec
from ..codes import Code
from . import availability, existing_resources, network, quotas, reservations
from .account import Answers, Questions, questions

__all__ = ["Answers", "Questions", "check", "questions"]

_CHECKS = (availability.check, reservations.check, network.check, quotas.check, existing_resources.check)


def check(cluster: spec.ClusterSpec, source: document.Document, answers: Answers) -> tuple[finding.Finding, ...]:
    """Compare a cluster with what the account says.

    Args:
        cluster: resolved.
        source: the blueprint as written; findings point into it.
    """
    found: list[finding.Finding] = [*_unanswered(answers)]
    # In a region that the account can't use nobody answers anything else.
    for one in _CHECKS if answers.region_state == "enabled" else (availability.check,):
        found += one(cluster, source, answers)
    return finding.in_order(found)


def _unanswered(answers: Answers) -> Iterator[finding.Finding]:
    for question, why in answers.unanswered.items():
        what = f"the account did not say: {question}"
        remedy = "let whoever asks read this (for AWS the policy `ReadOnlyAccess` is enough), and check again; what depends on it is not checked"
        yield finding.Finding(finding.Level.ERROR, Code.ACCOUNT_SILENT, None, what, why, remedy)
