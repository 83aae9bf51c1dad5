"""The file systems of a plan as a table. Pure."""

from blueprints import catalog
from blueprints.plan.estimate import CURRENCY, Estimate, Part
from blueprints.spec import ClusterSpec, FileSystem

from . import cost, formatting
from .tables import Cell, Column, Shown, Table

DISKS = "disks"
"""Files are encrypted where the site's own disks are (`catalog.StorageClass.encrypted`)."""

_COLUMNS = (
    Column("name"),
    Column("mount"),
    Column("what"),
    Column("size", right=True),
    Column("throughput", right=True),
    Column("backups"),
    Column("encrypted", detail=True),
    Column("writable by", detail=True),
    Column("when removed"),
    Column(f"{CURRENCY}/h", right=True),
)


def table(cluster: ClusterSpec, costs: Estimate) -> Table:
    """Write a row for every file system."""
    return Table(_COLUMNS, tuple(_row(entry, costs.part("storage", entry.name), cluster) for entry in cluster.storage))


def _row(entry: FileSystem, part: Part | None, cluster: ClusterSpec) -> tuple[Shown, ...]:
    what = f"{entry.kind}: {entry.product}" if entry.product else entry.kind
    what += f" {entry.source}" if entry.source else ""
    if entry.kind == "lustre" and entry.storage_class and not entry.simulated:
        what += f" over {entry.fabric.upper() or 'TCP'}"
    if entry.exchange:
        what += f", without the files of {entry.exchange.bucket}" if entry.simulated else f", files of {entry.exchange.bucket}"
    speed = "" if entry.throughput_mbs is None else f"{entry.throughput_mbs:,.0f} MB/s"
    tier = f" ({entry.throughput_mbs_per_tib} MB/s/TiB)" if entry.throughput_mbs_per_tib else ""
    backups: Shown = f"{entry.backup_days} daily" if entry.backup_days else ""
    if entry.backup_days and entry.simulated:
        backups = Cell("none: simulated", "care")
    size = "" if entry.size_gib is None else formatting.size(entry.size_gib)
    return (
        entry.name,
        entry.mount,
        what,
        size,
        f"{speed}{tier}",
        backups,
        _encrypted(entry, cluster.target),
        "" if cluster.training else _writers(entry),
        _removed(entry),
        cost.price(part),
    )


def _encrypted(entry: FileSystem, target: str) -> Shown:
    """Say whether the stack encrypts the files; for existing file systems only their owner knows."""
    if entry.simulated:
        return Cell("no: simulated", "care")
    if entry.source:
        return "unknown"
    if entry.storage_class and catalog.storage_class(target, entry.storage_class).encrypted == DISKS:
        return Cell("as the site's disks are", "care")
    return "yes" if entry.encrypted else Cell("no", "care")


def _writers(entry: FileSystem) -> str:
    """Say who may write at the top: of a bucket everybody, of a file system that exists already whoever may now."""
    if entry.kind == "object":
        return "users"
    return "as it is" if entry.kind == "existing" and not entry.writable_by else entry.writers


def _removed(entry: FileSystem) -> Shown:
    """Say what becomes of the files when the entry or the stack is removed."""
    if entry.source and not entry.simulated:
        return "stays: not the stack's"
    if entry.protect:
        return Cell("refused: protected", "good")
    if entry.simulated:  # the folder goes with the stack, whatever the blueprint says
        return Cell("files are deleted", "care")
    if entry.on_delete == "delete":
        return Cell("files are deleted", "care")
    return "a snapshot stays" if entry.on_delete == "snapshot" else "files stay"
