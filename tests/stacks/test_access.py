"""Who may log in, where a blueprint leaves it open: `up` asks in one line, takes the answer from the command line, or says on one page which command does."""

import argparse
import http.server
import io
import json
import re
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from components import errors
from components.aws.account import caller
from stacks import project, settings
from stacks.cli import access, main, options, up
from stacks.engine import commands, state

BLUEPRINT = """\
name: sweep
software: debian-13-aws
network: {region: us-east-1}
storage: {home: {kind: nfs, mount: /home}}
pools: {cpu: {machine: m7i.large, nodes: {min: 0, max: 4}}}
accounts: {research: {}}
users: {ada: {uid: 2001, account: research}}
"""
STACK = "sweep"
OWN = "198.51.100.9"


@pytest.fixture
def blueprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The blueprint of a stack on AWS."""
    file, stored = tmp_path / "sweep.yaml", tmp_path / "Pulumi.sweep.yaml"
    file.write_text(BLUEPRINT)
    stored.write_text(json.dumps({"config": {"clusterwright:target": "aws", "clusterwright:set": {"pools.cpu.nodes.max": 2}}}))
    monkeypatch.setattr(options, "stack_file", lambda _: stored)
    return file


@pytest.fixture
def address_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A service that says from which address it is asked; the list holds its answer."""
    answer = [OWN]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"{answer[0]}\n".encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(caller.public_address, "__defaults__", (f"http://127.0.0.1:{server.server_port}/",))
        yield answer
        server.shutdown()


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let a person type into the command's terminal."""
    terminal = io.StringIO(text)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)


def decided(*words: str) -> tuple[tuple[str, ...], dict[str, object] | None]:
    """Give the networks that may log in, and the values that the stack gets."""
    parser = argparse.ArgumentParser()
    up.arguments(parser)
    given = parser.parse_args(["--stack", STACK, *words])
    found = access.decided(given)
    return found.spec.login.allowed_cidrs, options.values_to_record(given)


def test_without_a_terminal_a_page_names_commands_that_decide_it(
    blueprint: Path, address_service: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main.main(["up", "--stack", STACK, "--blueprint", str(blueprint)]) == 2
    page = capsys.readouterr().err
    assert "no network may reach the login nodes [CW562]" in page
    assert page.count("error:") == 1
    assert "\ufffd" not in page
    commands_named = [shlex.split(one) for one in re.findall("`(clusterwright up [^`]*)`", page)]
    assert len(commands_named) == 2
    assert {networks for one in commands_named for networks, _ in [decided(*one[4:])]} == {("203.0.113.7/32",), (f"{OWN}/32",)}


@pytest.mark.parametrize(
    ("answer", "networks"),
    [
        ("203.0.113.7\n", ("203.0.113.7/32",)),
        ("198.51.100.0/24, 203.0.113.7/32\n", ("198.51.100.0/24", "203.0.113.7/32")),
        ("me\n", (f"{OWN}/32",)),
        ("me 192.0.2.0/24\n", (f"{OWN}/32", "192.0.2.0/24")),
    ],
)
def test_an_answer_on_the_terminal_is_recorded_beside_the_values_that_the_stack_has(
    blueprint: Path, address_service: list[str], monkeypatch: pytest.MonkeyPatch, answer: str, networks: tuple[str, ...]
) -> None:
    typed(monkeypatch, answer)
    assert decided("--blueprint", str(blueprint)) == (networks, {"pools.cpu.nodes.max": 2, "access.allowed_cidrs": list(networks)})


def test_no_answer_changes_nothing(blueprint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, "\n")
    assert main.main(["up", "--stack", STACK, "--blueprint", str(blueprint)]) == 2
    assert "--allow-me" in capsys.readouterr().err


def test_an_answer_that_is_no_network_is_a_page(blueprint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, "the office\n")
    assert main.main(["up", "--stack", STACK, "--blueprint", str(blueprint)]) == 2
    assert "your answer" in capsys.readouterr().err


def test_nothing_is_asked_and_recorded_where_it_is_decided(blueprint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    blueprint.write_text(BLUEPRINT + "access: {allowed_cidrs: [192.0.2.0/24]}\n")
    assert decided("--blueprint", str(blueprint)) == (("192.0.2.0/24",), None)


def test_the_own_address_joins_the_networks_that_the_blueprint_has(blueprint: Path, address_service: list[str]) -> None:
    blueprint.write_text(BLUEPRINT + "access: {allowed_cidrs: [192.0.2.0/24]}\n")
    assert decided("--blueprint", str(blueprint), "--allow-me")[0] == ("192.0.2.0/24", f"{OWN}/32")


def test_nothing_is_asked_where_something_else_is_open_too(blueprint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", None)
    blueprint.write_text(BLUEPRINT.replace("m7i.large,", "m7i.large, capacity: reserved,"))
    assert main.main(["up", "--stack", STACK, "--blueprint", str(blueprint)]) == 2
    page = capsys.readouterr().err
    assert "CW562" in page
    assert page.count("error:") > 1


@pytest.mark.parametrize("answer", ["", "2001:db8::1", "<html>log in first</html>", "203.0.113.7, 203.0.113.8"])
def test_an_answer_that_is_no_address_is_a_page(address_service: list[str], answer: str) -> None:
    address_service[0] = answer
    with pytest.raises(errors.AddressUnknown) as failed:
        caller.public_address()
    assert "--set 'access.allowed_cidrs=" in failed.value.remedy


@pytest.mark.parametrize("name", ["llm-pretraining", "research-shared", "single-gpu", "spot-sweep", "starter"])
def test_a_blueprint_of_the_library_lacks_nothing_else(blueprint: Path, address_service: list[str], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (blueprint.parent / "Pulumi.sweep.yaml").write_text(json.dumps({"config": {"clusterwright:target": "aws"}}))
    typed(monkeypatch, "me\n")
    assert decided("--blueprint", name)[0] == (f"{OWN}/32",)


@pytest.mark.engine
def test_values_are_recorded_so_that_pulumi_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = "test-access"
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "state").as_uri())
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    project.stack_file(stack).unlink(missing_ok=True)
    try:
        state.create_if_missing(stack)
        state.record_values(stack, {"access.allowed_cidrs": [f"{OWN}/32"], "pools.cpu.nodes": {"min": 0, "max": 2}})
        commands.answer("config", "set", "--stack", stack, "--path", 'clusterwright:set["pools.cpu.nodes"].max', "3")
        recorded = settings.parse(options.recorded_settings(stack), stack=stack).overrides
    finally:
        project.stack_file(stack).unlink(missing_ok=True)
    assert recorded == {"access.allowed_cidrs": [f"{OWN}/32"], "pools.cpu.nodes": {"min": 0, "max": 3}}
