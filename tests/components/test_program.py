"""The whole program against Pulumi's mocks: which resources it registers, and how they stand to each other."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pulumi
import pytest

from blueprints import load
from blueprints.spec import as_record
from components import this_machine
from components.local.machine.names import STATE_VOLUME
from stacks.program import deploy
from tests.components import registered
from tests.components.registered import Program

SECRETS = {"munge-key": "munge", "admin-key": "ssh", "login-host-key": "ssh", "database-password": "password", "user-ada-key": "ssh"}


def program(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Program:
    """Run the program with settings as the engine hands them over."""
    config = {f"clusterwright:{name}": value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(config))
    return registered.run(deploy)


@pytest.fixture(scope="module")
def starter() -> Program:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return program(monkeypatch)


def test_the_starter_is_these_resources_and_no_others(starter: Program) -> None:
    assert Counter(one.type.removeprefix("clusterwright:") for one in starter.resources) == {
        "index:Cluster": 1, "secret:Secret": 5, "local:Site": 1, "local:Image": 1, "local:Network": 1, "local:Folder": 3, "local:HostPool": 3,
        "local:Balancer": 1, "finish:Group": 2, "accept:Acceptance": 1,
    }  # fmt: skip
    assert len({one.name for one in starter.resources if one.custom}) == 18


def test_a_pool_more_is_one_resource_more(starter: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    two = program(monkeypatch, set={"pools.dev": {"nodes": 3}})
    assert Counter(one.type for one in two.resources) - Counter(one.type for one in starter.resources) == {"clusterwright:local:HostPool": 1}
    assert two.named("dev").inputs["simulated_gpus"] == 0
    assert "dev" in two.named("acceptance").needs


def test_a_registry_of_the_sites_own_is_asked_before_hosts_pull_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = program(monkeypatch, blueprint="starter-kubernetes", set={"kubernetes.registry": "registry.example.org:5000"})
    assert own.named("kubernetes-mirror").inputs["registry"] == "registry.example.org:5000"
    assert "kubernetes-mirror" in own.named("finish-kubernetes").needs
    assert program(monkeypatch, blueprint="starter-kubernetes").of("clusterwright:kubernetes:Mirror") == []


def test_what_hosts_and_playbooks_get_of_keys_is_secret(starter: Program) -> None:
    pools, groups = starter.of("clusterwright:local:HostPool"), [*starter.of("clusterwright:finish:Group"), *starter.of("clusterwright:accept:Acceptance")]
    assert all("munge_key" in pool.secret_inputs for pool in pools)
    assert all({"private_key", "secrets"} <= group.secret_inputs for group in groups)
    assert "host_key" in starter.named("access").secret_inputs
    assert all("admin_public_key" not in pool.secret_inputs for pool in pools)


def test_there_is_a_secret_for_each_key_and_for_each_user_without_one(starter: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {one.name: one.inputs["kind"] for one in starter.of("clusterwright:secret:Secret")} == SECRETS
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7m8xQW3r7v0h8l2b1uV5m9N4Y3q8J6k5t2s1r0z9Yx"
    own = program(monkeypatch, set={"users.ada.ssh_keys": [key]})
    assert {one.name for one in own.of("clusterwright:secret:Secret")} == SECRETS.keys() - {"user-ada-key"}


def test_hosts_need_network_image_and_every_mount(starter: Program) -> None:
    mounts = {"home", "shared"}
    needs = {pool.name: starter.all_needs(pool.name) for pool in starter.of("clusterwright:local:HostPool")}
    assert all({"network", "image", "munge-key", "admin-key", *mounts} <= found for found in needs.values())
    assert {name for name, found in needs.items() if STATE_VOLUME in found} == {"control"}
    assert not {"control", "access", "train"} & {one for found in needs.values() for one in found}, "groups of hosts start side by side"


def test_finishing_needs_its_own_hosts_only(starter: Program) -> None:
    assert {"control"} <= starter.named("finish-control").needs
    assert {"access"} <= starter.named("finish-access").needs
    assert not {"access", "train", "finish-access"} & starter.all_needs("finish-control")
    assert not {"control", "train", "finish-control"} & starter.all_needs("finish-access")


def test_acceptance_comes_last_and_stands_for_every_boot(starter: Program) -> None:
    acceptance = starter.named("acceptance")
    assert {"finish-control", "finish-access", "control", "access", "train"} <= acceptance.needs
    boots = acceptance.inputs["proves"]["boots"]
    assert {host for group in boots for host in group} == {"control-0", "login-0", "train-0", "train-1"}
    assert [set(finished) for finished in acceptance.inputs["proves"]["finished"]] == [{"control-0"}, {"login-0"}]
    assert not any("acceptance" in one.needs for one in starter.resources)


def test_login_nodes_answer_with_one_host_key_behind_the_balancer(starter: Program) -> None:
    assert starter.named("balancer").inputs["backends"] == [{"name": "login-0", "address": starter.named("access").inputs["first_address"]}]
    assert {"access", "network", "image"} <= starter.named("balancer").needs
    assert [pool.name for pool in starter.of("clusterwright:local:HostPool") if pool.inputs["host_key"]] == ["access"]


def test_every_group_of_hosts_has_the_image_the_spec_names(starter: Program) -> None:
    image = starter.named("image").inputs
    assert (image["profile"], image["suite"]) == ("debian-13", "trixie")
    assert len({json.dumps([pool.inputs["image"], pool.inputs["lowers"]]) for pool in starter.of("clusterwright:local:HostPool")}) == 1


def test_the_outputs_are_the_spec_the_login_the_keys_and_the_checks(starter: Program) -> None:
    spec = load.load("starter", target="local", stack=registered.STACK, facts=this_machine.facts())
    assert starter.outputs["spec"] == json.loads(json.dumps(as_record(spec)))
    assert starter.outputs["login"] == {"address": spec.network.balancer_address, "port": 22, "host_key": "public of clusterwright:secret:Secret"}
    assert starter.outputs.keys() == {"spec", "login", "inventory", "user_keys", "acceptance"}
    assert starter.outputs["inventory"].keys() == {"control", "access", "train"}
    assert starter.secret_outputs == {"user_keys"}


def test_every_input_is_one_that_its_kind_knows(starter: Program) -> None:
    """The provider sets aside what it does not know; a misspelt input would be lost in silence."""
    for one in starter.resources:
        if one.custom:
            assert one.inputs.keys() <= {*registered.input_names(one.type)}, one.name


# What stops it


def test_a_bad_blueprint_is_a_page_and_registers_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blueprint = tmp_path / "bad.yaml"
    blueprint.write_text("name: bad\npools:\n  train: {nodes: 2, acelerator: h100}\n")
    with pytest.raises(pulumi.RunError) as failed:
        program(monkeypatch, blueprint=str(blueprint))
    page = str(failed.value)
    assert "bad.yaml:3:21" in page
    assert "                    ^^^^^^^^^^" in page
    assert "accelerator" in page


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"blueprnt": "starter"}, "did you mean clusterwright:blueprint?"),
        ({"blueprint": "startr"}, "did you mean `starter`?"),
        ({"set": "nodes"}, "clusterwright:set"),
        ({"target": "moon"}, "moon"),
    ],
)
def test_a_setting_that_is_of_no_use_is_a_page(settings: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pulumi.RunError) as failed:
        program(monkeypatch, **settings)
    assert said in str(failed.value)
