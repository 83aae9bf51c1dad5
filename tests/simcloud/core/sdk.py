"""Read the typed arguments of a Pulumi SDK out of its Python package, and write what was read as a file that shows what a renewal changed."""

import importlib
import inspect
import json
import re
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def arguments(package: str, names: Iterable[str]) -> dict[str, Any]:
    """Give the resources (`ec2.Vpc`) with their token, inputs and outputs, and the argument objects that they refer to.

    Args:
        package: the SDK's (`pulumi_aws`).
    """
    objects: dict[str, Any] = {}
    resources = {}
    for name in names:
        module_name, _, class_name = name.partition(".")
        module = importlib.import_module(f"{package}.{module_name}")
        resource = getattr(module, class_name, None)
        if resource is None:
            continue  # an object of the cloud that no program declares
        taken = getattr(module, f"{class_name}InitArgs", None) or getattr(module, f"{class_name}Args")
        (token,) = set(re.findall(rf"'([a-z]+:[\w/]+:{class_name})',\s*\n\s*resource_name,", inspect.getsource(resource)))
        outputs = {_wire(member): _type(hint, objects) for member, hint in _hints(resource).items()}
        resources[name] = {"token": token, "inputs": _fields(taken, objects), "outputs": outputs}
    return {"resources": resources, "objects": dict(sorted(objects.items()))}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write one entry a line: a renewal then shows what changed."""
    lines = [f"{json.dumps(key)}: {_lines(value)}" for key, value in content.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _lines(value: Any) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value)
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(inner, sort_keys=True, separators=(',', ':'))}" for key, inner in value.items()) + "\n}"


def _fields(owner: type, objects: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments: name on the wire → [type, whether it is required]."""
    signature = inspect.signature(owner.__init__).parameters  # type: ignore[misc]
    fields = {}
    for member, hint in _hints(owner).items():
        assert member.fget
        python = member.fget.__name__
        fields[_wire(member)] = [_type(hint, objects), signature[python].default is inspect.Parameter.empty]
    return fields


def _hints(owner: type) -> dict[property, Any]:
    found = {}
    for base in (owner,):
        for member in vars(base).values():
            if isinstance(member, property) and member.fget and hasattr(member.fget, "_pulumi_name"):
                space = {**vars(importlib.import_module("pulumi.output")), **vars(importlib.import_module(owner.__module__))}
                found[member] = typing.get_type_hints(member.fget, space)["return"]
    return found


def _wire(member: property) -> str:
    return str(getattr(member.fget, "_pulumi_name"))  # noqa: B009 - a private name of the SDK


def _type(hint: Any, objects: dict[str, Any]) -> Any:
    """Turn an annotation into a name (`string`, `Asset`, an object of `objects`) or ["list" | "map", inner]."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin in (typing.Union, types.UnionType):
        return _one_of([_type(part, objects) for part in inner if not _is_wrapper(part)])
    if origin is not None and getattr(origin, "__name__", "") in ("Mapping", "dict"):
        return ["map", _type(inner[1], objects)]
    if origin is not None and getattr(origin, "__name__", "") in ("Sequence", "list"):
        return ["list", _type(inner[0], objects)]
    if origin is not None and origin.__name__ in ("Output", "Awaitable"):
        return _type(inner[0], objects)
    if hint is Any:
        return "any"
    if (isinstance(hint, type) and hint.__name__.endswith(("Args", "ArgsDict"))) or (isinstance(hint, type) and hint.__module__.endswith("outputs")):
        return _object(hint, objects)
    if isinstance(hint, type):
        return "string" if issubclass(hint, str) else hint.__name__
    raise TypeError(f"unknown annotation {hint}")


def _is_wrapper(part: Any) -> bool:
    name = getattr(typing.get_origin(part), "__name__", "")
    return part is type(None) or name in ("Awaitable", "Output") or getattr(part, "__name__", "").endswith("ArgsDict")


def _one_of(kinds: list[Any]) -> Any:
    distinct = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
    return distinct[0] if len(distinct) == 1 else ["union", *distinct]


def _object(hint: type, objects: dict[str, Any]) -> str:
    place = "outputs" if hint.__module__.endswith("outputs") else "inputs"
    name = f"{hint.__module__.split('.')[1]}.{hint.__name__}"
    if place == "outputs":
        return "object"
    if name not in objects:
        objects[name] = {}
        objects[name] = _fields(hint, objects)
    return name
