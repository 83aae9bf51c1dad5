"""Which node makes a collective slow: halves, then halves of the slow half, and at last each suspect beside a node that is known to be good (pure).

Two jobs at each level, so that n nodes take at most 2·ceil(log2(n)) jobs beyond the first.
"""

import dataclasses
from collections.abc import Callable, Sequence

PAIR = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What the search came to."""

    suspects: tuple[str, ...]
    """The smallest set of nodes that is slow; empty: no part of the nodes is slow by itself."""
    jobs: int
    between: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """Two sets that are fast each, and slow together: the path between them is."""
    others: tuple[tuple[str, ...], ...] = ()
    """Further sets that were slow and not divided, as the search follows one."""


def search(nodes: Sequence[str], is_slow: Callable[[Sequence[str]], bool]) -> Found:
    """Find the slow part of nodes over which a collective was slow.

    Args:
        is_slow: runs the collective over some of the nodes, two or more, and says whether it is slow there as well.
    """
    suspects, good, others, jobs = tuple(nodes), (), [], 0
    while len(suspects) > PAIR + 1:
        halves = suspects[: len(suspects) // 2], suspects[len(suspects) // 2 :]
        slow = [is_slow(half) for half in halves]
        jobs += 2
        if not any(slow):
            return Found((), jobs, between=halves)
        if all(slow):
            others.append(halves[1])
            suspects = halves[0]
        else:
            suspects, good = (halves[0], halves[1]) if slow[0] else (halves[1], halves[0])
    return _single(suspects, good, tuple(others), jobs, is_slow)


def _single(suspects: tuple[str, ...], good: Sequence[str], others: tuple[tuple[str, ...], ...], jobs: int, is_slow: Callable[[Sequence[str]], bool]) -> Found:
    """Try single nodes beside a good one; where no node is known to be good, two of three."""
    if len(suspects) <= PAIR and not good:
        return Found(suspects, jobs, others=others)  # two nodes alone: nobody says which
    if not good:
        first, second, third = suspects
        slow = is_slow((first, second)), is_slow((second, third))
        blamed = {(True, True): (second,), (True, False): (first,), (False, True): (third,)}.get(slow)
        if blamed is None:
            return Found((), jobs + 2, between=((first, second), (third,)), others=others)
        return Found(blamed, jobs + 2, others=others)
    tried = suspects[:PAIR]
    blamed = tuple(name for name in tried if is_slow((name, good[0])))
    jobs += len(tried)
    if blamed:
        return Found(blamed, jobs, others=others)
    if len(suspects) > PAIR:
        return Found(suspects[PAIR:], jobs, others=others)
    return Found((), jobs, between=((suspects[0],), suspects[1:]), others=others)
