"""Hosts of Kubernetes keep their disks when new hosts start from another image; a rebuild creates them from it, and the cluster's state stays."""

import json
from collections.abc import Iterator

import pytest

from components.local.machine import host as hosts
from components.local.machine import record
from tests.hosts.deployment import Deployment, deployment

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

CONTROL, NODE = "kubernetes-0", "train-0"
EARLIER = "an-earlier-image"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A cluster whose hosts were created from an earlier image, with an object and a snapshot of etcd."""
    with deployment("test-image", tmp_path_factory.mktemp("image"), blueprint="starter-kubernetes", set={"pools.train.nodes": 1}) as one:
        one.up()
        kubectl(one, "create", "configmap", "kept", "--from-literal=word=marzipan")
        one.inside_all(CONTROL, "systemctl", "start", "clusterwright-etcd-snapshot.service")
        for name in (CONTROL, NODE):
            written = record.read(one.host(name).record)
            assert written is not None
            record.write(one.host(name).record, {**written, "image": EARLIER})
        yield one


def kubectl(cluster: Deployment, *words: str) -> str:
    done = cluster.clusterwright("kubectl", "--", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def incarnations(cluster: Deployment) -> dict[str, str]:
    return {name: (hosts.recorded(cluster.host(name)) or {})["incarnation"] for name in (CONTROL, NODE)}


def older(cluster: Deployment) -> set[str]:
    """Hosts that drift names for their image."""
    done = cluster.clusterwright("drift", "--layer", "versions", "--json")
    return {one["where"].partition(":")[0] for one in json.loads(done.stdout)["findings"] if one["code"] == "CW772"}


def test_up_starts_a_host_again_on_its_own_disk_and_image(cluster: Deployment) -> None:
    before = incarnations(cluster)
    cluster.cut_power(CONTROL)
    cluster.up()
    assert incarnations(cluster) == before
    kubectl(cluster, "get", "configmap", "kept")
    # Nobody but Kueue answered for Kueue while kube-proxy had no rules yet: the API server would keep that connection.
    kubectl(cluster, "wait", "--for=condition=Available", "--timeout=90s", "apiservice/v1beta1.visibility.kueue.x-k8s.io")
    assert older(cluster) == {CONTROL, NODE}
    assert cluster.preview_changes() == {}


def test_a_rebuild_of_the_only_control_plane_keeps_its_objects_and_snapshots(cluster: Deployment) -> None:
    before = incarnations(cluster)
    snapshots = cluster.clusterwright("restore").stdout.split()
    done = cluster.clusterwright("rebuild", CONTROL, "--yes")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert incarnations(cluster)[CONTROL] != before[CONTROL]
    kubectl(cluster, "get", "configmap", "kept")
    assert set(snapshots) <= set(cluster.clusterwright("restore").stdout.split())
    assert older(cluster) == {NODE}
    kubectl(cluster, "wait", "--for=condition=Ready", "--timeout=60s", f"node/{CONTROL}", f"node/{NODE}")


def test_a_rebuilt_node_has_the_image_of_new_hosts(cluster: Deployment) -> None:
    done = cluster.clusterwright("rebuild", NODE, "--yes")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert older(cluster) == set()
    assert cluster.preview_changes() == {}
