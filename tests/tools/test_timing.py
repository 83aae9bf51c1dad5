"""A run's own report: where the time went and what was left out."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests import timing
from tests.timing import Case, Part

BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
TESTS = """
import pytest

def test_of_nothing():
    pass

@pytest.mark.skip(reason="real hosts need root")
def test_of_hosts():
    pass
"""
MARKING = f"def pytest_collection_modifyitems(items):\n    items[0].user_properties.append({timing.PURE})\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """What pytest writes of tests in two folders."""
    for folder in ("tests/here", "tests/there"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "test_this.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(MARKING)
    written = tmp_path / "hosts.xml"
    words = ["-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "--import-mode=importlib", f"--junitxml={written}", "tests"]
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tmp_path, check=True, capture_output=True)
    return written


def test_a_report_of_pytest_is_read(report: Path) -> None:
    part = timing.read(report)
    assert part.name == "hosts"
    assert {(test.folder, test.name, test.left_out) for test in part.tests} == {
        (folder, name, why) for folder in ("tests/here", "tests/there") for name, why in (("test_of_nothing", ""), ("test_of_hosts", "real hosts need root"))
    }
    assert [test.folder for test in part.tests if test.is_pure] == ["tests/here"]
    written = ET.parse(report).getroot()
    assert {test.seconds for test in part.tests} == {float(case.get("time", "")) for case in written.iter("testcase")}
    assert part.elapsed_s == float(written[0].get("time", "")) > 0
    assert dt.timedelta(0) < dt.datetime.now(dt.UTC) - part.started < dt.timedelta(hours=1)


def test_parts_are_summed_by_folder_and_the_slowest_come_first() -> None:
    parts = [
        Part("without-hosts", BEGIN, 61, (Case("tests/a/test_x", "test_one", 2.0, processor_s=0.5), Case("tests/b/test_y", "test_two", 5.0, processor_s=4.0))),
        Part(
            "hosts",
            BEGIN + dt.timedelta(seconds=1),
            119,
            (Case("tests/a/test_z", "test_three", 4.0, processor_s=2.0), Case("tests/hosts/test_h", "test_four", 0.0, "real hosts need Linux")),
        ),
    ]
    said = timing.summary(parts).splitlines()
    assert [line.split() for line in said[1:3]] == [["4.0", "s", "5.0", "s", "1", "tests", "tests/b"], ["2.5", "s", "6.0", "s", "2", "tests", "tests/a"]]
    assert [line.rpartition("::")[2] for line in said if "::" in line] == ["test_two", "test_three", "test_one"]
    assert ["1", "real", "hosts", "need", "Linux"] in [line.split() for line in said]
    assert said[-1] == "Total 2 min 00 s, parts side by side: without-hosts 1 min 01 s, hosts 1 min 59 s"


def test_no_more_than_the_slowest_are_shown() -> None:
    many = tuple(Case("tests/a/test_x", f"test_{number}", number + 1.0) for number in range(timing.SLOWEST_SHOWN + 5))
    shown = [line.rpartition("::")[2] for line in timing.summary([Part("all", BEGIN, 1, many)]).splitlines() if "::" in line]
    assert shown == [f"test_{number}" for number in range(timing.SLOWEST_SHOWN + 4, 4, -1)]


def test_pure_tests_that_take_seconds_of_a_processor_are_counted_by_module() -> None:
    cases = [("tests/a/test_x", 2.0, True), ("tests/a/test_x", 1.5, True), ("tests/a/test_y", 0.5, True), ("tests/b/test_z", 9.0, False)]
    many = tuple(Case(module, f"test_{number}", 20.0, is_pure=pure, processor_s=seconds) for number, (module, seconds, pure) in enumerate(cases))
    assert "Pure tests over 1 s of a processor: 2: tests/a/test_x.py 2" in timing.summary([Part("all", BEGIN, 1, many)]).splitlines()
    assert "Pure tests over 1 s of a processor: 0" in timing.summary([Part("all", BEGIN, 1, many[2:])]).splitlines()


def test_what_the_programs_of_a_test_compute_is_counted(tmp_path: Path) -> None:
    """With this project's own hooks: a program that computes counts, one that waits as long does not."""
    computing = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    (tmp_path / "test_this.py").write_text(
        f"import subprocess, sys, time\n\ndef test_that_computes():\n    subprocess.run([sys.executable, '-c', {computing!r}], check=True)\n\n"
        "def test_that_waits():\n    subprocess.run(['sleep', '0.3'], check=True)\n"
    )
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_runtest_makereport, pytest_runtest_protocol\n")
    written = tmp_path / "any.xml"
    words = ["-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "--import-mode=importlib", f"--junitxml={written}", "test_this.py"]
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tmp_path, check=True, capture_output=True)
    waiting, computed = sorted(timing.read(written).tests, key=lambda test: test.processor_s)
    assert (waiting.name, computed.name) == ("test_that_waits", "test_that_computes")
    assert computed.processor_s > 0.3
