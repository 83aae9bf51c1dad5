"""Slurm's bracket form of host names (`train-[0-3,7],rack[0-1]node[01-16]`).

The standard library only: controllers and login nodes run this file, too.
Source: scontrol(1), `show hostnames` and `show hostlist`.
"""

import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator

_NUMBERED = re.compile(r"(.*?)([0-9]+)", re.DOTALL)
_ENTRY = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,63})(?:-([0-9]{1,63}))?")
"""A host name has 63 characters at most (RFC 1123), and so has a number in it."""


@functools.lru_cache(maxsize=512)
def expand(text: str) -> tuple[str, ...]:
    """Give the names of a host list, in its order; of several brackets in one name, the last one counts fastest.

    Raises:
        ValueError: the brackets don't match, or hold something else than ranges of numbers.
    """
    return tuple(name for entry in _entries(text) for name in _names(entry))


def count(text: str) -> int:
    """Count the names of a host list without making them: a short text can name more hosts than memory holds.

    Raises:
        ValueError: as `expand`.
    """
    return sum(math.prod(sum(len(numbers) for numbers, _ in _ranges_of(inside)) for inside in _BRACKETS.split(entry)[1::2]) for entry in _entries(text))


def compress(names: Iterable[str]) -> str:
    """Write each name once: numbered names as ranges, by prefix and number, and then the others."""
    numbered: list[tuple[str, str]] = []
    others = []
    for name in dict.fromkeys(names):
        matched = _NUMBERED.fullmatch(name)
        if matched:
            numbered.append((matched[1], matched[2]))
        else:
            others.append(name)
    # n-09 and n-10 are one range: a number without leading zeros has the width of those with them.
    padded = {(prefix, len(digits)) for prefix, digits in numbered if digits.startswith("0") and len(digits) > 1}
    numbers: dict[tuple[str, int], list[int]] = {}
    for prefix, digits in numbered:
        width = len(digits) if (prefix, len(digits)) in padded else 0  # 0: no leading zeros
        numbers.setdefault((prefix, width), []).append(int(digits))
    return ",".join([*(_ranges(prefix, width, sorted(found)) for (prefix, width), found in sorted(numbers.items())), *sorted(others)])


def in_order(names: Iterable[str]) -> str:
    """Write each name once in the given order, consecutive numbers as ranges: `expand` gives the same names in the same order."""
    runs: list[tuple[str, int, int, int]] = []  # prefix, width, first, last
    found = []
    for name in dict.fromkeys(names):
        matched = _NUMBERED.fullmatch(name)
        if not matched:
            runs.append((name, -1, 0, 0))
            continue
        prefix, digits = matched[1], matched[2]
        number, width = int(digits), len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        if runs:
            before, its_width, first, last = runs[-1]
            if before == prefix and number == last + 1 and (its_width == width or (its_width > 0 and len(digits) == its_width)):
                runs[-1] = (before, its_width, first, number)
                continue
        runs.append((prefix, width, number, number))
    for (prefix, width), same in itertools.groupby(runs, key=lambda run: run[:2]):
        found.append(prefix if width < 0 else _range(prefix, width, [run[2:] for run in same]))
    return ",".join(found)


@functools.lru_cache(maxsize=512)
def of_group(prefix: str, count: int, members: str = "") -> tuple[str, ...]:
    """Name the hosts of a group in their order.

    Args:
        members: the hosts' own names as a host list; empty: they are named `<prefix>-<number>`.
    """
    return expand(members) if members else tuple(nth_of_group(prefix, number) for number in range(count))


def nth_of_group(prefix: str, number: int, members: str = "") -> str:
    """Name one host of a group, as `of_group` does; the first one has the number 0."""
    return expand(members)[number] if members else f"{prefix}-{number}"


def counted(prefix: str, count: int) -> str:
    """Write the names `<prefix>0` to `<prefix><count - 1>` without making them: a host group has thousands."""
    return _range(prefix, 0, [(0, count - 1)]) if count else ""


def _entries(text: str) -> list[str]:
    if _ENTRY.sub("", text).strip(","):
        raise ValueError(f"{text!r} is no host list: its brackets don't match")
    return _ENTRY.findall(text)


def _names(entry: str) -> Iterator[str]:
    parts = _BRACKETS.split(entry)  # text, inside of brackets, text, …
    choices = [(part,) if place % 2 == 0 else tuple(_numbers(part)) for place, part in enumerate(parts)]
    return ("".join(chosen) for chosen in itertools.product(*choices))


def _numbers(inside: str) -> Iterator[str]:
    return (f"{number:0{width}d}" for numbers, width in _ranges_of(inside) for number in numbers)


def _ranges_of(inside: str) -> Iterator[tuple[range, int]]:
    """Read the ranges inside of brackets, each with the width of its numbers."""
    for part in inside.split(","):
        matched = _RANGE.fullmatch(part.strip())
        if not matched:
            raise ValueError(f"{part!r} in the brackets of a host list is no range of numbers")
        first, last = matched[1], matched[2] or matched[1]
        yield range(int(first), int(last) + 1), len(first)


def _ranges(prefix: str, width: int, numbers: list[int]) -> str:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return _range(prefix, width, ranges)


def _range(prefix: str, width: int, ranges: list[tuple[int, int]]) -> str:
    written = ",".join(f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}" for first, last in ranges)
    return f"{prefix}[{written}]" if len(ranges) > 1 or ranges[0][0] != ranges[0][1] else f"{prefix}{written}"
