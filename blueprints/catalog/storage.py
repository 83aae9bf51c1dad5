"""Classes of storage: what each target sells, in which sizes and throughputs."""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """Values that are valid: `first`, `first + step`, … up to `last` (None: no known end)."""

    first: int
    last: int | None
    step: int

    def holds(self, value: int) -> bool:
        return value >= self.first and (self.last is None or value <= self.last) and (value - self.first) % self.step == 0

    def next(self, value: int) -> int | None:
        """Give the least valid value that is `value` or more."""
        steps_rounded_up = max(0, -(-(value - self.first) // self.step))
        found = self.first + steps_rounded_up * self.step
        return found if self.last is None or found <= self.last else None

    def previous(self, value: int) -> int | None:
        """Give the greatest valid value that is `value` or less."""
        if value < self.first:
            return None
        least = value if self.last is None else min(value, self.last)
        return self.first + (least - self.first) // self.step * self.step


@dataclasses.dataclass(frozen=True, slots=True)
class Tier:
    mbs_per_tib: int
    """Throughput that is sold with each TiB, in MB/s."""
    sizes: tuple[Run, ...]
    """In GiB; those of the class where the tier has none of its own."""
    fabric_step_gib: int | None
    """Sizes that the GPU fabric reaches without TCP are multiples of it; None: not at all."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rate:
    """Something of a block device that is set apart from its size (operations a second, MiB/s)."""

    included: int
    first: int
    last: int
    per_gib: int | None
    """The most for each GiB; None: not bound to the size."""


@dataclasses.dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of the hosts' subnets that one file system takes."""

    each: int
    each_zone: bool
    """In every zone where hosts are; otherwise in the first."""
    gib_of_one: int | None
    """A further one for each part of this size; None: none."""
    source: str

    def count(self, size_gib: float | None) -> int:
        return self.each + (math.ceil(size_gib / self.gib_of_one) if self.gib_of_one and size_gib else 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Peered:
    """Addresses of file systems in a network of the cloud's own, which is peered with the hosts'."""

    range_prefix: int
    """Of the range that is reserved for all of them."""
    prefix: int
    """Of what one of them takes."""
    source: str

    @property
    def most(self) -> int:
        """How many file systems the range holds."""
        return int(2 ** (self.prefix - self.range_prefix))


@dataclasses.dataclass(frozen=True, slots=True)
class StorageClass:
    name: str
    target: str
    kind: str
    """`lustre`, `nfs`, `block`, `object`; `folder` on this machine, where every kind is one."""
    product: str
    api: Mapping[str, str]
    """What the cloud's own interface calls it."""
    sizes: tuple[Run, ...]
    tiers: tuple[Tier, ...]
    default_mbs_per_tib: int | None
    metadata_iops: tuple[Run, ...]
    iops: Rate | None
    throughput_mibs: Rate | None
    addresses: Addresses | None
    """What it takes of the hosts' subnets; None: nothing, or nothing is known of it."""
    peered: Peered | None
    """None: it is in the hosts' own network, or in one that it connects by itself."""
    zonal: bool
    """True: it is reached at full speed, or at all, from one zone only."""
    encrypted: str
    """`always`, `choice`, or `disks`: no more than the disks below are, of which the stack knows nothing."""
    attach: str
    """`shared` by all hosts, or `single`."""
    ports: tuple[str, ...]
    """TCP, `988` or `1018-1023`."""
    survives: bool
    """False: what it holds is lost with a part of it."""
    linked_backups: bool
    """Whether it can have backups while a bucket is linked to it."""
    backups_source: str
    user_quotas: bool | None
    """Whether quotas for users and groups are possible; None: unknown."""
    quotas_source: str
    source: str
    as_of: str
    note: str

    def valid_sizes(self, mbs_per_tib: int | None = None) -> tuple[Run, ...]:
        """Give the valid sizes in GiB, of one tier if the class has tiers; none: it grows by itself, or they are unknown.

        Raises:
            KeyError: the class has no such tier.
        """
        wanted = mbs_per_tib if mbs_per_tib is not None else self.default_mbs_per_tib
        if wanted is None:
            return self.sizes
        for tier in self.tiers:
            if tier.mbs_per_tib == wanted:
                return tier.sizes
        raise KeyError(wanted)

    def is_valid_size(self, size_gib: int, *, mbs_per_tib: int | None = None) -> bool:
        sizes = self.valid_sizes(mbs_per_tib)
        return not sizes or any(run.holds(size_gib) for run in sizes)

    def next_size(self, size_gib: int, *, mbs_per_tib: int | None = None) -> int | None:
        """Give the least size in GiB that can be bought and holds `size_gib`; None: it doesn't come that large."""
        sizes = self.valid_sizes(mbs_per_tib)
        found = [size for run in sizes if (size := run.next(size_gib)) is not None]
        return min(found, default=None) if sizes else size_gib

    def previous_size(self, size_gib: int, *, mbs_per_tib: int | None = None) -> int | None:
        """Give the greatest size in GiB that can be bought and is no larger than `size_gib`; None: it doesn't come that small."""
        found = [size for run in self.valid_sizes(mbs_per_tib) if (size := run.previous(size_gib)) is not None]
        return max(found, default=None)

    def minimum_gib(self, mbs_per_tib: int | None = None) -> int:
        """Give the least size; 0: it grows by itself, or it is unknown."""
        return min((run.first for run in self.valid_sizes(mbs_per_tib)), default=0)

    def maximum_gib(self, mbs_per_tib: int | None = None) -> int | None:
        """Give the greatest size; None: no known end."""
        ends = [run.last for run in self.valid_sizes(mbs_per_tib)]
        return None if not ends or None in ends else max(end for end in ends if end is not None)


@functools.cache
def storage_classes(target: str) -> Mapping[str, StorageClass]:
    """Give the classes of one target by name.

    Raises:
        KeyError: there is no such target.
    """
    return {name: _storage_class(name, target, entry) for name, entry in files.mapping("storage")[target].items()}


def storage_class(target: str, name: str) -> StorageClass:
    """Give one class.

    Raises:
        KeyError: there is no such target, or it has no such class.
    """
    return storage_classes(target)[name]


def _storage_class(name: str, target: str, entry: Mapping[str, Any]) -> StorageClass:
    sizes = _runs(entry.get("sizes", ()))
    quotas, backups = entry.get("user_quotas", {}), entry.get("linked_backups", {})
    read: dict[str, Any] = {
        "sizes": sizes,
        "addresses": _addresses(entry.get("addresses")),
        "peered": Peered(**entry["peered"]) if "peered" in entry else None,
        "tiers": tuple(_tier(tier, sizes) for tier in entry.get("tiers", ())),
        "default_mbs_per_tib": entry.get("default_mbs_per_tib"),
        "metadata_iops": _runs(entry.get("metadata_iops", ())),
        "iops": _rate(entry.get("iops")),
        "throughput_mibs": _rate(entry.get("throughput_mibs")),
        "ports": tuple(entry["ports"]),
        "linked_backups": backups.get("possible", True),
        "backups_source": backups.get("source", ""),
        "user_quotas": quotas.get("enforced"),
        "quotas_source": quotas.get("source", ""),
    }
    return StorageClass(name=name, target=target, **{**entry, **read})


def _tier(entry: Mapping[str, Any], sizes: tuple[Run, ...]) -> Tier:
    own = _runs(entry.get("sizes", ()))
    return Tier(mbs_per_tib=entry["mbs_per_tib"], sizes=own or sizes, fabric_step_gib=entry.get("fabric_step_gib"))


def _runs(entries: Sequence[Mapping[str, int]]) -> tuple[Run, ...]:
    return tuple(Run(first=entry["from"], last=entry.get("to"), step=entry["step"]) for entry in entries)


def _addresses(entry: Mapping[str, Any] | None) -> Addresses | None:
    if entry is None:
        return None
    return Addresses(entry["each"], entry.get("each_zone", False), entry.get("gib_of_one"), entry["source"])


def _rate(entry: Mapping[str, int] | None) -> Rate | None:
    if entry is None:
        return None
    return Rate(included=entry["included"], first=entry["from"], last=entry["to"], per_gib=entry.get("per_gib"))
