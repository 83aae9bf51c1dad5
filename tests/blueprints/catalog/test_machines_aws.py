"""The table of EC2 machines against EC2's own records."""

import pytest

from blueprints import catalog
from tests.blueprints.catalog import clouds, records

# No public record of the API: these values rest on documents alone.
UNRECORDED = {"p6e-gb200.36xlarge"}
KNOWN = sorted(set(catalog.machines("aws")) - UNRECORDED)

# The sum over the cards, in Gbps, where it contradicts what the same record says of the whole machine.
CARDS_CONTRADICT = {
    "g6e.24xlarge": 400,
    "g6e.48xlarge": 1600,
    "hpc6id.32xlarge": 400,
    "hpc8a.96xlarge": 600,
    "p6-b200.48xlarge": 1600,
    "p6-b300.48xlarge": 6750,
}
NAMES = {"RTX PRO Server 6000": "rtx-pro-6000"}
USAGE = {"on-demand": "on-demand", "spot": "spot", "reserved": "on-demand", "block": "capacity-block"}
GIB = 2**30


def test_only_the_ultraserver_has_no_record() -> None:
    assert set(catalog.machines("aws")) - set(records.ec2_machines()) == UNRECORDED
    assert set(catalog.machines("aws")) <= set(clouds.aws("ec2")["shapes"]["InstanceType"]["enum"])


@pytest.mark.parametrize("name", KNOWN)
def test_processors_and_memory(name: str) -> None:
    machine, record = catalog.machine("aws", name), records.ec2_machines()[name]
    assert record["ProcessorInfo"]["SupportedArchitectures"] == [machine.arch]
    processors = record["VCpuInfo"]
    assert machine.vcpus == processors["DefaultVCpus"]
    assert machine.sockets * machine.cores_per_socket == processors["DefaultCores"]
    assert machine.threads_per_core == processors["DefaultThreadsPerCore"]
    assert machine.memory_gib * 1024 == record["MemoryInfo"]["SizeInMiB"]


@pytest.mark.parametrize("name", KNOWN)
def test_gpus(name: str) -> None:
    machine, record = catalog.machine("aws", name), records.ec2_machines()[name]
    if "GpuInfo" not in record:
        assert (machine.accelerator, machine.gpus, machine.gpu_memory_gib) == (None, 0, None)
        return
    (gpu,) = record["GpuInfo"]["Gpus"]
    assert machine.accelerator == NAMES.get(gpu["Name"], gpu["Name"].lower().replace(" ", "-"))
    assert machine.gpus == gpu["Count"]
    assert machine.gpu_memory_gib == pytest.approx(gpu["MemoryInfo"]["SizeInMiB"] / 1024, abs=0.006)
    assert gpu.get("GpuPartitionSize", 1.0) == 1.0


@pytest.mark.parametrize("name", KNOWN)
def test_network(name: str) -> None:
    machine, network = catalog.machine("aws", name), records.ec2_machines()[name]["NetworkInfo"]
    cards = network["NetworkCards"]
    assert machine.cards == network["MaximumNetworkCards"] == len(cards)
    assert machine.interfaces_per_card == tuple(card["MaximumNetworkInterfaces"] for card in cards)
    assert machine.fabric == ("efa" if network["EfaSupported"] else None)
    assert machine.fabric_nics == network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    assert machine.network_gbps is not None
    if machine.fabric is not None:
        assert machine.fabric_nics * machine.fabric_nic_gbps == pytest.approx(machine.network_gbps, rel=0.001)
    total = sum(card["PeakBandwidthInGbps"] for card in cards)
    if name in CARDS_CONTRADICT:
        assert total == CARDS_CONTRADICT[name]
        assert network["NetworkPerformance"] == f"{machine.network_gbps:g} Gigabit"
    else:
        assert machine.network_gbps == total


@pytest.mark.parametrize("name", KNOWN)
def test_local_disks(name: str) -> None:
    machine, store = catalog.machine("aws", name), records.ec2_machines()[name].get("InstanceStorageInfo", {})
    assert machine.scratch_gib == pytest.approx(store.get("TotalSizeInGB", 0) * 1e9 / GIB, abs=0.006)
    assert machine.scratch_disks == sum(disk["Count"] for disk in store.get("Disks", []))


@pytest.mark.parametrize("name", KNOWN)
def test_capacity_and_regions(name: str) -> None:
    machine, record = catalog.machine("aws", name), records.ec2_machines()[name]
    assert [kind for kind, usage in USAGE.items() if usage in record["SupportedUsageClasses"]] == list(machine.capacity)
    assert set(machine.regions) == records.ec2_regions().get(name, set())
    assert set(machine.regions) <= records.aws_region_names()
    assert machine.compact_nodes is None
    if machine.fabric is not None:
        assert "cluster" in record["PlacementGroupInfo"]["SupportedStrategies"]


def test_the_ultraserver_is_as_documented() -> None:
    machine = catalog.machine("aws", "p6e-gb200.36xlarge")
    assert (machine.arch, machine.vcpus, machine.memory_gib, machine.gpus, machine.gpu_memory_gib) == ("arm64", 144, 960, 4, 185)
    assert machine.scratch_disks == 3
    assert machine.scratch_gib == pytest.approx(3 * 7500e9 / GIB, abs=0.01)
    # 72 GPUs of an UltraServer share 28.8 Tbps of EFA.
    assert machine.domain_nodes is not None
    assert machine.domain_nodes * machine.fabric_nics * machine.fabric_nic_gbps == 28_800
    assert machine.capacity == ("block",)
    assert machine.regions == ()
