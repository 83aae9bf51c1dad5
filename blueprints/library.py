"""The blueprints that come with the project, and how one is found by name or path."""

import pathlib

from . import display, finding, project
from .codes import Code


def folder() -> pathlib.Path:
    return project.project_root() / "blueprints" / "library"


def names() -> tuple[str, ...]:
    """List the library's blueprints."""
    return tuple(sorted(path.stem for path in folder().glob("*.yaml")))


def find(name_or_path: str) -> pathlib.Path:
    """Find a blueprint's file: by its name in the library, or by a path (relative to the current folder).

    A path is recognised by a slash or by the ending .yaml or .yml. Whether its file exists is seen when it is read.

    Raises:
        finding.Invalid: the library has no blueprint of this name.
    """
    if "/" in name_or_path or name_or_path.endswith((".yaml", ".yml")):
        return pathlib.Path(name_or_path)
    if name_or_path in names():
        return folder() / f"{name_or_path}.yaml"
    what = f"there is no blueprint {display.quoted(name_or_path)}"
    why = "a word without a slash or the ending .yaml names a blueprint of the library (blueprints/library)"
    remedy = f"{display.did_you_mean(name_or_path, names(), allowed='the library has')}; a file of your own is named by its path"
    raise finding.Invalid([finding.Finding(finding.Level.ERROR, Code.BLUEPRINT_UNKNOWN, None, what, why, remedy)])
