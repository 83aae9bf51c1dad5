"""A mistake in a line of production code is noticed by the tests of that line. Guards the shortening of the suite: a test that is gone and was needed shows here."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from blueprints.project import project_root

from .mutations import MUTATIONS, Mutation

NOTICED = 1
"""pytest's exit status when a test failed; any other says that the tests did not run."""
ENDS_WITHIN_S = 600
ALL_END_WITHIN_S = 3600
"""Thousands of tests, one after the other, and beside others in a soak: 520 s on two busy cores."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: f"{one.file}: {one.broken}")
def test_each_line_is_there_once(mutation: Mutation) -> None:
    file = project_root() / mutation.file
    assert file.is_file(), f"{mutation.file} is no longer there: move its row in tests/tools/mutations.py"
    assert file.read_text().count(mutation.text) == 1, f"{mutation.file} does not have once: {mutation.text}"
    assert mutation.broken != mutation.text
    missing = [test for test in mutation.tests if not (project_root() / test.partition("::")[0]).exists()]
    assert missing == [], "move these in tests/tools/mutations.py"


def test_the_lines_are_spread_over_the_code() -> None:
    parts = Counter(mutation.file.partition("/")[0] for mutation in MUTATIONS)
    assert sum(parts.values()) >= 40
    assert parts.keys() == {"blueprints", "components", "stacks", "playbooks"}


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git has or would take, where mistakes are made."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=project_root(), capture_output=True, text=True, check=True
    )
    copy = tmp_path_factory.mktemp("checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (project_root() / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project_root() / name, copy / name)
    return copy


def run(checkout: Path, *tests: str, within_s: float = ENDS_WITHIN_S) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy, whose code comes before what is installed."""
    # Compiled files go by the second and the size: a mistake of the same length would not count.
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", "not hosts and not soak and not browser"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests], cwd=checkout, env=environment, capture_output=True, text=True, timeout=within_s, check=False
    )


@pytest.mark.soak
@pytest.mark.timeout(ALL_END_WITHIN_S)
def test_the_tests_pass_without_a_mistake(checkout: Path) -> None:
    done = run(checkout, *dict.fromkeys(test for mutation in MUTATIONS for test in mutation.tests), within_s=ALL_END_WITHIN_S)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.soak
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: f"{one.file}: {one.broken}")
def test_a_mistake_is_noticed(checkout: Path, mutation: Mutation) -> None:
    file = checkout / mutation.file
    right = file.read_text()
    assert right.count(mutation.text) == 1
    file.write_text(right.replace(mutation.text, mutation.broken))
    try:
        done = run(checkout, *mutation.tests)
    finally:
        file.write_text(right)
    assert done.returncode == NOTICED, f"status {done.returncode}\n{done.stdout[-2000:]}"
