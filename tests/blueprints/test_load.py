"""Loading as a whole: settings over the blueprint, what it imports, and how long it takes as a process of its own."""

import dataclasses
import pathlib
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from blueprints import finding, load, project, spec
from blueprints import language as model
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
LARGE = dataclasses.replace(FACTS, memory_mib=512 * 1024)
BROKEN = pathlib.Path(__file__).parent / "broken"
UNDECIDED = (
    ("reserved-without-zone", Code.CAPACITY_ZONE_MISSING),
    ("zone-local", Code.ZONE_LOCAL),
    ("access-unreachable", Code.ACCESS_UNREACHABLE),
    ("access-unreachable-without-login-nodes", Code.ACCESS_UNREACHABLE),
    ("existing-without-subnets", Code.SUBNETS_UNNAMED),
    ("egress-none-with-images", Code.EGRESS_FOR_IMAGES),
    ("hosts-unnamed", Code.HOSTS_UNNAMED),
    ("host-key-missing", Code.HOST_KEY_MISSING),
)
"""Broken blueprints, and what keeps a cluster from standing in each."""
LOAD_STARTER = """
import sys
sys.path.insert(0, sys.argv[1])
from blueprints import load
from blueprints.facts import Facts
load.load("starter", target="local", stack="local", facts=Facts(1, 2, 1, 24000))
"""


def load_starter(overrides: Mapping[str, Any]) -> spec.ClusterSpec:
    return load.load("starter", target="local", stack="local", facts=FACTS, overrides=overrides)


def test_settings_change_add_and_replace() -> None:
    overrides = {
        "pools.train.nodes": 4,
        "pools.dev": {"nodes": 1},
        "pools.dev.nodes": 3,
        "software": "debian-12",
        "network.cidr": "172.16.0.0/24",
        "users.ada.ssh_keys": [],
    }
    cluster = load_starter(overrides)
    assert [(node_set.pool, node_set.hosts.count) for node_set in cluster.node_sets] == [("train", 4), ("dev", 3)]
    assert cluster.software.suite == "bookworm"
    assert cluster.network.gateway == "172.16.0.1"
    assert load_starter(dict(reversed(overrides.items()))) == cluster


def test_no_settings_change_nothing() -> None:
    assert load_starter({}) == load.load("starter", target="local", stack="local", facts=FACTS)


def test_a_setting_at_fault_is_shown_as_the_setting() -> None:
    with pytest.raises(finding.Invalid) as invalid:
        load_starter({"pools.train.accelerator": "h10"})
    (only,) = invalid.value.findings
    assert only.where == finding.Position("stack setting clusterwright:set", text="pools.train.accelerator: h10")


def test_the_shape_of_a_loaded_cluster_cannot_change() -> None:
    cluster = load_starter({})
    with pytest.raises(dataclasses.FrozenInstanceError):
        cluster.name = "other"  # type: ignore[misc]


def test_every_key_of_the_language_is_described() -> None:
    schema = model.Blueprint.model_json_schema()
    for section in (schema, *schema["$defs"].values()):
        assert section["description"]
        for name, field in section.get("properties", {}).items():
            assert "$ref" in field or field["description"], name  # a section describes itself


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, str(project.project_root()), *arguments]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout


def test_loading_imports_no_engine_no_playbooks_and_no_cloud() -> None:
    modules = run(LOAD_STARTER + "print(*sys.modules)").split()
    assert "blueprints.load" in modules
    foreign = re.compile(r"(pulumi|ansible|boto3?|botocore|google|kubernetes|grpc|components|stacks)(\.|_|$)")
    assert [module for module in modules if foreign.match(module)] == []


def test_seven_thousand_nodes_are_loaded(tmp_path: pathlib.Path) -> None:
    large = tmp_path / "large.yaml"
    pools = "".join(f"  p{number}: {{nodes: 470, accelerator: h100, gpus_per_node: 8}}\n" for number in range(16))
    large.write_text(f"name: large\npools:\n{pools}")
    cluster = load.load(str(large), target="local", stack="local", facts=LARGE)
    assert sum(node_set.hosts.count for node_set in cluster.node_sets) == 7520
    assert cluster.network.cidr.endswith("/19")


@pytest.mark.parametrize(("name", "code"), UNDECIDED)
def test_what_has_to_be_decided_first_can_be_planned_and_not_stood_up(name: str, code: Code) -> None:
    file = BROKEN / f"{name}.yaml"
    target = "metal" if file.read_text().startswith("# target metal") else "aws"
    planned = load.examine(str(file), target=target, stack="t", facts=FACTS)
    assert code in {found.code for found in planned.findings}
    with pytest.raises(finding.Invalid) as invalid:
        load.require_decided(planned)
    assert code in {found.code for found in invalid.value.findings}
    assert {found.level for found in invalid.value.findings} == {finding.Level.ERROR}


def test_every_code_that_keeps_a_cluster_from_standing_has_its_blueprint() -> None:
    assert {code for _, code in UNDECIDED} == {*load.UNDECIDED}
