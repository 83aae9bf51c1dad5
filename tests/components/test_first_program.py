"""The first program of a cloud's hosts: a cloud's own part and what all clouds share, in one text."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from components.bootstrap import first_program

PARTS = tuple(sorted((project_root() / "components").glob("*/guest/first_boot.py")))
OF_CLOUDS = tuple(part for part in PARTS if part != first_program.SHARED)
EACH = pytest.mark.parametrize("part", OF_CLOUDS, ids=lambda part: part.parts[-3])


def loaded(part: Path) -> dict[str, Any]:
    """Run the program's text as an import would."""
    names: dict[str, Any] = {"__name__": "first_boot"}
    exec(compile(first_program.program(part), str(part), "exec"), names)
    return names


def foreign(text: str) -> set[str]:
    """Name what a program imports from outside of the standard library."""
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    named = [(isinstance(one, ast.ImportFrom) and "." * one.level + (one.module or "")) or one.names[0].name for one in imports]
    return {name for name in named if name.partition(".")[0] not in sys.stdlib_module_names}


def test_there_are_clouds() -> None:
    assert len(OF_CLOUDS) >= 2


@EACH
def test_it_needs_the_standard_library_alone(part: Path) -> None:
    assert foreign(first_program.program(part)) == set()
    assert foreign(part.read_text()) == {"...bootstrap.guest.first_boot"}


@EACH
def test_each_name_is_imported_once_in_the_order_of_the_formatter(part: Path) -> None:
    lines = [line for line in first_program.program(part).splitlines() if line.startswith(("import ", "from "))]
    assert lines == sorted(set(lines), key=lambda line: (line.startswith("from "), line.split()[1]))


@EACH
def test_a_boot_that_waits_in_vain_says_for_what(part: Path) -> None:
    names = loaded(part)
    names["WAIT_S"] = -1

    def nobody() -> str:
        raise OSError("connection refused")

    with pytest.raises(SystemExit, match="waited -1 s for the host's keys: connection refused"):
        names["patiently"]("the host's keys", nobody)


@EACH
def test_the_disks_are_those_of_the_cloud(part: Path) -> None:
    assert loaded(part)["DISKS"].endswith("*")


def test_it_ends_with_the_call_that_runs_it(tmp_path: Path) -> None:
    part = tmp_path / "first_boot.py"
    part.write_text(
        '"""A cloud."""\n\nimport json\nfrom typing import Any\n\nfrom ...bootstrap.guest.first_boot import run\n\nX = 1\n\n\ndef main(order: Any) -> None:\n    run(order)\n'
    )
    text = first_program.program(part)
    assert text.startswith(
        '"""A cloud."""\n\nimport json\nimport subprocess\nimport sys\nimport time\nimport urllib.error\nfrom collections.abc import Callable\n'
    )
    assert text.count("\ndef run(") == 1
    assert text.endswith('\n\n\nif __name__ == "__main__":\n    main(json.loads(sys.argv[1]))\n')
