"""What is known of hardware and versions: data files, each entry with its source and date, read into frozen values."""

import dataclasses
import functools
import pathlib
from collections.abc import Mapping

from .. import read, spec

_FOLDER = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True, slots=True)
class Accelerator:
    name: str
    description: str
    per_node: tuple[int, ...]
    """The counts of whole GPUs that machines exist with."""
    source: str
    date: str


@functools.cache
def accelerators() -> Mapping[str, Accelerator]:
    """Give every accelerator by name."""
    entries = read.read(_FOLDER / "accelerators.yaml").values
    return {name: Accelerator(name=name, **{**entry, "per_node": tuple(entry["per_node"])}) for name, entry in entries.items()}


@functools.cache
def software_names() -> tuple[str, ...]:
    """List the software profiles."""
    return tuple(sorted(path.stem for path in (_FOLDER / "software").glob("*.yaml")))


@functools.cache
def software(name: str) -> spec.Software:
    """Give one software profile.

    Raises:
        KeyError: there is none of this name.
    """
    if name not in software_names():
        raise KeyError(name)
    entry = read.read(_FOLDER / "software" / f"{name}.yaml").values
    return spec.Software(**{field.name: entry[field.name] for field in dataclasses.fields(spec.Software)})
