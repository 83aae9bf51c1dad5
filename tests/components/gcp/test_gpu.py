"""Pools with GPUs: what each machine's template says for each way of buying it, and a whole stack of them on the simulated Google Cloud."""

import functools
from pathlib import Path

import pytest

from components.elastic import table as fleet_table
from components.elastic.fleets.gcp import adapter
from components.elastic.memory import Launch
from components.elastic.model import Life
from tests.components.gcp import programs
from tests.components.gcp.standing import Standing
from tests.components.registered import Program
from tests.simcloud.google.client import PROJECT, SimulatedCloud

BLUEPRINT = str(Path(__file__).with_name("gpu.yaml"))
GPU_ZONE = "us-central1-b"
MEGA, RDMA = ["GVNIC"] * 9, [*["GVNIC"] * 2, *["MRDMA"] * 8]
POOLS = {
    # pool → machine, interfaces, provisioning model, reservation, policies of the template, disk
    "mega": ("a3-megagpu-8g", MEGA, "STANDARD", None, ["mega-placement"], "pd-balanced"),
    "high": ("a3-highgpu-8g", ["GVNIC"] * 5, "STANDARD", None, ["high-placement"], "pd-balanced"),
    "spot": ("a3-megagpu-8g", MEGA, "SPOT", None, ["spot-placement"], "pd-balanced"),
    "ultra": ("a3-ultragpu-8g", RDMA, "RESERVATION_BOUND", "projects/our-project/reservations/h200/reservationBlocks/block-1", [], "hyperdisk-balanced"),
    "calendar": ("a4-highgpu-8g", RDMA, "RESERVATION_BOUND", "projects/our-project/reservations/b200", [], "hyperdisk-balanced"),
    "flex": ("a4-highgpu-8g", RDMA, "FLEX_START", None, [], "hyperdisk-balanced"),
}


@functools.cache
def gpu() -> Program:
    return programs.program(BLUEPRINT)


@pytest.mark.parametrize("pool", POOLS)
def test_a_template_says_how_its_machine_is_wired_bought_and_placed(pool: str) -> None:
    machine, cards, model, reservation, policies, disk = POOLS[pool]
    (said,) = [one.inputs for one in programs.of(gpu(), "InstanceTemplate") if one.name == f"{pool}-template"]
    assert (said["machineType"], [one["nicType"] for one in said["networkInterfaces"]]) == (machine, cards)
    wires = [one["subnetwork"] for one in said["networkInterfaces"]]
    assert len(set(wires)) == len(wires), "each interface has a subnet of its own"
    scheduling = said["scheduling"]
    assert (scheduling["provisioningModel"], scheduling["onHostMaintenance"], scheduling["automaticRestart"]) == (model, "TERMINATE", False)
    affinity = said.get("reservationAffinity") or {}
    assert (affinity.get("specificReservation") or {}).get("values", [None])[0] == reservation
    assert [*filter(None, [said.get("resourcePolicies")])] == [f"https://link/{one}" for one in policies]
    assert [one["diskType"] for one in said["disks"]] == [disk], "local SSDs come with the machine"


def test_nodes_make_one_file_system_of_their_own_disks_where_the_pool_says_so() -> None:
    mounted = {one.name: programs.order(one)["scratch"] for one in programs.of(gpu(), "InstanceTemplate")}
    assert mounted == {"mega-template": "/scratch", **{f"{pool}-template": None for pool in POOLS if pool != "mega"}}


def test_pools_of_one_stack_share_networks_and_one_image() -> None:
    networks = {one.name for one in programs.of(gpu(), "Network")}
    assert networks == {"network", "rdma-network", *(f"gvnic-{number}-network" for number in range(1, 9))}
    assert [one.name for one in gpu().resources if one.type == "clusterwright:gcp:MachineImage"] == ["image-x86_64"]


def _reservation(cloud: SimulatedCloud, name: str, machine: str) -> None:
    body = {"name": name, "specificReservationRequired": True, "specificReservation": {"count": "2", "instanceProperties": {"machineType": machine}}}
    answer = cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/zones/{GPU_ZONE}/reservations", body=body)
    assert answer.status == 200, answer.body


@pytest.mark.engine
@pytest.mark.soak
def test_a_stack_with_gpus_lives_from_up_to_destroy(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node of each pool starts from its template: the simulated cloud refuses interfaces, disks, networks, policies and reservations that its machine does not take."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    _reservation(cloud, "h200", "a3-ultragpu-8g")
    _reservation(cloud, "b200", "a4-highgpu-8g")
    ids = {pool: f"projects/{PROJECT}/zones/{GPU_ZONE}/reservations/{name}" for pool, name in (("ultra", "h200"), ("calendar", "b200"))}
    bought = {f"pools__{pool}__capacity": {"kind": kind, "id": ids[pool]} for pool, kind in (("ultra", "reserved"), ("calendar", "block"))}
    held = {(one.kind, one.id) for one in cloud.things()}
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT, network__zones=[GPU_ZONE], **bought) as stack:
        stack.up()
        stack.up("--refresh", "--expect-no-changes")
        table = fleet_table.read(stack.fleet())
        fleet = adapter.Gcp(table)
        for node_set in table.node_sets:
            token = f"{node_set.name}-{node_set.template}"
            answer = fleet.launch(Launch(token, node_set.name, node_set.nodes[:1], group=token, jobs=(), requested_at=0.0, is_whole=False))
            assert answer.refusal is None, f"{node_set.name}: {answer.detail}"
        assert {one.node for one in fleet.view().instances if one.life is Life.LIVE} == {f"{pool}-0" for pool in POOLS}
        stack.up("--refresh", "--expect-no-changes")
        stack.destroy()
        assert {(one.kind, one.id) for one in cloud.things()} == held
