"""The fleets that nodes are started in, one adapter for each target: the module or package of the target's name."""

import importlib
import pkgutil
from pathlib import Path

from ..act import Fleet
from ..table import Table, Unreadable


def fleet(table: Table, folder: Path | None = None, *, keeps: bool = True) -> Fleet:
    """Give the adapter of the table's target; a cloud's SDK is imported only here.

    Args:
        folder: where an adapter may keep what it read; None: nowhere.
        keeps: whether it may write there.
    Raises:
        Unreadable: the program knows no such target.
    """
    adapters = {module.name for module in pkgutil.iter_modules(__path__)}
    if table.target not in adapters:
        raise Unreadable(f"the fleet table is of target {table.target}, whose nodes this program can't start")
    found: Fleet = importlib.import_module(f".{table.target}", __name__).fleet(table, folder, keeps=keeps)
    return found
