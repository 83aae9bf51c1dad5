"""One stack for all tests that only look at it or mend what they break; tests that need a stack of their own make it."""

from collections.abc import Iterator

import pytest

from tests.hosts.deployment import Deployment, deployment


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The starter, up."""
    with deployment("test-starter", tmp_path_factory.mktemp("starter")) as one:
        one.up()
        yield one
