"""Quotas against the metrics that the clouds' own interfaces know."""

import re

import pytest

from blueprints import catalog
from tests.blueprints.catalog import clouds

NOT_YET_IN_THE_INTERFACE = {
    # The discovery document has lagged behind the metrics since H100; these come from other sources.
    "PREEMPTIBLE_NVIDIA_H100_MEGA_GPUS",
    "PREEMPTIBLE_NVIDIA_H200_GPUS",
    "PREEMPTIBLE_NVIDIA_B200_GPUS",
}
WITHOUT_GPUS = {"trn*", "trn1.*", "trn2.*"}
"""Trainium machines are not in the table of machines."""
FAMILIES = {"a3-highgpu-8g": "NVIDIA_H100", "a3-megagpu-8g": "NVIDIA_H100_MEGA", "a3-ultragpu-8g": "NVIDIA_H200", "a4-highgpu-8g": "NVIDIA_B200"}


def first(target: str, machine: str, capacity: str) -> catalog.Quota | None:
    """Give the first quota that counts a machine."""
    return next(iter(catalog.quotas_for(target, machine, capacity)), None)


@pytest.mark.parametrize("target", catalog.target_names())
def test_every_quota_is_complete(target: str) -> None:
    machines = catalog.machines(target) if target in ("aws", "gcp", "metal") else {}
    for quota in catalog.quotas(target):
        assert quota.name
        assert quota.unit in ("vcpus", "gpus", "nodes", "GiB")
        assert catalog.source(quota.source).where
        assert quota.as_of.startswith("20")
        assert set(quota.capacity) <= set(catalog.target(target).capacity)
        assert bool(quota.machines) != bool(quota.storage)
        assert set(quota.storage) <= set(catalog.storage_classes(target))
        # No pattern is idle: each counts a machine of the table.
        for pattern in set(quota.machines) - WITHOUT_GPUS:
            narrowed = catalog.Quota(target, quota.code, quota.name, quota.unit, (pattern,), (), quota.capacity, {}, None, quota.source, quota.as_of)
            assert any(narrowed.counts(name, kind) for name in machines for kind in quota.capacity), pattern


def test_codes_of_aws_are_of_the_form_that_its_interface_takes() -> None:
    form = clouds.aws("service-quotas")["shapes"]["QuotaCode"]
    for quota in catalog.quotas("aws"):
        assert re.fullmatch(form["pattern"], quota.code)
        assert len(quota.code) <= form["max"]
        assert re.fullmatch("L-[0-9A-F]{8}", quota.code)
    codes = [quota.code for quota in catalog.quotas("aws")]
    assert len(codes) == len(set(codes))


def test_metrics_of_google_are_those_of_its_interface() -> None:
    metrics = set(clouds.google("compute.v1")["Quota"]["properties"]["metric"]["enum"])
    codes = {quota.code for quota in catalog.quotas("gcp")} - {"GPUS-PER-GPU-FAMILY-per-project-region"}
    assert codes - metrics == NOT_YET_IN_THE_INTERFACE
    # What has a metric of its own is not counted by family, and the other way round.
    for machine, family in FAMILIES.items():
        assert f"{family}_GPUS" not in metrics
        quota = first("gcp", machine, "reserved")
        assert quota is not None
        assert dict(quota.dimensions) == {"gpu_family": family}


@pytest.mark.parametrize(
    ("target", "machine", "capacity", "code"),
    [
        ("aws", "p4d.24xlarge", "on-demand", "L-417A185B"),
        ("aws", "p5.48xlarge", "reserved", "L-417A185B"),
        ("aws", "p6-b200.48xlarge", "on-demand", "L-417A185B"),
        ("aws", "p4de.24xlarge", "spot", "L-7212CCBC"),
        ("aws", "p5en.48xlarge", "spot", "L-C4BD4855"),
        ("aws", "p6-b200.48xlarge", "spot", None),
        ("aws", "p4d.24xlarge", "block", "L-2C8F52B3"),
        ("aws", "p4de.24xlarge", "block", None),
        ("aws", "p5.48xlarge", "block", "L-DA6814F2"),
        ("aws", "p5e.48xlarge", "block", "L-C45F30BC"),
        ("aws", "p5en.48xlarge", "block", "L-4F9BB70B"),
        ("aws", "p6e-gb200.36xlarge", "block", None),
        ("aws", "g6.xlarge", "on-demand", "L-DB2E81BA"),
        ("aws", "gr6.8xlarge", "on-demand", "L-DB2E81BA"),
        ("aws", "g6e.xlarge", "spot", "L-3819A6DF"),
        ("aws", "m7i.xlarge", "on-demand", "L-1216C47A"),
        ("aws", "t3.medium", "on-demand", "L-1216C47A"),
        ("aws", "c7i.large", "spot", "L-34B43A08"),
        ("aws", "trn1.32xlarge", "on-demand", "L-2C3B7624"),
        ("aws", "trn2.48xlarge", "spot", "L-6B0D517C"),
        ("aws", "trn1.32xlarge", "block", "L-2E30FD7D"),
        ("aws", "trn2.48xlarge", "block", "L-64569A79"),
        ("aws", "hpc7a.96xlarge", "on-demand", "L-F7808C92"),
        ("aws", "hpc7a.96xlarge", "spot", None),
        ("gcp", "a2-highgpu-8g", "on-demand", "NVIDIA_A100_GPUS"),
        ("gcp", "a2-megagpu-16g", "spot", "PREEMPTIBLE_NVIDIA_A100_GPUS"),
        ("gcp", "a2-ultragpu-8g", "on-demand", "NVIDIA_A100_80GB_GPUS"),
        ("gcp", "a2-ultragpu-8g", "flex", "PREEMPTIBLE_NVIDIA_A100_80GB_GPUS"),
        ("gcp", "g2-standard-4", "on-demand", "NVIDIA_L4_GPUS"),
        ("gcp", "g2-standard-4", "spot", "PREEMPTIBLE_NVIDIA_L4_GPUS"),
        ("gcp", "a3-highgpu-8g", "spot", "PREEMPTIBLE_NVIDIA_H100_GPUS"),
        ("gcp", "a3-megagpu-8g", "flex", "PREEMPTIBLE_NVIDIA_H100_MEGA_GPUS"),
        ("gcp", "a3-ultragpu-8g", "flex", "PREEMPTIBLE_NVIDIA_H200_GPUS"),
        ("gcp", "a4-highgpu-8g", "spot", "PREEMPTIBLE_NVIDIA_B200_GPUS"),
        ("gcp", "a3-highgpu-8g", "on-demand", "GPUS-PER-GPU-FAMILY-per-project-region"),
        ("gcp", "g4-standard-48", "on-demand", "GPUS-PER-GPU-FAMILY-per-project-region"),
        ("gcp", "a4x-highgpu-4g", "reserved", None),
        ("gcp", "c2-standard-8", "on-demand", "C2_CPUS"),
        ("gcp", "c3-standard-8", "on-demand", "C3_CPUS"),
        ("gcp", "n2-standard-80", "on-demand", "N2_CPUS"),
        ("metal", "dgx-h100", "on-demand", None),
    ],
)
def test_the_quota_that_counts_a_machine(target: str, machine: str, capacity: str, code: str | None) -> None:
    quota = first(target, machine, capacity)
    assert (quota.code if quota else None) == code


def test_p6_and_b200_have_no_quota_of_another_family() -> None:
    quota = first("gcp", "g4-standard-48", "on-demand")
    assert quota is not None
    assert dict(quota.dimensions) == {"gpu_family": "NVIDIA_RTX_PRO_6000"}
    assert [found.code for found in catalog.quotas_for("gcp", "a2-highgpu-8g", "on-demand")] == ["NVIDIA_A100_GPUS", "A2_CPUS"]


def test_what_nodes_take_of_a_quota() -> None:
    machine = catalog.machine("aws", "p5.48xlarge")
    on_demand = first("aws", machine.name, "on-demand")
    assert on_demand is not None
    assert on_demand.amount(nodes=4, vcpus=machine.vcpus, gpus=machine.gpus) == 4 * 192
    assert on_demand.default == 0
    by_gpus = first("gcp", "a3-highgpu-8g", "spot")
    assert by_gpus is not None
    assert by_gpus.amount(nodes=4, vcpus=208, gpus=8) == 32
    assert by_gpus.default is None


def test_new_accounts_of_aws_have_no_gpus() -> None:
    assert {quota.default for quota in catalog.quotas("aws") if "Standard" not in quota.name} == {0}
    assert {quota.default for quota in catalog.quotas("aws") if "Standard" in quota.name} == {5}


def test_the_quota_that_counts_storage() -> None:
    quota = catalog.storage_quota_for("gcp", "hyperdisk-balanced")
    assert quota is not None
    assert (quota.code, quota.unit) == ("HDB_TOTAL_GB", "GiB")
    assert catalog.storage_quota_for("gcp", "managed-lustre") is None
    with pytest.raises(KeyError):
        quota.amount(nodes=1, vcpus=1, gpus=1)
