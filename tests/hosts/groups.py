"""Which tests of hosts may run side by side: each worker of pytest-xdist runs whole groups, the longest first.

Modules that share a stack are one group, in their order; every other module is a group of its own, with stacks of its own names.
"""

from __future__ import annotations

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

from blueprints.project import project_root

SHARED = ("running", "elastic_pool", "shared")
"""Fixtures that are one stack for all tests that use it: such a test leaves the stack as it found it."""
LONGEST_FIRST = (
    "running",
    "test_drift",
    "test_kubernetes",
    "test_broken_states",
    "test_access_address",
    "test_metal",
    "test_rebuild",
    "test_kills",
    "test_site_network",
    "test_both",
    "elastic_pool",
    "test_rails",
    "test_gpu_software",
    "test_profiles",
    "shared",
    "test_inventory",
    "test_controllers",
)
"""By their times in a whole run; the others take less than a minute and a half each."""


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # the package has no types
    """Give each worker whole groups, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return group(project_root() / nodeid.partition("::")[0])


def group(module: Path) -> str:
    """Name what a module shares with others, a stack, or else the module."""
    text = module.read_text()
    return next((name for name in SHARED if f"{name}: Deployment" in text), module.stem)


def rank(module: Path) -> tuple[int, str]:
    """Give the place of a module's group among the others."""
    name = group(module)
    return (LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST), name)
