"""The blueprints that come with the project, and how one is found by name or path."""

import pathlib

from . import finding, lookalikes, message_text, project
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
    what = f"the library has no blueprint {message_text.quoted(name_or_path)}{lookalikes.explanation(name_or_path, names())}"
    why = "a word without a slash or the ending .yaml names a blueprint of the library (blueprints/library)"
    remedy = f"{message_text.did_you_mean(name_or_path, names(), allowed='the library has')}; for a file of your own, write its path"
    raise finding.Invalid([finding.Finding(finding.Level.ERROR, Code.BLUEPRINT_UNKNOWN, None, what, why, remedy)])


def parent(name: str, child: pathlib.Path, where: finding.Position) -> pathlib.Path:
    """Find the file of a blueprint that another one extends: one of the library by name, or a .yaml file in the other's own folder.

    A blueprint reads no other file, so that one from somewhere else can't show what is on this machine.

    Args:
        child: the file of the blueprint that extends.
        where: the place of its `extends`.
    Raises:
        finding.Invalid: there is no such blueprint, or the file lies elsewhere.
    """
    if name in names():
        return folder() / f"{name}.yaml"
    if not name.endswith((".yaml", ".yml")):
        what = f"the library has no blueprint {message_text.quoted(name)} to extend{lookalikes.explanation(name, names())}"
        why = "a word without the ending .yaml names a blueprint of the library (blueprints/library)"
        remedy = f"{message_text.did_you_mean(name, names(), allowed='the library has')}; for a file in the same folder, write its name with .yaml"
        raise finding.Invalid([finding.Finding(finding.Level.ERROR, Code.EXTENDS_UNKNOWN, where, what, why, remedy)])
    beside = child.parent / name
    if pathlib.PurePath(name).name != name or not lies_in(beside, child.parent):
        what = f"{message_text.quoted(name)} is not a file in the blueprint's own folder"
        why = "a blueprint can extend only files in its own folder, also through links"
        raise finding.Invalid(
            [finding.Finding(finding.Level.ERROR, Code.EXTENDS_FORM, where, what, why, "put both files in one folder and write only the file name")]
        )
    if not beside.exists():
        what = f"the file {message_text.quoted(name)} does not exist in the blueprint's folder"
        near = sorted(path.name for path in child.parent.glob("*.yaml") if path.name != child.name)
        remedy = message_text.did_you_mean(name, near, allowed="there are") if near else "write the name of a blueprint of the library, or create the file"
        raise finding.Invalid([finding.Finding(finding.Level.ERROR, Code.EXTENDS_UNKNOWN, where, what, "the blueprint extends this file", remedy)])
    return beside


def lies_in(path: pathlib.Path, folder: pathlib.Path) -> bool:
    """Say whether a file lies in a folder, links followed; what can be no file's name lies nowhere."""
    try:
        path.exists()
        return path.resolve().parent == folder.resolve()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL in it, links that lead to each other
        return False
