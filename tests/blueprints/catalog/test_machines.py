import itertools
import re
from collections.abc import Iterator

import pytest

from blueprints import catalog
from blueprints.catalog import files

TARGETS = ("aws", "gcp", "metal")
CAPACITY = ("on-demand", "spot", "reserved", "block", "flex")
FABRIC_KINDS = ("efa", "efa-only", "mrdma", "infiniband", "roce")
DATE = re.compile(r"20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?")


def everything() -> Iterator[catalog.MachineType]:
    return itertools.chain.from_iterable(catalog.machines(target).values() for target in TARGETS)


EVERYTHING = [pytest.param(machine, id=f"{machine.target}-{machine.name}") for machine in everything()]


@pytest.mark.parametrize("target", TARGETS)
def test_no_name_is_used_twice_and_the_order_is_the_files(target: str) -> None:
    names = [row["name"] for row in files.table(f"machines/{target}")]
    assert list(catalog.machines(target)) == names
    assert len(names) == len(set(names))


def test_this_machine_has_no_table() -> None:
    assert catalog.machines("local") == {}


def test_an_unknown_machine_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        catalog.machine("aws", "p5.49xlarge")


@pytest.mark.parametrize("machine", EVERYTHING)
def test_a_machine_adds_up(machine: catalog.MachineType) -> None:
    assert machine.arch in ("x86_64", "arm64")
    assert machine.sockets >= 1
    assert machine.threads_per_core in (1, 2)
    assert machine.sockets * machine.cores_per_socket * machine.threads_per_core == machine.vcpus
    assert (machine.vcpus == 0) == (machine.cores_per_socket == 0)
    assert machine.memory_gib >= machine.vcpus * 2 or machine.memory_gib == 0
    assert machine.scratch_gib >= machine.scratch_disks
    assert machine.interfaces_per_card == () or len(machine.interfaces_per_card) == machine.cards
    assert list(machine.capacity) == [kind for kind in CAPACITY if kind in machine.capacity]
    assert list(machine.regions) == sorted(set(machine.regions))
    assert DATE.fullmatch(machine.as_of)


@pytest.mark.parametrize("machine", EVERYTHING)
def test_only_what_somebody_owns_can_have_gaps(machine: catalog.MachineType) -> None:
    if machine.target != "metal":
        assert machine.vcpus > 0
        assert machine.memory_gib > 0
        assert machine.capacity
    elif machine.vcpus == 0 or machine.memory_gib == 0 or machine.scratch_gib == 0:
        assert "not known" in machine.note
    else:
        assert "not known" not in machine.note


@pytest.mark.parametrize("machine", EVERYTHING)
def test_gpus_are_of_a_known_kind_with_about_its_memory(machine: catalog.MachineType) -> None:
    if machine.accelerator is None:
        assert machine.gpus == 0
        assert machine.gpu_memory_gib is None
        return
    accelerator = catalog.accelerators()[machine.accelerator]
    assert machine.gpus in accelerator.per_node
    assert machine.gpu_memory_gib is not None
    # GB against GiB, and what the driver keeps for itself.
    assert any(0.92 * nominal <= machine.gpu_memory_gib <= nominal for nominal in accelerator.memory_gb)


def test_accelerators_exist_with_exactly_the_counts_that_machines_have() -> None:
    counts: dict[str, set[int]] = {}
    for machine in everything():
        if machine.accelerator is not None:
            counts.setdefault(machine.accelerator, set()).add(machine.gpus)
    assert {name: set(accelerator.per_node) for name, accelerator in catalog.accelerators().items()} == counts


@pytest.mark.parametrize("machine", EVERYTHING)
def test_a_fabric_has_nics_and_the_layout_has_the_same(machine: catalog.MachineType) -> None:
    nics = catalog.expand(catalog.layout(machine.nic_layout), machine)
    over_ethernet = [nic for nic in nics[1:] if nic.kind == "gvnic"]
    carriers = [nic for nic in nics if nic.kind in FABRIC_KINDS] or over_ethernet
    if machine.fabric is None:
        assert machine.fabric_nics == 0
        assert machine.fabric_nic_gbps == 0
        assert not [nic for nic in nics if nic.kind in FABRIC_KINDS]
        return
    assert machine.fabric in files.mapping("fabrics")["fabrics"]
    assert len(carriers) == machine.fabric_nics > 0
    assert machine.network_gbps is not None
    assert 0 < machine.fabric_nics * machine.fabric_nic_gbps <= machine.network_gbps


@pytest.mark.parametrize("machine", EVERYTHING)
def test_one_nvlink_domain_is_one_rack_of_72_gpus(machine: catalog.MachineType) -> None:
    is_rack = machine.accelerator in ("gb200", "gb300")
    assert (machine.domain_nodes is not None) == is_rack
    if machine.domain_nodes is not None:
        assert machine.domain_nodes * machine.gpus == 72
        assert [size % min(machine.domain_sizes) for size in machine.domain_sizes] == [0] * len(machine.domain_sizes)


@pytest.mark.parametrize(
    ("name", "gpus", "cores", "memory", "nics", "gbps", "scratch_tb"),
    [
        ("dgx-a100", 8, 128, 2048, 8, 200, 30),
        ("dgx-h100", 8, 112, 2048, 8, 400, 8 * 3.84),
        ("dgx-h200", 8, 112, 2048, 8, 400, 30),
        ("dgx-b200", 8, 112, 2048, 8, 400, 30),
        ("dgx-b300", 8, 128, 2048, 8, 800, 30),
        ("hgx-h100", 8, 0, 2048, 8, 400, 8 * 3.84),
        ("hgx-h200", 8, 0, 2048, 8, 400, 0),
        ("hgx-b200", 8, 144, 3072, 8, 400, 8 * 3.84),
        ("gb200-nvl72-tray", 4, 144, 960, 4, 400, 8 * 3.5),
        ("gb300-nvl72-tray", 4, 144, 0, 4, 800, 0),
    ],
)
def test_bare_metal_is_what_its_documents_say(name: str, gpus: int, cores: int, memory: int, nics: int, gbps: int, scratch_tb: float) -> None:
    machine = catalog.machine("metal", name)
    assert (machine.gpus, machine.sockets * machine.cores_per_socket, machine.memory_gib) == (gpus, cores, memory)
    assert (machine.fabric_nics, machine.fabric_nic_gbps, machine.network_gbps) == (nics, gbps, nics * gbps)
    assert machine.interfaces_per_card == (1,) * (nics + 1)
    assert machine.scratch_gib == pytest.approx(scratch_tb * 1e12 / 2**30, abs=0.01)
    assert machine.scratch_disks == (8 if scratch_tb not in (0, 30) else 0)
    assert machine.capacity == machine.regions == ()
    assert machine.compact_nodes is None
