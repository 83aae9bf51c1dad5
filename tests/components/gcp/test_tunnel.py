"""`access.tunnel`: login nodes without a public address, which people and `up` reach through Identity-Aware Proxy."""

import functools
import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pulumi
import pytest

from blueprints import load
from blueprints.spec import ClusterSpec
from components.finish import inventory
from components.gcp import rest, tunnel
from components.inspection import ssh
from components.inspection.recorded_cluster import KnownHost
from components.ssh import jump as ssh_jump
from stacks.cli import main
from tests.components.gcp import programs
from tests.components.gcp.standing import Standing
from tests.components.registered import Program
from tests.simcloud.google.client import PROJECT, SimulatedCloud

CARRIED = "gcloud compute start-iap-tunnel starter-test-login-0 22 --listen-on-stdin --verbosity=warning --zone us-central1-b --project our-project"


@pytest.fixture(autouse=True)
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program by the name of the CLI first on PATH; it only prints its words."""
    program = tmp_path / "bin" / tunnel.PROGRAM
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


@functools.cache
def starter() -> Program:
    return programs.program("starter", access__tunnel=True, access__login_nodes=2, network__zones=["us-central1-b"])


def test_nothing_of_it_is_public_and_only_the_proxy_gets_in() -> None:
    found = starter()
    kinds = {one.type.rpartition(":")[2] for one in programs.gcp(found)}
    assert kinds.isdisjoint({"ForwardingRule", "RegionBackendService", "InstanceGroup"}), "there is no load balancer"
    assert [one.name for one in programs.of(found, "compute:Address") if one.inputs.get("addressType") == "EXTERNAL" and "login" in one.name] == []
    sources = {one.name: one.inputs["sourceRanges"] for one in programs.of(found, "Firewall") if one.inputs.get("sourceRanges")}
    assert sources == {"tunnel-firewall": ["35.235.240.0/20"]}
    (rule,) = [one.inputs for one in programs.of(found, "Firewall") if one.name == "tunnel-firewall"]
    assert [one.partition("@")[0].endswith("-access") for one in rule["targetServiceAccounts"]] == [True], "of login nodes alone"


def test_hosts_are_finished_through_the_first_login_node_whose_key_is_known() -> None:
    hosts = _described(starter())
    assert {(one["jump"], one["jump_command"]) for one in hosts.values()} == {("starter-test-login-0", CARRIED)}
    written = inventory.known_hosts([inventory.FinishedHost(**hosts["control-0"])])
    assert [line.split()[0] for line in written][1:] == ["starter-test-login-0"]


def test_without_a_tunnel_nothing_is_said_of_it() -> None:
    assert all("jump_command" not in one for one in _described(programs.library("starter")).values())


def _described(found: Program) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for hosts in found.outputs["hosts"] for one in hosts}


def test_every_way_to_a_host_carries_its_jump_through_the_proxy(tmp_path: Path, cli: Path) -> None:
    host = inventory.FinishedHost("control-0", "10.0.0.5", "1", "ssh-ed25519 AAAA", "login-0", "ssh-ed25519 BBBB", CARRIED)
    known = KnownHost("control-0", "control", "control", "10.0.0.5", "1", "ssh-ed25519 AAAA", "login-0", "ssh-ed25519 BBBB", jump_command=CARRIED)
    chosen = ["-i", "/a key", "-F", "/dev/null"]
    ways = [ssh_jump.through(chosen, host.jump, host.jump_command)[1], ssh.command(known, chosen)[7]]
    variables = inventory.inventory({"control": [host]})["control"]["hosts"]["control-0"]
    ways.append(shlex.split(variables["ansible_ssh_common_args"])[1])
    for way in ways:
        inner = shlex.split(way.removeprefix("ProxyCommand="))
        assert f"ProxyCommand={CARRIED}" in inner
        assert inner[-3:] == ["-W", "[%h]:%p", "root@login-0"]
    said = subprocess.run(["ssh", "-G", *chosen[2:], "-o", f"ProxyCommand={CARRIED}", "login-0"], capture_output=True, text=True, check=True).stdout
    assert f"proxycommand {CARRIED}" in said.splitlines(), "ssh reads it as it is written"
    shown = subprocess.run(["sh", "-c", CARRIED], capture_output=True, text=True, check=True).stdout.splitlines()
    assert shown[:4] == ["compute", "start-iap-tunnel", "starter-test-login-0", "22"]


@pytest.mark.parametrize("roles", [["roles/viewer"], ["roles/viewer", tunnel.ROLE]])
def test_who_may_not_use_the_proxy_is_told_before_anything_is_created(
    cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], roles: list[str]
) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(rest.TOKEN_VARIABLE, _token(cloud, roles))
    file = tmp_path / "mine.yaml"
    file.write_text("name: tiny\naccess:\n  tunnel: true\npools: {batch: {machine: n2-standard-8, nodes: 1, image: ours}}\nnetwork: {region: us-central1}\n")
    main.main(["check", str(file), "--target", "gcp", "--live", "--json"])
    found = [(one["where"]["path"], one["remedy"]) for one in json.loads(capsys.readouterr().out)["findings"] if one["code"] == "CW817"]
    assert [path for path, _ in found] == ([] if tunnel.ROLE in roles else ["access.tunnel"])
    assert all(tunnel.ROLE in remedy for _, remedy in found)


def _token(cloud: SimulatedCloud, roles: list[str]) -> str:
    """Give a token of an account with these roles on the project."""
    path = f"/v1/projects/{PROJECT}"
    cloud.request("iam.googleapis.com", "POST", f"{path}/serviceAccounts", body={"accountId": "somebody", "serviceAccount": {}})
    email = f"somebody@{PROJECT}.iam.gserviceaccount.com"
    policy = {"bindings": [{"role": role, "members": [f"serviceAccount:{email}"]} for role in roles]}
    answer = cloud.request("cloudresourcemanager.googleapis.com", "POST", f"{path}:setIamPolicy", body={"policy": policy})
    assert answer.status == 200, answer.body
    return cloud.token_of(email)


def test_without_the_cli_one_page_says_what_to_install(cli: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.unlink()
    monkeypatch.setenv("PATH", str(cli.parent))
    with pytest.raises(pulumi.RunError, match="there is no program gcloud") as page:
        tunnel.require_cli()
    assert tunnel.ROLE in str(page.value)


def test_a_target_without_a_tunnel_keeps_its_load_balancer() -> None:
    clusters: dict[str, ClusterSpec] = {
        name: load.examine("starter", target=name, stack="test", facts=programs.MACHINE, overrides={"access.tunnel": True}).spec for name in ("aws", "gcp")
    }
    assert {name: (one.login.tunnel, one.login.load_balancer) for name, one in clusters.items()} == {"aws": (False, True), "gcp": (True, False)}


@pytest.mark.engine
@pytest.mark.soak
def test_the_tunnel_comes_and_goes_with_the_blueprint(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch, cli: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", f"{cli.parent}:{os.environ['PATH']}")
    with Standing.of(tmp_path / "stack", cloud, programs.CPU, access__tunnel=True) as stack:
        stack.up()
        assert cloud.things("compute.forwardingRules") == []
        (login, *_) = [one.id.rpartition("/")[2] for one in cloud.things("compute.instances") if one.id.endswith("login-0")]
        assert stack.succeed("stack", "output", "front").strip() == login
        stack.succeed("up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")
        before = {one.id: one.properties["id"] for one in cloud.things("compute.instances")}
        stack.change(access__tunnel=False)
        stack.up()
        assert len(cloud.things("compute.forwardingRules")) == 1
        assert {one.id: one.properties["id"] for one in cloud.things("compute.instances")} == before, "no host is replaced"
        stack.destroy()
        assert cloud.things() == []
