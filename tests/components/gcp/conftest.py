"""One simulated project for all tests of a worker."""

from collections.abc import Iterator

import pytest

from tests.simcloud.google import client
from tests.simcloud.google.client import SimulatedCloud


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedCloud]:
    with client.started(tmp_path_factory.mktemp("google")) as one:
        yield one


@pytest.fixture
def cloud(running: SimulatedCloud) -> SimulatedCloud:
    """Give the running project, empty."""
    running.reset()
    return running
