"""One stack for all tests that only look at it or mend what they break; tests that need a stack of their own make it."""

import importlib
import warnings
from collections.abc import Iterator

import pytest

from tests.hosts.deployment import Deployment, deployment

SERVICES = ("ebs", "ec2", "efs", "fsx", "iam", "imagebuilder", "s3")

with warnings.catch_warnings():
    # The SDK loads its services when they are first used, and warns of its own old names while it does; tests take warnings for errors.
    warnings.simplefilter("ignore", DeprecationWarning)
    for service in SERVICES:
        hasattr(importlib.import_module(f"pulumi_aws.{service}"), "Anything")  # a look at any name loads it


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The starter, up."""
    with deployment("test-starter", tmp_path_factory.mktemp("starter")) as one:
        one.up()
        yield one
