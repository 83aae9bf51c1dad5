"""The fleet of an AWS stack: EC2 instances of the stack's launch templates."""

from pathlib import Path

from ...table import Table
from .adapter import Aws
from .known import Shelf

__all__ = ["Aws", "fleet"]


def fleet(table: Table, folder: Path | None, *, keeps: bool) -> Aws:
    return Aws(table, shelf=Shelf(folder, f"{table.cloud.get('region', '')}/{table.stack}", keeps=keeps))
