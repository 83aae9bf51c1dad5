"""Slurm's bracket form of node names (`train-[0-3,7],gpu-0`)."""

import re
from collections.abc import Iterable, Iterator

_PART = re.compile(r"([^,\[\]]+)(?:\[([^\]]*)\])?")


def expand(text: str) -> tuple[str, ...]:
    """Give the names that a host list stands for."""
    return tuple(_expand(text))


def _expand(text: str) -> Iterator[str]:
    for prefix, ranges in _PART.findall(text):
        if not ranges:
            yield prefix
            continue
        for one in ranges.split(","):
            first, _, last = one.partition("-")
            for number in range(int(first), int(last or first) + 1):
                yield f"{prefix}{number:0{len(first)}d}"


def fold(names: Iterable[str]) -> str:
    """Write names in the bracket form, ordered by prefix and number."""
    numbers: dict[str, list[int]] = {}
    plain = []
    for name in dict.fromkeys(names):
        prefix, dash, number = name.rpartition("-")
        if dash and number.isdecimal() and str(int(number)) == number:
            numbers.setdefault(prefix, []).append(int(number))
        else:
            plain.append(name)
    return ",".join([*(_folded(prefix, sorted(found)) for prefix, found in sorted(numbers.items())), *sorted(plain)])


def _folded(prefix: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{prefix}-{numbers[0]}"
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    written = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{prefix}-[{written}]"
