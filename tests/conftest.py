"""Order of the tiers, and what this machine cannot run."""

from __future__ import annotations

import os
import sys

import pytest

SLOWER_TIERS = ("engine", "hosts", "soak")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run quick tests first, and skip those for real hosts where there can be none, with the reason in the summary."""
    items.sort(key=_tier)
    if (reason := _why_no_hosts()) is not None:
        for item in items:
            if item.get_closest_marker("hosts"):
                item.add_marker(pytest.mark.skip(reason=reason))


def _tier(item: pytest.Item) -> int:
    return max((place for place, tier in enumerate(SLOWER_TIERS, start=1) if item.get_closest_marker(tier)), default=0)


def _why_no_hosts() -> str | None:
    if sys.platform != "linux":
        return "real hosts need Linux"
    # A missing tool is no reason: `make test` installs it, and where that failed the tests shall fail, too.
    return None if os.geteuid() == 0 else "real hosts need root: sudo make test-hosts"
