"""Drift checks on a real cluster: silent while nothing is wrong, exact when something is, and without a trace of their own."""

import contextlib
import hashlib
import json
import os
import pty
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from components.local.machine import command as machine
from components.local.machine import host as hosts
from components.local.machine import network
from stacks.drift import fix
from tests.hosts import grafted, planted
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = pytest.mark.hosts

CHECKED_WITHIN_S = 400
"""The timer's minute, and a whole check by one host."""
HOSTS = ("control-0", "login-0", "train-0", "train-1")
UNITS = ("munge.service", "mariadb.service", "slurmdbd.service", "slurmctld.service", "slurmd.service", "ssh.service")
WRITTEN_BY_THE_SYSTEM = {
    "/run",
    "/tmp",
    "/var/log",
    "/proc",
    "/sys",
    "/dev",
    "/home",
    "/shared",
    "/var/lib/clusterwright/cluster",
    "/var/lib/clusterwright/state",
}
"""Where a host writes whether a check runs or not, and what is mounted from elsewhere. Login records are below /run and /var/log."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A starter of this module's own: what is planted here would disturb others."""
    with deployment("test-drift", tmp_path_factory.mktemp("drift")) as one:
        one.up()
        yield one


def drift(stack: Deployment, *words: str) -> subprocess.CompletedProcess[str]:
    return stack.clusterwright("drift", "--history", str(stack.home / "history"), *words)


def report(stack: Deployment, *words: str, status: int) -> dict[str, Any]:
    done = drift(stack, "--json", *words)
    assert done.returncode == status, done.stdout[-6000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def lines(found: dict[str, Any]) -> list[str]:
    return [f"{one['layer']} {one['code']} {one['where']}" for one in found["findings"]]


def has_run(stack: Deployment, host: str, service: str) -> bool:
    shown = stack.inside_all(host, "systemctl", "show", "--property=ActiveState,ExecMainExitTimestampMonotonic", service).split()
    return "ActiveState=activating" not in shown and "ExecMainExitTimestampMonotonic=0" not in shown


def engine_folder() -> Path:
    program = shutil.which("pulumi")
    assert program
    return Path(program).parent


def state_of(stack: Deployment) -> dict[str, tuple[int, bytes]]:
    """Everything in the backend's folder, with its times."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted((stack.home / "state").rglob("*")) if path.is_file()}


def disk_of(stack: Deployment, hostname: str) -> dict[str, tuple[object, ...]]:
    """Content, mode, owner and time of everything on a host but the places where hosts write in the course of their work."""
    root = stack.host(hostname).root
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(root):
        inside = f"/{Path(folder).relative_to(root)}/".replace("/./", "/")
        folders[:] = [name for name in folders if f"{inside}{name}" not in WRITTEN_BY_THE_SYSTEM]
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else path.readlink() if path.is_symlink() else ""
            found[f"{inside}{name}"] = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, digest)
    return found


def units_of(stack: Deployment) -> dict[str, str]:
    """Main processes of the units on every host, with the moment when each was started."""
    asked = ("systemctl", "show", "--property=Id,MainPID,ActiveEnterTimestampMonotonic,NRestarts", *UNITS)
    return {name: stack.inside_all(name, *asked) for name in HOSTS}


def test_an_untouched_cluster_has_no_drift_also_while_jobs_run(stack: Deployment) -> None:
    assert report(stack, status=0)["findings"] == []
    stack.ssh("sbatch --parsable --nodes=2 --gpus-per-node=4 --wrap 'sleep 60'")
    assert report(stack, status=0)["findings"] == []
    found = report(stack, "--acceptance", status=0)
    assert found["findings"] == []
    assert [layer["layer"] for layer in found["layers"]] == ["cloud", "hosts", "scheduler", "versions", "capability"]
    assert found["unchecked"], "what was not compared is named"
    stack.ssh("scancel --me")


def test_a_check_leaves_no_trace(stack: Deployment) -> None:
    before_state, before_hosts, before_units = state_of(stack), {name: disk_of(stack, name) for name in HOSTS}, units_of(stack)
    assert report(stack, status=0)["findings"] == []
    assert state_of(stack) == before_state
    assert units_of(stack) == before_units
    for name in HOSTS:
        after = disk_of(stack, name)
        assert {path for path in {*before_hosts[name], *after} if before_hosts[name].get(path) != after.get(path)} == set(), name


def test_a_timer_of_systemd_runs_the_check_and_somebody_is_told(stack: Deployment) -> None:
    """The units are installed on the controller, which sees this checkout, its Python and its engine under their own names."""
    host = "control-0"
    grafts = (project_root(), Path(sys.base_prefix), Path(sys.executable).parents[1].resolve(), engine_folder(), stack.home)
    for folder in grafts:
        stack.inside(host, "mkdir", "-p", str(folder))
        grafted.graft(folder, guest=stack.guest(host))
    words = ["--as", "systemd", "--every", "1h", "--settle", "0", "--layer", "hosts", "--layer", "scheduler", "--history", "/var/tmp/drift-history"]
    written = stack.clusterwright("drift", "schedule", *words, "--notify-command", "cat > /var/tmp/told.json", "--to", str(stack.host(host).root))
    assert written.returncode == 0, written.stderr
    environment = {name: value for name, value in stack.environment.items() if name.startswith(("PULUMI_", "PYTHONPATH"))} | {"HOME": "/root"}
    stack.inside(host, "sh", "-c", "cat > /etc/clusterwright/drift.env", stdin="".join(f"{name}={value}\n" for name, value in environment.items()))
    timer, service = "clusterwright-drift-test-drift.timer", "clusterwright-drift-test-drift.service"
    stack.inside_all(host, "systemd-analyze", "verify", f"/etc/systemd/system/{service}", f"/etc/systemd/system/{timer}")
    stack.inside_all(host, "systemctl", "daemon-reload")
    reports = "/var/log/clusterwright-drift/test-drift"
    try:
        stack.inside_all(host, "systemctl", "start", timer)
        wait_until(lambda: has_run(stack, host, service), awaiting="the timer to fire and the check to end", within_s=CHECKED_WITHIN_S)
        shown = stack.inside_all(host, "systemctl", "show", "--property=Result,ExecMainStatus", service)
        assert set(shown.split()) == {"Result=success", "ExecMainStatus=7"}, stack.inside_all(
            host, "journalctl", "--unit", service, "--no-pager", "--output=cat"
        )
        told = json.loads(stack.inside(host, "cat", "/var/tmp/told.json"))
        added = {f"hosts CW723 control-0: /etc/systemd/system/{name}" for name in (timer, service)} | {"hosts CW723 control-0: /etc/clusterwright/drift.env"}
        # Of the folders mounted for it, the check reports those that cover a folder of the system.
        mounted = {f"hosts CW719 control-0: mount {folder}" for folder in grafts}
        assert set(lines(told)) - mounted == added, "the check finds what was put on the host for it"
        assert json.loads(stack.inside(host, "sh", "-c", f"cat {reports}/2*.json"))["findings"] == told["findings"]
        assert "<!doctype html>" in stack.inside(host, "cat", f"{reports}/latest.html")
    finally:  # what is planted here would be drift to the tests that follow
        stack.inside_all(host, "systemctl", "stop", timer, service)
        stack.inside(
            host, "sh", "-c", f"rm -rf /etc/systemd/system/{timer} /etc/systemd/system/{service} /etc/clusterwright/drift.env /var/tmp/told.json {reports}"
        )
        stack.inside_all(host, "systemctl", "daemon-reload")
        for folder in reversed(grafts):
            stack.inside(host, "umount", "--lazy", "--", str(folder))
    assert report(stack, status=0)["findings"] == []


MENDED = (
    ("login-0", "systemctl stop munge"),
    ("train-0", "sysctl -q -w net.ipv4.ip_forward=1"),
    ("train-0", "echo slurmd install | dpkg --set-selections"),
    ("train-0", "chmod 0666 /etc/nsswitch.conf"),
    ("train-0", "ln -s /dev/null /etc/systemd/system/haproxy.service"),
    ("control-0", "scontrol update partitionname=train maxtime=2:00:00"),
    ("control-0", "scontrol update nodename=train-0 weight=7"),
)


UNNOTICED = ("ln -s /dev/null", "chmod 0666", "echo slurmd install")
"""What a running job can't notice, as it begins."""
EVERY_KIND = tuple(word for kind in fix.Kind for word in ("--kind", str(kind)))


@contextlib.contextmanager
def job_on(stack: Deployment, node: str) -> Iterator[None]:
    """Run a job on a node."""
    job = stack.ssh(f"sbatch --parsable --nodelist={node} --wrap 'sleep 600'").strip()
    wait_until(
        lambda: stack.inside("control-0", "squeue", "--noheader", "--format=%T", f"--job={job}") == "RUNNING\n", awaiting="the job to run", within_s=SOON_S
    )
    try:
        yield
    finally:
        stack.inside("control-0", "scancel", job)
        wait_until(lambda: not stack.inside("control-0", "squeue", "--noheader").strip(), awaiting="the job to end", within_s=SOON_S)


def plant_mended(stack: Deployment) -> list[str]:
    """Plant what is repaired; give the hosts of what a job on train-0 could notice."""
    for host, command in MENDED:
        stack.inside(host, "sh", "-c", command)
    return [host for host, command in MENDED if host == "train-0" and not command.startswith(UNNOTICED)]


def accepted_at(stack: Deployment) -> str:
    found: dict[str, Any] = json.loads(stack.clusterwright("summary", "--json").stdout)["acceptance"]
    return str(found["at"])


def answer_up(stack: Deployment, words: str) -> str:
    """Run `up` on a terminal, answer its question, and give what it printed."""
    terminal, ours = pty.openpty()
    try:
        os.write(terminal, f"{words}\n".encode())
        done = subprocess.run(
            ["clusterwright", "up", "--stack", stack.stack], cwd=project_root(), env=stack.environment, stdin=ours, capture_output=True, text=True, check=False
        )
    finally:
        os.close(terminal)
        os.close(ours)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert "Running jobs may notice these repairs. Do them now?" in done.stdout + done.stderr
    return done.stdout


def test_up_repairs_what_differs_and_leaves_on_hosts_with_jobs_what_they_notice(stack: Deployment) -> None:
    before = accepted_at(stack)
    with job_on(stack, "train-0"):
        stack.inside("train-1", "chmod", "0666", "/etc/nsswitch.conf")
        as_recorded = stack.clusterwright("up", "--as-recorded")
        assert (as_recorded.returncode, "Repairs" in as_recorded.stdout) == (0, False), as_recorded.stdout + as_recorded.stderr
        on_the_job = plant_mended(stack)
        said = stack.up()
        repairs, staying = said.partition("  repairing ")[0], said.partition("Still different from the record\n")[2]
        assert repairs.count("\n  train-0: ") == 3, "a hold, a link, and systemd reads its links again"
        assert "\n  train-[0-1]: give /etc/nsswitch.conf to root:root with mode 0644\n" in repairs, "what --as-recorded left, and the same on the other node"
        assert staying.count("do: clusterwright drift fix") == staying.count("when no job runs there") == len(on_the_job)
        assert "`clusterwright drift` finds it" in staying
        assert [line.split(" ", 2)[2].split(":")[0] for line in lines(report(stack, status=7))] == on_the_job
        assert accepted_at(stack) > before, "MUNGE was started again after acceptance had run"


def test_who_is_asked_decides_about_what_jobs_may_notice(stack: Deployment) -> None:
    """Goes on from what the test before left."""
    with job_on(stack, "train-0"):
        assert "Still different from the record" in answer_up(stack, "no")
        said = answer_up(stack, "yes")
        assert "train-0: sysctl" in said
        assert "Still different from the record" not in said
        stack.inside("train-0", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        agreed = stack.clusterwright("up", "--yes")
        assert (agreed.returncode, "train-0: sysctl" in agreed.stdout) == (0, True), agreed.stdout + agreed.stderr
        assert report(stack, status=0)["findings"] == []


def test_a_bare_refresh_shows_what_differs_where_finishing_restores_it(stack: Deployment) -> None:
    stack.inside("login-0", "sh", "-c", "echo '# edited' >> /etc/slurm/slurm.conf")
    assert stack.preview_changes() == {"update": 1}, "the login nodes are configured again"
    stack.inside("control-0", "sacctmgr", "--immediate", "modify", "account", "where", "name=research", "set", "description=other")
    assert stack.preview_changes() == {"update": 2}, "the controllers, too"
    stack.up()
    assert stack.preview_changes() == {}


def test_a_host_that_is_lost_while_it_is_repaired_is_repaired_when_it_runs_again(stack: Deployment) -> None:
    before = stack.leaders()
    stack.inside("train-1", "sh", "-c", "echo '# edited' >> /etc/nsswitch.conf")
    status, said = stack.up_while(lambda line: "repairing" in line, lambda: stack.cut_power("train-1"))
    assert status == 0, said[-6000:]
    assert {name for name, leader in stack.leaders().items() if before[name] != leader} == {"train-1"}
    assert report(stack, status=0)["findings"] == []


def test_acceptance_is_out_of_date_after_a_fix_and_single_findings_can_be_fixed(stack: Deployment) -> None:
    before = accepted_at(stack)
    stack.inside("train-0", "systemctl", "stop", "munge")
    stack.inside("train-1", "systemctl", "stop", "munge")
    assert drift(stack, "fix", "--yes", "--only", "CW731:train-1*").returncode == 7, "the other node still differs"
    left = lines(report(stack, "--layer", "hosts", status=7))
    assert left == ["hosts CW731 train-0: unit munge.service"], "only what was named is repaired"
    drift(stack, "fix", "--yes", "--only", "CW731")
    assert report(stack, "--layer", "hosts", status=0)["findings"] == []
    assert "out of date: train-[0-1] were repaired since" in stack.clusterwright("summary").stdout
    said = stack.up()
    assert "out of date" not in said
    assert accepted_at(stack) > before


def test_what_differs_is_repaired_and_on_hosts_with_jobs_what_they_cannot_notice(stack: Deployment) -> None:
    with job_on(stack, "train-0"):
        _fix_beside_a_job(stack)
    done = drift(stack, "fix", *EVERY_KIND, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert report(stack, status=0)["findings"] == []


def _fix_beside_a_job(stack: Deployment) -> None:
    on_the_job = plant_mended(stack)
    shown = drift(stack, "fix", *EVERY_KIND)
    assert shown.returncode == 7, shown.stderr
    steps = len(MENDED) - len(on_the_job) + 1  # systemd reads its links again
    assert shown.stdout.count("will run on") == steps
    assert len(report(stack, status=7)["findings"]) == len(MENDED), "nothing is done before somebody agrees"
    entries = stack.home / "stands.yaml"
    entries.write_text("ignore: [{code: CW759, where: 'partition train: MaxTime', reason: ours}]")
    shown = drift(stack, "fix", *EVERY_KIND, "--ignore", str(entries))
    assert shown.stdout.count("will run on") == steps - 1
    assert shown.stdout.count("because: the ignore file covers it: ours") == 1
    done = drift(stack, "fix", *EVERY_KIND, "--yes")
    assert done.returncode == 7, done.stdout + done.stderr
    assert done.stdout.count("because: jobs run there") == len(on_the_job)
    left = lines(report(stack, status=7))
    assert [line.split(" ", 2)[2].split(":")[0] for line in left] == on_the_job


def test_a_balancer_that_was_given_another_configuration_is_found(stack: Deployment) -> None:
    file = stack.host("balancer").state / "haproxy" / "haproxy.cfg"
    text = file.read_text()
    file.write_text(text.replace("maxconn 2000", "maxconn 20"))
    assert lines(report(stack, "--layer", "cloud", status=7)) == ["cloud CW702 clusterwright:local:Balancer balancer: configuration"]
    file.write_text(text)
    assert report(stack, "--layer", "cloud", status=0)["findings"] == []


def do(stack: Deployment, plant: planted.Plant) -> None:
    """Plant a drift on its host, or in its network where the host has no program for it."""
    if plant.is_outside:
        machine.run("nsenter", f"--target={stack.guest(plant.host)}", "--net", "--", "sh", "-c", plant.command)
    else:
        stack.inside(plant.host, "sh", "-c", plant.command)


def test_planted_drift_is_found_exactly(stack: Deployment) -> None:
    patterns: list[str] = []
    for batch in planted.BATCHES:
        for plant in batch:
            do(stack, plant)
        patterns = planted.expected(patterns, batch)
        found = lines(report(stack, status=7))
        assert planted.mismatch(found, patterns) == ([], [])
        assert len(found) == len(set(found))


def test_lost_resources_dead_hosts_and_changed_code_are_told_apart(stack: Deployment) -> None:
    """Goes on from what the test before planted."""
    for arguments in list(network.labelled_rules(stack.names))[:1]:
        subprocess.run(["iptables", "-w", *arguments], check=True)
    stack.cut_power("train-1")
    hosts.kill(stack.host("balancer"))
    wait_until(lambda: hosts.is_gone(stack.host("balancer")), awaiting="the balancer to end", within_s=SOON_S)
    hosts.remove(stack.host("balancer"))
    stack.choose("pools.train.partition.max_time", "2-00:00:00")
    found = report(stack, status=7)
    cloud = {(one["code"], one["where"]): one for one in found["findings"] if one["layer"] == "cloud"}
    lost = ("CW702", "clusterwright:local:Network network: missing")
    dead = ("CW702", "clusterwright:local:HostPool train: up")
    gone = ("CW701", "clusterwright:local:Balancer balancer")
    asked = {("CW703", f"clusterwright:{what}") for what in ("finish:Group finish-control", "finish:Group finish-access", "accept:Acceptance acceptance")}
    assert set(cloud) == {lost, dead, gone, *asked}
    assert cloud[dead]["recorded"] == '["train-0", "train-1"]'
    assert cloud[dead]["actual"] == '["train-0"]'
    assert cloud[dead]["what"].startswith("up has lost train-1")
    assert {cloud[one]["level"] for one in (lost, dead, gone)} == {"error"}
    assert {cloud[one]["level"] for one in asked} == {"note"}
    about = {line for line in lines(found) if "train-1" in line and not line.startswith("cloud")}
    assert about - {"scheduler CW756 node train-1: down"} == {"hosts CW720 train-1: SSH"}, "Slurm itself may have missed the node by then"
    assert {one["layer"] for one in found["unchecked"] if one["where"] == "train-1"} == {"hosts", "versions", "capability"}
    stack.choose("pools.train.partition.max_time", None)


def test_a_cluster_that_lies_dark_is_reported_host_by_host(stack: Deployment) -> None:
    """Goes on from what the test before left."""
    for name in HOSTS:
        if name in stack.leaders():
            stack.cut_power(name)
    found = report(stack, "--layer", "hosts", "--layer", "scheduler", "--layer", "versions", "--layer", "capability", status=7)
    assert sorted(lines(found)) == [f"hosts CW720 {name}: SSH" for name in HOSTS]
    assert all(layer["failure"] is None for layer in found["layers"])
    assert {one["layer"] for one in found["unchecked"]} == {"hosts", "scheduler", "versions", "capability"}


@pytest.mark.soak
def test_an_untouched_cluster_has_no_drift_in_twenty_checks(tmp_path_factory: pytest.TempPathFactory) -> None:
    with deployment("test-drift-soak", tmp_path_factory.mktemp("soak")) as one:
        one.up()
        for _ in range(20):
            assert report(one, status=0)["findings"] == []


def test_enough_kinds_are_planted() -> None:
    plants = [plant for batch in planted.BATCHES for plant in batch]
    assert len(plants) >= 100
    assert len({plant.name for plant in plants}) == len(plants)
