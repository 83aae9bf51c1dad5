"""Words that shells complete: in a real bash, and in zsh and fish where they are installed."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from blueprints import library, project
from stacks.cli import completion, main

BASH = """
source <("$1" completion bash)
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
_python_argcomplete clusterwright
printf '%s\\n' "${COMPREPLY[@]}"
"""
PROGRAM = pathlib.Path(sys.executable).with_name("clusterwright")
CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}
ENVIRONMENT = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}


def completed(line: str) -> list[str]:
    """Give what a bash offers when tab is pressed at the end of a line."""
    command = ["bash", "--norc", "-c", BASH, "bash", str(PROGRAM), line]
    answer = subprocess.run(command, cwd=project.project_root(), env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return [word.strip() for word in answer.stdout.splitlines()]


def test_bash_completes_commands() -> None:
    assert completed("clusterwright ") == [*main.COMMANDS]
    assert completed("clusterwright comp") == ["compare", "completion"]


def test_bash_completes_options_of_the_command_and_no_others() -> None:
    assert "--reference" in completed("clusterwright schema --")
    assert "--reference" not in completed("clusterwright plan --")


@pytest.mark.parametrize("line", ["clusterwright plan --blueprint ", "clusterwright compare "])
def test_bash_completes_blueprints(line: str) -> None:
    assert {*library.names()} <= {*completed(line)}
    assert completed(f"{line}llm-pretraining-k") == ["llm-pretraining-kubernetes"]
    assert completed(f"{line}blueprints/library/starter.") == ["blueprints/library/starter.yaml"]


def test_bash_completes_answers_targets_and_files() -> None:
    assert completed("clusterwright advise --skills ") == ["slurm", "kubernetes", "both", "none"]
    assert completed("clusterwright plan --target ") == ["aws", "gcp", "metal", "local"]
    assert completed("clusterwright compare --targets gcp,") == ["gcp,aws", "gcp,metal", "gcp,local"]
    assert completed("clusterwright schema --output READ") == ["README.md"]
    assert completed("clusterwright advise --gpus ") == [""]


def test_bash_completes_the_hosts_of_the_stack_s_blueprint() -> None:
    assert completed("clusterwright rebuild --stack test-unknown train-") == ["train-0", "train-1"]


def test_stacks_are_those_with_settings(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "stack_file", lambda stack: tmp_path / f"Pulumi.{stack}.yaml")
    for name in ("two.yaml", "Pulumi.one.yaml", "Pulumi.two-b.yaml"):
        (tmp_path / name).touch()
    assert completion.stacks() == ["one", "two-b"]


@pytest.mark.parametrize("shell", [shell for shell in completion.SHELLS if shutil.which(shell)])
def test_the_script_is_one_of_its_shell(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    assert main.main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    assert "clusterwright" in script.read_text()
    subprocess.run([*CHECKS[shell], str(script)], check=True)
    script.write_text("if true; then (\n")
    assert subprocess.run([*CHECKS[shell], str(script)], check=False, capture_output=True).returncode != 0


def test_a_shell_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["completion", "tcsh"])
    assert ended.value.code == 2
    assert "bash, zsh, fish" in capsys.readouterr().err.replace("'", "")
