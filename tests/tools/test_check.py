"""tools/check runs everything and hides no failure."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.tools.installer import write_program

CHECK = Path(__file__).resolve().parents[2] / "tools/check"
TOOLS = ("ruff", "mypy", "lint-imports", "python", "ansible-lint", "shellcheck")


def check(programs: Path, **broken: str) -> subprocess.CompletedProcess[str]:
    for tool in TOOLS:
        write_program(programs / tool, broken.get(tool.replace("-", "_"), "exit 0"))
    return subprocess.run([CHECK], env={"PATH": f"{programs}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)


def test_when_all_is_well_each_check_has_one_line(tmp_path: Path) -> None:
    answer = check(tmp_path)
    assert answer.returncode == 0
    assert [line.split() for line in answer.stdout.splitlines()] == [
        ["ok", name] for name in ("format", "lint", "types", "imports", "documents", "playbooks", "shell")
    ]


def test_a_failing_check_shows_what_its_tool_said_and_the_others_still_run(tmp_path: Path) -> None:
    answer = check(tmp_path, mypy="echo stacks/x.py:1: error: no; exit 1", shellcheck="exit 1")
    assert answer.returncode == 1
    assert "stacks/x.py:1: error: no\nFAILED  types\nok      imports\n" in answer.stdout
    assert answer.stdout.endswith("failed: types shell\n")
