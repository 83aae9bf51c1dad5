"""Stacks that several modules share (`groups`); tests that need a stack of their own make it."""

from collections.abc import Iterator

import pytest

from components.local.machine import archive, command, rootfs
from tests.hosts import groups, shared_by_groups
from tests.hosts.deployment import Deployment, deployment

ARCHIVE_ANSWERS_WITHIN_S = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order tests by their groups, without moving any before or behind tests of other folders."""
    places = [place for place, item in enumerate(items) if item.get_closest_marker("hosts")]
    ours = sorted((items[place] for place in places), key=lambda item: groups.rank(item.path))
    for place, item in zip(places, ours, strict=True):
        items[place] = item


@pytest.fixture(scope="session")
def brought_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deployment, str]]:
    """The starter, up, and what its first `up` printed."""
    with deployment("test-starter", tmp_path_factory.mktemp("starter")) as one:
        yield one, one.up()


@pytest.fixture(scope="session")
def running(brought_up: tuple[Deployment, str]) -> Deployment:
    """The starter, up."""
    return brought_up[0]


@pytest.fixture(scope="session")
def elastic_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The starter with a pool of no host to two, up."""
    with deployment("test-elastic", tmp_path_factory.mktemp("elastic"), set={"pools.train.nodes": {"min": 0, "max": 2}}) as one:
        one.up()
        yield one


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A cluster with two login nodes that two groups share, up."""
    home = tmp_path_factory.mktemp("people")
    (home / shared_by_groups.FILE).write_text(shared_by_groups.BLUEPRINT)
    with deployment("test-people", home, blueprint=str(home / shared_by_groups.FILE)) as one:
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
