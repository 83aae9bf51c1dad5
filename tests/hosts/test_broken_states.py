"""Hosts and networks that something outside broke: `up` repairs them, or names at most two commands that do. Each case goes on with the stack of the one before."""

import dataclasses
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.local.machine import cgroup, command, disk, sweep
from components.local.machine import host as hosts
from tests import typed
from tests.hosts.deployment import Deployment, deployment

pytestmark = pytest.mark.hosts

ASKING = ("clusterwright rebuild", "clusterwright restore")
"""Commands that somebody has to agree to, on a terminal."""
STAYING = "Still different from the record"
"""Below this, `up` names what it could not repair, each with the command that ends it."""

MINUTES = itertools.count(1)


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


def damage_database(stack: Deployment) -> None:
    """Write garbage over what MariaDB begins with, as a disk that lies does."""
    stack.inside_all("control-0", "systemctl", "stop", "mariadb")
    (stack.names.folder("_state") / "mysql/ibdata1").write_bytes(b"not a table space" * 1000)


def change(stack: Deployment) -> None:
    """Change what only the controllers are configured with: their plays run next."""
    stack.choose("pools.train.partition.max_time", f"1-00:{next(MINUTES):02}:00")


def kill_in_a_play(stack: Deployment) -> None:
    change(stack)
    status, said = stack.up_while(lambda line: "database: The accounting database runs" in line, lambda: stack.cut_power("control-0"))
    assert status == 1
    page = said.partition("\nerror: ")[2]
    assert "control-0" in page
    assert "does not answer" in page


CLOCK = """
echo 'import time; reported = time.time; time.time = lambda: reported() - 3600' > /usr/lib/python3/dist-packages/clock.pth
printf '#!/bin/sh\\nrm /usr/lib/python3/dist-packages/clock.pth; umount --lazy /usr/bin/chronyc\\n' > /run/chronyc && chmod 0755 /run/chronyc && mount --bind /run/chronyc /usr/bin/chronyc
"""
"""A stand-in for a clock that is an hour behind, and for the time service that sets it: hosts of this machine share its clock."""


def inside(host: str, command: str) -> Callable[[Deployment], object]:
    return lambda one: one.inside_all(host, "sh", "-c", command)


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
    "database damaged": Case(damage_database, ("clusterwright restore",)),
    "clock behind": Case(inside("train-0", CLOCK)),
    "host killed in a play": Case(kill_in_a_play),
    "key of MUNGE readable for all": Case(inside("train-0", "chmod 0644 /etc/munge/munge.key && ! systemctl restart munge")),
    "passphrase lost": Case(lambda one: (one.home / "passphrase").write_text("another"), ("clusterwright up",), "up"),
    "table of users emptied": Case(inside("control-0", "truncate --size 0 /var/lib/clusterwright/cluster/users/passwd")),
}


LIKE_OTHERS = ("bridge deleted", "interface deleted", "machine rebooted", "table of users emptied")
"""Cases whose repair others need, too: a network, a cable (in `test_starter`), hosts that are started again, files that roles write."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.soak] if name in LIKE_OTHERS else []) for name in CASES])
def test_up_repairs_it_or_names_the_way_out(name: str, stack: Deployment) -> None:
    pages: list[str] = []

    def run(words: str) -> tuple[int, str]:
        shell = ("script", "--quiet", "--return", "--command", words, "/dev/null") if words.startswith(ASKING) else ("sh", "-c", words)
        done = stack.run(*shell, stdin="yes\n")
        pages.append(f"$ {words}\n{done.stdout}{done.stderr}")
        return done.returncode or int(STAYING in done.stdout + done.stderr), done.stdout + done.stderr

    case = CASES[name]
    case.break_it(stack)
    done = typed.until_it_works(run, f"clusterwright up --stack {stack.stack}", choose=case.choose)
    assert len(done) == len(case.typed), "\n".join(pages)
    assert [words for words, begin in zip(done, case.typed, strict=True) if not words.startswith(begin)] == []
    assert stack.preview_changes() == {}
    stack.wait_for_idle(2)
    assert Path(stack.names.owner_file).exists()


def test_a_stack_whose_owner_is_gone_is_removed_from_another_checkout_when_somebody_agrees(stack: Deployment, tmp_path: Path) -> None:
    """The last one: state and owner of the stack are lost."""
    claimed = json.loads(stack.names.owner_file.read_text())
    gone = tmp_path / "gone"
    stack.names.owner_file.write_text(json.dumps({**claimed, "owner": str(gone), "backend": (gone / "state").as_uri()}))
    shutil.rmtree(stack.home / "state")
    elsewhere = Deployment(stack.stack, tmp_path / "elsewhere")
    elsewhere.prepare()
    leaders = stack.leaders()
    refused = elsewhere.run("script", "--quiet", "--return", "--command", f"clusterwright down --stack {stack.stack}", "/dev/null", stdin="no\n")
    assert refused.returncode == 1
    assert "train-0" in refused.stdout, "it shows what it removes"
    assert stack.leaders() == leaders
    assert elsewhere.clusterwright("down", "--yes").returncode == 0
    assert sweep.left_behind(stack.names) == ()
