"""GPUs by the names that blueprints use."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class MigProfile:
    """One size that a GPU can be divided into (Multi-Instance GPU)."""

    name: str
    """As the driver names it: `1g.10gb`. Newer drivers may name the same size differently."""
    gpu_memory_gb: int
    """Of the GPU that has this profile; A100s of 40 and of 80 GB have different ones."""
    per_gpu: int
    """The most instances of this size alone."""
    memory_gb: int


@dataclasses.dataclass(frozen=True, slots=True)
class Accelerator:
    name: str
    description: str
    architecture: str
    """`ampere`, `ada`, `hopper` or `blackwell`."""
    memory_gb: tuple[int, ...]
    """Nominal, ascending; machines of one name can differ."""
    per_node: tuple[int, ...]
    """The counts of whole GPUs that machines exist with."""
    nvlink: bool
    """Whether GPUs of one node are joined by NVLink."""
    mig: tuple[MigProfile, ...]
    """Empty: it can't be divided, or its profiles are unknown."""
    source: str
    date: str

    def nominal_gb(self, reported_gib: float) -> int:
        """Give the memory that the vendor names, for what a cloud or a driver reports of one GPU: somewhat less, or the same amount in GiB."""
        return next((nominal for nominal in self.memory_gb if nominal >= reported_gib), self.memory_gb[-1])


@functools.cache
def accelerators() -> Mapping[str, Accelerator]:
    """Give every accelerator by name."""
    return {name: _accelerator(name, entry) for name, entry in files.mapping("accelerators").items()}


def is_other_gpu(name: str) -> bool:
    """Say whether a name is that of a GPU that exists and has no entry, with or without its maker's name and memory (`nvidia-tesla-v100`, `v100-16gb`)."""
    words = name.lower().replace("_", "-").replace(" ", "-")
    return any(f"-{other}-" in f"-{words}-" for other in files.mapping("other-gpus")["names"])


def _accelerator(name: str, entry: Mapping[str, Any]) -> Accelerator:
    return Accelerator(
        name=name,
        description=entry["description"],
        architecture=entry["architecture"],
        memory_gb=tuple(entry["memory_gb"]),
        per_node=tuple(entry["per_node"]),
        nvlink=entry["nvlink"],
        mig=tuple(_profile(int(memory), text) for memory, texts in entry.get("mig", {}).items() for text in texts),
        source=entry["source"],
        date=entry["date"],
    )


def _profile(gpu_memory_gb: int, text: str) -> MigProfile:
    """Read `7 x 1g.10gb`."""
    count, _, name = text.partition(" x ")
    memory = name.partition(".")[2].partition("gb")[0]
    return MigProfile(name, gpu_memory_gb=gpu_memory_gb, per_gpu=int(count), memory_gb=int(memory))
