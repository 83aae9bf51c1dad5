"""The software profile: usual, named, for another place, for another processor."""

from typing import Any

import pytest

from blueprints.codes import Code
from tests.blueprints.resolve import asked

ERROR = "error"
ARM = {"machine": "p6e-gb200.36xlarge", "nodes": 18, "capacity": "block"}
TRAYS = {"machine": "gb200-nvl72-tray", "nodes": 18, "fabric": "none"}


@pytest.mark.parametrize(
    ("target", "software", "pools", "profile", "codes"),
    [
        ("aws", None, None, "ubuntu-24.04-aws", set()),
        ("gcp", None, None, "ubuntu-24.04-gcp", set()),
        ("metal", None, None, "ubuntu-24.04-metal", set()),
        ("local", None, None, "debian-13", set()),
        ("aws", None, {"train": ARM}, "ubuntu-24.04-aws-arm64", set()),
        ("local", "debian-12", None, "debian-12", set()),
        ("local", "debian-14", None, "debian-13", {(ERROR, Code.SOFTWARE_UNKNOWN)}),
        ("aws", "matrix", None, "ubuntu-24.04-aws", {(ERROR, Code.SOFTWARE_UNKNOWN)}),
        ("aws", "debian-13", None, "ubuntu-24.04-aws", {(ERROR, Code.SOFTWARE_TARGET)}),
        ("local", "ubuntu-24.04-aws", None, "ubuntu-24.04", {("note", Code.SOFTWARE_REHEARSED)}),
        ("local", "ubuntu-24.04-metal", None, "ubuntu-24.04", {("note", Code.SOFTWARE_REHEARSED)}),
        ("metal", "debian-13-gcp", None, "ubuntu-24.04-metal", {(ERROR, Code.SOFTWARE_TARGET)}),
        ("aws", None, {"train": ARM, "cpu": {"nodes": 1}}, "ubuntu-24.04-aws-arm64", set()),
        ("aws", None, {"train": ARM, "cpu": {"machine": "m7i.large", "nodes": 1}}, "ubuntu-24.04-aws-arm64", {(ERROR, Code.ARCHITECTURES_MIXED)}),
        ("aws", None, {"train": ARM, "cpu": {"machine": "m7i.large", "nodes": 1, "image": "ami-1"}}, "ubuntu-24.04-aws-arm64", set()),
        ("aws", "ubuntu-24.04-aws", {"train": ARM}, "ubuntu-24.04-aws", {(ERROR, Code.ARCHITECTURES_MIXED)}),
        ("aws", "ubuntu-24.04-aws", {"train": {**ARM, "image": "ami-1"}}, "ubuntu-24.04-aws", set()),
        ("metal", "ubuntu-24.04-metal", {"train": TRAYS}, "ubuntu-24.04-metal", {(ERROR, Code.ARCHITECTURES_MIXED)}),
        ("metal", "ubuntu-24.04-metal", {"train": {**TRAYS, "image": "ours"}}, "ubuntu-24.04-metal", {(ERROR, Code.ARCHITECTURES_MIXED)}),
        ("local", None, {"train": ARM}, "debian-13", {("note", Code.CAPACITY_IGNORED)}),
    ],
)
def test_the_software_profile(target: str, software: str | None, pools: dict[str, Any] | None, profile: str, codes: set[tuple[str, str]]) -> None:
    more: dict[str, Any] = {"software": software} if software else {}
    attempted = asked.attempt(pools, target=target, **more)
    assert attempted.spec.software.profile == profile
    assert asked.found(attempted) == codes


@pytest.mark.parametrize(("target", "software", "pool", "advised"), [("aws", "ubuntu-24.04-aws", ARM, True), ("metal", "ubuntu-24.04-metal", TRAYS, False)])
def test_an_image_of_its_own_is_advised_only_where_hosts_start_from_images(target: str, software: str, pool: dict[str, Any], *, advised: bool) -> None:
    (mixed,) = [one for one in asked.attempt({"train": pool}, target=target, software=software).findings if one.code is Code.ARCHITECTURES_MIXED]
    assert ("`image`" in mixed.remedy) is advised


def test_a_profile_of_another_target_is_answered_with_those_of_this_one() -> None:
    attempted = asked.attempt(software="debian-13")
    (only,) = [one for one in attempted.findings if one.code == Code.SOFTWARE_TARGET]
    assert "`targets.aws.software`" in only.remedy
    assert "`ubuntu-24.04-aws`" in only.remedy
    assert "`debian-13`" not in only.remedy


def test_a_mirror_serves_the_image_of_a_cloud_too() -> None:
    attempted = asked.attempt(software="ubuntu-24.04-aws", archives={"nvidia": {"address": "https://mirror.example.org/cuda"}})
    usual = dict(asked.attempt(software="ubuntu-24.04-aws").spec.software.origins)
    assert dict(attempted.spec.software.origins) == {**usual, "nvidia_archive_address": "https://mirror.example.org/cuda"}


def test_a_mirror_takes_the_place_of_nvidia_s_archive_and_stand_ins_are_said() -> None:
    usual = asked.attempt(None, target="metal").spec
    mirror = {"address": "https://mirror.example.org/cuda", "key": "A" * 40, "simulated": True}
    spec = asked.attempt(None, target="metal", archives={"nvidia": mirror, "nvidia_container": {"address": "https://mirror.example.org/toolkit"}}).spec
    origins = dict(usual.software.origins)
    changed = {
        "nvidia_archive_address": "https://mirror.example.org/cuda",
        "nvidia_archive_key": "A" * 40,
        "nvidia_archive_simulated": "yes",
        "nvidia_container_archive_address": "https://mirror.example.org/toolkit",
    }
    assert dict(spec.software.origins) == {**origins, **changed}, "a plain copy has the vendor's key"
    assert usual.simulated == ()
    assert [sentence.partition(":")[0] for sentence in spec.simulated] == ["Package content simulated"]
