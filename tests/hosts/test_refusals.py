"""What can't work is refused with one clear page, before anything is made."""

import subprocess
import sys
from pathlib import Path

import pytest

from blueprints.project import project_root
from components.local.machine import record, sweep
from tests.hosts.deployment import Deployment, deployment

pytestmark = pytest.mark.hosts


def assert_refused(stack: Deployment, done: subprocess.CompletedProcess[str], *words: str, status: int) -> None:
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    for word in words:
        assert word in said
    assert "Traceback" not in said
    assert sweep.left_behind(stack.names) == ()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"blueprint": "startr"}, ("startr", "starter")),
        ({"blueprnt": "starter"}, ("clusterwright:blueprnt", "clusterwright:blueprint")),
        ({"set": {"pools.train.node": 3}}, ("pools.train.node", "nodes")),
        ({"set": {"network.cidr": "10.1.0.0/29"}}, ("10.1.0.0/29",)),
        ({"target": "moon"}, ("moon", "local")),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, object], words: tuple[str, ...]) -> None:
    with deployment("test-refused", tmp_path, **settings) as stack:
        assert_refused(stack, stack.clusterwright("up"), *words, status=2)


def test_bare_pulumi_gives_the_same_page(tmp_path: Path) -> None:
    with deployment("test-refused", tmp_path, blueprint="startr") as stack:
        assert stack.run("pulumi", "stack", "init", stack.stack).returncode == 0
        assert_refused(stack, stack.run("pulumi", "up", "--yes", "--stack", stack.stack), "startr", "starter", status=1)


def test_a_broken_blueprint_is_shown_with_its_line(tmp_path: Path) -> None:
    blueprint = tmp_path / "mine.yaml"
    blueprint.write_text((project_root() / "blueprints/library/starter.yaml").read_text().replace("gpus_per_node: 8", "gpus_per_nod: 8"))
    line = next(number for number, text in enumerate(blueprint.read_text().splitlines(), start=1) if "gpus_per_nod:" in text)
    with deployment("test-refused", tmp_path / "home", blueprint=str(blueprint)) as stack:
        assert_refused(stack, stack.clusterwright("up"), f"mine.yaml:{line}:", "gpus_per_node", "^", status=2)


def test_a_subnet_in_use_is_named_with_its_user(running: Deployment, tmp_path: Path) -> None:
    cidr = running.outputs()["spec"]["network"]["cidr"]
    with deployment("test-subnet", tmp_path, set={"network.cidr": cidr}) as stack:
        assert_refused(stack, stack.clusterwright("up"), cidr, f"stack {running.stack} ", status=1)


def test_a_missing_tool_is_named_with_its_package(tmp_path: Path) -> None:
    hide = 'mount --bind /dev/null "$(command -v systemd-nspawn)" && exec "$@"'  # for this run alone
    with deployment("test-refused", tmp_path) as stack:
        done = stack.run("unshare", "--mount", "sh", "-c", hide, "sh", "clusterwright", "up", "--stack", stack.stack)
        assert_refused(stack, done, "systemd-container", "make setup", status=1)


def test_a_full_disk_is_named_before_anything_is_made(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(small)], check=True)
    try:
        with deployment("test-refused", tmp_path / "home") as stack:
            done = subprocess.run(
                ["clusterwright", "up", "--stack", stack.stack], cwd=project_root(), env={**stack.environment, "CLUSTERWRIGHT_CACHE": str(small)}, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            assert_refused(stack, done, str(small), "GiB free", status=1)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_another_checkouts_stack_is_not_touched(running: Deployment, tmp_path: Path) -> None:
    """The same stack name from another place: neither `up` nor `down` may lay hands on its hosts."""
    before = running.leaders()
    mine = record.read(running.names.owner_file)
    record.write(running.names.owner_file, {**(mine or {}), "owner": str(tmp_path), "token": "another"})
    try:
        stranger = Deployment(running.stack, tmp_path / "home")
        stranger.prepare()
        refused = stranger.clusterwright("up")
        assert refused.returncode == 1
        assert str(tmp_path) in refused.stdout + refused.stderr
        refused = stranger.clusterwright("down")
        assert refused.returncode == 1
        assert str(tmp_path) in refused.stdout + refused.stderr
        # Not even with the state that once made it: the hosts are another's by now.
        refused = running.clusterwright("down")
        assert refused.returncode == 1
    finally:
        record.write(running.names.owner_file, mine)
    assert running.leaders() == before


def test_without_root() -> None:
    """Asked of the resource itself: an ordinary user can't read the folders of root in which this checkout may lie."""
    ask = "from components.local.site import Site, SiteInputs; print(*next(Site().check(SiteInputs('test', '/', '10.99.0.0/20'))))"
    drop = ["setpriv", "--reuid=65534", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    done = subprocess.run([*drop, sys.executable, "-c", ask], cwd=project_root(), capture_output=True, text=True, check=False)
    assert "need root" in done.stdout, done.stderr


@pytest.mark.parametrize("stack", ["", ".", "..", "a/b"])
def test_a_stack_name_that_would_reach_beyond_the_stack(running: Deployment, stack: str) -> None:
    before = running.leaders()
    refused = running.run("clusterwright", "down", f"--stack={stack}")
    assert refused.returncode == 2
    assert running.leaders() == before


def test_down_with_another_backend_leaves_the_stack_alone(running: Deployment, tmp_path: Path) -> None:
    before = running.leaders()
    elsewhere = Deployment(running.stack, tmp_path)
    elsewhere.prepare()
    refused = elsewhere.clusterwright("down")
    assert refused.returncode == 1
    assert f"file://{running.home / 'state'}" in refused.stderr
    assert running.leaders() == before
