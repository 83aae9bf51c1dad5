"""One simulated project for all tests of a worker."""

from collections.abc import Iterator

import pytest
from google.auth.compute_engine import _metadata

from tests.simcloud.google import client
from tests.simcloud.google.client import SimulatedCloud


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedCloud]:
    with client.started(tmp_path_factory.mktemp("google")) as one:
        yield one


@pytest.fixture
def cloud(running: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    """Give the running project, empty."""
    # Google's library reads the address of the metadata server when it is imported, which tests of another simulated project may have done.
    monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", running.environment["GCE_METADATA_HOST"])
    running.reset()
    return running
