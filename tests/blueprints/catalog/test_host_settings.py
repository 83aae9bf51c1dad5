"""What playbooks read of the catalogue while they run."""

from blueprints import catalog
from blueprints.catalog import files


def test_every_target_says_the_same_things_of_its_hosts() -> None:
    settings = files.mapping("host_settings")
    assert set(settings) == {*catalog.target_names()}
    for name, of_target in settings.items():
        assert of_target["cloud_host"] is (catalog.target(name).hosts == "cloud")
        assert 0 < of_target["usable_memory"]["share"] <= 1
        assert of_target["usable_memory"]["system_mib"] >= 0


def test_a_cloud_gives_slurm_less_memory_than_its_machines_are_sold_with() -> None:
    """The kernel shows less, and a node that registers with less than slurm.conf says takes no jobs ("Low RealMemory")."""
    for of_target in files.mapping("host_settings").values():
        memory = of_target["usable_memory"]
        assert not of_target["cloud_host"] or (memory["share"] < 1 - 16 / 1024 and memory["system_mib"] > 0 and memory["source"] in catalog.sources())


def test_what_is_published_for_each_region_comes_last_for_all_regions() -> None:
    for name, of_target in files.mapping("host_settings").items():
        authorities = of_target["database_authorities"]
        assert {one["source"] for one in authorities} <= set(catalog.sources())
        assert not authorities or authorities[-1]["regions"] == "", name
        known = [region for pattern in ("cn-", "us-gov-") for region in (f"{pattern}north-1",) if catalog.partition_of(name, region)]
        assert not authorities or {next(one["regions"] for one in authorities if one["regions"] in region) for region in known} == {"cn-", "us-gov-"}


def test_devices_of_a_fabric_have_numbers_of_a_pci_bus() -> None:
    for name, devices in files.mapping("fabric_devices").items():
        assert devices["source"] in catalog.sources()
        assert catalog.fabrics()[name].device_interfaces
        assert all(number.startswith("0x") and len(number) == 6 for number in (devices["vendor"], *devices["devices"]))
