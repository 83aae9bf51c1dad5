"""What stores data, on the simulated cloud and driven by the real engine: it is taken as it is made, and what stays of it stays on purpose."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.components.aws.standing import Standing
from tests.simcloud import client
from tests.simcloud.client import SimulatedCloud

pytestmark = pytest.mark.engine

LUSTRE: dict[str, Any] = {"kind": "lustre", "mount": "/data", "size": "1200 GiB", "protect": False, "on_delete": "delete"}


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SimulatedCloud]:
    (tmp_path / "cloud").mkdir()
    with client.started(tmp_path / "cloud") as one:
        yield one


def test_servers_of_lustre_reach_each_other_and_their_clients(tmp_path: Path, cloud: SimulatedCloud) -> None:
    """FSx makes none whose servers can't (FSx for Lustre User Guide, "Creating an FSx for Lustre file system fails"); clients it loses later."""
    with Standing.of(tmp_path / "stack", cloud, "starter", **{"storage.data": LUSTRE}) as stack:
        stack.up()
        assert cloud.audit() == []
        stack.destroy()
    assert cloud.things() == []
