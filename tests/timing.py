"""Where the time of a test run went, and what the run left out: `python -m tests.timing REPORT...` reads the JUnit reports that pytest writes."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

SLOWEST_SHOWN = 20
PURE = ("tier", "pure")
"""The property of a test that has values only; tests/conftest.py sets it."""
PURE_WITHIN_S = 1.0
"""Of a processor: on a busy machine a test waits ten times as long for one as it needs it."""
PROCESSOR_S = "processor_s"
"""The property of a test that says how many seconds of a processor it took; tests/conftest.py sets it, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One test of a report; its time includes its fixtures'."""

    module: str
    name: str
    seconds: float
    left_out: str = ""
    """Why it was skipped; empty for a test that ran."""
    is_pure: bool = False
    processor_s: float = 0.0
    """Of the worker and the programs that it started and waited for. What runs inside of hosts is not in it."""

    @property
    def folder(self) -> str:
        return self.module.rpartition("/")[0]


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One run of pytest."""

    name: str
    started: dt.datetime
    elapsed_s: float
    tests: tuple[Case, ...]

    @property
    def ended(self) -> dt.datetime:
        return self.started + dt.timedelta(seconds=self.elapsed_s)


def read(report: Path) -> Part:
    """Read one JUnit report; its file name is the name of the part.

    Raises:
        ET.ParseError: the file is no report.
    """
    root = ET.parse(report).getroot()
    suites = list(root.iter("testsuite"))
    tests = tuple(_test(case) for suite in suites for case in suite.iter("testcase"))
    started = min(dt.datetime.fromisoformat(suite.attrib["timestamp"]) for suite in suites)
    return Part(report.stem, started, sum(float(suite.get("time", 0)) for suite in suites), tests)


def summary(parts: Sequence[Part]) -> str:
    """Describe all parts as one run: time by folder, slowest tests, pure tests that take too long, what was left out and why, total."""
    tests = [test for part in parts for test in part.tests]
    by_folder: dict[str, list[Case]] = collections.defaultdict(list)
    for test in tests:
        if not test.left_out:
            by_folder[test.folder].append(test)
    folders = sorted(by_folder.items(), key=lambda item: -_processor_s(item[1]))
    slowest = sorted((test for test in tests if test.seconds and not test.left_out), key=lambda test: -test.seconds)
    reasons = collections.Counter(test.left_out for test in tests if test.left_out)
    lines = ["Time by folder, added up over all workers: of processors, without what runs inside of hosts; and from begin to end"]
    lines += [f"{_processor_s(those):9.1f} s  {_seconds(those):9.1f} s  {len(those):5d} tests  {folder}" for folder, those in folders]
    lines += ["", f"Slowest tests from begin to end, with the fixtures that each was the first to need ({SLOWEST_SHOWN} at most)"]
    lines += [f"{test.seconds:9.1f} s  {test.module}.py::{test.name}" for test in slowest[:SLOWEST_SHOWN]]
    late = [test for test in slowest if test.is_pure and test.processor_s > PURE_WITHIN_S]
    modules = collections.Counter(f"{test.module}.py" for test in late)
    lines += [
        "",
        f"Pure tests over {PURE_WITHIN_S:g} s of a processor: {len(late)}{': ' if late else ''}{', '.join(f'{name} {number}' for name, number in modules.most_common())}",
    ]
    lines += ["", "Left out"]
    lines += [f"{count:11d}  {reason}" for reason, count in reasons.most_common()]
    lines += [f"{'all':>11}  long repetitions: make soak"]
    total = max(part.ended for part in parts) - min(part.started for part in parts)
    each = ", ".join(f"{part.name} {_minutes(part.elapsed_s)}" for part in parts)
    lines += ["", f"Total {_minutes(total.total_seconds())}, parts side by side: {each}"]
    return "\n".join(lines)


def _test(case: ET.Element) -> Case:
    module = "/".join(part for part in case.get("classname", "").split(".") if not part[:1].isupper())
    skipped = case.find("skipped")
    left_out = "" if skipped is None else skipped.get("message") or "no reason given"
    properties = {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
    is_pure = PURE in properties.items()
    return Case(module, case.get("name", ""), float(case.get("time", 0)), left_out, is_pure, float(properties.get(PROCESSOR_S, 0)))


def _seconds(tests: Iterable[Case]) -> float:
    return sum(test.seconds for test in tests)


def _processor_s(tests: Iterable[Case]) -> float:
    return sum(test.processor_s for test in tests)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


if __name__ == "__main__":
    print(summary([read(Path(name)) for name in sys.argv[1:]]))
