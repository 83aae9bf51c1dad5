"""The report as JUnit's XML, as CI systems show tests: a suite for each layer, a failed case for each finding. Pure."""

import xml.etree.ElementTree as ET

from components.inspection.finding import layer_of

from ..report import Report, Result, fingerprint
from . import summary


def write(report: Report) -> str:
    """Write the report."""
    suites = ET.Element("testsuites", name=f"drift of stack {report.stack}", time=f"{report.seconds:.3f}")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for result in report.results:
        for name, value in _suite(suites, result, report).items():
            totals[name] += value
    for name, value in totals.items():
        if name != "skipped":
            suites.set(name, str(value))
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _suite(suites: ET.Element, result: Result, report: Report) -> dict[str, int]:
    suite = ET.SubElement(suites, "testsuite", name=str(result.layer), timestamp=report.moment.replace(tzinfo=None).isoformat(), time=f"{result.seconds:.3f}")
    whole = _case(suite, result, "the layer can be checked")
    if result.failure:
        ET.SubElement(whole, "error", message=_clean(result.failure.splitlines()[0]), type="unchecked").text = _clean(result.failure)
    for finding in result.findings:
        case = _case(suite, result, f"{finding.code} {finding.place}")
        said = "\n".join(
            [finding.what, *(f"{label}: {value}" for label, value in summary.sides(finding)), f"do: {finding.remedy}", f"fingerprint: {fingerprint(finding)}"]
        )
        ET.SubElement(case, "failure", message=_clean(finding.what), type=str(finding.level)).text = _clean(said)
    skipped = [(f"{one.finding.code} {one.finding.place}", f"ignored: {one.reason}") for one in report.ignored if layer_of(one.finding) is result.layer]
    skipped += [(one.where, f"not checked: {one.why}") for one in result.unchecked]
    for name, reason in skipped:
        ET.SubElement(_case(suite, result, name), "skipped", message=_clean(reason))
    counts = {"tests": 1 + len(result.findings) + len(skipped), "failures": len(result.findings), "errors": int(bool(result.failure)), "skipped": len(skipped)}
    for name, value in counts.items():
        suite.set(name, str(value))
    return counts


def _case(suite: ET.Element, result: Result, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=f"drift.{result.layer}", name=_clean(name), time="0")


def _clean(text: str) -> str:
    """Leave out characters that XML can't hold."""
    return "".join(letter for letter in text if letter in "\t\n\r" or (letter >= " " and letter not in "\ufffe\uffff" and not "\ud800" <= letter <= "\udfff"))
