"""Gangs that ask for one rack, with Kueue's own controller and the scheduler: they run in one rack, or wait with a reason; and what acceptance says of it."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import spec
from components.finish import checks
from components.kubernetes import acceptance, jobs, labels, manifests, queues, readiness
from components.kubernetes.api import Api, Key, key_of
from components.kubernetes.objects import Objects, ObjectsInputs
from components.provider.kind import PartlyMade
from tests import processes
from tests.apiserver import cluster, kueue, nodes, release, works
from tests.apiserver.test_acceptance import inputs
from tests.components.kubernetes import test_queues

pytestmark = pytest.mark.engine

RACKS = {"train-0": "r1", "train-1": "r1", "train-2": "r2", "train-3": "r2"}
ACCOUNT = "research"
SOON_S = 60


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[cluster.Cluster, Api]]:
    """A cluster with a scheduler, Kueue, the queues of a blueprint whose inventory names racks, and two nodes in each of two racks."""
    hosts = tuple(spec.SiteHost(name, "", "", rack=rack) for name, rack in RACKS.items())
    wanted = dataclasses.replace(test_queues.cluster(nodes=len(RACKS)), site=spec.Site("root", 22, hosts))
    with cluster.running(tmp_path_factory.mktemp("racks"), scheduler=True) as found, contextlib.ExitStack() as beside:
        definitions = [one for one in manifests.read(release.folder() / "manifests" / "jobset") if one["kind"] == manifests.DEFINITION]
        Objects().create(ObjectsInputs("definitions", found.kubeconfig, tuple(definitions)), works.Notes().work())
        beside.enter_context(kueue.running(found))
        simulated = beside.enter_context(nodes.running(found.api()))
        for name in RACKS:
            simulated.add(name, pool="train", gpus=8)
        label_racks(found.api(), RACKS)
        for group, objects in {"queues": queues.shared(wanted), **queues.by_account(wanted)}.items():
            Objects().create(ObjectsInputs(group, found.kubeconfig, tuple(objects)), works.Notes().work())
        yield found, found.api()


def label_racks(api: Api, racks: dict[str, str]) -> None:
    for name, rack in racks.items():
        api.merge(Key("v1", "Node", "", name), {"metadata": {"labels": {labels.RACK: rack or None}}})


@contextlib.contextmanager
def submitted(api: Api, name: str, *, count: int, gpus: int = 8, node: str = "", one_rack: bool = True) -> Iterator[None]:
    """Submit what `clusterwright submit --one-rack` writes, until the block ends."""
    job = jobs.Job(name, "example.org/a:1", ("sleep", "600"), nodes=count, gpus_per_node=gpus, account=ACCOUNT, pool="train", one_rack=one_rack)
    [manifest] = [one for one in jobs.manifests(job, "job") if one["kind"] == "Job"]
    if node:
        manifest["spec"]["template"]["spec"]["nodeSelector"][labels.HOST] = node
    api.create(manifest)
    try:
        yield
    finally:
        api.delete(key_of(manifest))
        # It holds its quota; the garbage collector would come to it in its own time.
        for one in workloads(api, name):
            api.delete(key_of(one))
        processes.wait_until(lambda: not places(api, name) and not workloads(api, name), awaiting=f"{name} to be gone", within_s=SOON_S)


def places(api: Api, name: str) -> list[str]:
    pods = api.list("v1", "Pod", namespace=ACCOUNT, labels=f"batch.kubernetes.io/job-name={name}")
    return sorted(one["spec"]["nodeName"] for one in pods if one["status"].get("phase") == "Running")


def await_running(api: Api, name: str, count: int) -> list[str]:
    processes.wait_until(lambda: len(places(api, name)) == count, awaiting=f"{name} to run; {reason(api, name)}", within_s=SOON_S)
    return places(api, name)


def workloads(api: Api, name: str) -> list[dict[str, Any]]:
    return [one for one in api.list(queues.KUEUE, "Workload", namespace=ACCOUNT) if one["metadata"]["ownerReferences"][0]["name"] == name]


def reason(api: Api, name: str) -> str:
    """What Kueue says of a job that waits."""
    return " ".join(readiness.message(one, "QuotaReserved") for one in workloads(api, name) if readiness.condition(one, "QuotaReserved") == "False")


def test_a_gang_that_asks_for_one_rack_gets_the_one_that_has_room(api: tuple[cluster.Cluster, Api]) -> None:
    _, server = api
    with submitted(server, "small", count=1, node="train-0"):
        await_running(server, "small", 1)
        with submitted(server, "gang", count=2):
            assert await_running(server, "gang", 2) == ["train-2", "train-3"]


def test_a_gang_that_fits_in_no_rack_waits_with_the_reason_and_runs_without_the_wish(api: tuple[cluster.Cluster, Api]) -> None:
    _, server = api
    with submitted(server, "wide", count=3):
        processes.wait_until(lambda: bool(reason(server, "wide")), awaiting="Kueue's decision", within_s=SOON_S)
        assert "2 out of 3 pod(s)" in reason(server, "wide")
        assert places(server, "wide") == []
        with submitted(server, "anywhere", count=3, one_rack=False):
            assert len(set(await_running(server, "anywhere", 3))) == 3


def test_a_waiting_gang_runs_when_a_rack_has_room_again(api: tuple[cluster.Cluster, Api]) -> None:
    _, server = api
    with contextlib.ExitStack() as held:
        for name in ("train-0", "train-2"):
            held.enter_context(submitted(server, f"on-{name}", count=1, node=name))
            await_running(server, f"on-{name}", 1)
        # Two nodes are idle, in different racks.
        with submitted(server, "gang", count=2):
            processes.wait_until(lambda: bool(reason(server, "gang")), awaiting="Kueue's decision", within_s=SOON_S)
            assert "1 out of 2 pod(s)" in reason(server, "gang")
            held.close()
            assert {RACKS[name] for name in await_running(server, "gang", 2)} in ({"r1"}, {"r2"})


def verdict(kubernetes: cluster.Cluster) -> dict[str, Any]:
    """What acceptance says of a gang in one rack."""
    try:
        found = acceptance.Acceptance().create(inputs(kubernetes, has_racks=True), works.Notes().work())["checks"]
    except PartlyMade as failed:
        found = failed.outputs["checks"]
    [judged] = [one for one in found if one["name"] == "gang in one rack"] or [found[-1]]
    return dict(judged)


def test_acceptance_places_a_gang_in_one_rack(api: tuple[cluster.Cluster, Api]) -> None:
    found = verdict(api[0])
    assert (found["verdict"], found["expected"]) == ("pass", "2 pods in one rack")
    assert found["measured"] in ("2 pods in r1", "2 pods in r2")


def test_acceptance_lets_a_gang_wait_where_no_rack_has_room(api: tuple[cluster.Cluster, Api]) -> None:
    kubernetes, server = api
    with contextlib.ExitStack() as held:
        for name in ("train-0", "train-2"):
            # Two GPUs are left for acceptance's other checks.
            held.enter_context(submitted(server, f"on-{name}", count=1, gpus=6, node=name))
            await_running(server, f"on-{name}", 1)
        found = verdict(kubernetes)
    assert (found["verdict"], found["expected"], found["measured"]) == ("pass", "waits, as no rack has room, with a reason", "waits")


def test_acceptance_fails_where_a_node_lost_the_label_of_its_rack(api: tuple[cluster.Cluster, Api]) -> None:
    kubernetes, server = api
    label_racks(server, {"train-1": ""})
    try:
        found = verdict(kubernetes)
    finally:
        label_racks(server, {"train-1": "r1"})
    assert (found["verdict"], checks.finding(found).code) == ("fail", "CW949")
    assert "train-1" in found["detail"]
