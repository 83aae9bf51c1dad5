"""How the provider spells images: `family/f`, `project/image`, `image` and links all become a path. Source: the argument `image` of google_compute_disk."""

from collections.abc import Mapping

from ...core import typed
from . import bodies
from .rest import Rest

HOST, BASE = "compute.googleapis.com", "/compute/v1/"


def path(rest: Rest, spelled: str, variables: Mapping[str, str]) -> str:
    """Give an image's path, or that of the family that is meant."""
    spelled = bodies.LINK.sub("", spelled)
    if spelled == typed.UNKNOWN or spelled.startswith("projects/"):
        return spelled
    if spelled.startswith("global/"):
        return f"projects/{variables['project']}/{spelled}"
    project, _, name = spelled.rpartition("/")
    if project == "family":
        return f"projects/{variables['project']}/global/images/family/{name}"
    image = f"projects/{project or variables['project']}/global/images"
    return f"{image}/{name}" if rest.find(HOST, f"{BASE}{image}/{name}") else f"{image}/family/{name}"


def is_family(spelled: str) -> bool:
    return "/family/" in spelled


def shown(rest: Rest, declared: str | None, actual: str, variables: Mapping[str, str]) -> str:
    """Give an image as the provider records it: a family stays what was declared, as any of its images will do."""
    if declared and is_family(path(rest, declared, variables)):
        return declared
    return actual
