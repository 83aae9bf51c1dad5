"""One simulated cloud for all tests of a worker."""

import functools
from collections.abc import Iterator

import botocore.session
import pytest

from tests.simcloud.aws import client
from tests.simcloud.aws.client import SimulatedCloud


@pytest.fixture(scope="session", autouse=True)
def one_loader() -> Iterator[None]:
    """Let all sessions of the SDK read the models of services once: each would parse the megabytes of EC2's again."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(botocore.session, "create_loader", functools.cache(botocore.session.create_loader))
        yield


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedCloud]:
    with client.started(tmp_path_factory.mktemp("cloud")) as one:
        yield one


@pytest.fixture
def cloud(running: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    """Give the running cloud, empty, with its keys in the environment. A project of a test ends all its processes before the next test comes."""
    running.reset()
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    return running
