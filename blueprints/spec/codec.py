"""The spec as plain JSON values, and back. Pure."""

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any

from ..errors import Unreadable
from .cluster import ClusterSpec, People
from .upgrade import upgrade

LEFT_OUT = frozenset(
    {
        "cloud_identity",
        "health_brake",
        "host_project",
        "interface",
        "lowered_from_gbs",
        "members",
        "os_login",
        "reachable_min",
        "rest_api",
        "rolling",
        "site",
        "state_on",
        "training",
        "tunnel",
        *("collectives", "bad_log_lines", "direct", "environment_script", "daemon", "daemon_arguments", "note"),
    }
)
"""Fields that a record has only where they say something: those of hosts that exist already, of fabrics, and of floors."""


def as_record(spec: ClusterSpec) -> dict[str, Any]:
    """Turn the spec into plain JSON values, for stack outputs and `--json`."""
    record = dataclasses.asdict(dataclasses.replace(spec, site=None), dict_factory=_plain)
    return record if spec.site is None else {**record, "site": _sparse(spec.site)}


def from_record(record: Mapping[str, Any]) -> ClusterSpec:
    """Read a recorded spec (a stack's output, a document of `plan --json`), of this version's form or of an older one.

    Fields that the record lacks get their defaults.

    Raises:
        Unreadable: a version with another form wrote the record, or it is no record of a spec.
    """
    found: ClusterSpec = _instance(upgrade(record), ClusterSpec, "spec")
    return found


def people_from_view(view: Mapping[str, Any]) -> People:
    """Read who uses a cluster from what its controllers are configured from (`views.slurm_view`).

    Raises:
        Unreadable: it is of another form.
    """
    parts = {"cluster": view.get("name"), "users": view.get("users"), "accounts": view.get("accounts"), "qos": (view.get("slurm") or {}).get("qos")}
    found: People = _instance(parts, People, "view")
    return found


def _plain(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value.value if isinstance(value, enum.Enum) else value for name, value in fields if name not in LEFT_OUT or value}


def _sparse(value: Any) -> Any:
    """Write a record without the fields that have their default: thousands of hosts have the same few."""
    if isinstance(value, tuple):
        return [_sparse(one) for one in value]
    if not dataclasses.is_dataclass(value):
        return value
    fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
    return {field.name: _sparse(one) for field, one in fields if one != field.default}


def _instance(value: Any, made: type, path: str) -> Any:
    if not isinstance(value, Mapping):
        raise Unreadable(f"{path} is no object")
    hints = _hints(made)
    missing = [field.name for field in dataclasses.fields(made) if field.name not in value and _is_required(field)]
    unknown = [str(name) for name in value if name not in hints]
    if missing or unknown:
        raise Unreadable(f"{path}.{(missing or unknown)[0]} is {'missing' if missing else 'not known'}")
    return made(**{name: _value(entry, hints[name], f"{path}.{name}") for name, entry in value.items()})


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


@functools.cache
def _hints(made: type) -> dict[str, Any]:
    return typing.get_type_hints(made)


def _value(value: Any, hint: Any, path: str) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return _one_of(value, typing.get_args(hint), path)
    if typing.get_origin(hint) is tuple:
        return _entries(value, typing.get_args(hint), path)
    if dataclasses.is_dataclass(hint):
        return _instance(value, typing.cast(type, hint), path)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _word(value, hint, path)
    wanted = (int, float) if hint is float else hint
    if not isinstance(value, wanted) or (isinstance(value, bool) and hint is not bool):
        raise Unreadable(f"{path} is of another type")
    return value


def _word(value: Any, hint: type[enum.Enum], path: str) -> enum.Enum:
    try:
        return hint(value)
    except ValueError:
        raise Unreadable(f"{path} is not one of {', '.join(str(one.value) for one in hint)}") from None


def _one_of(value: Any, hints: tuple[Any, ...], path: str) -> Any:
    if value is None and types.NoneType in hints:
        return None
    *others, last = [hint for hint in hints if hint is not types.NoneType]
    for hint in others:
        try:
            return _value(value, hint, path)
        except Unreadable:
            continue
    return _value(value, last, path)


def _entries(value: Any, hints: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise Unreadable(f"{path} is no list")
    each = [hints[0]] * len(value) if hints[-1] is Ellipsis else list(hints)
    if len(each) != len(value):
        raise Unreadable(f"{path} has {len(value)} entries")
    return tuple(_value(entry, hint, f"{path}.{number}") for number, (entry, hint) in enumerate(zip(value, each, strict=True)))
