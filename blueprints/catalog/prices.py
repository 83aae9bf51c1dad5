"""Prices in USD, each with its date. They move: whoever shows one shows its date, and what has none is unknown."""

import dataclasses
import functools
from collections.abc import Mapping

from . import files

_ANYWHERE = "*"
"""Stands for every region of a target."""


@dataclasses.dataclass(frozen=True, slots=True)
class Price:
    """What a machine or a service costs by the hour."""

    usd_per_hour: float
    highest_usd: float | None
    """Spot only: the price in the most expensive zone; `usd_per_hour` is that of the cheapest."""
    confidence: str
    """`high`, `medium` or `low`."""
    method: str
    """How it came about: `listed`, or from which other price."""
    source: str
    as_of: str
    """A day, a month or a year."""
    note: str = ""

    @property
    def low(self) -> bool:
        """Whether it is too doubtful to decide by."""
        return self.confidence == "low"


@dataclasses.dataclass(frozen=True, slots=True)
class StoragePrice:
    usd_per_gib_month: float
    confidence: str
    source: str
    as_of: str
    note: str
    usd_per_gb_read: float | None = None
    """None: reading costs nothing, or the price is unknown."""
    usd_per_gb_written: float | None = None

    @property
    def low(self) -> bool:
        """Whether it is too doubtful to decide by."""
        return self.confidence == "low"


@functools.cache
def prices(target: str) -> Mapping[tuple[str, str, str], Price]:
    """Give a target's prices of machines by machine, region and capacity; none for a target without a table."""
    if not files.has_table(f"prices/{target}"):
        return {}
    return {(row["machine"], row["region"], row["capacity"]): _price(row) for row in files.table(f"prices/{target}")}


def price(target: str, machine: str, *, region: str, capacity: str) -> Price | None:
    """Give what one machine costs by the hour; None: unknown.

    Args:
        capacity: `on-demand`, `spot` and so on; reservations are billed as `on-demand`; the price of a block is unknown.
    """
    return prices(target).get((machine, region, capacity))


def storage_price(target: str, storage_class: str, *, region: str, mbs_per_tib: int | None = None) -> StoragePrice | None:
    """Give what a GiB of storage costs by the month, and what goes in and out of it where that is paid for; None: unknown.

    Args:
        mbs_per_tib: the throughput tier of a class that has tiers.
    """
    tier = "" if mbs_per_tib is None else str(mbs_per_tib)
    row = _find(target, storage_class, tier, region, unit="GiB-month")
    if row is None:
        return None
    read, written = (_find(target, storage_class, way, region, unit="GB") for way in ("read", "write"))
    return StoragePrice(
        float(row["usd"]),
        confidence=row["confidence"],
        source=row["source"],
        as_of=row["as_of"],
        note=row["note"],
        usd_per_gb_read=float(read["usd"]) if read else None,
        usd_per_gb_written=float(written["usd"]) if written else None,
    )


def service_price(target: str, service: str, *, region: str) -> Price | None:
    """Give what a service costs by the hour, without its traffic; None: unknown.

    Args:
        service: `load-balancer`, `nat-gateway`, `kubernetes` (a control plane) or `public-ipv4` (an address).
    """
    row = _find(target, service, "", region, unit="hour")
    if row is None:
        return None
    usd, confidence, source, as_of = float(row["usd"]), row["confidence"], row["source"], row["as_of"]
    return Price(usd, highest_usd=None, confidence=confidence, method="listed", source=source, as_of=as_of, note=row["note"])


def _find(target: str, what: str, tier: str, region: str, *, unit: str) -> Mapping[str, str] | None:
    rows = _storage_rows()
    row = rows.get((target, what, tier, region)) or rows.get((target, what, tier, _ANYWHERE))
    return row if row is not None and row["unit"] == unit else None


@functools.cache
def _storage_rows() -> Mapping[tuple[str, str, str, str], Mapping[str, str]]:
    return {(row["target"], row["what"], row["tier"], row["region"]): row for row in files.table("prices/storage")}


def _price(row: Mapping[str, str]) -> Price:
    return Price(
        usd_per_hour=float(row["usd_per_hour"]),
        highest_usd=float(row["highest_usd"]) if row["highest_usd"] else None,
        confidence=row["confidence"],
        method=row["method"],
        source=row["source"],
        as_of=row["as_of"],
    )
