"""Live checks: compare a cluster with the cloud account. Pure, like all checks; `account` defines the questions, and the target's folder asks them."""

from collections.abc import Iterator

from .. import catalog, document, finding, spec
from ..codes import Code
from . import apis, availability, existing_resources, network, permissions, quotas, reservations
from .account import Answers, Questions, questions

__all__ = ["Answers", "Questions", "check", "questions"]

_CHECKS = (apis.check, availability.check, reservations.check, network.check, quotas.check, existing_resources.check, permissions.check)


def check(cluster: spec.ClusterSpec, source: document.Document, answers: Answers) -> tuple[finding.Finding, ...]:
    """Compare a cluster with the answers of the account.

    Args:
        cluster: the resolved cluster.
        source: the blueprint as written; findings point into it.
    """
    found: list[finding.Finding] = [*_unanswered(cluster, answers)]
    # In a region that the account can't use, and without the API of its machines, all other questions fail.
    for one in _CHECKS if answers.region_state == "enabled" else (apis.check, availability.check):
        found += one(cluster, source, answers)
    return finding.in_order(found)


def _unanswered(cluster: spec.ClusterSpec, answers: Answers) -> Iterator[finding.Finding]:
    access = catalog.target(cluster.target).read_access
    for question, why in answers.unanswered.items():
        what = f"the account did not answer: {question}"
        remedy = f"grant the credentials read access{f' ({access})' if access else ''} and run the check again; checks that depend on it were skipped"
        yield finding.Finding(finding.Level.ERROR, Code.ACCOUNT_SILENT, None, what, why, remedy)
