"""The figures of the last acceptance, judged as a part of the capability layer. Pure."""

from collections.abc import Iterator

from blueprints.finding import Finding, Level
from components.finish import checks
from components.inspection.codes import Code
from components.inspection.finding import drift
from components.inspection.recorded_cluster import Known

from ..render.formatting import moment


def findings(known: Known) -> Iterator[Finding]:
    """Report where the last acceptance fell below what the cluster should reach."""
    for found in map(checks.finding, known.acceptance):
        if found.level is not Level.NOTE and found.subject and found.measurement:
            yield drift(
                Code.ACCEPTANCE,
                found.subject,
                f"the last acceptance did not reach what is expected{f' ({moment(known.accepted_at)})' if known.accepted_at else ''}",
                remedy=found.remedy or "`clusterwright up` runs acceptance again",
                desired=found.measurement.expected_text,
                actual=found.measurement.measured_text,
            )
