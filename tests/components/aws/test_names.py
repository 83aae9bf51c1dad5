"""Names and tags: within every service's limits for the longest cluster, stack, pool and file system, and never the same for two things."""

import itertools
import re

import pytest

from blueprints.language import names as language
from components.aws import names
from tests.components import registered
from tests.components.aws import programs

LONGEST_STACK = "s" * 100  # Pulumi allows a stack so long a name
CLUSTERS = ("a", "starter", "x" * language.CLUSTER_LENGTH, "internal-tools", "sg-team", "aws-lab", "amazon")
STACKS = ("dev", "Prod_EU.1", LONGEST_STACK)
PARTS = (("login",), ("compute", "p" * language.POOL_LENGTH), ("f" * language.STORAGE_LENGTH, "final"))
KINDS = ("iam_role", "instance_profile", "load_balancer", "target_group", "launch_template", "placement_group", "security_group", "secret", "log_group")
MORE_KINDS = ("backup", "bucket_prefix", "creation_token", "database", "image_builder", "subnet_group")
LIMITS = {
    "iam_role": 64,
    "instance_profile": 128,
    "load_balancer": 32,
    "target_group": 32,
    "launch_template": 128,
    "placement_group": 255,
    "security_group": 255,
    "secret": 512,
    "log_group": 512,
    "backup": 50,
    "bucket_prefix": 36,  # S3 adds 26 characters, and 63 are allowed
    "creation_token": 64,
    "database": 63,
    "image_builder": 126,
    "subnet_group": 255,
}


@pytest.mark.parametrize("kind", [*KINDS, *MORE_KINDS])
def test_a_name_is_within_the_limit_of_its_service(kind: str) -> None:
    for cluster, stack, parts in itertools.product(CLUSTERS, STACKS, PARTS):
        name = names.Names(cluster, stack).name(kind, *parts)
        assert len(name) <= LIMITS[kind], name
        assert re.fullmatch("[a-z]([a-z0-9]|-(?!-))*[a-z0-9]", name), name
        assert not name.startswith(("aws", "amazon", "internal-", "sg-")), name


@pytest.mark.parametrize("kind", KINDS)
def test_two_things_never_have_one_name(kind: str) -> None:
    made = [names.Names(cluster, stack).name(kind, *parts) for cluster, stack, parts in itertools.product(CLUSTERS, STACKS, PARTS)]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a-b", "c"), ("a", "b-c")),
        (("a", "Dev"), ("a", "dev")),
        (("a", "b.c"), ("a", "b_c")),
        (("x" * 40, "dev"), ("x" * 40, "dex")),
    ],
)
def test_clusters_and_stacks_that_look_alike_keep_apart(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert names.Names(*one).name("load_balancer", "login") != names.Names(*other).name("load_balancer", "login")


def test_an_ordinary_name_is_written_out() -> None:
    assert names.Names("starter", "dev").name("load_balancer", "login") == "starter-dev-login"


def test_a_name_that_a_service_refuses_at_its_beginning_gets_another() -> None:
    assert names.Names("internal-tools", "dev").name("load_balancer", "login").startswith("cw-internal-tools-")


def test_tags_of_the_blueprint_are_there_and_never_in_place_of_our_own() -> None:
    tags = names.Names("starter", "dev", (("cost-center", "42"), ("clusterwright:stack", "another")), "0123").tags("network", "vpc")
    assert tags == {
        "cost-center": "42",
        "clusterwright:stack": "dev",
        "clusterwright:cluster": "starter",
        "clusterwright:owner": "0123",
        "clusterwright:part": "network",
        "Name": "starter-dev-vpc",
    }


def test_the_longest_names_of_a_blueprint_stand_up() -> None:
    """Every name that ends up in the account, not those of this table alone."""
    spec = programs.resolved("llm-pretraining")
    longest = programs.renamed(spec, cluster="c" * language.CLUSTER_LENGTH, pool="p" * language.POOL_LENGTH)
    found = programs.program("llm-pretraining", spec=longest)
    limits = {"LoadBalancer": 32, "TargetGroup": 32, "Role": 64, "PlacementGroup": 255, "LaunchTemplate": 128, "SecurityGroup": 255, "Secret": 512}
    seen = {one.type.rpartition(":")[2] for one in programs.aws(found) if "name" in one.inputs}
    assert limits.keys() <= seen
    for one in programs.aws(found):
        kind = one.type.rpartition(":")[2]
        assert len(one.inputs.get("name", "")) <= limits.get(kind, 255), one.name
        assert all(len(key) <= 128 and len(value) <= 256 for key, value in one.inputs.get("tags", {}).items())


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_tags_name_the_part_and_the_resource(blueprint: str) -> None:
    for one in programs.aws(programs.library(blueprint)):
        if tags := one.inputs.get("tags"):
            assert tags["clusterwright:part"] in ("access", "compute", "control", "image", "network", "storage"), one.name
            assert tags["Name"].startswith(f"{blueprint}-{registered.STACK}-"), one.name


def test_tags_of_the_blueprint_reach_everything() -> None:
    found = programs.program("starter", tags={"cost-center": "42"})
    assert all(one.inputs["tags"]["cost-center"] == "42" for one in programs.aws(found) if "tags" in one.inputs)
    (template,) = programs.of(found, "LaunchTemplate")
    assert all(specified["tags"]["cost-center"] == "42" for specified in template.inputs["tagSpecifications"])
