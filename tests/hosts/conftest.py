"""Stacks that several modules share, and which tests may run side by side.

Each worker of pytest-xdist runs whole groups. Tests that share a stack are one group, in their order; every other module is a group of its own, with stacks of its own names. The longest groups
start first.
"""

import importlib
import warnings
from collections.abc import Iterator

import pytest

from components.local.machine import archive, command, rootfs
from tests.hosts.deployment import Deployment, deployment

ARCHIVE_ANSWERS_WITHIN_S = 60
SERVICES = ("ebs", "ec2", "efs", "fsx", "iam", "imagebuilder", "s3")

SHARED = ("running", "elastic_pool")
"""Fixtures that are one stack for all tests that use it: such a test leaves the stack as it found it."""
LONGEST_FIRST = (
    "test_drift",
    "running",
    "test_kills",
    "test_faults",
    "elastic_pool",
    "test_protection",
    "test_rented",
    "test_people",
    "test_profiles",
    "test_controllers",
)

with warnings.catch_warnings():
    # The SDK loads its services when they are first used, and warns of its own old names while it does; tests take warnings for errors.
    warnings.simplefilter("ignore", DeprecationWarning)
    for service in SERVICES:
        hasattr(importlib.import_module(f"pulumi_aws.{service}"), "Anything")  # a look at any name loads it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put each test into its group, and the longest groups first."""
    places = [place for place, item in enumerate(items) if item.get_closest_marker("hosts")]
    ours = [items[place] for place in places]
    for item in ours:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    for place, item in zip(places, sorted(ours, key=_order), strict=True):
        items[place] = item


def group(item: pytest.Item) -> str:
    """Name what a test shares with others: a stack, or its module."""
    fixtures = getattr(item, "fixturenames", ())
    return next((name for name in SHARED if name in fixtures), item.path.stem)


def _order(item: pytest.Item) -> tuple[int, str]:
    name = group(item)
    return (LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST), name)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The starter, up."""
    with deployment("test-starter", tmp_path_factory.mktemp("starter")) as one:
        one.up()
        yield one


@pytest.fixture(scope="session")
def elastic_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The starter with a pool of no host to two, up."""
    with deployment("test-elastic", tmp_path_factory.mktemp("elastic"), set={"pools.train.nodes": {"min": 0, "max": 2}}) as one:
        one.up()
        yield one


@pytest.fixture(scope="session")
def ubuntu(tmp_path_factory: pytest.TempPathFactory) -> rootfs.Base:
    """The base of Ubuntu hosts. Not every network that has Debian's archive has Ubuntu's, too; where that doesn't answer, tests of such hosts are left out and say so."""
    base = rootfs.Base("ubuntu", "noble")
    if not rootfs.is_whole(base.path):
        archives = archive.known()
        keyring = rootfs.keyring(base.distribution, archives)
        question = [
            "mmdebstrap",
            "--quiet",
            "--simulate",
            "--variant=custom",
            "--components=restricted",
            f"--keyring={keyring}",
            base.suite,
            str(tmp_path_factory.mktemp("noble")),
        ]
        try:
            command.run(*question, *archive.lines(archives, base.distribution, base.suite), within_s=ARCHIVE_ANSWERS_WITHIN_S)
        except command.CommandFailed as failed:
            pytest.skip(f"Ubuntu's archive does not answer: {str(failed).splitlines()[-1]}")
    return base
