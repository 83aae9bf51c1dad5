"""Which stack a command without a name takes: the shell's own, and never one that another command chose."""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks import project
from stacks.cli import main, options
from stacks.engine import commands, state

NEW = f"test-selection-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty backend and an engine home of its own, where Pulumi keeps its selection."""
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", folder.as_uri())
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse")
    monkeypatch.delenv("PULUMI_STACK", raising=False)
    yield folder
    project.stack_file(NEW).unlink(missing_ok=True)


@pytest.mark.engine
def test_a_new_stack_is_not_selected(backend: Path) -> None:
    state.create_if_missing(NEW)
    assert state.exists(NEW)
    assert [entry["current"] for entry in json.loads(commands.answer("stack", "ls", "--json"))] == [False]


@pytest.mark.parametrize(("words", "taken"), [([], "mine"), (["--stack", "other"], "other")])
def test_commands_take_the_stack_of_the_shell(
    words: list[str], taken: str, backend: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PULUMI_STACK", "mine")
    assert main.main(["ssh", *words]) == 1
    assert f"stack {taken} is not up" in capsys.readouterr().err


def test_a_stack_of_the_shell_that_cannot_be_one_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PULUMI_STACK", "../mine")
    with pytest.raises(SystemExit, match="2"):
        main.main(["ssh"])
    assert "can't be a stack's name" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "applies"), [([], False), (["--stack", "prod"], True)])
def test_settings_of_a_stack_apply_to_another_blueprint_only_when_somebody_names_the_stack(words: list[str], applies: bool) -> None:
    parser = argparse.ArgumentParser()
    options.stack(parser)
    assert parser.parse_args(words).applies is applies
