"""What the clouds' own descriptions of their interfaces say: botocore's models and Google's discovery documents, as installed."""

import functools
import gzip
import importlib.util
import json
import pathlib
import re
from typing import Any


@functools.cache
def aws(service: str) -> dict[str, Any]:
    """Give botocore's newest model of one AWS service."""
    newest = max((_package("botocore") / "data" / service).glob("*/service-2.json.gz"))
    model: dict[str, Any] = json.loads(gzip.decompress(newest.read_bytes()))
    return model


@functools.cache
def google(interface: str) -> dict[str, Any]:
    """Give the schemas of one of Google's interfaces (`compute.v1`)."""
    document = _package("googleapiclient") / "discovery_cache" / "documents" / f"{interface}.json"
    schemas: dict[str, Any] = json.loads(document.read_text(encoding="utf-8"))["schemas"]
    return schemas


def aws_text(service: str, shape: str, member: str) -> str:
    """Give what the model tells people of one member, without mark-up."""
    return _plain(aws(service)["shapes"][shape]["members"][member]["documentation"])


def aws_operation(service: str, operation: str) -> str:
    return _plain(aws(service)["operations"][operation]["documentation"])


def numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]*", text)]


def _plain(documentation: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", documentation))


def _package(name: str) -> pathlib.Path:
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return pathlib.Path(found.origin).parent
