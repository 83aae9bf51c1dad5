"""Hosts and networks that something outside broke: `up` repairs them, or names at most two commands that do. Each case goes on with the stack of the one before."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.local.machine import cgroup, command, disk
from components.local.machine import host as hosts
from tests import typed
from tests.hosts.deployment import Deployment, deployment

pytestmark = pytest.mark.hosts


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("test-broken", tmp_path_factory.mktemp("broken")) as one:
        one.up()
        yield one


def delete_disk(stack: Deployment) -> None:
    disk.unmount(stack.host("train-1").root)
    shutil.rmtree(stack.host("train-1").state)


def reboot(stack: Deployment) -> None:
    """Leave what a reboot of the machine leaves: disks, and nothing that ran."""
    for hostname in stack.leaders():
        hosts.kill(stack.host(hostname))
    cgroup.kill(cgroup.of_stack(stack.names))
    command.run("ip", "link", "del", stack.names.bridge)
    shutil.rmtree(stack.names.run)


def cable(stack: Deployment) -> str:
    found: str = json.loads(stack.host("train-0").leader.read_text())["interface"]
    return found


@dataclasses.dataclass(frozen=True)
class Case:
    break_it: Callable[[Deployment], object]
    typed: tuple[str, ...] = ()
    """How the commands begin that a user has to type."""
    choose: str = ""


CASES = {
    "bridge deleted": Case(lambda one: command.run("ip", "link", "del", one.names.bridge)),
    "interface deleted": Case(lambda one: command.run("ip", "link", "del", cable(one))),
    "network namespace deleted": Case(lambda one: command.run("ip", "netns", "del", one.host("train-0").namespace)),
    "record of a host deleted": Case(lambda one: one.host("train-0").record.unlink()),
    "disk of a host deleted": Case(delete_disk),
    "owner's file deleted": Case(lambda one: one.names.owner_file.unlink()),
    "owner's file garbage": Case(lambda one: one.names.owner_file.write_text("garbage"), ("rm ",)),
    "machine rebooted": Case(reboot),
}


@pytest.mark.parametrize("name", CASES)
def test_up_repairs_it_or_names_the_way_out(name: str, stack: Deployment) -> None:
    def run(words: str) -> tuple[int, str]:
        done = stack.run("sh", "-c", words)
        return done.returncode, done.stdout + done.stderr

    case = CASES[name]
    case.break_it(stack)
    done = typed.until_it_works(run, f"clusterwright up --stack {stack.stack}", choose=case.choose)
    assert [words for words, begin in zip(done, case.typed, strict=True) if not words.startswith(begin)] == []
    assert stack.preview_changes() == {}
    stack.wait_for_idle(2)
    assert Path(stack.names.owner_file).exists()
