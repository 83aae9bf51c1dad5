"""Where the output goes: full disks, other encodings, no output at all, and folders that are gone, as whole processes."""

import os
import pathlib
import subprocess
import sys

import pytest

from blueprints.project import project_root

MAIN = [sys.executable, "-P", "-m", "stacks.cli.main"]
TINY = "name: tiny\npools: {train: {nodes: 2}}\n"


def run(script: str, *words: str, cwd: pathlib.Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command from a shell, where `"$@"` stands for it and its words."""
    known = {**os.environ, "PYTHONPATH": str(project_root()), **environment}
    return subprocess.run(["/bin/sh", "-c", script, "sh", *MAIN, *words], cwd=cwd, env=known, capture_output=True, text=True, errors="replace", check=False)


def test_a_full_disk_is_one_page(tmp_path: pathlib.Path) -> None:
    done = run('exec "$@" >/dev/full', "plan", "starter", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the operating system refused something that this command needs\n  why: No space left on device\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("words", [("plan", "scale-7500", "--target", "aws"), ("values", "starter"), ("schema", "--reference"), ("compare", "starter")])
def test_any_encoding_will_do(tmp_path: pathlib.Path, encoding: str, words: tuple[str, ...]) -> None:
    done = run('exec "$@"', *words, cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert done.stdout


def test_output_that_nobody_takes_is_no_fault(tmp_path: pathlib.Path) -> None:
    done = run('exec "$@" >&-', "plan", "starter", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_is_gone_is_one_page(tmp_path: pathlib.Path) -> None:
    done = run('mkdir gone && cd gone && rmdir ../gone && exec "$@"', "plan", "mine.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the operating system refused something that this command needs\n")


def test_an_empty_name_is_no_blueprint(tmp_path: pathlib.Path) -> None:
    done = run('exec "$@"', "check", "", cwd=tmp_path)
    assert done.returncode == 2
    assert "no name" in done.stderr


def test_a_link_is_shown_as_it_was_given(tmp_path: pathlib.Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "real.yaml").write_text(TINY.replace("nodes: 2", "nodes: 0"))
    (tmp_path / "link.yaml").symlink_to(tmp_path / "elsewhere" / "real.yaml")
    done = run('exec "$@"', "check", "link.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "link.yaml:2:" in done.stderr
    assert "real.yaml" not in done.stderr
