"""The fleet of a Google Cloud stack: Compute Engine instances of the stack's instance templates."""

from pathlib import Path

from ...table import Table
from .adapter import Gcp

__all__ = ["Gcp", "fleet"]


def fleet(table: Table, folder: Path | None, *, keeps: bool) -> Gcp:  # noqa: ARG001 - Compute Engine lists thousands of instances quickly, so nothing is kept
    return Gcp(table)
