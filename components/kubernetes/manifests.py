"""Manifests of an add-on: read from the release, adapted to the stack, and put in order. Pure, but for reading the files."""

import copy
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from .api import Key, Object, key_of

PART_OF = "clusterwright.io/part-of"
"""The label by which objects are found that belong together: an add-on's name, or that of another group."""
CONFIGURATION = "clusterwright.io/configuration"
"""The annotation of a pod template that names the content of its program's configuration."""
DEFINITION = "CustomResourceDefinition"
ORDER = (
    ("Namespace",),
    (DEFINITION,),
    ("PriorityClass", "RuntimeClass", "StorageClass", "CSIDriver", "PersistentVolume"),
    ("ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"),
    ("ConfigMap", "Secret", "Service", "NetworkPolicy", "PersistentVolumeClaim", "FlowSchema", "PriorityLevelConfiguration"),
    ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService"),
    ("Deployment", "DaemonSet", "StatefulSet", "Job", "CronJob"),
)
"""Kinds in the order in which they are applied; others come last, when controllers run. Webhooks come before the controllers that write their certificates into them."""
WORKLOADS = frozenset(ORDER[-1])
Images = Mapping[str, Mapping[str, Any]]
"""Upstream name with tag → {digest, …} (`images.json` of the release)."""


class ImageMissing(Exception):
    """A manifest names images that the stack's registry doesn't have."""

    def __init__(self, names: Sequence[str]):
        super().__init__(", ".join(names))
        self.names = tuple(names)


def read(folder: Path) -> list[dict[str, Any]]:
    """Read all manifests of a folder, those of a `List` one by one.

    Raises:
        FileNotFoundError: the folder holds none.
    """
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise FileNotFoundError(f"there are no manifests in {folder}")
    found: list[dict[str, Any]] = []
    for file in files:
        for document in yaml.load_all(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if document:
                found += document["items"] if document.get("kind") == "List" else [document]
    return found


def fingerprint(manifests: Iterable[Object]) -> str:
    """Give a digest of manifests that names their content."""
    return hashlib.sha256(json.dumps(list(manifests), sort_keys=True, default=str).encode()).hexdigest()[:16]


def restarted_with(configuration: str) -> dict[str, Any]:
    """Give metadata of a pod template that replaces pods when the text of their configuration changes; programs read it at their start."""
    return {"annotations": {CONFIGURATION: hashlib.sha256(configuration.encode()).hexdigest()[:16]}}


def adapt(manifests: Iterable[Object], *, group: str, images: Images, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give an add-on's manifests as this stack applies them: labelled, with images by digest, with the stack's settings, in order.

    Args:
        images: the images of the stack's registry.
        settings: `Kind/name` → what differs from the module's own manifest (`merged`); None leaves an object out.
    Raises:
        ImageMissing: a manifest names an image that the registry doesn't have.
        KeyError: a setting names no object.
    """
    named = [(f"{one['kind']}/{one['metadata']['name']}", one) for one in manifests]
    if unknown := settings.keys() - {name for name, _ in named}:
        raise KeyError(f"the manifests of {group} have no {', '.join(sorted(unknown))}")
    wanted = [merged(copy.deepcopy(one), settings.get(name, {})) for name, one in named if settings.get(name, {}) is not None]
    if missing := sorted({name for one in wanted for name in images_of(one)} - images.keys()):
        raise ImageMissing(missing)
    return labelled([_with_digests(one, images) for one in wanted], group=group)


def labelled(manifests: Iterable[Object], *, group: str) -> list[dict[str, Any]]:
    """Give manifests in order, each with the label of its group and without a status, which only controllers write."""
    found = []
    for one in manifests:
        metadata = {**one["metadata"], "labels": {**(one["metadata"].get("labels") or {}), PART_OF: group}}
        found.append({**{key: value for key, value in one.items() if key != "status"}, "metadata": metadata})
    return in_order(found)


def merged(base: Any, change: Any) -> Any:
    """Merge a change into a value: mappings by key (None removes one), lists of named entries by name, anything else as a whole."""
    if isinstance(base, Mapping) and isinstance(change, Mapping):
        kept = {key: merged(value, change[key]) if key in change else merged(value, {}) if isinstance(value, Mapping) else value for key, value in base.items()}
        return {key: value for key, value in {**{key: value for key, value in change.items() if key not in base}, **kept}.items() if value is not None}
    if _are_named(base) and _are_named(change):
        changes = {one["name"]: one for one in change}
        return [merged(one, changes.pop(one["name"], {})) for one in base] + list(changes.values())
    return change


def images_of(manifest: Object) -> Iterator[str]:
    """Name the images of a manifest's containers."""
    for container in _containers(manifest):
        yield str(container["image"])


def in_order(manifests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put manifests in the order in which they are applied."""
    return sorted(manifests, key=lambda one: (step_of(one["kind"]), key_of(one)))


def step_of(kind: str) -> int:
    """Give the place of a kind in `ORDER`."""
    return next((number for number, kinds in enumerate(ORDER) if kind in kinds), len(ORDER))


def written(key: Key) -> str:
    """Write a key as one text for a record."""
    return "|".join((key.api_version, key.kind, key.namespace, key.name))


def parsed(text: str) -> Key:
    """Read a key from a record."""
    return Key(*text.split("|"))


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) and "name" in one for one in value)


def _with_digests(manifest: dict[str, Any], images: Images) -> dict[str, Any]:
    for container in _containers(manifest):
        name = str(container["image"])
        container["image"] = f"{name}@{images[name]['digest']}"
    return manifest


def _containers(manifest: Object) -> Iterator[dict[str, Any]]:
    spec = manifest.get("spec") or {}
    pod = spec.get("jobTemplate", {}).get("spec", spec).get("template", {}).get("spec") if manifest.get("kind") != "Pod" else spec
    if manifest.get("kind") in WORKLOADS or manifest.get("kind") == "Pod":
        for name in ("initContainers", "containers"):
            yield from (pod or {}).get(name) or ()
