"""What a target answers before anything is provisioned: whether the place of a cluster (a cloud account, hosts that exist already) has what the cluster needs."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

from blueprints import document, finding, spec


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What the place of a cluster answered."""

    whom: str
    """Who was asked, for people: `account 123456789012 in us-east-1 asked as …`, `16 of 16 hosts answered`; empty: nobody had to be asked."""
    findings: tuple[finding.Finding, ...]
    record: Mapping[str, Any]
    """Who was asked, for `check --json`: further keys of the document."""
    settled: tuple[str, ...] = ()
    """Codes of the blueprint's own findings that only guess what the answers say."""
    stops_running: bool = False
    """Whether errors also stop the change of a stack that runs already."""


class Live(Protocol):
    """Ask the place of a cluster; nothing in it is changed."""

    def __call__(self, cluster: spec.ClusterSpec, source: document.Document, *, stack: str, recorded: spec.ClusterSpec | None) -> Asked:
        """Ask all questions.

        Args:
            source: the blueprint as written; findings point into it.
            recorded: the cluster as the last `up` recorded it; what it knows already need not be asked again. None: ask everything.
        Raises:
            AccountUnavailable: nobody can be asked.
        """
        ...
