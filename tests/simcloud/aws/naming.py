"""Names that the provider makes when a program gives none: the resource's own name and seven random digits, the same again as long as the object lives."""

import hashlib
from collections.abc import Mapping
from typing import Any

from . import facts

DIGITS = 7  # Pulumi's auto-naming
MADE_BY_PROVIDER = "__defaults"


def named(kind: facts.Kind, news: Mapping[str, Any], olds: Mapping[str, Any], *, name: str, seed: str) -> dict[str, Any]:
    """Give the inputs with a name where the kind takes one and the program said nothing."""
    inputs = dict(news)
    if not kind.autoname:
        return inputs
    field = kind.autoname
    if inputs.get(field) is None and not inputs.get(f"{field}Prefix"):
        inputs[field] = olds.get(field) or f"{name}-{hashlib.sha256(f'{seed}{name}'.encode()).hexdigest()[:DIGITS]}"
        inputs[MADE_BY_PROVIDER] = [field]
    else:
        inputs[MADE_BY_PROVIDER] = []
    return inputs


def must_go_first(kind: facts.Kind, olds: Mapping[str, Any], news: Mapping[str, Any]) -> bool:
    """Say whether the old object must be gone before the new one can be: both would have the same name."""
    return bool(kind.autoname and kind.autoname not in news.get(MADE_BY_PROVIDER, ()) and olds.get(kind.autoname) == news.get(kind.autoname))
