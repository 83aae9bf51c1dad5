"""A killed engine: the next run goes on from what exists, nothing that the dead run started survives, and nothing is left in the end."""

from pathlib import Path

import pytest

from components.files import memory_folders
from components.local.machine import sweep
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = pytest.mark.hosts

POINTS = (
    "Site site creating",
    "Network network creating",
    "HostPool train creating",
    "database: The accounting database runs",
    "acceptance creating",
)
"""Lines of `up` at which its engine is killed: before anything exists, in the middle of making, while a create is silent, in the middle of a play, and while jobs run."""


def assert_nothing_runs(stack: Deployment) -> None:
    wait_until(lambda: not stack.processes(), awaiting=f"the end of {stack.processes()}", within_s=SOON_S)
    wait_until(lambda: not memory_folders.orphans(), awaiting="the folder with the secrets to be gone", within_s=SOON_S)


def test_up_goes_on_after_each_kill_and_down_leaves_nothing(tmp_path: Path) -> None:
    with deployment("test-kills", tmp_path) as stack:
        for number in range(len(POINTS)):
            # On a loaded machine, a killed run may have got further than the line at which it was killed: a later point will do.
            stack.up_until(lambda line, left=POINTS[number:]: any(point in line for point in left))  # type: ignore[misc]
            assert_nothing_runs(stack)
        stack.up()
        assert stack.preview_changes() == {}
        stack.down()
        assert sweep.left_behind(stack.names) == ()


LATER = ("Site site creating", "HostPool train creating")
"""Points for `make soak`, which has many more; the runs above go on from each of them."""


@pytest.mark.parametrize("point", ["slurmdbd: Slurm's accounting daemon runs", *(pytest.param(point, marks=pytest.mark.soak) for point in LATER)])
def test_down_alone_leaves_nothing_after_a_kill(tmp_path: Path, point: str) -> None:
    with deployment("test-kill-down", tmp_path) as stack:
        stack.up_until(lambda line: point in line)
        assert_nothing_runs(stack)
        stack.down()
        assert sweep.left_behind(stack.names) == ()


@pytest.mark.soak
@pytest.mark.parametrize("has_backup", [False, True])
def test_a_state_that_a_kill_cut_off(tmp_path: Path, has_backup: bool) -> None:
    """A kill or a full disk in the moment of writing leaves half a file, of the state or of what the backend notes beside it."""
    with deployment("test-cut-off", tmp_path) as stack:
        stack.up_until(lambda line: "HostPool train created" in line)
        assert_nothing_runs(stack)
        [state] = (stack.home / "state" / ".pulumi" / "stacks").rglob("test-cut-off.json")
        state.write_bytes(state.read_bytes()[:1000])
        if not has_backup:
            state.with_name(f"{state.name}.bak").unlink()
        stack.up()
        assert stack.preview_changes() == {}
        state.with_name(f"{state.name}.attrs").write_bytes(b"")
        stack.down()
        assert sweep.left_behind(stack.names) == ()


def test_a_second_run_is_told_who_holds_the_stack(tmp_path: Path) -> None:
    with deployment("test-lock", tmp_path) as stack:
        answers = []

        def meanwhile(line: str) -> bool:
            if "HostPool train creating" not in line:
                return False
            answers.append((stack.engines(), stack.clusterwright("up")))
            return True

        stack.up_until(meanwhile)
        [([holder], second)] = answers
        assert second.returncode == 1
        assert f"process {holder} " in second.stderr
        assert "Traceback" not in second.stderr


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_kill_point_of_the_starter(tmp_path: Path) -> None:
    """Kill at the start of every resource and of every task in turn; each time `up` converges or, every other time, `down` leaves nothing."""
    with deployment("test-soak", tmp_path) as stack:
        points = [line for line in stack.clusterwright("up", "--verbose").stdout.splitlines() if " creating (" in line]
        stack.down()
        for number, point in enumerate(dict.fromkeys(_recognisable(line) for line in points)):
            stack.up_until(lambda line, point=point: point in line)  # type: ignore[misc]
            assert_nothing_runs(stack)
            if number % 2:
                stack.up()
                assert stack.preview_changes() == {}, point
            stack.down()
            assert sweep.left_behind(stack.names) == (), point


def _recognisable(line: str) -> str:
    """The part of a progress line that another run repeats: without its seconds, and without the host that happened to be first."""
    before, _, after = line.partition(" creating (")
    doing = after.partition("): ")[2].strip()
    if not doing:
        return f"{before.strip().split(' ', 1)[1].strip()} creating ("
    return doing.partition("hosts: ")[0] + "hosts: " if "hosts: " in doing else doing
