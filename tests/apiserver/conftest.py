"""One control plane for the tests of this folder that don't break it."""

from collections.abc import Iterator

import pytest

from components.kubernetes.api import Api
from tests.apiserver import cluster


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    with cluster.running(tmp_path_factory.mktemp("kubernetes")) as found:
        yield found


@pytest.fixture
def api(kubernetes: cluster.Cluster) -> Api:
    return kubernetes.api()


@pytest.fixture
def kubernetes_cluster(kubernetes: cluster.Cluster) -> cluster.Cluster:
    """The same, for tests of a module that is called kubernetes."""
    return kubernetes
