from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from tests.simcloud.aws import client


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[client.SimulatedCloud]:
    with client.started(tmp_path_factory.mktemp("cloud")) as one:
        yield one


@pytest.fixture
def simulated(running: client.SimulatedCloud) -> client.SimulatedCloud:
    """Give the simulated cloud, empty."""
    running.reset()
    return running


@pytest.fixture(scope="session")
def session() -> Any:
    """Give one session of boto3: it reads a service's model once."""
    return boto3.session.Session()
