"""`. ./activate` in the shells that people use."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SHELLS = [pytest.param(found, id=shell) for shell in ("dash", "bash", "zsh") if (found := shutil.which(shell))]
SHOW = 'for name in PULUMI_BACKEND_URL PULUMI_CONFIG_PASSPHRASE_FILE PULUMI_SKIP_UPDATE_CHECK PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION; do eval "echo $name=\\${$name-unset}"; done'

pytestmark = pytest.mark.parametrize("shell", SHELLS)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is set up as far as ./activate looks; its path has a space."""
    root = tmp_path / "my checkout"
    for program in (".venv/bin/python", "engine/bin/pulumi"):
        (root / program).parent.mkdir(parents=True)
        (root / program).write_text("#!/bin/sh\n")
        (root / program).chmod(0o755)
    (root / "tools").mkdir()
    for name in ("activate", "pyproject.toml", "tools/setup"):
        shutil.copy2(PROJECT / name, root / name)
    (root / ".clusterwright").mkdir(mode=0o700)
    (root / ".clusterwright/engine").write_text(f"{root}/engine/bin\n")
    return root


def source(shell: str, checkout: Path, then: str, *, before: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    options = ["-f"] if shell.endswith("zsh") else []  # not the machine's own start files
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(checkout.parent), **settings}
    return subprocess.run(
        [shell, *options, "-c", f"{before}\n. ./activate\n{then}"], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def test_programs_and_engine_come_first_on_path(shell: str, checkout: Path) -> None:
    answer = source(shell, checkout, 'echo "$PATH"')
    assert answer.stdout == f"{checkout}/.venv/bin:{checkout}/engine/bin:/usr/bin:/bin\n", answer.stderr


def test_sourced_twice_it_changes_nothing_more(shell: str, checkout: Path) -> None:
    once = source(shell, checkout, f'echo "$PATH"; {SHOW}')
    twice = source(shell, checkout, f'. ./activate; echo "$PATH"; {SHOW}')
    assert twice.stdout == once.stdout


def test_the_state_lies_in_the_project_for_its_owner_only(shell: str, checkout: Path) -> None:
    shutil.rmtree(checkout / ".clusterwright/state", ignore_errors=True)
    answer = source(shell, checkout, SHOW, before="umask 022")
    state = checkout / ".clusterwright"
    assert answer.stdout.splitlines() == [
        f"PULUMI_BACKEND_URL=file://{state}/state",
        f"PULUMI_CONFIG_PASSPHRASE_FILE={state}/passphrase",
        "PULUMI_SKIP_UPDATE_CHECK=true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
    ]
    assert stat.S_IMODE((state / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "passphrase").stat().st_mode) == 0o600


def test_the_passphrase_is_long_kept_and_never_shown(shell: str, checkout: Path) -> None:
    answer = source(shell, checkout, "set; env")
    passphrase = (checkout / ".clusterwright/passphrase").read_text().strip()
    assert len(passphrase) >= 40
    assert passphrase not in answer.stdout + answer.stderr
    source(shell, checkout, "")
    assert (checkout / ".clusterwright/passphrase").read_text().strip() == passphrase
    assert [path.name for path in (checkout / ".clusterwright").glob("passphrase*")] == ["passphrase"]


def test_an_empty_passphrase_is_replaced(shell: str, checkout: Path) -> None:
    (checkout / ".clusterwright/passphrase").touch()
    assert source(shell, checkout, "").returncode == 0
    assert len((checkout / ".clusterwright/passphrase").read_text().strip()) >= 40


def test_a_shell_whose_passphrase_was_deleted_gets_one_again(shell: str, checkout: Path) -> None:
    answer = source(shell, checkout, 'rm "$PULUMI_CONFIG_PASSPHRASE_FILE" && . ./activate && wc -c <"$PULUMI_CONFIG_PASSPHRASE_FILE"')
    assert int(answer.stdout) >= 40, answer.stderr


def test_shells_that_start_together_use_one_passphrase(shell: str, checkout: Path) -> None:
    read = 'cat "$PULUMI_CONFIG_PASSPHRASE_FILE"'
    command = [shell, "-c", f". ./activate; {read}"]
    runs = [subprocess.Popen(command, cwd=checkout, env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE) for _ in range(6)]
    assert len({run.communicate()[0] for run in runs}) == 1


@pytest.mark.parametrize("backend", ["s3://bucket/path", "https://api.pulumi.com", "gs://bucket"])
def test_another_backend_stays_and_nothing_local_is_set(shell: str, checkout: Path, backend: str) -> None:
    answer = source(shell, checkout, SHOW, PULUMI_BACKEND_URL=backend)
    assert answer.stdout.splitlines() == [
        f"PULUMI_BACKEND_URL={backend}",
        "PULUMI_CONFIG_PASSPHRASE_FILE=unset",
        "PULUMI_SKIP_UPDATE_CHECK=unset",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=unset",
    ]
    assert not (checkout / ".clusterwright/passphrase").exists()


@pytest.mark.parametrize("setting", [{"PULUMI_CONFIG_PASSPHRASE": ""}, {"PULUMI_CONFIG_PASSPHRASE": "mine"}, {"PULUMI_CONFIG_PASSPHRASE_FILE": "/mine"}])
def test_a_passphrase_of_the_user_stays(shell: str, checkout: Path, setting: dict[str, str]) -> None:
    answer = source(shell, checkout, 'echo "${PULUMI_CONFIG_PASSPHRASE_FILE-unset}"', **setting)
    assert answer.stdout == setting.get("PULUMI_CONFIG_PASSPHRASE_FILE", "unset") + "\n"
    assert not (checkout / ".clusterwright/passphrase").exists()


def test_each_shell_has_a_stack_of_its_own(shell: str, checkout: Path) -> None:
    assert source(shell, checkout, 'sh -c "echo $PULUMI_STACK"').stdout == "local\n"
    answer = source(shell, checkout, 'sh -c "echo $PULUMI_STACK"', PULUMI_STACK="mine")
    assert (answer.stdout, answer.stderr) == ("mine\n", "")


def test_strict_shells_live_on_with_their_options_and_no_new_names(shell: str, checkout: Path) -> None:
    names = "set | grep -c '^_clusterwright' || :"
    answer = source(shell, checkout, f'[ "$-" = "$before" ] && echo same; umask; {names}', before="set -eu; umask 027; before=$-")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() in (["same", "0027", "0"], ["same", "027", "0"])


def test_a_checkout_that_is_not_set_up_is_said_with_the_remedy(shell: str, checkout: Path) -> None:
    (checkout / "engine/bin/pulumi").unlink()  # as after `make clean-cache`
    answer = source(shell, checkout, 'echo "rc=$?"; echo "$PATH"')
    assert answer.stdout == "rc=1\n/usr/bin:/bin\n"
    assert answer.stderr == "error: this checkout is not set up yet\nremedy: make setup\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_checkout_of_somebody_else_is_one_page(shell: str, checkout: Path, tmp_path: Path) -> None:
    for folder in (*tmp_path.parents, tmp_path):
        folder.chmod(folder.stat().st_mode | 0o055)
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", shell, "-c", ". ./activate"]
    answer = subprocess.run(other, cwd=checkout, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert [line.partition(":")[0] for line in answer.stderr.splitlines()] == ["error", "remedy"], answer.stderr


def test_it_is_found_from_another_folder_where_the_shell_can_name_the_file(shell: str, checkout: Path) -> None:
    answer = subprocess.run(
        [shell, "-c", f'. "{checkout}/activate"; echo "$?:$PATH"'],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    if shell.endswith("dash"):  # plain sh has no name for a sourced file
        assert "can only be sourced from the project's own folder" in answer.stderr
        assert answer.stdout == "1:/usr/bin:/bin\n"
    else:
        assert answer.stdout == f"0:{checkout}/.venv/bin:{checkout}/engine/bin:/usr/bin:/bin\n"
