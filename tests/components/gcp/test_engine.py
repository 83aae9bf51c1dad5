"""The target on the simulated Google Cloud, driven by the real engine: up, no changes, a change of each kind, destroy to nothing. Hosts only pretend, and are finished by nobody."""

from pathlib import Path

import pytest

from components.elastic import table as fleet_table
from components.elastic.fleets.gcp import adapter
from components.elastic.memory import Launch
from components.elastic.model import Life
from tests.components.gcp.standing import PASSWORD, Standing
from tests.simcloud.google.client import SimulatedCloud

pytestmark = pytest.mark.engine

BLUEPRINT = str(Path(__file__).with_name("cpu.yaml"))
OTHER_IMAGE = "projects/debian-cloud/global/images/debian-13-trixie-v20260901"


def test_a_cluster_lives_from_up_to_destroy(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT, accounting__database="managed") as stack:
        stack.up()
        assert _connections(cloud) == ["ACCEPTED"], "hosts reach the accounting database"
        assert PASSWORD not in stack.succeed("stack", "export")
        assert cloud.untagged("clusterwright-stack", "clusterwright-cluster", "clusterwright-owner") == []
        assert [one.id.rpartition("/")[2] for one in cloud.things("compute.instances") if "/bake-" in one.id] == [], "the builder is gone"
        stack.up("--refresh", "--expect-no-changes")

        stack.change(pools__batch__nodes={"min": 0, "max": 18})
        assert stack.changes() == {}, "nodes are no resources"
        _change_in_place(stack, cloud)
        _roll(stack, cloud)

        stack.destroy()
        assert [(thing.kind, thing.id) for thing in cloud.things()] == []


def _connections(cloud: SimulatedCloud) -> list[str]:
    """Give what Google says of the endpoints in the network."""
    (endpoint,) = [one.id for one in cloud.things("compute.forwardingRules") if one.id.endswith("-accounting")]
    answer = cloud.request("compute.googleapis.com", "GET", f"/compute/v1/{endpoint}")
    return [answer.body["pscConnectionStatus"]]


def _change_in_place(stack: Standing, cloud: SimulatedCloud) -> None:
    before = _made(cloud)
    stack.change(access__allowed_cidrs=["10.0.0.0/8"])
    assert stack.up_changes() == {"create": ["login-firewall"]}
    assert set(before) <= set(_made(cloud))


def _roll(stack: Standing, cloud: SimulatedCloud) -> None:
    """Another image of a pool is another template, and no node is touched by that."""
    _start_node(stack)
    before = _made(cloud)
    stack.change(pools__batch__image=OTHER_IMAGE)
    assert stack.up_changes() in ({"replace": ["batch-template"], "update": ["batch-nodes"]}, {"replace": ["batch-template"]})
    assert {one for one in before if one[0] != "compute.instanceTemplates"} <= set(_made(cloud)), "the node runs on"
    (node,) = [one for one in _fleet(stack).view().instances if one.life is Life.LIVE]
    assert (node.node, node.is_outdated) == ("batch-0", True)


def _start_node(stack: Standing) -> None:
    """Start a node as the program on the controller does."""
    node_set = fleet_table.read(stack.fleet()).node_sets[0]
    token = f"{node_set.name}-{node_set.template}"
    answer = _fleet(stack).launch(Launch(token, node_set.name, node_set.nodes[:1], group=token, jobs=(), requested_at=0.0, is_whole=False))
    assert answer.refusal is None, answer.detail


def _fleet(stack: Standing) -> adapter.Gcp:
    return adapter.Gcp(fleet_table.read(stack.fleet()))


def _made(cloud: SimulatedCloud) -> list[tuple[str, str]]:
    return [(thing.kind, thing.id) for thing in cloud.things()]


@pytest.mark.soak
def test_a_second_controller_comes_and_goes(tmp_path: Path, cloud: SimulatedCloud) -> None:
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT) as stack:
        stack.up()
        for is_pair in (True, False):
            stack.change(control__highly_available=is_pair)
            stack.up()
            stack.up("--refresh", "--expect-no-changes")
            files = sorted(one.id.rpartition("/")[2].split("-")[2] for one in cloud.things("file.instances"))
            assert files == (["home", "state", "tables"] if is_pair else ["home"])
        stack.destroy()
        assert [(thing.kind, thing.id) for thing in cloud.things()] == []


@pytest.mark.soak
def test_a_stack_comes_again_beside_the_file_system_that_it_kept(tmp_path: Path, cloud: SimulatedCloud) -> None:
    kept = {"storage__home__on_delete": "keep", "storage__home__protect": False}
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT, **kept) as stack:
        stack.up()
        stack.destroy()
        left = _made(cloud)
        assert [kind for kind, _ in left] == ["compute.networks", "file.instances"]
        stack.up()
        assert set(left) < set(_made(cloud))
        assert len(cloud.things("file.instances")) == 2
        stack.up("--refresh", "--expect-no-changes")
        stack.destroy()
        assert set(left) < set(_made(cloud)), "this time's file system stays, too"
