"""What changing each field of the spec costs, by its path in the recorded spec. Pure.

A path has `*` for what has a name; `+` is a named thing that is added, `-` one that is removed. A list without named things is one value.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from .. import catalog, spec
from ..spec.cost import ByPlace, Cost, Effect, Entries, Rule, Within


def rules(target: str, offerings: tuple[str, ...]) -> Mapping[str, Rule]:
    """Give what changing each field costs a cluster.

    Args:
        offerings: those that run the cluster's schedulers.
    """
    return {**FIELDS, **overrides(target, offerings)}


@functools.cache
def overrides(target: str, offerings: tuple[str, ...]) -> Mapping[str, Rule]:
    """Give the fields that cost something else on a target, or with these offerings.

    Raises:
        KeyError: the catalogue names a field that the spec hasn't.
    """
    found: dict[str, Rule] = {}
    for entry in catalog.change_costs(target):
        chosen = [name for name in entry.offerings if name in offerings]
        for prefix in [f"{catalog.offering(name).scheduler}." for name in chosen] if entry.offerings else [""]:
            found |= {f"{prefix}{field}": _overridden(FIELDS[f"{prefix}{field}"], entry) for field in entry.fields}
    return found


def _overridden(rule: Rule, entry: catalog.ChangeCost) -> Rule:
    if entry.effect:
        return Rule(Cost(Effect(entry.effect), entry.why))
    given = tuple((one.field, one.value, Cost(Effect(one.effect), one.why)) for one in entry.given)
    cost = Cost(rule.cost.effect, entry.why) if entry.why else rule.cost
    return dataclasses.replace(rule, cost=cost, given=(*given, *rule.given), is_anew=entry.is_anew)


def _of_record(record: type, path: str, places: Mapping[str, Rule]) -> Iterator[tuple[str, Rule]]:
    """Walk the fields of a record with their costs; one without a marker has none.

    Args:
        places: what the fields marked `ByPlace` cost here.
    """
    for name, hint in typing.get_type_hints(record, include_extras=True).items():
        yield from _of_field(f"{path}{name}", hint, places)


def _of_field(path: str, hint: Any, places: Mapping[str, Rule]) -> Iterator[tuple[str, Rule]]:
    value, *markers = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
    below = f"{path}."
    is_list = typing.get_origin(value) is tuple
    for marker in markers:
        if isinstance(marker, Rule):
            yield path, marker
        elif isinstance(marker, ByPlace):
            yield path, places[marker.what]
        elif isinstance(marker, Within):
            places = {**places, **dict(marker.rules)}
        elif isinstance(marker, Entries):
            yield from ((f"{path}.+", marker.added), (f"{path}.-", marker.removed))
            below, is_list = f"{path}.*.", False
    if not is_list and (record := _record(value)) is not None:
        yield from _of_record(record, below, places)


def _record(value: Any) -> type | None:
    """Give the record that a field holds, or a list of which it holds."""
    options = typing.get_args(value) if isinstance(value, types.UnionType) or typing.get_origin(value) is tuple else (value,)
    return next((option for option in options if dataclasses.is_dataclass(option) and option is not spec.Late and isinstance(option, type)), None)


FIELDS: Mapping[str, Rule] = types.MappingProxyType(dict(_of_record(spec.ClusterSpec, "", {})))
"""What changing each field costs wherever a target does nothing else."""
