import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.simcloud.aws import client, landscape


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> landscape.Account:
    """Furnish one account; each test goes on from its journal."""
    account = landscape.Account(tmp_path_factory.mktemp("account") / "journal")
    with contextlib.closing(account):
        landscape.furnish(account)
    return account


@pytest.fixture
def account(furnished: landscape.Account, tmp_path: Path) -> Iterator[landscape.Account]:
    journal = tmp_path / "journal"
    shutil.copy(furnished.cloud.store.journal, journal)
    with contextlib.closing(landscape.Account(journal, furnished.names)) as own:
        yield own


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[client.SimulatedCloud]:
    with client.started(tmp_path_factory.mktemp("cloud")) as one:
        yield one


@pytest.fixture
def cloud(running: client.SimulatedCloud) -> client.SimulatedCloud:
    """Give the running cloud, empty."""
    running.reset()
    return running


@pytest.fixture(scope="session")
def session() -> Any:
    """Give one session of boto3: it reads a service's model once."""
    return boto3.session.Session()


@pytest.fixture
def aws(cloud: client.SimulatedCloud, session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give boto3's clients for the simulated cloud by service name."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    return session.client
