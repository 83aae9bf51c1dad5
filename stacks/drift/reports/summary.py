"""Summaries that all forms of a report share. Pure."""

from collections.abc import Iterator

from blueprints.finding import Finding, Level

from ..report import Report, Result, texts


def verdict(report: Report) -> str:
    """Give the result in one line."""
    counts = [(report.count(level), level) for level in Level]
    found = ", ".join(f"{count} {level}{'' if count == 1 else 's'}" for count, level in counts if count)
    failed = ", ".join(str(result.layer) for result in report.failures)
    if failed:
        return f"could not be checked: {failed}" + (
            f"; drift in what could be: {found}" if found else "; no drift in the other layers" if _others(report) else ""
        )
    return f"drift: {found}" if found else "no drift"


def of_layer(result: Result) -> str:
    """Give a layer's result in a few words."""
    count = len(result.findings)
    found = f"{count} finding{'' if count == 1 else 's'}"
    if result.failure:
        return f"could not be checked in full, {found} in what could" if count else "could not be checked"
    return found if count else "clean"


def _others(report: Report) -> bool:
    return len(report.failures) < len(report.results)


def title(report: Report) -> str:
    cluster = f"{report.cluster} on {report.target}, " if report.cluster else ""
    return f"{cluster}stack {report.stack}"


def figures(report: Report) -> Iterator[str]:
    """Count what the report shows beside the findings."""
    if report.ignored:
        yield f"{len(report.ignored)} ignored"
    if report.waiting:
        yield f"{len(report.waiting)} to be seen again before they count"
    if report.fresh is not None:
        yield f"{len(report.fresh)} new since the last check"
    if report.gone:
        yield f"{len(report.gone)} gone since the last check"
    if report.unchecked:
        yield f"{len(report.unchecked)} not checked"
    yield f"{report.seconds:.1f} s"


def one_line(text: str) -> str:
    """Put a message of the engine, which may have several lines, on one."""
    return " ".join(text.split())


def sides(finding: Finding) -> Iterator[tuple[str, str]]:
    """Label what should be, what was recorded and what is; equal values come once, under both labels."""
    desired, recorded, actual = texts(finding)
    if desired is not None and desired == recorded:
        yield "desired and recorded", desired
    else:
        if desired is not None:
            yield "desired", desired
        if recorded is not None:
            yield "recorded", recorded
    if (desired, recorded, actual) != (None, None, None):
        yield "actual", "nothing" if actual is None else actual
