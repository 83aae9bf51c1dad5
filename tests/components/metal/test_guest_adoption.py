"""Adopting a host: what is kept of how it was, whose it is, and what stands in the way. The program is sent as it is sent to real hosts, on a folder that holds a host's files."""

import ast
import fcntl
import hashlib
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from components.metal import guest_program
from tests.components.metal.guest_host import KEY, KILL, OURS, THEIRS, adopted, host, sent, some_of, tree

__all__ = ["host"]


def test_a_released_host_is_as_it_was(host: Path) -> None:
    before = tree(host)
    adopted(host)
    assert tree(host) != before
    answer = sent(host, "release", token="aaaa")
    assert (answer["state"], answer["stays"], answer["kept"]) == ("released", [], [])
    assert tree(host) == before


def test_adoption_marks_the_host_and_lets_the_stacks_key_in(host: Path) -> None:
    answer = adopted(host)
    mark = json.loads((host / "etc/clusterwright/owner.json").read_text())
    assert (mark["stack"], mark["owner"], mark["token"]) == ("lab", "/srv/ours", "aaaa")
    assert answer["is_new"]
    assert (host / "root/.ssh/authorized_keys").read_text() == f"ssh-rsa AAAA admin\n{' '.join(KEY.split()[:2])} clusterwright\n"
    assert (host / "root/.ssh/authorized_keys").stat().st_mode & 0o777 == 0o600


def test_what_is_kept_of_a_host_is_its_administrators_alone(host: Path) -> None:
    adopted(host)
    folder = host / "var/lib/clusterwright/adoption"
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in [folder, *folder.rglob("*")]} == {0}


def test_adopting_again_is_no_new_adoption(host: Path) -> None:
    first = adopted(host)
    again = sent(host, "adopt", **OURS, admin_key=KEY)
    assert (again["is_new"], again["born"]) == (False, first["born"])
    assert sent(host, "look")["incarnation"] == first["incarnation"] != ""


@pytest.mark.parametrize(
    ("restarted", "counts_as"),
    [("", "b2"), ("b2\nb1\n", "b1"), ("b1\nb0\n", "b2"), ("\nb1\n", "b2"), ("b2\n", "b2")],
    ids=["nothing", "by finishing", "since", "half-way", "cut off"],
)
def test_a_restart_of_finishing_itself_is_no_other_boot(host: Path, restarted: str, counts_as: str) -> None:
    for place, text in (("proc/sys/kernel/random/boot_id", "b2\n"), ("var/lib/clusterwright/restarted", restarted)):
        (host / place).parent.mkdir(parents=True, exist_ok=True)
        (host / place).write_text(text)
    assert sent(host, "look")["boot_id"] == counts_as


def test_a_reinstalled_host_has_another_incarnation(host: Path) -> None:
    first = adopted(host)["incarnation"]
    (host / "etc/machine-id").write_text("fedcba9876543210fedcba9876543210\n")
    assert sent(host, "look")["incarnation"] not in (first, "")
    subprocess.run(["rm", "-r", host / "etc/clusterwright", host / "var/lib/clusterwright", host / "etc/slurm"], check=True)
    assert sent(host, "look")["incarnation"] == ""
    again = sent(host, "adopt", **OURS, admin_key=KEY)
    assert again["is_new"]
    assert again["incarnation"] not in (first, "")


def test_a_look_waits_for_an_adoption_that_goes_on_without_its_caller(host: Path) -> None:
    with (host / "run/clusterwright-adoption.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        look = subprocess.Popen([sys.executable, "-IS", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert look.stdin
        look.stdin.write(guest_program.text({"do": "look", "root": str(host)}))
        look.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            look.wait(timeout=1)
    assert look.wait(timeout=10) == 0
    assert look.stdout
    with look.stdout as said:
        assert guest_program.answer(said.read())["ok"]


def test_a_host_of_another_stack_is_refused_and_not_changed(host: Path) -> None:
    adopted(host)
    there = tree(host)
    for do, order in (("adopt", THEIRS), ("record", {"token": "bbbb"}), ("release", {"token": "bbbb"})):
        answer = sent(host, do, **order)
        assert answer["refused"]["what"] == "this host is owned by stack lab of /srv/ours", do
        assert "make --directory /srv/ours down STACK=lab" in answer["refused"]["remedy"]
        assert tree(host) == there


def test_a_host_stays_its_owners_when_the_mark_was_deleted(host: Path) -> None:
    before = tree(host)
    adopted(host)
    (host / "etc/clusterwright/owner.json").unlink()
    assert sent(host, "adopt", **THEIRS)["refused"]["what"] == "this host is owned by stack lab of /srv/ours"
    assert sent(host, "release", token="aaaa")["state"] == "released"
    assert tree(host) == before


def test_a_mark_that_somebody_removed_is_written_again_and_anothers_is_left(host: Path) -> None:
    adopted(host)
    path = host / "etc/clusterwright/owner.json"
    mark = path.read_text()
    path.unlink()
    assert sent(host, "mark", token="aaaa")["ok"]
    assert path.read_text() == mark
    theirs = mark.replace("aaaa", "bbbb")
    path.write_text(theirs)
    assert "owned by stack" in sent(host, "mark", token="aaaa")["refused"]["what"]
    assert path.read_text() == theirs


def test_a_changed_table_of_passwords_is_restored_from_what_finishing_left(host: Path) -> None:
    """A drift check knows the checksum alone of what not everybody may read."""
    shadow = host / "etc/shadow"
    shadow.write_text("root:*:19000:0:99999:7:::\n")
    shadow.chmod(0o640)
    adopted(host)
    left = shadow.read_bytes()
    wanted = {"token": "aaaa", "path": "/etc/shadow", "sha256": hashlib.sha256(left).hexdigest()}
    shadow.write_text("root:$6$known-to-somebody:19000:0:99999:7:::\n")
    assert sent(host, "restore", **{**wanted, "token": "bbbb"})["refused"]["what"] == "this host is owned by stack lab of /srv/ours"
    assert sent(host, "restore", **{**wanted, "sha256": "0" * 64})["refused"]["what"] == "/etc/shadow can't be restored here"
    assert shadow.read_bytes() != left
    assert sent(host, "restore", **wanted)["ok"]
    assert (shadow.read_bytes(), shadow.stat().st_mode & 0o7777) == (left, 0o640)


@pytest.mark.parametrize(
    ("path", "text", "seen"),
    [
        ("etc/slurm/slurm.conf", "ClusterName=theirs\n", "/etc/slurm/slurm.conf is there"),
        ("etc/munge/munge.key", "key", "/etc/munge/munge.key is there"),
        ("opt/slurm/sbin/slurmd", "", "/opt/slurm/sbin/slurmd is there"),
        ("var/lib/dpkg/status", "Package: slurm-client\nStatus: install ok installed\nVersion: 1\n", "installed packages: slurm-client"),
        ("var/lib/dpkg/status", "Package: mysql-server-8.0\nStatus: install ok installed\nVersion: 1\n", "installed packages: mysql-server-8.0"),
        ("proc/77/comm", "slurmctld\n", "slurmctld runs (process 77)"),
    ],
)
def test_a_host_with_a_slurm_or_a_database_is_refused_and_not_changed(host: Path, path: str, text: str, seen: str) -> None:
    (host / path).parent.mkdir(parents=True, exist_ok=True)
    (host / path).write_text(text)
    there = tree(host)
    assert sent(host, "adopt", **OURS)["refused"]["why"] == seen
    assert sent(host, "look")["occupied"] == [seen]
    assert tree(host) == there


def test_a_database_is_in_the_way_of_a_controller_alone(host: Path) -> None:
    (host / "var/lib/dpkg/status").write_text("Package: mariadb-server\nStatus: install ok installed\nVersion: 1\n")
    assert sent(host, "adopt", **OURS, role="control")["refused"]["why"] == "installed packages: mariadb-server"
    assert sent(host, "adopt", **OURS, role="compute")["ok"]


@pytest.mark.parametrize("package", ["containerd", "docker-ce", "kubelet"])
def test_a_container_runtime_is_in_the_way_of_kubernetes_alone(host: Path, package: str) -> None:
    (host / "var/lib/dpkg/status").write_text(f"Package: {package}\nStatus: install ok installed\nVersion: 1\n")
    for role in ("kubernetes", "kubernetes-node"):
        assert sent(host, "adopt", **OURS, role=role)["refused"]["why"] == f"installed packages: {package}"
    assert sent(host, "adopt", **OURS, role="compute")["ok"]


def test_a_node_of_another_kubernetes_is_refused(host: Path) -> None:
    (host / "etc/kubernetes").mkdir()
    (host / "etc/kubernetes/kubelet.conf").write_text("")
    assert sent(host, "adopt", **OURS, role="kubernetes-node")["refused"]["why"] == "/etc/kubernetes/kubelet.conf is there"


@pytest.mark.parametrize("number", [1, 6, 12, 24])
def test_a_host_is_adopted_again_after_a_release_that_was_killed(host: Path, number: int) -> None:
    before = tree(host)
    adopted(host)
    assert sent(host, "release", token="aaaa", before=KILL.format(number=number))["killed"] == 9
    adopted(host)
    (host / "etc/later").write_text("its owner wrote this")
    assert sent(host, "release", token="aaaa")["stays"] == []
    (host / "etc/later").unlink()
    assert tree(host) == before


@pytest.mark.parametrize("number", some_of([*range(8), *range(8, 40, 8)]))
def test_an_adoption_that_was_killed_goes_on_and_can_be_released(host: Path, number: int) -> None:
    before = tree(host)
    first = sent(host, "adopt", **OURS, admin_key=KEY, before=KILL.format(number=number))
    assert first.get("killed") == 9 or number > 8, first
    adopted(host)
    assert sent(host, "release", token="aaaa")["state"] == "released"
    assert tree(host) == before


def test_a_package_manager_at_work_is_waited_for_and_named(host: Path) -> None:
    adopted(host)
    there = tree(host)
    lock = host / "var/lib/dpkg/lock-frontend"
    lock.write_text("")
    holder = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holder, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as apt:
        assert apt.stdin
        assert apt.stdout
        apt.stdout.readline()
        answer = sent(host, "release", token="aaaa", lock_within_s=0)
        assert answer["refused"]["what"] == "the package manager of this host is in use"
        assert f"process {apt.pid})" in answer["refused"]["why"]
        apt.stdin.close()
    lock.unlink()
    assert tree(host) == there
    assert sent(host, "release", token="aaaa")["state"] == "released"


def test_the_program_is_written_for_python_39() -> None:
    for path in guest_program.FOLDER.glob("*.py"):
        ast.parse(path.read_text(), filename=str(path), feature_version=(3, 9))


def test_an_answer_is_found_among_what_a_login_shell_prints() -> None:
    assert guest_program.answer(b"Welcome\n" + guest_program.MARK.encode() + b'{"ok": true}\nlogout\n') == {"ok": True}
    with pytest.raises(guest_program.NoAnswer, match="sudo: a password is required"):
        guest_program.answer(b"sudo: a password is required\n")


def test_the_disk_is_looked_at_before_anything_changes(host: Path) -> None:
    full = "import os\n_real = os.statvfs\nos.statvfs = lambda path: os.statvfs_result((*_real(path)[:3], 10, 10, *_real(path)[5:]))\n"
    before = tree(host)
    assert sent(host, "adopt", before=full, **OURS)["refused"]["what"] == "the disk of this host is full"
    assert tree(host) == before
    adopted(host)
    there = tree(host)
    assert sent(host, "release", before=full, token="aaaa")["refused"]["what"] == "the disk of this host is full"
    assert tree(host) == there
