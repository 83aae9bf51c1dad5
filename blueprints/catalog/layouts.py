"""Layouts of network interfaces: which interface sits on which card, and which of them take an address."""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..spec import Nic
from . import files
from .machines import MachineType

_CARDS = re.compile(r"(?P<first>[0-9]+)(?P<range>-(?P<last>[0-9]*)(/(?P<step>[0-9]+))?)?")


@dataclasses.dataclass(frozen=True, slots=True)
class Interface:
    """Interfaces of one kind, on one or more cards."""

    cards: str
    """`0`, `1-16`, `1-13/4` (every fourth) or `1-` (all that follow)."""
    device: int
    """The index on its card."""
    kind: str
    """AWS: `ena`, `efa`, `efa-only`. Google: `gvnic`, `idpf`, `mrdma`, `irdma`. Bare metal: `ethernet`, `infiniband`, `roce`."""
    addresses: int
    """Of the subnet, for each interface."""


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    name: str
    interfaces: tuple[Interface, ...]
    source: str
    as_of: str


@functools.cache
def layouts() -> Mapping[str, Layout]:
    """Give every layout by name."""
    return {name: _layout(name, entry) for name, entry in files.mapping("layouts").items()}


def layout(name: str) -> Layout:
    """Give one layout.

    Raises:
        KeyError: there is none of this name.
    """
    return layouts()[name]


def interface_titles() -> Mapping[str, str]:
    """Give each kind of interface as its maker writes it."""
    titles: Mapping[str, str] = files.mapping("interfaces")
    return titles


def expand(chosen: Layout, machine: MachineType) -> tuple[Nic, ...]:
    """Lay out the interfaces of one node, in the order of their cards and devices: the first carries the node's address.

    Args:
        machine: its number of cards ends an open range.
    """
    nics = [
        Nic(card, device=interface.device, kind=interface.kind, addresses=interface.addresses)
        for interface in chosen.interfaces
        for card in _cards(interface.cards, count=machine.cards)
    ]
    return tuple(sorted(nics, key=lambda nic: (nic.card, nic.device)))


def _cards(written: str, *, count: int) -> Iterator[int]:
    match = _CARDS.fullmatch(written)
    if match is None:
        raise ValueError(written)
    first = int(match["first"])
    last = first if match["range"] is None else int(match["last"] or count - 1)
    yield from range(first, last + 1, int(match["step"] or 1))


def _layout(name: str, entry: Mapping[str, Any]) -> Layout:
    interfaces = tuple(Interface(**interface) for interface in entry["interfaces"])
    return Layout(name, interfaces=interfaces, source=entry["source"], as_of=entry["as_of"])
