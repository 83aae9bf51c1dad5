"""`clusterwright restore`: what hosts list, and which snapshot or dump a word names."""

import pytest

from stacks.errors import Problem
from stacks.snapshots import snapshot

SAID = {
    "kubernetes-0": "etcd-20261123T160001Z.db 8192\n",
    "kubernetes-1": "etcd-20261123T150000Z.db 4096\netcd-20261123T160000Z.db 8192\n",
    "kubernetes-2": "",
}


def test_the_latest_snapshot_of_all_hosts_is_the_first() -> None:
    there = snapshot.listed(SAID)
    assert [str(one) for one in there] == [
        "kubernetes-0/etcd-20261123T160001Z.db",
        "kubernetes-1/etcd-20261123T160000Z.db",
        "kubernetes-1/etcd-20261123T150000Z.db",
    ]
    assert there[-1].bytes == 4096


def test_a_word_names_the_snapshot_of_one_host() -> None:
    there = snapshot.listed(SAID)
    assert snapshot.choose("kubernetes-1/etcd-20261123T150000Z.db", there) == there[-1]


@pytest.mark.parametrize(("said", "why"), [(SAID, "the latest are kubernetes-0/etcd-20261123T160001Z.db"), ({}, "no host has one")])
def test_another_word_is_refused_with_what_there_is(said: dict[str, str], why: str) -> None:
    with pytest.raises(Problem) as refused:
        snapshot.choose("kubernetes-2/etcd-20261123T160001Z.db", snapshot.listed(said))
    assert refused.value.status == 2
    assert why in refused.value.page()


DUMPS = {"control-0": "before-restore-20261123T190000Z.sql.gz 10\naccounts-20261123T120000Z.sql.gz 9\naccounts-20261123T180000Z.sql.gz 11\n"}


def test_the_latest_dump_is_the_newest_that_no_restore_made() -> None:
    assert str(snapshot.choose("latest", snapshot.listed(DUMPS))) == "control-0/accounts-20261123T180000Z.sql.gz"


def test_a_dump_is_listed_by_its_path_and_a_line_that_names_none_is_left_out() -> None:
    there = snapshot.listed({"control-0": "a warning of the shell\n/state/my dumps/accounts-20261123T120000Z.sql.gz\t123456789 bytes\n"})
    assert there == (snapshot.Snapshot("control-0", "accounts-20261123T120000Z.sql.gz", 123456789),)


def test_the_latest_of_one_host_is_named_beside_those_of_another_kind_and_hosts_that_gave_no_list() -> None:
    there = snapshot.listed({**SAID, **DUMPS})
    assert str(snapshot.choose("control-0/latest", there, ["kubernetes-2"])) == "control-0/accounts-20261123T180000Z.sql.gz"
    assert str(snapshot.choose("kubernetes-1/latest", there)) == "kubernetes-1/etcd-20261123T160000Z.db"


def test_the_latest_of_a_host_that_gave_no_list_is_refused() -> None:
    with pytest.raises(Problem, match="there is no snapshot control-1/latest"):
        snapshot.choose("control-1/latest", snapshot.listed(DUMPS), ["control-1"])


@pytest.mark.parametrize("said", [{**SAID, **DUMPS}, {}], ids=["of two kinds", "of none"])
def test_the_latest_is_refused_where_it_names_no_snapshot(said: dict[str, str]) -> None:
    with pytest.raises(Problem, match="there is no snapshot latest"):
        snapshot.choose("latest", snapshot.listed(said))


def test_the_latest_is_refused_where_a_host_gave_no_list() -> None:
    there = snapshot.listed(DUMPS)
    with pytest.raises(Problem, match="the latest snapshot is not known"):
        snapshot.choose("latest", there, ["control-1"])
    assert snapshot.choose(str(there[0]), there, ["control-1"]) == there[0]
