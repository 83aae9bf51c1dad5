"""A host that lost its mark or its record: whose it is, by what proof, and how it is released."""

import base64
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.metal.guest import adoption, lost_mark
from components.metal.guest.system import System
from tests.components.metal.guest_host import KEY, OURS, adopted, finish, host, sent, tree

__all__ = ["host"]

MACHINE_ID = "0123456789abcdef0123456789abcdef"
EVIDENCE: dict[str, Any] = {"adopted": [MACHINE_ID], "munge_key": base64.b64encode(b"the key").decode(), "admin_key": KEY, "role": "compute"}
SLURMD = "Package: slurmd\nStatus: install ok installed\nVersion: 1\n\nPackage: curl\nStatus: install ok installed\nVersion: 1\n"


def serving(root: Path, *, key: str = "the key") -> None:
    """Let a host run a cluster."""
    adopted(root)
    (root / "etc/munge").mkdir()
    if key:
        (root / "etc/munge/munge.key").write_text(key)
    (root / "etc/sudoers.d").mkdir()
    for own in ("etc/sudoers.d/clusterwright", "etc/sysctl.d/60-clusterwright.conf"):
        (root / own).parent.mkdir(exist_ok=True)
        (root / own).write_text("")


def delete_mark_and_record(root: Path) -> None:
    subprocess.run(["rm", "-r", root / "etc/clusterwright", root / "var/lib/clusterwright"], check=True)


def test_a_host_that_lost_mark_and_record_is_the_stacks_where_the_stack_records_it(host: Path) -> None:
    serving(host)
    delete_mark_and_record(host)
    answer = sent(host, "adopt", **OURS, **EVIDENCE)
    assert (answer["is_new"], answer["is_lost"]) == (False, True)
    assert sent(host, "open", token="aaaa")["ok"]
    finish(host)
    assert sent(host, "record", token="aaaa")["ok"]
    released = sent(host, "release", token="aaaa")
    assert [one["what"] for one in released["stays"]] == ["what was there before the adoption"]
    stacks = ("etc/slurm", "etc/munge", "etc/clusterwright", "usr/lib/clusterwright", "etc/sudoers.d", "etc/sysctl.d", "etc/motd")
    assert [name for name in stacks if [*(host / name).rglob("*")] or (host / name).is_symlink()] == []
    assert (host / "root/.ssh/authorized_keys").read_text() == "ssh-rsa AAAA admin\n"


@pytest.mark.parametrize("evidence", ["munge's key", "root's key"])
def test_either_key_of_the_stack_is_enough(host: Path, evidence: str) -> None:
    serving(host, key="the key" if evidence == "munge's key" else "")
    delete_mark_and_record(host)
    if evidence == "munge's key":
        (host / "root/.ssh/authorized_keys").unlink()
    assert sent(host, "adopt", **OURS, **EVIDENCE)["is_lost"]


@pytest.mark.parametrize("changed", [{"adopted": ["f" * 32]}, {"munge_key": base64.b64encode(b"another key").decode()}])
def test_a_host_that_is_not_known_or_that_another_cluster_took_is_refused(host: Path, changed: dict[str, Any]) -> None:
    serving(host)
    delete_mark_and_record(host)
    there = tree(host)
    assert "/etc/munge/munge.key is there" in sent(host, "adopt", **OURS, **{**EVIDENCE, **changed})["refused"]["why"]
    assert tree(host) == there


@pytest.mark.parametrize(
    ("role", "path", "text"),
    [
        ("kubernetes-node", "etc/kubernetes/kubelet.conf", ""),
        ("control", "var/lib/dpkg/status", "Package: mariadb-server\nStatus: install ok installed\nVersion: 1\n"),
        ("compute", "etc/slurm/slurm.conf", "AuthType=auth/slurm\n"),
    ],
)
def test_a_host_that_its_administrator_released_is_its_owners(host: Path, role: str, path: str, text: str) -> None:
    adopted(host)
    assert sent(host, "release", token="aaaa")["state"] == "released"
    (host / path).parent.mkdir(parents=True, exist_ok=True)
    (host / path).write_text(text)
    assert "runs a scheduler" in sent(host, "adopt", **OURS, **{**EVIDENCE, "role": role})["refused"]["what"]


def test_a_host_that_was_released_and_comes_back_is_a_new_one(host: Path) -> None:
    adopted(host)
    assert sent(host, "release", token="aaaa")["state"] == "released"
    answer = sent(host, "adopt", **OURS, **EVIDENCE)
    assert (answer["is_new"], answer["is_lost"]) == (True, False)


def test_a_host_whose_record_is_lost_is_released_without_its_scheduler(host: Path) -> None:
    before = tree(host)
    adopted(host)
    subprocess.run(["rm", "-r", host / "var/lib/clusterwright"], check=True)
    owners = host / "etc/kubernetes/pki/ca.key"
    owners.parent.mkdir(parents=True)
    owners.write_text("the owner's")
    released = sent(host, "release", token="aaaa")
    assert (released["state"], [one["what"] for one in released["stays"]]) == ("released", ["what was there before the adoption"])
    now = tree(host)
    assert {name for name in now if name not in before} - {"etc/kubernetes", "etc/kubernetes/pki"} == {
        "etc/kubernetes/pki/ca.key", "var/lib/slurm", "var/lib/slurm/job",
    }  # fmt: skip
    assert now["etc/hosts"] != before["etc/hosts"], "what it was is not known"


def test_a_host_that_lost_mark_and_record_is_released_by_its_keys(host: Path) -> None:
    serving(host)
    delete_mark_and_record(host)
    assert sent(host, "release", **OURS, **EVIDENCE)["state"] == "released"
    assert not (host / "etc/munge/munge.key").exists()


def test_of_a_lost_record_what_adopting_refuses_and_the_stacks_own_leave(host: Path) -> None:
    (host / "var/lib/dpkg/status").write_text(SLURMD)
    running = ["clusterwright-mounts.service", "mariadb.service", "slurmd.service", "slurmrestd.socket", "ssh.service"]
    (host / "usr/bin").mkdir(parents=True)
    for name, text in {"systemctl": f"#!/bin/sh\n[ \"$1\" != list-units ] || printf '%s\\n' {' '.join(running)}\n"}.items():
        (host / "usr/bin" / name).write_text(text)
        (host / "usr/bin" / name).chmod(0o755)
    described = lost_mark.record(System(str(host)), {}, adoption.Record(System(str(host))), "control")["before"]
    assert (described["units"], [*described["packages"]]) == (["ssh.service"], ["curl"])


def test_a_mark_that_cant_be_read_is_nobodys_to_overwrite(host: Path) -> None:
    adopted(host)
    (host / "etc/clusterwright/owner.json").write_text("{")
    assert "rm /etc/clusterwright/owner.json" in sent(host, "adopt", **OURS)["refused"]["remedy"]
