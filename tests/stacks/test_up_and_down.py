"""What `up` and `down` say before the engine makes or deletes anything in an account."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from components import registry
from stacks.cli import main, options
from stacks.engine import down

BLUEPRINT = """\
name: sweep
software: debian-13-aws
access: {allowed_cidrs: [203.0.113.7/32]}
network: {region: us-east-1}
storage: {home: {kind: nfs, mount: /home}}
pools: {cpu: {machine: m7i.large, nodes: {min: 0, max: 4}}}
accounts: {research: {}}
users: {ada: {uid: 2001, account: research}}
"""
NOWHERE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stack on AWS, in an environment without any key; gives its blueprint."""
    blueprint, settings = tmp_path / "sweep.yaml", tmp_path / "Pulumi.sweep.yaml"
    blueprint.write_text(BLUEPRINT)
    settings.write_text(json.dumps({"config": {"clusterwright:target": "aws", "clusterwright:blueprint": str(blueprint)}}))
    monkeypatch.setattr(options, "stack_file", lambda _: settings)
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)
    return blueprint


def said(capsys: pytest.CaptureFixture[str]) -> str:
    assert main.main(["up", "--stack", "sweep"]) == 1
    return capsys.readouterr().err


@pytest.mark.engine
def test_up_without_keys_is_one_page(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found, page = said(capsys).partition("error: ")
    assert found
    assert "credentials" in page
    assert "AWS_ACCESS_KEY_ID" in page.partition("  do:  ")[2]
    assert not (stack.parent / ".pulumi").exists(), "the engine has not begun"


def test_up_without_the_targets_sdk_is_one_page(stack: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.Target, "sdk", "an_sdk_that_is_not_there")
    assert said(capsys).endswith(
        "error: the target aws needs Pulumi's SDK for it, which is not installed\n"
        "  why: there is no Python package an_sdk_that_is_not_there: `make setup` installs the SDK of a cloud only when you ask for it\n"
        "  do:  run `make setup EXTRAS=aws`, then the same command again\n"
    )


@pytest.mark.parametrize(
    "changes",
    [
        ({"software: debian-13-aws": "software: ubuntu-24.04-aws-arm64", "m7i.": "m7g."}),
        ({"network:": "control: {managed: true}\nnetwork:"}),
    ],
)
def test_up_refuses_what_is_planned_only_at_its_place(stack: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str]) -> None:
    text = BLUEPRINT
    for right, wrong in changes.items():
        text = text.replace(right, wrong)
    stack.write_text(text)
    assert main.main(["up", "--stack", "sweep"]) == 2
    page = capsys.readouterr().err
    assert "you can plan the cluster but not provision it" in page
    assert f"{stack.name}:" in page


def test_targets_without_an_sdk_of_their_own_need_none() -> None:
    registry.require_sdk("local")
    registry.require_sdk("metal")


def test_down_asks_the_accounts_that_its_stack_has_something_in() -> None:
    recorded: list[dict[str, Any]] = [
        {"type": "pulumi:pulumi:Stack"},
        {"type": "pulumi:providers:aws", "inputs": {"region": "eu-west-1"}},
        {"type": "pulumi:providers:clusterwright"},
        {"type": "aws:ec2/vpc:Vpc", "inputs": {}},
    ]
    assert down.accounts(recorded) == {("aws", "eu-west-1"), ("clusterwright", "")}


@pytest.mark.parametrize("command", ["up", "down", "drift"])
def test_a_command_of_every_day_loads_no_provider_and_nothing_of_kubernetes(command: str) -> None:
    """They would be a quarter of its own time, and the engine starts the provider anyway."""
    words = f"import sys, stacks.cli.{command}; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, cwd=project_root(), check=True).stdout.split()
    assert {f"stacks.cli.{command}", "stacks.engine.commands"} <= set(modules)
    assert {"pulumi", "grpc", "google.protobuf", "cryptography", "components.provider.kinds", "components.inspection.kubernetes"} & set(modules) == set()
