"""Two checkouts compared in turn: a command that fails leaves no cluster behind whose state is gone."""

import subprocess
from pathlib import Path

import pytest

from bench import paired


def test_a_command_that_fails_is_followed_by_the_removal_of_the_cluster(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "bin").mkdir(parents=True)
    (checkout / "activate").write_text('PATH="$PWD/bin:$PATH"\n')
    (checkout / "bin/clusterwright").write_text('#!/bin/sh\necho "$1" >>asked\ntest "$1" = down || test "$(grep -c up asked)" = 1\n')
    (checkout / "bin/clusterwright").chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError):
        paired.one_life(checkout, tmp_path / "home")
    assert (checkout / "asked").read_text().split() == ["up", "up", "down"]
