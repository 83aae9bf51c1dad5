"""Carry values between the engine's wire form and plain Python, in one place.

The wire form is a protobuf Struct in which secrets, unknowns and output values are maps with a signature key. Plain values are None, bool, int, float, str, list
and dict; a whole number comes back as int, because the wire knows only doubles. What is not known before an apply is `UNKNOWN`.

Source: Pulumi's `sdk/proto/pulumi/provider.proto` and `sdk/python/lib/pulumi/runtime/rpc.py` (signatures).
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf import json_format, struct_pb2

from . import packed
from .unknown import UNKNOWN

SIGNATURE_KEY: Final = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"
OUTPUT_SIGNATURE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
UNKNOWN_MARK: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def decode(properties: struct_pb2.Struct) -> dict[str, Any]:
    """Turn wire properties into plain values; secrets are unwrapped (see `secret_names`), packed records unpacked."""
    return {name: packed.unpack(_plain(value)) for name, value in json_format.MessageToDict(properties).items()}


def secret_names(properties: struct_pb2.Struct) -> frozenset[str]:
    """Name the top-level properties that hold a secret anywhere inside."""
    return frozenset(name for name, value in json_format.MessageToDict(properties).items() if _holds_secret(value))


def encode(values: Mapping[str, Any], *, secrets: Iterable[str] = ()) -> struct_pb2.Struct:
    """Turn plain values into wire properties, those named in `secrets` as secrets as a whole.

    Raises:
        ValueError: a number is not finite; the engine's state is JSON, which can't hold it.
    """
    hidden = frozenset(secrets)
    wire = {name: _secret(_wire(value)) if name in hidden else _wire(value) for name, value in values.items()}
    return json_format.ParseDict(wire, struct_pb2.Struct())


def holds_unknown(value: Any) -> bool:
    """Say whether a plain value contains `UNKNOWN`."""
    if isinstance(value, Mapping):
        return any(holds_unknown(inner) for inner in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds_unknown(inner) for inner in value)
    return value is UNKNOWN


def _secret(value: Any) -> dict[str, Any]:
    return {SIGNATURE_KEY: SECRET_SIGNATURE, "value": value}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        signature = value.get(SIGNATURE_KEY)
        if signature == SECRET_SIGNATURE:
            return _plain(value.get("value"))
        if signature == OUTPUT_SIGNATURE:
            return _plain(value["value"]) if "value" in value else UNKNOWN
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if value == UNKNOWN_MARK else value


def _holds_secret(value: Any) -> bool:
    if isinstance(value, dict):
        if value.get(SIGNATURE_KEY) == SECRET_SIGNATURE:
            return True
        if value.get(SIGNATURE_KEY) == OUTPUT_SIGNATURE and value.get("secret"):
            return True
        return any(_holds_secret(inner) for inner in value.values())
    return isinstance(value, list) and any(_holds_secret(inner) for inner in value)


def _wire(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _wire(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_wire(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number that a state can hold")
    return UNKNOWN_MARK if value is UNKNOWN else value
