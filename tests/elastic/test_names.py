"""The table of names: who is in it, and when it is written."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.elastic import names
from components.elastic.model import Cloud, Instance, Life
from tests.elastic import values

FIXED = "127.0.0.1 localhost\n10.0.0.4 control-0\n"


class Account:
    """A fleet that is only looked at: what it has, look by look; the last of them stays."""

    def __init__(self, *looks: Cloud):
        self._looks: Iterator[Cloud] = iter(looks)
        self._now = Cloud(())
        self.looked = 0

    def view(self) -> Cloud:
        self.looked += 1
        self._now = next(self._looks, self._now)
        return self._now


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def node(name: str, address: str, *, at: float = 1.0, life: Life = Life.LIVE, identity: str = "") -> Instance:
    return Instance(identity or f"i-{name}", name, life, launched_at=at, address=address)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fixed").write_text(FIXED)
    (tmp_path / "names").mkdir()
    return tmp_path


def keep(folder: Path, account: Account, *launched: str, clock: Clock | None = None) -> bool:
    clock = clock or Clock()
    table = dataclasses.replace(values.table(), names=str(folder / "names" / "hosts"))
    return names.keep(table, account, launched, fixed=folder / "fixed", clock=clock, pause=clock.pause)


def written(folder: Path) -> str:
    return (folder / "names" / "hosts").read_text()


def test_nodes_that_live_are_named_in_their_order_with_and_without_the_domain() -> None:
    cloud = Cloud(
        (
            node("train-10", "10.0.0.9"),
            node("train-2", "10.0.0.7"),
            node("train-1", "", identity="young"),
            node("train-0", "10.0.0.5", life=Life.ENDED),
            node("stranger", "10.0.0.6"),
            Instance("nameless", "", Life.LIVE, launched_at=1.0, address="10.0.0.8"),
        )
    )
    table = values.table(values.node_set(count=12))
    assert names.lines(table, cloud) == "10.0.0.7 train-2.starter.internal train-2\n10.0.0.9 train-10.starter.internal train-10\n"
    assert names.lines(dataclasses.replace(table, domain=""), cloud) == "10.0.0.7 train-2 train-2\n10.0.0.9 train-10 train-10\n"


def test_of_two_instances_for_one_node_the_later_one_has_its_name() -> None:
    cloud = Cloud((node("train-0", "10.0.0.6", at=2.0, identity="new"), node("train-0", "10.0.0.5", at=1.0, identity="old")))
    assert names.lines(values.table(), cloud) == "10.0.0.6 train-0.starter.internal train-0\n"


def test_the_table_begins_with_what_always_stands_and_is_written_only_when_it_changes(folder: Path) -> None:
    cloud = Cloud((node("train-0", "10.0.0.5"),))
    assert keep(folder, Account(cloud))
    assert written(folder) == FIXED + "10.0.0.5 train-0.starter.internal train-0\n"
    before = (folder / "names" / "hosts").stat().st_ino
    assert not keep(folder, Account(cloud))
    assert (folder / "names" / "hosts").stat().st_ino == before
    assert keep(folder, Account(Cloud(())))
    assert written(folder) == FIXED
    assert [path.name for path in (folder / "names").iterdir()] == ["hosts"]


def test_the_addresses_of_what_was_just_launched_are_waited_for(folder: Path) -> None:
    account, clock = Account(Cloud((node("train-0", ""),)), Cloud((node("train-0", ""),)), Cloud((node("train-0", "10.0.0.5"),))), Clock()
    assert keep(folder, account, "i-train-0", clock=clock)
    assert written(folder).endswith("10.0.0.5 train-0.starter.internal train-0\n")
    assert (account.looked, clock.now) == (3, 2 * names.LOOK_EVERY_S)


def test_others_are_not_waited_for_and_nothing_is_for_ever(folder: Path) -> None:
    silent = Cloud((node("train-0", ""), node("train-1", "10.0.0.6"), node("train-2", "", life=Life.ENDED)))
    account = Account(silent)
    keep(folder, account, "i-train-1", "i-train-2")
    assert account.looked == 1
    clock = Clock()
    keep(folder, Account(silent), "i-train-0", clock=clock)
    assert clock.now == pytest.approx(names.KNOWN_WITHIN_S)
    assert written(folder) == FIXED + "10.0.0.6 train-1.starter.internal train-1\n"
