"""States of stacks as an earlier version recorded them, and what of each depends on where a test runs."""

import dataclasses
import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

FOLDER = Path(__file__).parent
NAMES = tuple(sorted(path.name.removesuffix(".json.xz") for path in (FOLDER / "states").glob("*.json.xz")))
PROJECT = "/checkout-of-the-project"
"""In a state file, the folder of the project that recorded it."""
POSITIONS = ("sourcePosition", "stackTrace")
"""What the engine notes of the program's code beside each resource; it compares nothing with it."""
PLAINTEXT, SIGNATURE, SECRET = "plaintext", "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
"""How `pulumi stack export --show-secrets` writes a secret."""


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """A stack that an earlier version of the project brought up.

    Args:
        stack: Pulumi's name of it.
        target: where it runs.
        machine: the facts of the machine that its program read.
        cache: the folder of images on that machine, which the images of local hosts name.
        content: the fingerprint of each playbook then, by file name.
        images: the fingerprint of each machine image then, by processor architecture; empty where hosts start from no image of a cloud.
        deployment: what `pulumi stack export --show-secrets` printed.
    """

    stack: str
    target: str
    machine: Mapping[str, Any]
    cache: str
    content: Mapping[str, str]
    images: Mapping[str, str]
    deployment: Mapping[str, Any]

    @classmethod
    def read(cls, name: str) -> Self:
        """Read a state; its stack declares memory as all did when none said how."""
        found = json.loads(lzma.decompress(file_of(name).read_bytes()))
        return cls(**{**found, "machine": {"declares_by_count": True, **found["machine"]}})

    def write(self, name: str) -> None:
        """Store the state without positions in the code that recorded it."""
        text = json.dumps(without_positions(dataclasses.asdict(self)), indent=1, sort_keys=True)
        file_of(name).write_bytes(lzma.compress(text.encode(), preset=9))

    @property
    def resources(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.deployment["deployment"]["resources"]
        return found


def blueprint_of(name: str) -> Path:
    return FOLDER / "blueprints" / f"{name}.yaml"


def file_of(name: str) -> Path:
    return FOLDER / "states" / f"{name}.json.xz"


def replaced(value: Any, by: Mapping[str, str]) -> Any:
    """Replace texts wherever they occur in a plain value."""
    text = json.dumps(value)
    for old, new in by.items():
        text = text.replace(old, new)
    return json.loads(text)


def without_positions(value: Any) -> Any:
    """Leave out what the engine notes of the program's code."""
    if isinstance(value, dict):
        return {name: without_positions(one) for name, one in value.items() if name not in POSITIONS}
    return [without_positions(one) for one in value] if isinstance(value, list) else value


def opened(value: Any) -> Any:
    """Give a plain value with its secrets in the clear."""
    if isinstance(value, dict):
        return json.loads(value[PLAINTEXT]) if value.get(SIGNATURE) == SECRET else {name: opened(one) for name, one in value.items()}
    return [opened(one) for one in value] if isinstance(value, list) else value
