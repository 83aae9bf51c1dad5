"""The fleets that nodes are started in, one adapter for each target."""

from ..act import Fleet
from ..model import Table, Unreadable


def fleet(table: Table) -> Fleet:
    """Give the adapter of the table's target; a cloud's SDK is imported only here.

    Raises:
        Unreadable: the program knows no such target.
    """
    match table.target:
        case "aws":
            from . import aws

            return aws.Aws(table)
        case "local":
            from . import local

            return local.Local(table)
        case _:
            raise Unreadable(f"the fleet table is of target {table.target}, whose nodes this program can't start")
