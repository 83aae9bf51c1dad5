"""Judge what the shared file systems delivered to all nodes of a pool together: values, rates, small files (pure)."""

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import hostlist

from .document import Check, Verdict, merged
from .expectation import Storage

NODE_MBS = 200.0
"""What one process with one file is taken to reach: a file on one server of a larger file system doesn't get all of it. An assumption, and low on purpose."""
WARN_SHARE, FLOOR_SHARE = 0.5, 0.2
"""Of the smaller one of what the product states and what the nodes can take. A short run is served by caches and credits: below, something else than the product limits it."""
MB = 1e6
REFUSED = os.strerror(errno.EACCES)

Outcome = Mapping[str, Any]


def storage(tested: Sequence[str], wrote: Outcome, got: Outcome, wanted: Sequence[Storage]) -> list[Check]:
    """Give the checks of each file system that was tried.

    Args:
        wrote, got: the answers of both steps.
    """
    found = []
    for one in wanted:
        if not one.tried:
            detail = f"{one.why_not}: nothing was written there"
            found.append(_check("storage values", tested, f"{one.path}: what one node writes, another one reads", "not tried", Verdict.REPORTED, detail))
            continue
        found += _of_one(tested, _answers(one.path, wrote), _answers(one.path, got), one, error=str(wrote["error"] or got["error"]))
    return found


def _answers(path: str, outcome: Outcome) -> dict[str, Mapping[str, Any]]:
    return {line["node"]: line["places"][path] for line in outcome["lines"] if path in line["places"]}


def _of_one(tested: Sequence[str], wrote: Mapping[str, Mapping[str, Any]], got: Mapping[str, Mapping[str, Any]], one: Storage, *, error: str) -> list[Check]:
    full = [name for name in tested if wrote.get(name, {}).get("full")]
    if full:
        return [
            _check("storage values", full, f"{one.path}: room to write", "too little", Verdict.REPORTED, "the test wants four times what it writes to be free")
        ]
    if not one.is_demanded and all(wrote.get(name, {}).get("error") == REFUSED for name in tested):
        detail = "users may not write there, and the blueprint has no `writable_by` for it: nothing was written there"
        return [_check("storage values", tested, f"{one.path}: what one node writes, another one reads", "not tried", Verdict.REPORTED, detail)]
    checks = merged([_values(name, wrote.get(name), got.get(name), one, error) for name in tested])
    if any(check.verdict is Verdict.FAIL for check in checks):
        return checks
    return [
        *checks,
        _rate("storage write", tested, [*wrote.values()], one),
        _rate("storage read", tested, [*got.values()], one),
        _small_files(tested, [*wrote.values()], one),
    ]


def _values(node: str, wrote: Mapping[str, Any] | None, got: Mapping[str, Any] | None, one: Storage, error: str) -> Check:
    expected = f"{one.path}: what one node writes, another one reads"
    look_at = f"on {node}: `mount | grep {one.path}`, `dmesg`, the journal of the file system's client"
    for verb, answer in (("write", wrote), ("read", got)):
        if answer is None:
            return _check("storage values", [node], expected, f"no answer to {verb}", Verdict.FAIL, error, look_at)
        if answer.get("error"):
            return _check("storage values", [node], expected, f"can't {verb}: {answer['error']}", Verdict.FAIL, "", look_at)
    if wrote and not wrote["bytes"]:
        return _check("storage values", [node], expected, "nothing was written in time", Verdict.FAIL, "", look_at)
    if got and (got["wrong"] or not got["bytes"]):
        said = f"{got['wrong']} wrong blocks" if got["wrong"] else "an empty file"
        return _check("storage values", [node], expected, said, Verdict.FAIL, f"written by {got['of']}", look_at)
    return _check("storage values", [node], expected, f"0 wrong blocks on {one.path}", Verdict.PASS, "")


def _rate(name: str, tested: Sequence[str], answers: Sequence[Mapping[str, Any]], one: Storage) -> Check:
    slowest = max(answer["seconds"] for answer in answers)
    rate = sum(answer["bytes"] for answer in answers) / MB / max(slowest, 1e-6)
    known = one.throughput_mbs
    if known is None:
        return _check(name, tested, "", f"{rate:.0f}", Verdict.REPORTED, f"{one.path}: no figure is known", unit="MB/s")
    possible = min(known, len(tested) * NODE_MBS)
    expected = f"{one.path}: {possible * FLOOR_SHARE:.0f} MB/s at least"
    detail = f"the product states {known:,.0f} MB/s; {len(tested)} nodes, one file each, are taken to reach {possible:,.0f}"
    look_at = f"`df {one.path}`, the load of other jobs on it, the network of {hostlist.compress(tested[:1])}; `clusterwright accept` measures again"
    if rate < possible * FLOOR_SHARE:
        return _check(name, tested, expected, f"{rate:.0f}", Verdict.FAIL, detail, look_at, unit="MB/s")
    if rate < possible * WARN_SHARE:
        return _check(name, tested, expected, f"{rate:.0f}", Verdict.WARN, f"less than half of what they should reach; {detail}", look_at, unit="MB/s")
    return _check(name, tested, expected, f"{rate:.0f}", Verdict.PASS, detail, unit="MB/s")


def _small_files(tested: Sequence[str], answers: Sequence[Mapping[str, Any]], one: Storage) -> Check:
    rate = sum(answer["files"] for answer in answers) / max(*(answer["files_seconds"] for answer in answers), 1e-6)
    return _check("storage metadata", tested, "", f"{rate:.0f}", Verdict.REPORTED, f"{one.path}: small files made, asked for and deleted", unit="files/s")


def _check(name: str, nodes: Sequence[str], expected: str, measured: str, verdict: Verdict, detail: str, look_at: str = "", *, unit: str = "") -> Check:
    return Check(name=name, node=hostlist.compress(nodes), expected=expected, measured=measured, verdict=verdict, detail=detail, look_at=look_at, unit=unit)
