"""Default variables of the roles: comparisons read values where the roles define them."""

import functools
from typing import Any

import yaml

from blueprints.project import project_root


@functools.cache
def defaults(role: str) -> dict[str, Any]:
    """Give a role's default variables."""
    path = project_root() / "playbooks" / "roles" / role / "defaults" / "main.yml"
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    return found
