"""A blueprint that is changed while a node runs: the engine neither ends the node nor stops because of it, and nothing that it uses keeps the stack from going."""

from pathlib import Path
from typing import Any

import pytest

from components.elastic import table as fleet_table
from components.elastic.fleets.gcp import adapter
from components.elastic.memory import Launch
from components.elastic.model import Life
from tests.components.gcp.standing import Standing
from tests.simcloud.google.client import SimulatedCloud

pytestmark = [pytest.mark.engine, pytest.mark.soak]

BLUEPRINT = str(Path(__file__).with_name("cpu.yaml"))
MORE = {"kind": "nfs", "mount": "/more", "protect": False, "on_delete": "delete"}
DISK = {"kind": "block", "mount": "/disk", "size": "200 GiB", "protect": False, "on_delete": "delete"}
CHANGES: dict[str, dict[str, Any]] = {
    "anybody may log in": {"access__allowed_cidrs": ["0.0.0.0/0"]},
    "the office may log in": {"access__allowed_cidrs": ["10.0.0.0/8"]},
    "fewer login nodes": {"access__login_nodes": 1},
    "more login nodes": {"access__login_nodes": 3},
    "another login machine": {"access__machine": "n2-standard-8"},
    "another controller": {"control__machine": "c2-standard-8"},
    "a file system": {"storage__more": MORE},
    "a larger file system": {"storage__more__size": "2 TiB"},
    "a disk": {"storage__disk": DISK},
    "a larger disk": {"storage__disk__size": "400 GiB"},
    "nodes on demand": {"pools__batch__capacity": "on-demand"},
    "another machine": {"pools__batch__machine": "n2-standard-4"},
    "packed nodes": {"pools__batch__placement": "packed", "pools__batch__machine": "c2-standard-8"},
    "spread nodes": {"pools__batch__placement": "none"},
    "a pool": {"pools__extra": {"machine": "n2-standard-4", "nodes": {"min": 0, "max": 4}, "fabric": "none"}},
    "labels": {"tags": {"team": "research"}},
    "two controllers": {"control__highly_available": True},
    "one controller alone": {"control__highly_available": False},
    "a managed database": {"accounting__database": "managed"},
    "two controllers of a managed database": {"control__highly_available": True},
    "one controller": {"control__highly_available": False},
    "a database of one's own": {"accounting__database": "embedded"},
    "a managed database again": {"accounting__database": "managed"},
}
"""One after the other, each over those before it."""


def test_a_node_runs_on_while_the_blueprint_is_changed(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT) as stack:
        stack.up()
        _start_node(stack)
        for what, change in CHANGES.items():
            stack.change(**change)
            stack.up()
            assert [one.node for one in _fleet(stack).view().instances if one.life is Life.LIVE] == ["batch-0"], what
            assert stack.changes() == {}, what
        stack.destroy()
        assert [(thing.kind, thing.id) for thing in cloud.things()] == []


def _start_node(stack: Standing) -> None:
    """Start a node as the program on the controller does."""
    node_set = fleet_table.read(stack.fleet()).node_sets[0]
    token = f"{node_set.name}-{node_set.template}"
    answer = _fleet(stack).launch(Launch(token, node_set.name, node_set.nodes[:1], group=token, jobs=(), requested_at=0.0, is_whole=False))
    assert answer.refusal is None, answer.detail


def _fleet(stack: Standing) -> adapter.Gcp:
    return adapter.Gcp(fleet_table.read(stack.fleet()))
