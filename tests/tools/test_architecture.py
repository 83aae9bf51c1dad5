"""The picture of the architecture names folders that exist, and leaves none of the main ones out. Modules are one idea each, under names that one can guess."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from blueprints.project import project_root

PICTURE = project_root() / "docs" / "architecture.svg"
PACKAGES = ("blueprints", "components", "stacks")


MOST_LINES = 400
"""A longer module contains two ideas."""
VAGUE = frozenset(
    {
        "amounts",
        "cards",
        "certain",
        "common",
        "doubts",
        "folding",
        "helpers",
        "look",
        "lost",
        "misc",
        "pair",
        "rooms",
        "sides",
        "stock",
        "stuff",
        "things",
        "util",
        "utils",
        "words",
    }
)
"""Names for which nobody searches who looks for what such a module does."""


def named(picture: Path) -> set[str]:
    return {name for element in ET.parse(picture).iter() if (name := element.get("data-folder"))}


def test_every_folder_in_the_picture_exists() -> None:
    assert named(PICTURE)
    assert [name for name in sorted(named(PICTURE)) if not (project_root() / name).is_dir()] == []


def test_every_folder_of_the_packages_is_in_the_picture() -> None:
    folders = {f"{package}/{child.name}" for package in PACKAGES for child in (project_root() / package).iterdir() if (child / "__init__.py").is_file()}
    assert sorted(folders - named(PICTURE)) == []


@pytest.mark.parametrize("page", [*sorted(path.name for path in (project_root() / "docs").glob("*.md")), "../README.md"])
def test_links_of_the_documents_lead_somewhere(page: str) -> None:
    path = project_root() / "docs" / page
    links = re.findall(r"\]\(([^)#\s]+?)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", path.read_text()))
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


def test_the_first_page_is_short() -> None:
    assert len((project_root() / "README.md").read_text().split()) <= 900, "details belong in docs/"


def production() -> list[Path]:
    return [path for package in (*PACKAGES, "playbooks", "tools", "bench") for path in sorted((project_root() / package).rglob("*.py"))]


def test_modules_are_one_idea_each() -> None:
    lines = {str(path.relative_to(project_root())): path.read_text().count("\n") for path in production()}
    assert len(lines) > 500
    assert {name: number for name, number in lines.items() if number > MOST_LINES} == {}


def test_names_of_modules_can_be_guessed() -> None:
    assert [str(path.relative_to(project_root())) for path in production() if {path.stem, path.parent.name} & VAGUE] == []
