"""Data that is protected survives `down`, a lost state, and a sweep; data that is not goes with the stack."""

from pathlib import Path

import pytest

from components.local.machine import sweep
from tests.hosts.deployment import deployment

pytestmark = pytest.mark.hosts

LINES_OF_A_FIRST_UP = 60
PROTECTED = {"storage.home.protect": True, "accounting.protect": True}


def test_protected_data(tmp_path: Path) -> None:
    with deployment("test-protect", tmp_path, set={**PROTECTED, "pools.train.nodes": 1}) as stack:
        first = stack.up()
        assert len(first.splitlines()) <= LINES_OF_A_FIRST_UP, first
        stack.ssh("echo thesis > thesis.txt")
        before = stack.leaders()

        refused = stack.clusterwright("down")
        assert refused.returncode == 1
        assert "home" in refused.stderr
        assert stack.leaders() == before, "nothing may be taken down before the data is refused"

        for file in (stack.home / "state" / ".pulumi").rglob("test-protect.json*"):
            file.unlink()  # the state is lost
        stack.down()
        thesis = stack.names.folder("home") / "ada" / "thesis.txt"
        assert thesis.read_text() == "thesis\n"
        assert not stack.names.folder("shared").exists()

        stack.up()
        assert stack.ssh("cat thesis.txt") == "thesis\n"
        for path in PROTECTED:
            stack.choose(path, False)
        stack.up()
        stack.down()
        assert sweep.left_behind(stack.names) == ()
