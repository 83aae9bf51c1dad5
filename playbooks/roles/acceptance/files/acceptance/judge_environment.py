"""Judge whether a job over several nodes has the variables of its fabric, and the huge pages that they ask for (pure)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import hostlist

from .document import Check, Verdict, merged
from .expectation import NodeSet

LIBRARIES = "LD_LIBRARY_PATH"
JOB = "{job}"
"""In a value of the catalogue: the number of the job."""
INTERFACE = re.compile(r"{nic [^}]*}")
"""In a value of the catalogue: the name of the interface at a PCI address, which each node looks up."""
HUGE_PAGES = "FI_EFA_USE_HUGE_PAGE"
"""`0` turns them off; otherwise EFA's buffers are made of them (libfabric, fi_efa(7))."""
ENDPOINT_KIB = 110 * 1024
ENDPOINTS = 2
"""What EFA's installer counts for one process (efa-hugepages-reserve.sh; bottlerocket-os/bottlerocket-core-kit, pull request 141, 2024-09)."""
LARGEST_PAGE_KIB = 16 * 1024
"""Above it the installer reserves none, and EFA uses none (awslabs/libfabric-ci-scripts, pull request 158, 2021-07)."""


def environment(node_set: NodeSet, tested: Sequence[str], whole: Mapping[str, Any], *, job: str) -> list[Check]:
    """Compare what a job has with what its fabric needs. A value that somebody else set wins, and is named.

    Args:
        whole: the answers of the step that ran on all tested nodes.
    """
    if not node_set.environment or len(tested) < 2:
        return []
    wanted = {name: value.replace(JOB, job) for name, value in node_set.environment.items()}
    seen = {line["node"]: line.get("environment") or {} for line in whole["lines"]}
    return merged([_of_node(name, wanted, seen[name]) if name in seen else _silent(name, wanted, whole["error"]) for name in tested])


def huge_pages(node_set: NodeSet, tested: Sequence[str], whole: Mapping[str, Any]) -> list[Check]:
    """Compare the free huge pages of a node with what EFA takes for a rank on each GPU, where the job's environment lets EFA use them.

    Without them EFA takes ordinary pages, and says nothing: a warning.
    """
    if HUGE_PAGES not in node_set.environment or len(tested) < 2:
        return []
    seen = {line["node"]: line for line in whole["lines"]}
    return merged([check for name in tested if name in seen for check in _pages_of_node(node_set, name, seen[name])])


def _pages_of_node(node_set: NodeSet, node: str, line: Mapping[str, Any]) -> list[Check]:
    pages = line.get("huge_pages") or {}
    if (line.get("environment") or {}).get(HUGE_PAGES) == "0" or not pages or pages["size_kib"] > LARGEST_PAGE_KIB:
        return []
    wanted = node_set.gpu_count * ENDPOINTS * ENDPOINT_KIB // pages["size_kib"]
    is_short = pages["free"] < wanted
    look_at = f"on {node}: `grep Huge /proc/meminfo`, `sysctl vm.nr_hugepages`; {HUGE_PAGES}=0 in the job's environment does without" if is_short else ""
    return [
        Check(
            name="huge pages",
            node=hostlist.compress([node]),
            expected=f"{wanted} free pages of {pages['size_kib']} KiB for EFA",
            measured=f"{pages['free']} of {pages['total']} free",
            verdict=Verdict.WARN if is_short else Verdict.PASS,
            detail="EFA takes ordinary pages instead, and is slower" if is_short else "",
            look_at=look_at,
        )
    ]


def _of_node(node: str, wanted: Mapping[str, str], seen: Mapping[str, str | None]) -> Check:
    missing = [name for name in wanted if seen.get(name) is None]
    other = {name: str(seen[name]) for name, value in wanted.items() if name not in missing and not _has(name, value, str(seen[name]))}
    if missing:
        look_at = "`scontrol show config | grep TaskProlog`; on {}: `ls -l` of that program, the journal of slurmd"
        return _check(node, wanted, f"lacks {_few(missing)}", Verdict.FAIL, "", look_at.format(node))
    if other:
        said = ", ".join(f"{name}={value}" for name, value in other.items())
        return _check(node, wanted, f"{len(other)} with another value", Verdict.REPORTED, f"set by somebody else: {said}")
    return _check(node, wanted, _all(wanted), Verdict.PASS, "")


def _silent(node: str, wanted: Mapping[str, str], error: str) -> Check:
    return _check(node, wanted, f"no answer: {error}", Verdict.FAIL, "", f"on {node}: the journal of slurmd")


def _has(name: str, wanted: str, seen: str) -> bool:
    """Say whether a value is the fabric's; a list of folders may hold others, too."""
    if name == LIBRARIES:
        return set(wanted.split(":")) <= set(seen.split(":"))
    return re.fullmatch("[^,{}]+".join(re.escape(part) for part in INTERFACE.split(wanted)), seen) is not None


def _all(wanted: Mapping[str, str]) -> str:
    return f"{len(wanted)} variables of the fabric" if len(wanted) > 1 else f"{next(iter(wanted))} of the fabric"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _check(node: str, wanted: Mapping[str, str], measured: str, verdict: Verdict, detail: str, look_at: str = "") -> Check:
    return Check(
        name="environment of jobs", node=hostlist.compress([node]), expected=_all(wanted), measured=measured, verdict=verdict, detail=detail, look_at=look_at
    )
