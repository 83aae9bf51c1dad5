"""The account as its doors share it."""

from typing import TypeAlias

from ..core import server
from .cloud import Cloud

World: TypeAlias = server.World[Cloud]
