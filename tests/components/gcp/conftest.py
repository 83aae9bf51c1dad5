"""One simulated project for all tests of a worker, and the SDK, which loads its services when they are first used and warns of its own old names while it does."""

import importlib
import warnings
from collections.abc import Iterator

import pytest

from tests.simcloud.google import client
from tests.simcloud.google.client import SimulatedCloud

SERVICES = ("compute", "filestore", "lustre", "projects", "secretmanager", "serviceaccount", "servicenetworking", "sql")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    for service in SERVICES:
        hasattr(importlib.import_module(f"pulumi_gcp.{service}"), "Anything")  # a look at any name loads it


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedCloud]:
    with client.started(tmp_path_factory.mktemp("google")) as one:
        yield one


@pytest.fixture
def cloud(running: SimulatedCloud) -> SimulatedCloud:
    """Give the running project, empty."""
    running.reset()
    return running
