"""The table of Compute Engine machines against the rules of Google's names and families and against Google's API."""

import re

import pytest

from blueprints import catalog
from tests.blueprints.catalog import clouds

EVERY = list(catalog.machines("gcp"))
NAME = re.compile(r"(?P<family>[a-z0-9]+)-(?P<shape>[a-z]+)-(?P<size>[0-9]+)(?P<gpus>g)?(?P<suffix>-lssd|-metal)?")

# GiB of memory for each vCPU of machines without GPUs and of G2; h4d counts its own cores.
GIB_PER_VCPU = {
    ("c2", "standard"): 4,
    ("c3", "standard"): 4,
    ("c4a", "highcpu"): 2,
    ("c4a", "standard"): 4,
    ("e2", "standard"): 4,
    ("g2", "standard"): 4,
    ("g4", "standard"): 3.75,
    ("h3", "standard"): 4,
    ("h4d", "highmem"): 7.75,
    ("h4d", "standard"): 3.75,
    ("n2", "standard"): 4,
}
# vCPUs, GiB of memory, GB of GPU memory and 375 GiB disks, for each GPU.
PER_GPU = {
    ("a2", "highgpu"): (12, 85, 40, 0),
    ("a2", "ultragpu"): (12, 170, 80, 1),
    ("a2", "megagpu"): (6, 85, 40, 0),
    ("a3", "highgpu"): (26, 234, 80, 2),
    ("a3", "megagpu"): (26, 234, 80, 2),
    ("a3", "edgegpu"): (26, 234, 80, 2),
    ("a3", "ultragpu"): (28, 369, 141, 4),
    ("a4", "highgpu"): (28, 496, 180, 4),
    ("a4x", "highgpu"): (35, 221, 186, 8),
    ("a4x", "maxgpu"): (36, 240, 279, 8),
}
ACCELERATORS = {
    ("a2", "highgpu"): "a100",
    ("a2", "ultragpu"): "a100",
    ("a2", "megagpu"): "a100",
    ("a3", "highgpu"): "h100",
    ("a3", "megagpu"): "h100",
    ("a3", "edgegpu"): "h100",
    ("a3", "ultragpu"): "h200",
    ("a4", "highgpu"): "b200",
    ("a4x", "highgpu"): "gb200",
    ("a4x", "maxgpu"): "gb300",
    ("g2", "standard"): "l4",
    ("g4", "standard"): "rtx-pro-6000",
}
GPUS = {  # where the name counts vCPUs
    ("g2", 4): 1,
    ("g2", 8): 1,
    ("g2", 12): 1,
    ("g2", 16): 1,
    ("g2", 24): 2,
    ("g2", 32): 1,
    ("g2", 48): 4,
    ("g2", 96): 8,
    ("g4", 48): 1,
    ("g4", 96): 2,
    ("g4", 192): 4,
    ("g4", 384): 8,
}
WITHOUT_SECOND_THREAD = {"a4x", "c4a", "h3", "h4d"}
ARM = {"a4x", "c4a"}
DISKS_OF_C3 = {4: 1, 8: 2, 22: 4, 44: 8, 88: 16, 176: 32}
# Google's page on GPU networking: Gbps in total, NICs in all, those of the fabric, Gbps each.
NETWORK = {
    "a3-highgpu-8g": (800, 5, 4, 200),
    "a3-megagpu-8g": (1800, 9, 8, 200),
    "a3-ultragpu-8g": (3600, 10, 8, 400),
    "a4-highgpu-8g": (3600, 10, 8, 400),
    "a4x-highgpu-4g": (2000, 6, 4, 400),
    "a4x-maxgpu-4g-metal": (3600, 10, 8, 400),
}
# Google's page on GPU networking, for machines of one NIC; the 2 and 4 GPU sizes differ between the pages of A2.
BANDWIDTH = {
    "a2-highgpu-1g": 24,
    "a2-highgpu-2g": 32,
    "a2-highgpu-4g": 50,
    "a2-highgpu-8g": 100,
    "a2-megagpu-16g": 100,
    "a2-ultragpu-1g": 24,
    "a2-ultragpu-2g": 32,
    "a2-ultragpu-4g": 50,
    "a2-ultragpu-8g": 100,
    "a3-edgegpu-8g": 400,
    "a3-highgpu-1g": 25,
    "a3-highgpu-2g": 50,
    "a3-highgpu-4g": 100,
    "g2-standard-12": 16,
    "g2-standard-16": 32,
    "g2-standard-24": 32,
    "g2-standard-32": 32,
    "g2-standard-4": 10,
    "g2-standard-48": 50,
    "g2-standard-8": 16,
    "g2-standard-96": 100,
    "g4-standard-384": 400,
    "h4d-highmem-192": 200,
    "h4d-highmem-192-lssd": 200,
    "h4d-standard-192": 200,
}


def parts(name: str) -> tuple[tuple[str, str], int, bool]:
    match = NAME.fullmatch(name)
    assert match is not None
    return (match["family"], match["shape"]), int(match["size"]), match["gpus"] is not None


@pytest.mark.parametrize("name", EVERY)
def test_processors_and_memory_follow_the_name(name: str) -> None:
    machine = catalog.machine("gcp", name)
    kind, size, counts_gpus = parts(name)
    if counts_gpus:
        vcpus, gib, gpu_gb, disks = PER_GPU[kind]
        assert (machine.gpus, machine.vcpus, machine.memory_gib) == (size, size * vcpus, size * gib)
        assert machine.gpu_memory_gib == gpu_gb
        assert (machine.scratch_disks, machine.scratch_gib) == (size * disks, size * disks * 375)
    else:
        assert machine.vcpus == size
        assert machine.memory_gib == size * GIB_PER_VCPU[kind]
        assert machine.gpus == GPUS.get((kind[0], size), 0)
    assert machine.arch == ("arm64" if kind[0] in ARM else "x86_64")
    assert machine.threads_per_core == (1 if kind[0] in WITHOUT_SECOND_THREAD else 2)
    assert machine.accelerator == ACCELERATORS.get(kind)


@pytest.mark.parametrize("name", [name for name in EVERY if not parts(name)[2]])
def test_only_names_that_say_so_come_with_disks(name: str) -> None:
    machine = catalog.machine("gcp", name)
    kind, size, _ = parts(name)
    disks = 0 if not name.endswith("-lssd") else 10 if kind[0] == "h4d" else DISKS_OF_C3[size]
    assert (machine.scratch_disks, machine.scratch_gib) == (disks, disks * 375)


@pytest.mark.parametrize("name", EVERY)
def test_network(name: str) -> None:
    machine = catalog.machine("gcp", name)
    expected = NETWORK.get(name)
    if expected is not None:
        assert (machine.network_gbps, machine.cards, machine.fabric_nics, machine.fabric_nic_gbps) == expected
    else:
        assert machine.fabric is None
        assert machine.network_gbps == BANDWIDTH.get(name)
    assert machine.interfaces_per_card == (1,) * machine.cards


@pytest.mark.parametrize(
    ("name", "fabric"),
    [
        ("a3-highgpu-8g", "gcp-tcpxo"),
        ("a3-megagpu-8g", "gcp-tcpxo"),
        ("a3-ultragpu-8g", "gcp-gib"),
        ("a4-highgpu-8g", "gcp-gib"),
        ("a4x-highgpu-4g", "gcp-gib"),
        ("a4x-maxgpu-4g-metal", "gcp-gib"),
    ],
)
def test_fabrics(name: str, fabric: str) -> None:
    assert catalog.machine("gcp", name).fabric == fabric


@pytest.mark.parametrize(
    ("name", "sockets", "cores"),
    [
        ("a3-highgpu-8g", 2, 52),
        ("a3-megagpu-8g", 2, 52),
        ("a3-ultragpu-8g", 2, 56),
        ("a4-highgpu-8g", 2, 56),
        ("a4x-highgpu-4g", 2, 70),
        ("a4x-maxgpu-4g-metal", 2, 72),
    ],
)
def test_sockets_are_those_that_slurm_is_told_by_the_cluster_toolkit(name: str, sockets: int, cores: int) -> None:
    machine = catalog.machine("gcp", name)
    assert (machine.sockets, machine.cores_per_socket) == (sockets, cores)


@pytest.mark.parametrize("name", EVERY)
def test_capacity(name: str) -> None:
    machine = catalog.machine("gcp", name)
    family = parts(name)[0][0]
    if name in ("a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g"):
        assert machine.capacity == ("spot", "flex")
    elif family == "a4x":
        assert machine.capacity == ("reserved",)
    elif family == "a4":
        assert machine.capacity == ("spot", "reserved", "block", "flex")
    elif name in ("a3-megagpu-8g", "a3-ultragpu-8g"):
        assert machine.capacity == ("on-demand", "spot", "reserved", "block", "flex")
    elif family == "h4d":
        assert machine.capacity == ("on-demand", "spot", "reserved", "flex")
    else:
        assert machine.capacity == ("on-demand", "spot", "reserved")


def test_the_api_knows_each_kind_of_capacity() -> None:
    schemas = clouds.google("compute.v1")
    models = schemas["Scheduling"]["properties"]["provisioningModel"]["enum"]
    assert {"STANDARD", "SPOT", "RESERVATION_BOUND", "FLEX_START"} == set(models)
    assert "CALENDAR" in schemas["FutureReservation"]["properties"]["reservationMode"]["enum"]


@pytest.mark.parametrize("name", EVERY)
def test_compact_placement(name: str) -> None:
    machine = catalog.machine("gcp", name)
    family = parts(name)[0][0]
    if family == "a4x":
        assert machine.compact_nodes == machine.domain_nodes == 18
    else:
        assert machine.compact_nodes == (None if family in ("c4a", "e2", "g4") or name == "a3-edgegpu-8g" else 1500)


@pytest.mark.parametrize(
    ("machine", "commitment"),
    [
        ("a2-highgpu-8g", "ACCELERATOR_OPTIMIZED"),
        ("a3-highgpu-8g", "ACCELERATOR_OPTIMIZED_A3"),
        ("a3-megagpu-8g", "ACCELERATOR_OPTIMIZED_A3_MEGA"),
        ("a3-ultragpu-8g", "ACCELERATOR_OPTIMIZED_A3_ULTRA"),
        ("a4-highgpu-8g", "ACCELERATOR_OPTIMIZED_A4"),
        ("c2-standard-60", "COMPUTE_OPTIMIZED"),
        ("c3-standard-88", "COMPUTE_OPTIMIZED_C3"),
        ("c4a-highcpu-16", "GENERAL_PURPOSE_C4A"),
        ("e2-standard-8", "GENERAL_PURPOSE_E2"),
        ("g2-standard-96", "GRAPHICS_OPTIMIZED"),
        ("g4-standard-384", "GRAPHICS_OPTIMIZED_G4"),
        ("h3-standard-88", "COMPUTE_OPTIMIZED_H3"),
        ("h4d-standard-192", "COMPUTE_OPTIMIZED_H4D"),
        ("n2-standard-80", "GENERAL_PURPOSE_N2"),
    ],
)
def test_families_are_those_that_the_api_sells_commitments_for(machine: str, commitment: str) -> None:
    assert machine in EVERY
    assert commitment in clouds.google("compute.v1")["Commitment"]["properties"]["type"]["enum"]
