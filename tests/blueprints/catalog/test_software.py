"""Software profiles and what fits what."""

import dataclasses
import re

import pytest

from blueprints import catalog, spec

UBUNTU = {"ubuntu-24.04": "noble", "ubuntu-22.04": "jammy", "debian-12": "bookworm", "debian-13": "trixie"}
WHERE: dict[str, list[tuple[str | None, str | None]]] = {
    # Everything that a profile is made for: the GPUs' architecture and the fabric of machines of its targets.
    "ubuntu-24.04-aws": [("ampere", "efa"), ("ada", "efa"), ("hopper", "efa"), ("blackwell", "efa")],
    "ubuntu-24.04-aws-arm64": [("blackwell", "efa")],
    "ubuntu-24.04-gcp": [("ampere", None), ("ada", None), ("hopper", "gcp-tcpxo"), ("hopper", "gcp-gib"), ("blackwell", "gcp-gib")],
    "ubuntu-24.04-gcp-arm64": [("blackwell", "gcp-gib")],
    "ubuntu-24.04-metal": [("ampere", "ib-hdr"), ("hopper", "ib-ndr"), ("blackwell", "ib-xdr"), ("hopper", "roce")],
    "ubuntu-24.04-metal-arm64": [("blackwell", "ib-ndr")],
    "debian-12": [(None, None)],
    "debian-13": [(None, None)],
    "debian-13-aws": [(None, None)],
    "debian-13-gcp": [(None, None)],
    "ubuntu-24.04": [(None, None)],
}
VERSIONS = {
    "ubuntu-24.04-aws": ("23.11", "580.178.04", "13.0.2", "2.30.4", "1.50.0", "", "", ""),
    "ubuntu-24.04-aws-arm64": ("25.11", "580.126.20", "13.0.2", "2.30.4", "1.47.0", "", "", ""),
    "ubuntu-24.04-gcp": ("23.11", "580", "13.0.2", "2.27.5", "", "1.1.0", "1.0.17", ""),
    "ubuntu-24.04-gcp-arm64": ("23.11", "580", "13.0", "2.30.4", "", "1.1.2", "", ""),
    "ubuntu-24.04-metal": ("23.11", "580.178.04", "13.0.2", "2.30.4", "", "", "", ""),
    "ubuntu-24.04-metal-arm64": ("23.11", "580.126.20", "13.0.2", "2.30.4", "", "", "", "3.2.0"),
    "debian-12": ("22.05", "", "", "", "", "", "", ""),
    "debian-13": ("24.11", "", "", "", "", "", "", ""),
    "debian-13-aws": ("24.11", "", "", "", "", "", "", ""),
    "debian-13-gcp": ("24.11", "", "", "", "", "", "", ""),
    "ubuntu-24.04": ("23.11", "", "", "", "", "", "", ""),
}
GOOD = catalog.profile("ubuntu-24.04-aws")


def test_the_profiles_of_each_target() -> None:
    assert catalog.software_names(catalog.machine_target()) == ("debian-12", "debian-13", "ubuntu-24.04")
    assert {target: catalog.software_names(target) for target in ("aws", "gcp", "metal")} == {
        "aws": ("debian-13-aws", "ubuntu-24.04-aws", "ubuntu-24.04-aws-arm64"),
        "gcp": ("debian-13-gcp", "ubuntu-24.04-gcp", "ubuntu-24.04-gcp-arm64"),
        "metal": ("debian-12", "debian-13", "ubuntu-24.04", "ubuntu-24.04-metal", "ubuntu-24.04-metal-arm64"),
    }
    assert set(catalog.profile_names()) == set(WHERE) == set(VERSIONS)


@pytest.mark.parametrize("name", catalog.profile_names())
def test_every_profile_is_complete(name: str) -> None:
    profile = catalog.profile(name)
    assert profile.profile == name
    assert profile.suite == UBUNTU[profile.os]
    assert profile.arch in ("x86_64", "arm64", "any")
    assert name.endswith("arm64") == (profile.arch == "arm64")
    assert profile.targets
    assert set(profile.targets) <= set(catalog.target_names())
    assert re.fullmatch(r"[0-9]{2}\.[0-9]{2}", profile.slurm)
    assert profile.source
    assert re.fullmatch(r"20[0-9]{2}-[0-9]{2}(-[0-9]{2})?", profile.date)
    assert all(isinstance(value, str) for field, value in dataclasses.asdict(profile).items() if field not in ("targets", "storage", "origins"))
    assert bool(profile.tested_on) == ("local" in profile.targets)
    parts = (profile.slurm, profile.driver, profile.cuda, profile.nccl, profile.efa_installer, profile.gib, profile.tcpxo, profile.doca_ofed)
    assert parts == VERSIONS[name]


def test_the_spec_takes_its_fields_from_the_profile() -> None:
    for name in catalog.profile_names():
        software, profile = catalog.software(name), catalog.profile(name)
        assert isinstance(software, spec.Software)
        for field in ("profile", "os", "suite", "arch", "slurm", "kubernetes", "tested_on"):
            assert getattr(software, field) == getattr(profile, field)
        assert {part: getattr(profile, part) for part, _ in software.versions} == dict(software.versions)
    assert dict(catalog.software("debian-13").versions) == {}
    assert dict(catalog.software("ubuntu-24.04-gcp").versions)["gib"] == "1.1.0"


@pytest.mark.parametrize("name", ["debian-14", "matrix", "../accelerators", ""])
def test_what_is_no_profile_is_an_error(name: str) -> None:
    with pytest.raises(KeyError):
        catalog.profile(name)
    with pytest.raises(KeyError):
        catalog.software(name)


@pytest.mark.parametrize(("name", "architecture", "fabric"), [(name, *where) for name, places in WHERE.items() for where in places])
def test_profiles_fit_what_they_are_made_for(name: str, architecture: str | None, fabric: str | None) -> None:
    assert catalog.faults(catalog.profile(name), architecture, fabric) == ()


def test_every_machine_with_gpus_has_a_profile_that_fits() -> None:
    accelerators = catalog.accelerators()
    without: set[str] = set()
    for target in ("aws", "gcp", "metal"):
        profiles = [catalog.profile(name) for name in catalog.software_names(target)]
        for machine in catalog.machines(target).values():
            if machine.accelerator is None:
                continue
            architecture = accelerators[machine.accelerator].architecture
            alike = [profile for profile in profiles if profile.arch == machine.arch]
            nvlink = accelerators[machine.accelerator].nvlink
            fitting = [profile for profile in alike if not catalog.faults(profile, architecture, machine.fabric, nvlink=nvlink)]
            if not fitting:
                without.add(machine.name)
    # NVLink of B200 and B300 on EC2 needs a program that Ubuntu's archive does not have.
    assert without == {"p6-b200.48xlarge", "p6-b300.48xlarge"}


def changed(**fields: str) -> catalog.Profile:
    return dataclasses.replace(GOOD, **fields)  # type: ignore[arg-type]


BAD = [
    # profile, architecture, fabric, the rule that it breaks, what the fault says
    (
        changed(kernel="7.0.0-1018-aws"),
        "hopper",
        None,
        "lustre-kernel-noble",
        "has kernel 7.0.0-1018-aws where kernel 6.8 or later and older than 7.0 is needed",
    ),
    (changed(kernel="6.5.0-1023-aws"), "hopper", None, "lustre-kernel-noble", "has kernel 6.5.0-1023-aws where"),
    (
        changed(cuda="12.4", driver="520.61.05"),
        "hopper",
        None,
        "cuda-12-driver",
        "has NVIDIA driver 520.61.05 where NVIDIA driver 525.60.13 or later is needed",
    ),
    (changed(driver=""), "ada", None, "gpu-driver", "has no NVIDIA driver"),
    (changed(cuda="12.0", driver="520.61.05"), "hopper", None, "cuda-12-driver", "has NVIDIA driver 520.61.05 where"),
    (changed(driver="570.133.20"), "hopper", None, "cuda-13-driver", "has NVIDIA driver 570.133.20 where NVIDIA driver 580.65.06 or later is needed"),
    (changed(driver="580.65.05"), "hopper", None, "cuda-13-driver", "has NVIDIA driver 580.65.05 where"),
    (changed(cuda="10.2", driver="450.36.06"), "ampere", None, "ampere", "has CUDA 10.2 where CUDA 11.0 or later is needed"),
    (changed(cuda="11.0", driver="450.36.05"), "ampere", None, "ampere", "has NVIDIA driver 450.36.05"),
    (changed(cuda="11.7", driver="520.61.05"), "ada", None, "ada", "has CUDA 11.7 where CUDA 11.8 or later is needed"),
    (changed(cuda="11.8", driver="520.61.04"), "ada", None, "ada", "has NVIDIA driver 520.61.04"),
    (changed(cuda="11.7", driver="520.61.05"), "hopper", None, "hopper", "has CUDA 11.7 where CUDA 11.8 or later is needed"),
    (changed(cuda="11.8", driver="520.61.04"), "hopper", None, "hopper", "has NVIDIA driver 520.61.04"),
    (changed(cuda="12.7", driver="570.133.20"), "blackwell", None, "blackwell", "has CUDA 12.7 where CUDA 12.8 or later is needed"),
    (
        changed(cuda="12.8", driver="570.133.19"),
        "blackwell",
        None,
        "blackwell",
        "has NVIDIA driver 570.133.19 where NVIDIA driver 570.133.20 or later is needed",
    ),
    (changed(efa_installer=""), "ampere", "efa", "efa-installer", "has no EFA installer"),
    (changed(nccl=""), "ampere", "efa", "efa-installer", "has no NCCL"),
    (changed(efa_installer="1.28.0"), "ampere", "efa", "efa-nccl", "has EFA installer 1.28.0 where EFA installer 1.29 or later is needed"),
    (changed(nccl="2.18.4", efa_installer="1.28.0"), "hopper", "efa", "efa-hopper", "has NCCL 2.18.4 where NCCL 2.18.5 or later is needed"),
    (changed(cuda="11.8", driver="525.60.13"), "hopper", "efa", "efa-hopper", "has CUDA 11.8 where CUDA 12.0 or later is needed"),
    (changed(ofi_nccl="1.7.2"), "hopper", "efa", "efa-hopper", "has plugin aws-ofi-nccl 1.7.2 where plugin aws-ofi-nccl 1.7.3 or later is needed"),
    (changed(rxdm="1.0.23"), "hopper", "gcp-tcpxo", "tcpxo", "has no TCPXO plugin"),
    (changed(tcpxo="1.0.17"), "hopper", "gcp-tcpxo", "tcpxo", "has no receive daemon (RxDM)"),
    (changed(tcpxo="1.0.17", rxdm="1.0.23"), "hopper", "gcp-tcpxo", "tcpxo-module", "has no kernel module of TCPXO (dmabuf-import-helper)"),
    (changed(gib="1.0.1"), "hopper", "gcp-gib", "gib", "has gIB plugin 1.0.1 where gIB plugin 1.0.2 or later is needed"),
    (changed(gib=""), "hopper", "gcp-gib", "gib", "has no gIB plugin where gIB plugin 1.0.2 or later is needed"),
    (changed(gib="1.0.6", arch="arm64"), "blackwell", "gcp-gib", "gib-arm64", "has gIB plugin 1.0.6 where gIB plugin 1.0.7 or later is needed"),
    (changed(kernel=""), "hopper", None, "lustre-kernel", "has no kernel"),
    (
        changed(os="ubuntu-22.04", lustre_client="2.15.6", kernel="5.15.0-1019-aws"),
        "hopper",
        None,
        "lustre-kernel-jammy",
        "has kernel 5.15.0-1019-aws where kernel 5.15.0-1020 or later is needed",
    ),
    (
        changed(container_toolkit="1.17.7"),
        "hopper",
        None,
        "container-toolkit",
        "has NVIDIA container toolkit 1.17.7 where NVIDIA container toolkit other than 1.17.7",
    ),
    (dataclasses.replace(catalog.profile("ubuntu-24.04-metal"), nccl=""), "hopper", "ib-ndr", "infiniband-nccl", "has no NCCL"),
    (dataclasses.replace(catalog.profile("ubuntu-24.04-metal"), rdma_core=""), "hopper", "ib-ndr", "infiniband-driver", "has no DOCA-OFED or rdma-core"),
]


@pytest.mark.parametrize(("profile", "architecture", "fabric", "rule", "what"), BAD, ids=lambda given: given if isinstance(given, str) else "")
def test_what_does_not_fit_is_found(profile: catalog.Profile, architecture: str, fabric: str | None, rule: str, what: str) -> None:
    found = [fault for fault in catalog.faults(profile, architecture, fabric) if fault.rule == rule]
    assert len(found) == 1
    (fault,) = found
    assert fault.what.startswith(f"the software profile `{profile.profile}` {what}")
    assert fault.remedy.startswith("choose a software profile")
    assert not any(sentence.endswith(".") for sentence in dataclasses.astuple(fault))


def test_only_the_rule_of_its_own_cuda_asks_for_a_driver() -> None:
    assert [fault.rule for fault in catalog.faults(changed(cuda="13.0", driver="520.61.05"), "hopper", None)] == ["cuda-13-driver"]


def test_nvlink_of_b200_needs_its_subnet_manager_and_a_blackwell_gpu_without_nvlink_does_not() -> None:
    (fault,) = catalog.faults(GOOD, "blackwell", "efa", nvlink=True)
    assert fault.rule == "nvlink-subnet-manager"
    assert fault.what == "the software profile `ubuntu-24.04-aws` has no NVLink Subnet Manager"
    assert catalog.faults(changed(nvlsm="2025.10.14"), "blackwell", "efa", nvlink=True) == ()
    assert catalog.faults(GOOD, "blackwell", "efa") == ()
    assert catalog.faults(GOOD, "hopper", "efa", nvlink=True) == ()


def test_the_device_plugin_of_kubernetes_needs_the_container_toolkit_on_servers() -> None:
    plugin = ("nvidia-device-plugin",)
    metal = catalog.profile("ubuntu-24.04-metal")
    without = dataclasses.replace(metal, container_toolkit="")
    (fault,) = catalog.faults(without, "hopper", None, addons=plugin)
    assert (fault.rule, fault.what) == ("device-plugin-toolkit", "the software profile `ubuntu-24.04-metal` has no NVIDIA container toolkit")
    assert catalog.faults(metal, "hopper", None, addons=plugin) == ()
    assert catalog.faults(without, "hopper", None) == ()
    assert catalog.faults(without, None, None, addons=plugin) == ()


def test_what_comes_from_outside_of_the_archive_is_proved_by_a_checksum_or_a_key() -> None:
    profile = catalog.profile("ubuntu-24.04-aws")
    origins = dict(profile.origins)
    assert {"efa_installer_sha256", "mountpoint_sha256", "lustre_client_key"} <= set(origins)
    assert all(re.fullmatch("[0-9a-f]{64}", value) for name, value in origins.items() if name.endswith("_sha256"))
    assert re.fullmatch("[0-9A-F]{40}", origins["lustre_client_key"])
    assert catalog.software("ubuntu-24.04-aws").origins == profile.origins
    assert catalog.software("debian-13-aws").origins == ()


def test_each_rule_is_seen_to_fail() -> None:
    assert {row[3] for row in BAD} | {"nvlink-subnet-manager", "device-plugin-toolkit"} == {rule.name for rule in catalog.rules()}
    for rule in catalog.rules():
        assert catalog.source(rule.source).where
        assert rule.as_of.startswith("20")


@pytest.mark.parametrize(
    ("profile", "architecture", "fabric"),
    [
        (changed(nccl="2.18.5", efa_installer="1.28.0"), "hopper", "efa"),
        (changed(efa_installer="1.29.0"), "hopper", "efa"),
        (changed(cuda="12.8.1", driver="570.133.20"), "blackwell", "efa"),
        (changed(driver="580"), "blackwell", "efa"),
        (changed(container_toolkit="1.17.8"), "hopper", "efa"),
        (changed(lustre_client="2.15.6", kernel="6.8.0-1024-aws"), "hopper", "efa"),
        (changed(os="ubuntu-22.04", lustre_client="2.15.6", kernel="5.15.0-1020-aws"), "hopper", "efa"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_just_fits_is_left_alone(profile: catalog.Profile, architecture: str, fabric: str) -> None:
    assert catalog.faults(profile, architecture, fabric) == ()


@pytest.mark.parametrize(
    ("version", "features"),
    [
        ("22.05", set()),
        ("23.11", {"backup-controller-check", "auth-slurm", "topology-block"}),
        ("24.11", set(catalog.slurm_features()) - {"topology-yaml"}),
        ("25.11", set(catalog.slurm_features())),
    ],
)
def test_what_slurm_can_do_depends_on_its_version(version: str, features: set[str]) -> None:
    assert {name for name in catalog.slurm_features() if catalog.slurm_has(version, name)} == features


def test_features_of_slurm_are_sourced() -> None:
    since = {name: feature.since for name, feature in catalog.slurm_features().items()}
    assert since == {
        "backup-controller-check": "23.11",
        "auth-slurm": "23.11",
        "topology-block": "23.11",
        "segment": "24.05",
        "exclusive-topology": "24.05",
        "block-sizes": "24.05",
        "imex": "24.05",
        "restricted-cores-per-gpu": "24.05",
        "max-powered-nodes": "24.05",
        "topology-yaml": "25.05",
    }
    assert all(catalog.source(feature.source).where and feature.what for feature in catalog.slurm_features().values())
    with pytest.raises(KeyError):
        catalog.slurm_has("25.11", "teleport")


@pytest.mark.parametrize("name", [name for name in catalog.profile_names() if "aws" in catalog.profile(name).targets and catalog.profile(name).kubernetes])
def test_the_price_of_the_control_plane_is_that_of_the_profile_s_kubernetes(name: str) -> None:
    """1.32 left standard support on 2026-03-23, and costs six times as much since."""
    profile = catalog.profile(name)
    for region in ("us-east-1", "us-west-2"):
        price = catalog.service_price("aws", "kubernetes", region=region)
        assert price is not None
        assert price.note.startswith(f"Kubernetes {profile.kubernetes} is in standard support until ")
        assert price.note.partition("until ")[2][:10] > f"{profile.date}-31"
    assert profile.kubernetes in catalog.source("eks-calendar").note
