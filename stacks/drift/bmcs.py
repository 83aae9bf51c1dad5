"""What the BMCs of a stack's servers say, asked beside everything else: a slow BMC delays no check."""

import dataclasses
from concurrent.futures import Future, ThreadPoolExecutor

from blueprints.finding import Finding
from components.bmc import recorded
from components.inspection import bmcs
from components.inspection.finding import Unchecked
from components.inspection.recorded_cluster import Known

from .. import project
from ..bmcs import asking
from ..errors import Problem


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What the BMCs show."""

    findings: tuple[Finding, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    failure: str = ""
    """Why they could not be asked."""


NONE = Seen()


def begin(stack: str, known: Known) -> "Future[Seen] | None":
    """Begin to ask; None: the inventory has no BMCs that can be asked."""
    if known.cluster.site is None or known.cluster.site.bmc is None:
        return None
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(_ask, stack, known)
    finally:
        pool.shutdown(wait=False)


def _ask(stack: str, known: Known) -> Seen:
    try:
        answers = asking.Bmcs(stack, known.cluster.site).facts()
    except Problem as error:
        return Seen(failure=f"the BMCs could not be asked: {error}: {error.why}")
    try:
        file = project.servers_file(stack)
        before = recorded.read(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (OSError, UnicodeDecodeError, recorded.Unreadable) as error:
        return Seen(failure=f"{project.servers_file(stack).name} can't be read: {error}")
    found = tuple(bmcs.findings(known.cluster, answers, before, stack=stack))
    return Seen(found, tuple(bmcs.unchecked(known.cluster, answers, before, stack=stack)))
