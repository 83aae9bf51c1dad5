"""What a new declaration changes of what is there, and whether that takes a new thing: the provider's Diff."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from ...core import typed
from . import bodies, kinds
from .kinds import Kind

LABELS = "effectiveLabels"
ATTRIBUTION = {"goog-pulumi-provisioned": "true"}
"""The label that pulumi-gcp puts on what it creates, and never on what is there (its setting pulumiAttributionLabelAdditionStrategy)."""
Values = Mapping[str, Any]


def changed(kind: Kind, *, olds: Values, news: Values, old_inputs: Values, labels: Mapping[str, str]) -> dict[str, bool]:
    """Name the properties that differ: property → whether a new thing must be made.

    Args:
        olds: what is recorded or observed.
        labels: what the provider's settings put on every thing.
    """
    found = set()
    for name, value in news.items():
        if not name.startswith("__") and name in kind.inputs and _differs(kind, name, value, olds, old_inputs):
            found.add(name)
    for gone in old_inputs.keys() - news.keys():
        is_ours = gone in kind.inputs and not gone.startswith("__") and not kind.is_computed(gone)
        if is_ours and not _is_empty(old_inputs[gone]) and not same("any", kind.defaults.get(gone), olds.get(gone)):
            found.add(gone)
    is_known = "labels" not in found and news.get("labels") != typed.UNKNOWN and LABELS in olds
    if kind.is_labelled and is_known and olds[LABELS] != effective_labels(news, labels, before=olds[LABELS]):
        found.add(LABELS)
    return {name: is_replaced(kind, name, olds, news) for name in sorted(found)}


def effective_labels(inputs: Values, labels: Mapping[str, str], *, before: Mapping[str, str] | None) -> dict[str, str]:
    """Give all the labels that a thing shall have; `before` holds those of a thing that exists."""
    own = {name: value for name, value in ATTRIBUTION.items() if before is None or name in before}
    return {**own, **labels, **(inputs.get("labels") or {})}


def is_replaced(kind: Kind, name: str, olds: Values, news: Values) -> bool:
    """Say whether a change of this property takes a new thing."""
    if name == LABELS:
        return kind.way("labels") == "replace"
    if name == "ipCidrRange" and kind.way(name) != "replace" and news.get(name) not in (None, typed.UNKNOWN):
        return not ipaddress.ip_network(olds[name]).subnet_of(ipaddress.ip_network(news[name]))  # type: ignore[arg-type]
    if name == "size" and kind.way(name) == "resize" and isinstance(news.get(name), int):
        return bool(news[name] < olds.get(name, 0))
    return kind.way(name) == "replace"


def same(form: Any, new: Any, old: Any) -> bool:
    """Say whether what is declared is there: parts that the service chose itself do not count, references mean the same in every spelling."""
    if new == typed.UNKNOWN:
        return False
    if _is_empty(new) and _is_empty(old):
        return True
    if isinstance(form, list) and form[0] == "list" and isinstance(new, list) and isinstance(old, list):
        if all(isinstance(one, (str, int, float)) for one in new + old):
            new, old = sorted(map(str, new)), sorted(map(str, old))
        return len(new) == len(old) and all(same(form[1], mine, theirs) for mine, theirs in zip(new, old, strict=True))
    fields = kinds.sdk()["objects"].get(form) if isinstance(form, str) else None
    if fields and isinstance(new, Mapping) and isinstance(old, Mapping):
        return all(same(fields[name][0], value, old.get(name)) for name, value in new.items())
    if isinstance(new, str) and isinstance(old, str):
        return _is_same_text(new, old)
    return bool(new == old)


def _differs(kind: Kind, name: str, value: Any, olds: Values, old_inputs: Values) -> bool:
    form = kind.inputs[name][0]
    if name in kind.kept or kind.is_client(name):
        return not same("any", value, old_inputs.get(name, olds.get(name)))
    if name == "location" and isinstance(value, str) and value.casefold() == str(olds.get(name)).casefold():
        return False
    if name == "ipAddress" and isinstance(value, str) and "/" in value and olds.get(name):
        return False  # an address that is named, over its number (terraform-provider-google, InternalIpDiffSuppress)
    return not same(form, value, olds.get(name)) or _was_taken_out(kind, value, old_inputs.get(name), name)


def _was_taken_out(kind: Kind, new: Any, old: Any, path: str) -> bool:
    """Say whether a declaration lost a part that it had, other than those that the service chooses then."""
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        lost = (name for name, value in old.items() if name not in new and not _is_empty(value) and f"{path}.{name}" not in kind.chosen)
        return any(True for _ in lost) or any(_was_taken_out(kind, new[name], old[name], f"{path}.{name}") for name in new.keys() & old.keys())
    if isinstance(new, list) and isinstance(old, list):
        return any(_was_taken_out(kind, mine, theirs, path) for mine, theirs in zip(new, old, strict=False))
    return False


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {}, False, 0)


def _is_same_text(new: str, old: str) -> bool:
    new, old = (bodies.LINK.sub("", text) for text in (new, old))
    if new == old or new.endswith(f"/{old}") or old.endswith(f"/{new}"):
        return True
    return (("/" in new) != ("/" in old) and new.rpartition("/")[2] == old.rpartition("/")[2]) or _is_of_family(new, old)


def _is_of_family(spelled: str, image: str) -> bool:
    """Say whether an image is one of the family that is spelled, by its name alone as the provider does. Source: disk_type.go, diskImageFamilyEquals."""
    owner, _, name = image.partition("/global/images/")
    project, _, family = spelled.replace("/global/images/family", "").rpartition("/")
    if not name or (project not in ("", "family") and project.removeprefix("projects/") != owner.removeprefix("projects/")):
        return False
    return {*family.split("-")} - {"lts"} <= {*name.split("-")}
