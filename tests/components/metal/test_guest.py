"""The program on a host, sent as it is sent to real ones, on a folder that holds a host's files."""

import ast
import base64
import fcntl
import hashlib
import json
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.metal import guest_program
from components.metal.guest import adoption, lost_mark
from components.metal.guest.system import System

OURS = {"stack": "lab", "owner": "/srv/ours", "token": "aaaa"}
THEIRS = {"stack": "hpc", "owner": "/srv/theirs", "token": "bbbb"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOwnKey somebody@somewhere"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host's files: users, an own table of hosts, an own key of root."""
    files = {
        "etc/passwd": "root:x:0:0::/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
        "etc/motd": "our server\n",
        "etc/ssh/ssh_host_rsa_key": "a key\n",
        "root/.ssh/authorized_keys": "ssh-rsa AAAA admin\n",
        "usr/local/bin/tool": "#!/bin/sh\n",
        "home/ubuntu/thesis": "words\n",
        "proc/self/mountinfo": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "etc/ssh/ssh_host_rsa_key").chmod(0o600)
    (tmp_path / "etc/localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    for folder in ("var/lib/dpkg", "var/spool/cron", "run", "opt", "usr/lib", "usr/sbin", "var/lib/systemd/timers"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def sent(root: Path, do: str, *, before: str = "", **order: Any) -> dict[str, Any]:
    """Send an order; `before` is Python that runs first."""
    done = subprocess.run(
        [sys.executable, "-IS", "-"], input=before.encode() + guest_program.text({"do": do, "root": str(root), **order}), capture_output=True, check=False
    )
    return dict(guest_program.answer(done.stdout)) if done.returncode == 0 else {"ok": False, "killed": done.returncode, "said": done.stderr.decode()}


def some_of(points: Sequence[int]) -> list[Any]:
    """Give points at which a run is killed: every third one in each test run, all of them in the long one."""
    return [pytest.param(one, marks=() if place % 3 == 0 else pytest.mark.soak) for place, one in enumerate(points)]


def tree(root: Path) -> dict[str, str]:
    """Describe every file of the host but those that only a run leaves."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(("run", "proc")):
            continue
        status = path.lstat()
        if path.is_symlink():
            found[name] = f"link {path.readlink()}"
        elif path.is_dir():
            found[name] = f"folder {stat.S_IMODE(status.st_mode):o}"
        else:
            found[name] = f"file {stat.S_IMODE(status.st_mode):o} {hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    return found


def finish(root: Path) -> None:
    """Change what finishing changes."""
    (root / "etc/slurm").mkdir(exist_ok=True)
    (root / "etc/slurm/slurm.conf").write_text("ClusterName=lab\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n10.0.0.1 head\n")
    (root / "etc/passwd").write_text((root / "etc/passwd").read_text() + "slurm:x:64030:64030::/:/sbin/nologin\n")
    (root / "etc/ssh/ssh_host_rsa_key").unlink(missing_ok=True)
    (root / "etc/motd").unlink(missing_ok=True)
    (root / "etc/motd").symlink_to("/usr/lib/clusterwright/motd")
    (root / "etc/localtime").unlink(missing_ok=True)
    (root / "etc/localtime").symlink_to("/usr/share/zoneinfo/UTC")
    (root / "usr/lib/clusterwright").mkdir(parents=True, exist_ok=True)
    (root / "usr/lib/clusterwright/boot").write_text("#!/bin/sh\n")
    for place in ("usr/sbin/clusterwright-database", "var/lib/systemd/timers/stamp-clusterwright-database.timer"):
        (root / place).write_text("")
    (root / "var/lib/slurm").mkdir(exist_ok=True)
    (root / "var/lib/slurm/job").write_text("")


def adopted(root: Path) -> dict[str, Any]:
    """Adopt a host, open a round of changes as every finishing does, finish it, record what that left."""
    answer = sent(root, "adopt", **OURS, admin_key=KEY)
    assert answer["ok"], answer
    assert sent(root, "open", token="aaaa")["ok"]
    finish(root)
    assert sent(root, "record", token="aaaa")["ok"]
    return answer


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


@pytest.mark.parametrize(("status", "stays"), [(0, []), (1, ["what kubernetes runs"])])
def test_what_runs_beside_units_is_ended_before_files_leave(host: Path, status: int, stays: list[str]) -> None:
    adopted(host)
    program = host / "usr/lib/clusterwright/leave.d/kubernetes"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nls "$CLUSTERWRIGHT_ROOT/usr/lib/clusterwright" >"$CLUSTERWRIGHT_ROOT/run/there"\nexit {status}\n')
    program.chmod(0o700)
    answer = sent(host, "release", token="aaaa")
    assert [one["what"] for one in answer["stays"]] == stays
    assert "boot" in (host / "run/there").read_text().split()
    assert not (host / "usr/lib/clusterwright").exists()


def test_what_others_changed_since_stays_and_is_said(host: Path) -> None:
    adopted(host)
    (host / "etc/hosts").write_text("127.0.0.1 localhost\n10.0.0.1 head\n10.9.9.9 printer\n")
    (host / "etc/passwd").write_text((host / "etc/passwd").read_text() + "ada:x:1001:1001::/home/ada:/bin/sh\n")
    (host / "etc/motd").unlink()
    (host / "etc/motd").write_text("our own again\n")
    (host / "etc/cron.d").mkdir()
    (host / "etc/cron.d/backup").write_text("0 1 * * * root backup\n")
    answer = sent(host, "release", token="aaaa")
    assert answer["stays"] == [{"what": "/etc/motd", "why": "somebody changed it since the stack did"}]
    assert (host / "etc/hosts").read_text() == "127.0.0.1 localhost\n10.9.9.9 printer\n"
    assert [line.partition(":")[0] for line in (host / "etc/passwd").read_text().splitlines()] == ["root", "ubuntu", "ada"]
    assert (host / "etc/motd").read_text() == "our own again\n"
    assert (host / "etc/cron.d/backup").exists()
    assert (host / "etc/localtime").readlink() == Path("/usr/share/zoneinfo/Europe/Berlin")


def test_what_its_owner_changed_between_two_finishings_is_how_the_host_was(host: Path) -> None:
    adopted(host)
    (host / "etc/timezone").write_text("Europe/Rome\n")
    (host / "usr/local/bin/tool").unlink()
    assert sent(host, "open", token="aaaa")["ok"]
    (host / "etc/slurm/slurm.conf").write_text("ClusterName=lab\nNodeName=a\n")
    (host / "etc/timezone").write_text("UTC\n")
    assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert (host / "etc/timezone").read_text() == "Europe/Rome\n"
    assert not (host / "usr/local/bin/tool").exists()
    assert not (host / "etc/slurm").exists()


@pytest.mark.parametrize("rounds", [1, 2])
def test_what_a_daemon_creates_after_finishing_was_recorded_leaves_with_the_stack(host: Path, rounds: int) -> None:
    before = tree(host)
    adopted(host)
    (host / "var/spool/slurmd").mkdir()
    (host / "var/spool/slurmd/cred_state").write_text("jobs\n")
    for _ in range(1, rounds):
        assert sent(host, "open", token="aaaa")["ok"]
        assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


@pytest.mark.parametrize(("also", "stays"), [((), []), (("pip",), ["/root/.cache"])])
def test_what_logging_in_as_root_leaves_goes_unless_more_is_there(host: Path, also: tuple[str, ...], stays: list[str]) -> None:
    before = tree(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]
    assert sent(host, "open", token="aaaa")["ok"]
    finish(host)
    for name in ("motd.legal-displayed", *also):
        (host / "root/.cache").mkdir(exist_ok=True)
        (host / "root/.cache" / name).write_text("")
    assert sent(host, "record", token="aaaa")["ok"]
    assert [one["what"] for one in sent(host, "release", token="aaaa")["stays"]] == stays
    assert (tree(host) == before) is (not stays)


def test_the_folder_of_a_daemon_that_was_there_before_stays(host: Path) -> None:
    (host / "var/spool/slurmd").mkdir()
    before = tree(host)
    adopted(host)
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


def test_a_record_outside_of_a_round_leaves_to_the_owner_what_they_changed(host: Path) -> None:
    adopted(host)
    (host / "etc/timezone").write_text("Europe/Rome\n")
    assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert (host / "etc/timezone").read_text() == "Europe/Rome\n"


def test_a_finishing_that_was_cut_off_counts_as_the_stacks(host: Path) -> None:
    before = tree(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]
    finish(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]  # the next `up`
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


KILL = """
import os
_left = [{number}]
def _dying(call):
    def dies(*args, **named):
        if _left[0] == 0:
            os._exit(9)
        _left[0] -= 1
        return call(*args, **named)
    return dies
for _name in ("replace", "unlink", "rename", "rmdir", "symlink", "makedirs", "chmod"):
    setattr(os, _name, _dying(getattr(os, _name)))
"""


def test_a_host_that_another_group_of_the_stack_has_by_now_is_not_released(host: Path) -> None:
    settings = {"path": "/etc/clusterwright/node.env", "content": base64.b64encode(b"CLUSTERWRIGHT_GROUP=large\n").decode(), "mode": 0o644}
    assert sent(host, "adopt", **OURS, admin_key=KEY, files=[settings])["ok"]
    assert sent(host, "release", token="aaaa", group="train")["state"] == "moved"
    assert sent(host, "look")["token"] == "aaaa"
    assert sent(host, "release", token="aaaa", group="large")["state"] == "released"


@pytest.mark.parametrize("number", some_of([*range(12), *range(12, 60, 6)]))
def test_a_release_that_was_killed_goes_on(host: Path, number: int) -> None:
    before = tree(host)
    adopted(host)
    first = sent(host, "release", token="aaaa", before=KILL.format(number=number))
    assert first.get("killed") == 9 or number > 12, first
    again = sent(host, "release", token="aaaa")
    assert again["state"] in ("released", "free")
    assert again["stays"] == []
    assert tree(host) == before


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


def test_job_state_stays_in_a_named_place_and_comes_back(host: Path) -> None:
    adopted(host)
    state = host / "var/lib/clusterwright/state/mysql"
    state.mkdir(parents=True)
    (state / "jobs.ibd").write_text("17 jobs")
    kept = sent(host, "release", token="aaaa")["kept"]
    assert kept == ["/var/lib/clusterwright/kept/lab/var/lib/clusterwright/state"]
    assert (host / kept[0].lstrip("/") / "mysql/jobs.ibd").read_text() == "17 jobs"
    assert not state.exists()
    assert sent(host, "adopt", **{**OURS, "token": "cccc"}, admin_key=KEY)["ok"]
    assert (state / "jobs.ibd").read_text() == "17 jobs"


def test_a_folder_that_a_link_took_the_place_of_is_there_again(host: Path) -> None:
    (host / "var/lib/extrausers").mkdir()
    before = tree(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]
    (host / "var/lib/extrausers").rmdir()
    (host / "var/lib/extrausers").symlink_to("/var/lib/clusterwright/cluster/users")
    assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


def test_data_on_a_mounted_file_system_stays_where_it_is(host: Path) -> None:
    adopted(host)
    state = host / "var/lib/clusterwright/state/slurmctld"
    state.mkdir(parents=True)
    (state / "job_state").write_text("x")
    (host / "proc/self/mountinfo").write_text("30 1 0:30 / /var/lib/clusterwright/state/slurmctld rw - nfs nas:/state rw\n")
    answer = sent(host, "release", token="aaaa")
    assert answer["kept"] == ["/var/lib/clusterwright/state"]
    assert (state / "job_state").read_text() == "x"


def test_what_is_kept_is_roots_alone(host: Path) -> None:
    adopted(host)
    (host / "var/lib/clusterwright/state").mkdir(parents=True)
    (host / "var/lib/clusterwright/state/job_state").write_text("x")
    sent(host, "release", token="aaaa")
    assert (host / "var/lib/clusterwright/kept/lab").stat().st_mode & 0o777 == 0o700


def test_a_release_that_goes_on_names_the_data_that_the_first_one_kept(host: Path) -> None:
    adopted(host)
    (host / "var/lib/clusterwright/state").mkdir(parents=True)
    (host / "var/lib/clusterwright/state/job_state").write_text("x")
    assert sent(host, "release", token="aaaa", before=KILL.format(number=14))["killed"] == 9
    assert not (host / "var/lib/clusterwright/state").exists()
    assert sent(host, "release", token="aaaa")["kept"] == ["/var/lib/clusterwright/kept/lab/var/lib/clusterwright/state"]


def test_another_stack_does_not_get_the_state_of_one_that_left(host: Path) -> None:
    adopted(host)
    state = host / "var/lib/clusterwright/state"
    state.mkdir(parents=True)
    (state / "job_state").write_text("x")
    assert sent(host, "release", token="aaaa")["kept"]
    assert sent(host, "adopt", **{**THEIRS, "stack": "lab"}, admin_key=KEY)["ok"]
    assert not state.exists()


def test_folders_for_data_that_is_elsewhere_leave_with_the_stack(host: Path) -> None:
    """The second controller has the state on a shared file system alone."""
    before = tree(host)
    adopted(host)
    (host / "var/lib/clusterwright/state/slurmctld").mkdir(parents=True)
    assert sent(host, "release", token="aaaa")["kept"] == []
    assert tree(host) == before


def test_data_goes_with_the_host_when_nothing_is_to_be_kept(host: Path) -> None:
    before = tree(host)
    adopted(host)
    (host / "var/lib/clusterwright/state").mkdir(parents=True)
    (host / "var/lib/clusterwright/state/job_state").write_text("x")
    assert sent(host, "release", token="aaaa", keep=[])["kept"] == []
    assert tree(host) == before


def test_a_folder_with_too_many_files_is_left_alone(host: Path) -> None:
    """Also where it came to have so many, or to have fewer, while the stack had the host."""
    for name in "abc":
        (host / "opt" / name).write_text("theirs")
    adopted(host)
    (host / "opt/d").write_text("theirs, too")
    program = guest_program.text({"do": "release", "root": str(host), "token": "aaaa"}).decode()
    assert "LISTED_AT_MOST = 50_000" in program
    small = program.replace("LISTED_AT_MOST = 50_000", "LISTED_AT_MOST = 3")
    answer = guest_program.answer(subprocess.run([sys.executable, "-IS", "-"], input=small.encode(), capture_output=True, check=True).stdout)
    assert answer["stays"] == []
    assert sorted(path.name for path in (host / "opt").iterdir()) == ["a", "b", "c", "d"]


def test_a_file_that_cant_be_restored_stays_and_the_others_are_restored(host: Path) -> None:
    adopted(host)
    refusing = """
import os
_real = os.replace
def _refuse(source, target):
    if target.endswith("/etc/hosts"):
        raise PermissionError(1, "Operation not permitted")
    _real(source, target)
os.replace = _refuse
"""
    answer = sent(host, "release", before=refusing, token="aaaa")
    assert answer["stays"] == [{"what": "/etc/hosts", "why": "it can't be restored: operation not permitted"}]
    assert (host / "etc/motd").read_text() == "our server\n"


def test_what_was_in_the_stacks_folders_before_stays(host: Path) -> None:
    (host / "var/lib/clusterwright/other-stack").mkdir(parents=True)
    (host / "var/lib/clusterwright/other-stack/disk").write_text("x")
    before = tree(host)
    adopted(host)
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


def test_releasing_a_host_that_nobody_has_changes_nothing(host: Path) -> None:
    before = tree(host)
    assert sent(host, "release", token="aaaa")["state"] == "free"
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


def test_an_administrator_releases_a_host_without_the_stack(host: Path) -> None:
    adopted(host)
    program = (host / "var/lib/clusterwright/adoption/release.py").read_text()
    assert program == guest_program.by_hand()
    compile(program, "release.py", "exec")


def test_files_that_a_host_has_before_it_is_finished_leave_with_the_stack(host: Path) -> None:
    before = tree(host)
    files = [{"path": "/etc/clusterwright/secrets/munge.key", "content": base64.b64encode(b"k").decode(), "mode": 0o400}]
    assert sent(host, "adopt", **OURS, files=files)["ok"]
    assert (host / "etc/clusterwright/secrets/munge.key").read_bytes() == b"k"
    assert (host / "etc/clusterwright/secrets").stat().st_mode & 0o777 == 0o700
    assert sent(host, "release", token="aaaa")["state"] == "released"
    assert tree(host) == before


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
