"""What the product puts below /opt is a folder of the catalogue, so that no file system is mounted over it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import catalog

PROJECT = Path(__file__).resolve().parents[2]
BELOW = re.compile(r"/opt/[A-Za-z0-9][A-Za-z0-9._-]*")
SUFFIXES = (".py", ".yml", ".yaml", ".j2", ".sh", ".service")


def named() -> Iterator[tuple[str, str]]:
    """Give the folders that playbooks and components name, each with its file."""
    for package in ("playbooks", "components"):
        for path in sorted((PROJECT / package).rglob("*")):
            if path.suffix in SUFFIXES and "__pycache__" not in path.parts:
                yield from ((str(path.relative_to(PROJECT)), folder) for folder in BELOW.findall(path.read_text(encoding="utf-8")))


def test_whatever_is_put_below_opt_is_taken() -> None:
    found = [*named()]
    assert len(found) > 5
    assert [(place, folder) for place, folder in found if folder not in catalog.taken_folders()] == []


@pytest.mark.parametrize("folder", list(catalog.taken_folders()))
def test_each_has_a_file_that_is_refused(folder: str) -> None:
    broken = [path for path in (PROJECT / "tests/blueprints/broken").glob("*.yaml") if re.search(rf"mount: {folder}(/|\b)", path.read_text())]
    assert broken
