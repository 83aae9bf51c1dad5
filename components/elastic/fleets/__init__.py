"""The fleets that nodes are started in, one adapter for each target."""

from pathlib import Path

from ..act import Fleet
from ..model import Table, Unreadable


def fleet(table: Table, folder: Path | None = None, *, keeps: bool = True) -> Fleet:
    """Give the adapter of the table's target; a cloud's SDK is imported only here.

    Args:
        folder: where an adapter may keep what it read; None: nowhere.
        keeps: whether it may write there.
    Raises:
        Unreadable: the program knows no such target.
    """
    match table.target:
        case "aws":
            from . import aws, known

            return aws.Aws(table, shelf=known.Shelf(folder, f"{table.region}/{table.stack}", keeps=keeps))
        case "local":
            from . import local

            return local.Local(table)
        case _:
            raise Unreadable(f"the fleet table is of target {table.target}, whose nodes this program can't start")
