"""Where this checkout lies. Every path inside the project comes from here, never from the current folder."""

import pathlib


def project_root() -> pathlib.Path:
    """Give the absolute path of the checkout: the folder that holds `blueprints/`."""
    return pathlib.Path(__file__).resolve().parent.parent


def shown_path(path: pathlib.Path) -> str:
    """Write a path as messages show it: files of the project relative to its root, all others as they were given."""
    try:
        return str(path.relative_to(project_root()))
    except ValueError:
        return str(path)
