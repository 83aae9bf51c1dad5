"""What a change of the blueprint makes, and that nothing grows with the number of nodes."""

import base64
from collections import Counter
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aws import image
from tests.components.aws import programs
from tests.components.registered import Program

POOL = {"accelerator": "l4", "gpus_per_node": 1, "fabric": "none", "nodes": {"min": 0, "max": 4}}


def names(found: Program) -> set[tuple[str, str]]:
    return {(one.type, one.name) for one in found.resources}


def test_another_number_of_nodes_is_not_another_template() -> None:
    few, many = programs.library("starter"), programs.program("starter", pools__train__nodes={"min": 0, "max": 7500})
    template = programs.one(many, "LaunchTemplate", "train-template")
    assert template.inputs == programs.one(few, "LaunchTemplate", "train-template").inputs, "running nodes would be those of an old version"


def test_a_pool_more_is_its_template_and_nothing_else_changes_but_the_table() -> None:
    before, after = programs.library("starter"), programs.program("starter", pools__dev=POOL)
    assert {name for _, name in names(after) - names(before)} == {"dev", "dev-template", "dev-nodes", "dev-placement", "dev-placement-spread"}
    for one in programs.aws(after):
        if not one.name.startswith("dev-"):
            assert one.inputs == programs.one(before, one.type.rpartition(":")[2], one.name).inputs, one.name
    table = after.named("finish-control").inputs["provided"]["fleet"]["node_sets"]
    assert [row["name"] for row in table] == ["train", "dev"]


def test_a_pool_is_three_resources() -> None:
    kinds = Counter(one.type.rpartition(":")[2] for one in programs.aws(programs.library("scale-7500")))
    assert (kinds["LaunchTemplate"], kinds["PlacementGroup"]) == (16, 2 * 16)
    assert sum(kinds.values()) - kinds["LaunchTemplate"] - kinds["PlacementGroup"] <= 85


def test_a_file_system_more_reaches_every_kind_of_host() -> None:
    found = programs.program("starter", storage__more={"kind": "nfs", "mount": "/more"})
    for one in (
        programs.one(found, "Instance", "control-0"),
        programs.one(found, "Instance", "login-0"),
        programs.one(found, "LaunchTemplate", "train-template"),
    ):
        assert "/more" in [row[1] for row in programs.user_data(one)["mounts"]], one.name


@pytest.mark.parametrize("blueprint", ["starter", "gb200-nvl72"])
def test_a_preview_asks_nobody(blueprint: str) -> None:
    account = programs.Account()
    programs.program(blueprint, preview=True, account=account)
    assert account.asked == []


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_what_has_a_name_is_never_there_twice_while_it_is_replaced(blueprint: str) -> None:
    """Names that hold what a thing is made of differ by themselves; all others go before their successors come."""
    lasting = {"Component", "ImageRecipe", "Plan", "Selection", "Vault"}
    for one in programs.aws(programs.library(blueprint)):
        if "name" in one.inputs and one.type.rpartition(":")[2] not in lasting:
            assert one.replace_first, one.name


# Images


def test_hosts_start_from_the_image_of_the_profile() -> None:
    found = programs.library("llm-pretraining")
    hosts = [one.inputs["ami"] for one in programs.of(found, "Instance")]
    assert {*hosts, programs.one(found, "LaunchTemplate", "train-template").inputs["imageId"]} == {"ami of image-x86_64"}


def test_an_image_of_ones_own_is_used_for_its_pool() -> None:
    found = programs.program("starter", pools__train__image="ami-0123456789abcdef0")
    assert programs.one(found, "LaunchTemplate", "train-template").inputs["imageId"] == "ami-0123456789abcdef0"


def test_an_image_is_named_by_what_it_is_made_of() -> None:
    software = programs.resolved("starter").software
    found = programs.library("starter")
    (recipe,), (component,) = programs.of(found, "ImageRecipe"), programs.of(found, "Component")
    key = image.fingerprint(software, "x86_64")
    assert recipe.inputs["name"] == component.inputs["name"]
    assert recipe.inputs["name"].startswith(f"starter-test-x86-64-{key}")
    assert key != image.fingerprint(software, "arm64")


def test_an_image_is_built_from_the_roles_on_a_builder_without_a_way_in() -> None:
    found = programs.library("starter")
    (component,), (place,), (recipe,) = (programs.of(found, kind) for kind in ("Component", "InfrastructureConfiguration", "ImageRecipe"))
    assert f"s3://Bucket/image-bucket/{programs.one(found, 'BucketObjectv2', 'image-bundle').inputs['key']}" in component.inputs["data"]
    assert "playbooks/image.yml" in component.inputs["data"]
    assert '"cloud": "aws"' in component.inputs["data"], "the roles are told what for"
    assert len(component.inputs["data"]) < 16_000  # what Image Builder takes
    assert (place.inputs["subnetId"], place.inputs["securityGroupIds"]) == ("Subnet/cluster-subnet", ["SecurityGroup/hosts-security-group"])
    assert recipe.inputs["parentImage"].startswith("ssm:/aws/service/canonical/ubuntu/server/24.04/")


def test_debians_image_is_brought_the_agent_that_the_builder_speaks_with(tmp_path: Path) -> None:
    (tmp_path / "cpu.yaml").write_text("name: cpu\nsoftware: debian-13-aws\npools: {cpu: {machine: m7i.large, nodes: {min: 0, max: 4}}}\n")
    (recipe,) = programs.of(programs.program(str(tmp_path / "cpu.yaml")), "ImageRecipe")
    assert recipe.inputs["parentImage"] == "ssm:/aws/service/debian/release/13/latest/amd64"
    assert recipe.inputs["blockDeviceMappings"][0]["deviceName"] == "/dev/xvda"
    assert recipe.inputs["systemsManagerAgent"] == {"uninstallAfterBuild": True}
    program = base64.b64decode(recipe.inputs["userDataBase64"]).decode()
    assert "fetch https://s3.us-east-1.amazonaws.com/amazon-ssm-us-east-1/latest/debian_amd64/amazon-ssm-agent.deb agent.deb\n" in program
    assert program.index("gpgv --keyring ./key.gpg agent.deb.sig agent.deb") < program.index("dpkg --install agent.deb")
    (ubuntu,) = programs.of(programs.library("starter"), "ImageRecipe")
    assert not {"userDataBase64", "systemsManagerAgent"} & ubuntu.inputs.keys(), "Ubuntu's has it"


def test_what_images_are_built_with_stays_when_an_image_is_another_one() -> None:
    (place,), (recipe,) = (programs.of(programs.library("starter"), kind) for kind in ("InfrastructureConfiguration", "ImageRecipe"))
    key = image.fingerprint(programs.resolved("starter").software, "x86_64")
    assert key in recipe.inputs["name"]
    assert key not in place.inputs["name"]


def test_the_archive_holds_what_the_playbook_reads_and_nothing_from_outside() -> None:
    (bundle,) = programs.of(programs.library("starter"), "BucketObjectv2")
    names = bundle.inputs["source"]["assets"].keys()
    assert {"playbooks/image.yml", "playbooks/ansible.cfg", "playbooks/tasks/install.yml", "playbooks/roles/cloud_host/tasks/main.yml"} <= names
    assert not [name for name in names if ".." in name or "__pycache__" in name or name.startswith("/")]


def test_processors_of_two_kinds_have_an_image_each() -> None:
    spec = programs.resolved("gb200-nvl72")
    kinds = {group.machine.arch for group in spec.host_groups}
    assert {one.name for one in programs.of(programs.library("gb200-nvl72"), "Image")} == {f"image-{arch}" for arch in kinds}


# What stops it


@pytest.mark.parametrize(
    ("blueprint", "overrides", "said"),
    [
        ("starter", {"network__egress": "none", "network__private_endpoints": True}, "egress: nat"),
        ("llm-pretraining-kubernetes", {}, "provision EKS on aws"),
        ("train-and-serve", {}, "provision Slurm on hosts and EKS on aws"),
    ],
)
def test_what_can_not_be_provisioned_is_a_page(blueprint: str, overrides: dict[str, Any], said: str) -> None:
    with pytest.raises(pulumi.RunError) as failed:
        programs.program(blueprint, **overrides)
    assert said in str(failed.value)
