"""`clusterwright restore`: what hosts list, and which snapshot a word names."""

import pytest

from stacks.errors import Problem
from stacks.snapshots import restore

SAID = {
    "kubernetes-0": "etcd-20261123T160001Z.db 8192\n",
    "kubernetes-1": "etcd-20261123T150000Z.db 4096\netcd-20261123T160000Z.db 8192\n",
    "kubernetes-2": "",
}


def test_the_latest_snapshot_of_all_hosts_is_the_first() -> None:
    there = restore.listed(SAID)
    assert [str(one) for one in there] == [
        "kubernetes-0/etcd-20261123T160001Z.db",
        "kubernetes-1/etcd-20261123T160000Z.db",
        "kubernetes-1/etcd-20261123T150000Z.db",
    ]
    assert there[-1].bytes == 4096


def test_a_word_names_the_snapshot_of_one_host() -> None:
    there = restore.listed(SAID)
    assert restore.choose("kubernetes-1/etcd-20261123T150000Z.db", there) == there[-1]


@pytest.mark.parametrize(("said", "why"), [(SAID, "the latest are kubernetes-0/etcd-20261123T160001Z.db"), ({}, "no host has one in /var/lib/clusterwright")])
def test_another_word_is_refused_with_what_there_is(said: dict[str, str], why: str) -> None:
    with pytest.raises(Problem) as refused:
        restore.choose("kubernetes-2/etcd-20261123T160001Z.db", restore.listed(said))
    assert refused.value.status == 2
    assert why in refused.value.page()
