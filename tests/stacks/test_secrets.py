"""A stack whose passphrase is lost: the page names the ways on, and the record goes on without what nobody can decrypt."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.provider import packed
from stacks import project
from stacks.cli import main
from stacks.engine import commands, secrets, state
from stacks.errors import Problem

STACK = f"test-secrets-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
"""Settings of stacks are files of the checkout, which all workers share."""
URN = f"urn:pulumi:{STACK}::clusterwright::"


def secret(**text: str) -> dict[str, str]:
    return {secrets.SIGNATURE: secrets.SECRET, **text}


def record(**text: str) -> dict[str, Any]:
    """A record with three secrets, each in a place of its own type: an output of the program, a value and a map of values of own kinds."""
    program = {"urn": f"{URN}pulumi:pulumi:Stack::clusterwright-{STACK}", "type": "pulumi:pulumi:Stack", "outputs": {"keys": secret(**text), "plain": [1]}}
    key = {
        "urn": f"{URN}clusterwright:secret:Secret::key",
        "type": "clusterwright:secret:Secret",
        "custom": True,
        "id": "key",
        "outputs": {"value": secret(**text)},
    }
    group = {
        "urn": f"{URN}clusterwright:finish:Group::g",
        "type": "clusterwright:finish:Group",
        "custom": True,
        "id": "g",
        "inputs": {"secrets": secret(**text)},
    }
    return {"version": 3, "deployment": {"manifest": {}, "resources": [program, key, group]}}


def enter(home: Path, patched: pytest.MonkeyPatch) -> Path:
    """Let this process's commands work in a home; gives the file of its passphrase."""
    patched.setenv("PULUMI_BACKEND_URL", (home / "state").as_uri())
    patched.setenv("PULUMI_HOME", str(home / "home"))
    patched.setenv("PULUMI_CONFIG_PASSPHRASE_FILE", str(home / "passphrase"))
    patched.delenv("PULUMI_CONFIG_PASSPHRASE", raising=False)
    return home / "passphrase"


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Give the home of a stack with secrets, and its settings. Each test loses the passphrase of a copy."""
    home = tmp_path_factory.mktemp("kept")
    (home / "state").mkdir()
    with pytest.MonkeyPatch.context() as patched:
        enter(home, patched).write_text("correct horse")
        project.stack_file(STACK).unlink(missing_ok=True)
        state.create_if_missing(STACK)
        settings = project.stack_file(STACK).read_text()
        whole = record(plaintext='"hidden"')
        whole["deployment"]["secrets_providers"] = {"type": "passphrase", "state": {"salt": settings.partition("encryptionsalt: ")[2].split()[0]}}
        exported = home / "record.json"
        exported.write_text(json.dumps(whole))
        commands.answer("stack", "import", "--stack", STACK, "--file", str(exported))
        assert commands.outputs(STACK)["keys"] == "hidden"
    project.stack_file(STACK).unlink()
    return home, settings


@pytest.fixture
def lost(tmp_path: Path, kept: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stack with secrets whose passphrase is no longer the shell's; gives the passphrase's file."""
    home, settings = kept
    shutil.copytree(home, tmp_path, symlinks=True, dirs_exist_ok=True)
    project.stack_file(STACK).write_text(settings)
    yield enter(tmp_path, monkeypatch)
    project.stack_file(STACK).unlink(missing_ok=True)


def break_passphrase(file: Path, how: str) -> None:
    match how:
        case "missing":
            file.unlink()
        case "empty":
            file.write_text("")
        case _:
            file.write_text("another")


@pytest.mark.engine
@pytest.mark.parametrize("how", ["missing", "empty", "another"])
@pytest.mark.parametrize("command", ["up", "down", "ssh"])
def test_a_lost_passphrase_is_one_page_with_the_ways_on(lost: Path, how: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    break_passphrase(lost, how)
    before = commands.record(STACK)
    assert main.main([command, "--stack", STACK]) == 1
    said = capsys.readouterr()
    what, _, remedy = said.err.partition("  do:  ")
    assert what.startswith(f"error: the secrets of stack {STACK} can't be decrypted\n")
    assert said.err.count("error: ") == 1, "nothing of the engine's own advice"
    assert str(lost) in remedy
    assert f"clusterwright up --stack {STACK} --forget-secrets" in remedy
    assert f"clusterwright down --stack {STACK} --forget-secrets" in remedy
    assert commands.record(STACK) == before


@pytest.mark.engine
@pytest.mark.parametrize("is_compressed", [False, True])
def test_the_recorded_cluster_is_read_without_decrypting_anything(lost: Path, is_compressed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that decrypts is a third of a second of each command; a compressed state is read through it."""
    monkeypatch.setenv("PULUMI_DIY_BACKEND_GZIP", str(is_compressed).lower())
    whole = commands.record(STACK)
    assert state.spec(STACK) is None, "no `up` has finished"
    whole["deployment"]["resources"][0]["outputs"]["spec"] = packed.pack({"name": "starter"})
    state.replace_record(STACK, whole, instead_of=commands.record(STACK))
    lost.unlink()
    assert state.spec(STACK) == {"name": "starter"}


@pytest.mark.engine
@pytest.mark.parametrize("how", ["missing", "empty", "another"])
def test_the_record_goes_on_without_secrets(lost: Path, how: str) -> None:
    break_passphrase(lost, how)
    assert secrets.forget(STACK)
    assert lost.stat().st_mode & 0o077 == 0 or how == "another", "a new passphrase is its owner's alone"
    program, key, group = commands.resources_of(commands.record(STACK, show_secrets=True))
    assert program["outputs"] == {"keys": {}, "plain": [1]}
    assert key["outputs"] == {"value": ""}
    assert group["inputs"] == {"secrets": {}}
    assert not secrets.forget(STACK), "a second time there is nothing to forget"


@pytest.mark.engine
def test_the_lost_stack_can_be_deleted(lost: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported = commands.record(STACK)
    exported["deployment"]["resources"] = exported["deployment"]["resources"][:1]  # no provider for the others
    state.replace_record(STACK, exported, instead_of=commands.record(STACK))
    lost.write_text("another")
    assert main.main(["down", "--stack", STACK, "--forget-secrets"]) == 0, capsys.readouterr().err
    assert commands.resources_of(commands.record(STACK)) == []


@pytest.mark.engine
def test_secrets_that_can_be_decrypted_are_kept(lost: Path) -> None:
    assert not secrets.forget(STACK)
    assert commands.outputs(STACK)["keys"] == "hidden"


@pytest.mark.engine
def test_settings_of_a_deleted_stack_do_not_keep_a_new_one_from_being_created(lost: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands.answer("stack", "rm", "--force", "--preserve-config", "--yes", "--stack", STACK)
    lost.write_text("another")
    with pytest.raises(commands.Undecipherable):
        state.create_if_missing(STACK)
    secrets.forget(STACK)
    state.create_if_missing(STACK)
    assert commands.outputs(STACK) == {}


@pytest.mark.engine
def test_encrypted_settings_are_never_dropped(lost: Path) -> None:
    commands.answer("config", "set", "--secret", "token", "abc", "--stack", STACK)
    lost.write_text("another")
    before = project.stack_file(STACK).read_text(), commands.record(STACK)
    with pytest.raises(Problem) as problem:
        secrets.forget(STACK)
    assert "pulumi config set --secret" in problem.value.remedy
    assert (project.stack_file(STACK).read_text(), commands.record(STACK)) == before


def test_only_secrets_are_emptied() -> None:
    whole = record(ciphertext="v1:abc")
    assert secrets.SECRET not in json.dumps(secrets.without_secrets(whole))
    assert secrets.without_secrets(record(ciphertext="v1:abc"))["deployment"]["resources"][1]["urn"] == whole["deployment"]["resources"][1]["urn"]
