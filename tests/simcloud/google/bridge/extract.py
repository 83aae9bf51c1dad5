"""Renew what the bridge knows of pulumi-gcp: `python -m tests.simcloud.google.bridge.extract`, where pulumi-gcp and google-api-python-client are installed.

`data/sdk.json` holds the typed arguments of Pulumi's SDK, and for each kind where its arguments lie in the body of a request: by capitals and plural alone from the schemas of Google's
discovery documents, or as data/kinds.yaml says. What has no place there is left out, and a program that sets it is refused as not simulated.
"""

import importlib
import importlib.metadata
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core import sdk
from . import kinds

Schemas = Mapping[str, Any]
POSSIBLE_VALUES = re.compile(r"(?:Possible values are|Each value may be one of): ((?:`\w+`(?:, ?)?)+)\.")
"""What the generator of the provider's documentation writes for a checked list of words."""
NUMBERS_AS_TEXT = ("int64", "uint64")


def main() -> None:
    table = kinds.table()
    arguments = sdk.arguments("pulumi_gcp", list(table))
    shapes = {name: shape(name, row, arguments) for name, row in table.items() if row.get("schema")}
    versions = " ".join(f"{package} {importlib.metadata.version(package)}" for package in ("google-api-python-client", "pulumi-gcp"))
    sdk.write(kinds.DATA / "sdk.json", {"package": versions, **arguments, "shapes": shapes, "values": values(arguments)})


def shape(name: str, row: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give where the inputs and outputs of one kind lie: name → [place in the body, form], form a scalar's or {"fields": …, "many": whether the body has a list}."""
    resource = arguments["resources"][name]
    fields = {
        **{output: kind for output, kind in resource["outputs"].items() if kind != "object"},
        **{field: kind for field, (kind, _) in resource["inputs"].items()},
    }
    schemas = _schemas(row["api"])
    if schemas is None:
        return _as_it_is(fields, arguments["objects"])
    return _Matcher(schemas, arguments["objects"], row.get("names", {})).fields(fields, schemas[row["schema"]]["properties"], inside=row.get("inside", ""))


def values(arguments: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Give what the provider takes where it takes certain words alone, as the SDK's documentation lists them: resource or object → name → words."""
    found = {}
    for name in [*arguments["resources"], *arguments["objects"]]:
        module_name, _, class_name = name.partition(".")
        module = importlib.import_module(f"pulumi_gcp.{module_name}")
        owner = getattr(module, class_name if name in arguments["objects"] else f"{class_name}Args")
        of_owner = {}
        for member in vars(owner).values():
            if isinstance(member, property) and (listed := POSSIBLE_VALUES.search(" ".join((member.__doc__ or "").split()))):
                of_owner[str(getattr(member.fget, "_pulumi_name"))] = re.findall(r"\w+", listed[1])  # noqa: B009 - a private name of the SDK
        if of_owner:
            found[name] = of_owner
    return found


class _Matcher:
    def __init__(self, schemas: Schemas, objects: Mapping[str, Any], names: Mapping[str, str]):
        self._schemas, self._objects, self._names = schemas, objects, names

    def fields(self, fields: Mapping[str, Any], properties: Mapping[str, Any], *, path: str = "", inside: str = "") -> dict[str, Any]:
        found = {}
        for name, kind in fields.items():
            here = f"{path}.{name}" if path else name
            if place := self._names.get(here) or _place(name, properties, inside, self._properties(properties.get(inside, {}))):
                found[name] = [place, self._form(kind, self._at(properties, place), here)]
        return found

    def _at(self, properties: Mapping[str, Any], place: str) -> Mapping[str, Any]:
        head, _, rest = place.partition(".")
        if head not in properties:
            raise KeyError(f"{place} is not in the schema")
        return self._at(self._properties(properties[head]), rest) if rest else properties[head]

    def _properties(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" in schema:
            schema = self._schemas[schema["$ref"]]
        found: Mapping[str, Any] = schema.get("properties", {})
        return found

    def _form(self, kind: Any, schema: Mapping[str, Any], path: str) -> Any:
        many = schema.get("type") == "array"
        inner = schema["items"] if many else schema
        wanted = kind[1] if isinstance(kind, list) and kind[0] == "list" else kind
        if isinstance(wanted, str) and wanted in self._objects:
            fields = {field: inner_kind for field, (inner_kind, _) in self._objects[wanted].items()}
            return {"fields": self.fields(fields, self._properties(inner), path=path), "many": many, "list": isinstance(kind, list)}
        if inner.get("format") in NUMBERS_AS_TEXT and inner.get("type") == "string" and wanted in ("integer", "number"):
            return "number-as-text"
        return ("many" if isinstance(kind, list) else "wrapped") if many else "one"


def _place(name: str, properties: Mapping[str, Any], inside: str, inner: Mapping[str, Any]) -> str:
    for prefix, choice in (("", properties), (f"{inside}.", inner)):
        alike = {place.casefold(): place for place in choice}
        for candidate in _spellings(name.casefold()):
            if candidate in alike:
                return prefix + alike[candidate]
    return ""


def _spellings(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}s", f"{name}es")
    if name.endswith("s"):
        yield name[:-1]
    if name.endswith("es"):
        yield name[:-2]
    if name.endswith("ies"):
        yield f"{name[:-3]}y"
    if name.endswith("y"):
        yield f"{name[:-1]}ies"


def _as_it_is(fields: Mapping[str, Any], objects: Mapping[str, Any]) -> dict[str, Any]:
    """Give the shape of a body whose service has no discovery document: the SDK's own names; its 64-bit numbers are text, as in all of Google's JSON."""
    found: dict[str, Any] = {}
    for name, kind in fields.items():
        wanted = kind[1] if isinstance(kind, list) and kind[0] == "list" else kind
        form: Any = "one"
        if isinstance(wanted, str) and wanted in objects:
            form = {
                "fields": _as_it_is({field: inner for field, (inner, _) in objects[wanted].items()}, objects),
                "many": isinstance(kind, list),
                "list": isinstance(kind, list),
            }
        found[name] = [name, form]
    return found


def _schemas(api: str) -> Schemas | None:
    folder = Path(str(importlib.import_module("googleapiclient").__file__)).parent / "discovery_cache" / "documents"
    document = folder / f"{api}.json"
    return json.loads(document.read_text())["schemas"] if document.exists() else None


if __name__ == "__main__":
    main()
