"""Order of the tiers, and what this machine cannot run."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests import browser, timing

TESTS = Path(__file__).parent
os.environ["CLUSTERWRIGHT_SSM_AGENT_KEY"] = str(TESTS / "components/aws/agent.asc")
"""Image builders of Debian on AWS need a key that the user gives (`components/aws/agent.py`); this one belongs to nobody."""
OF_HOSTS = TESTS / "hosts"
COMPONENTS = TESTS / "components"
BEGAN = pytest.StashKey[float]()
"""Seconds of a processor that this worker had taken before a test."""
SLOWER_TIERS = ("slow", "browser", "engine", "hosts", "soak")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Don't read folders whose tests the chosen markers leave out: each worker would import clouds' SDKs for nothing."""
    chosen = str(config.option.markexpr)
    if chosen.startswith("not hosts") and collection_path == OF_HOSTS:
        return True
    if chosen.startswith("hosts") and collection_path.parent == TESTS and collection_path.is_dir() and collection_path != OF_HOSTS:
        return True
    return None


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is no such hook
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Let `--dist=loadscope` mean groups of tests of hosts."""
    if config.getvalue("dist") != "loadscope":
        return None
    from tests.hosts import groups

    return groups.GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run quick tests first, say in reports which ones should be quick, and skip those for real hosts or a browser where there can be none, with the reason in the summary."""
    items.sort(key=_tier)
    for item in items:
        if _tier(item) == 0 and COMPONENTS not in item.path.parents:
            item.user_properties.append(timing.PURE)
    for marker, reason in (("hosts", _why_no_hosts()), ("browser", _why_no_browser())):
        for item in items:
            if reason is not None and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """Look for garbage only among what tests make: what was imported stays, and looking through it again and again is a quarter of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let `pytest_runtest_makereport` say how much of a processor a test took, with its fixtures."""
    item.stash[BEGAN] = _processor_s()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append((timing.PROCESSOR_S, f"{_processor_s() - item.stash[BEGAN]:.3f}"))


def _processor_s() -> float:
    """Give what this process and the programs that it waited for have taken so far."""
    own, theirs = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime


def _tier(item: pytest.Item) -> int:
    return max((place for place, tier in enumerate(SLOWER_TIERS, start=1) if item.get_closest_marker(tier)), default=0)


def _why_no_hosts() -> str | None:
    if sys.platform != "linux":
        return "real hosts need Linux"
    # A missing tool is no reason: `make test` installs it, and where that failed the tests shall fail, too.
    return None if os.geteuid() == 0 else "real hosts need root: sudo make test-hosts"


def _why_no_browser() -> str | None:
    if any(map(shutil.which, browser.PROGRAMS)) or (os.geteuid() == 0 and shutil.which("apt-get")):
        return None
    return "pages are looked at in Chromium: sudo tools/setup browser"
