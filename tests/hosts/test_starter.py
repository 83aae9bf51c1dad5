"""The main job: the starter is up, does what it says, and comes back from what happens to clusters."""

import json
import re
import subprocess

import pytest

from components.local.machine import host as hosts
from components.local.machine import network
from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

NODES = ("control-0", "login-0", "train-0", "train-1")


LINES_OF_A_FIRST_UP, LINES_OF_AN_UNCHANGED_UP = 60, 25


def wait_until_accounted(stack: Deployment, job: str) -> None:
    """Wait for the end of a job to reach the database: the controller tells it a moment later than it tells the user."""
    asked = f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State"
    wait_until(lambda: stack.ssh(asked).split() == ["COMPLETED"], awaiting=f"job {job} to be accounted", within_s=SOON_S)


def test_acceptance_passed_and_says_what_is_simulated(running: Deployment) -> None:
    outputs = running.outputs()
    verdicts = {check["name"]: check["verdict"] for check in outputs["acceptance"]}
    assert verdicts["MPI all-reduce"] == "pass"
    assert verdicts["accounting"] == "pass"
    assert verdicts["storage values"] == "pass"
    rates = {"all-reduce busbw", "storage write", "storage read", "storage metadata"}
    assert {verdicts[name] for name in rates} == {"reported"}, "on simulated hardware a rate is reported, not judged"
    assert {verdict for name, verdict in verdicts.items() if name not in rates} == {"pass"}
    assert any("GPU" in sentence for sentence in outputs["spec"]["simulated"])


def test_a_first_up_is_said_in_a_few_lines(brought_up: tuple[Deployment, str]) -> None:
    lines = brought_up[1].splitlines()
    assert len(lines) <= LINES_OF_A_FIRST_UP, "\n".join(lines)


def test_summary_names_a_login_that_works(running: Deployment) -> None:
    summary = running.clusterwright("summary").stdout
    [login] = [line.strip() for line in summary.splitlines() if line.strip().startswith("ssh ")]
    done = running.run("sh", "-c", f"{login} -o BatchMode=yes id -un")
    assert done.stdout.strip() == "ada", done.stderr


def test_a_two_node_batch_job_runs_and_is_accounted(running: Deployment) -> None:
    job = running.ssh("sbatch --parsable --wait --nodes=2 --gpus-per-node=8 --wrap 'srun hostname'").strip()
    assert running.ssh(f"sort slurm-{job}.out").split() == ["train-0", "train-1"]
    wait_until_accounted(running, job)
    [line] = running.ssh(f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State,Account,NNodes,AllocTRES").splitlines()
    state, account, nodes, resources = line.split("|")
    assert (state, account, nodes) == ("COMPLETED", "research", "2")
    assert "gres/gpu:h100=16" in resources.split(",")


def test_one_user_has_one_number_everywhere(running: Deployment) -> None:
    here = running.ssh("id -u; id -g").split()
    there = {tuple(line.split()) for line in running.ssh("srun --nodes=2 sh -c 'echo $(id -u) $(id -g) $(stat -c %u $HOME)'").splitlines()}
    assert here == ["2001", "2001"]
    assert there == {("2001", "2001", "2001")}


def test_every_node_resolves_every_name(running: Deployment) -> None:
    names = " ".join((*NODES, "train-1.starter.internal", "balancer"))
    addresses = running.ssh(f"srun --nodes=2 getent ahostsv4 {names} | awk '$2 == \"STREAM\" {{print $1}}' | sort | uniq -c").splitlines()
    here = running.ssh(f"getent ahostsv4 {names} | awk '$2 == \"STREAM\" {{print $1}}' | sort | uniq -c").splitlines()
    seen_twice = {address: 2 * int(count) for count, address in (line.split() for line in here)}
    assert {address: int(count) for count, address in (line.split() for line in addresses)} == seen_twice
    assert sum(seen_twice.values()) == 2 * len(names.split())


def test_a_user_without_an_account_cannot_run(running: Deployment) -> None:
    refused = subprocess.run(
        ["nsenter", f"--target={running.leaders()['login-0']}", "--net", "true"], check=False, capture_output=True
    )  # the host is there; what follows is about Slurm alone
    assert refused.returncode == 0
    answer = running.ssh("sbatch --account=nobodys --wrap true 2>&1 || true")
    assert "Invalid account" in answer


def test_an_untouched_cluster_shows_no_change(running: Deployment) -> None:
    assert running.preview_changes() == {}


def test_a_dead_node_is_seen_and_only_it_is_mended(running: Deployment) -> None:
    before = running.leaders()
    running.cut_power("train-1")
    assert running.preview_changes().get("update", 0) >= 1, "a dead host must show as drift"
    running.up()
    after = running.leaders()
    assert {name for name in before if before[name] != after[name]} == {"train-1"}
    running.wait_for_idle(2)


def test_a_node_whose_cable_is_cut_is_mended(running: Deployment) -> None:
    address = running.outputs()["spec"]["slurm"]["node_sets"][0]["hosts"]["first_address"]
    interface = running.host("train-0").interface(address)
    subprocess.run(["ip", "link", "del", interface], check=True)
    running.up()
    assert hosts.answers(address)


def test_a_node_that_lost_gpus_gets_them_again(running: Deployment) -> None:
    """GPUs of this machine's hosts are simulated: their device files are all that can be lost, and the boot program makes them."""
    running.inside("train-0", "sh", "-c", "rm /dev/nvidia7 && systemctl restart slurmd || true")
    running.cut_power("train-1")
    running.up()
    assert running.inside("train-0", "sh", "-c", "ls /dev/nvidia7").strip() == "/dev/nvidia7"
    running.wait_for_idle(2)


@pytest.mark.soak  # tests/hosts/test_rebuild.py sees it, too
def test_a_reborn_controller_keeps_the_accounting(running: Deployment) -> None:
    job = running.ssh("sbatch --parsable --wait --wrap true").strip()
    wait_until_accounted(running, job)
    running.cut_power("control-0")
    wait_until(lambda: hosts.is_gone(running.host("control-0")), awaiting="the controller to end", within_s=SOON_S)
    hosts.remove(running.host("control-0"))  # the disk is lost; the data volume is not
    running.up()
    assert running.ssh(f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State").split() == ["COMPLETED"]


def test_lost_firewall_rules_come_back(running: Deployment) -> None:
    cidr = running.outputs()["spec"]["network"]["cidr"]
    for arguments in network.labelled_rules(running.names):
        subprocess.run(["iptables", "-w", *arguments], check=True)
    running.up()
    parts = network.observe(running.names, cidr=cidr, gateway=running.outputs()["spec"]["network"]["gateway"])
    assert parts is not None
    assert all(parts.values())


def test_a_pool_grows_and_shrinks_in_place(running: Deployment) -> None:
    before = running.leaders()
    running.choose("pools.train.nodes", 3)
    assert "HostPool train updated" in running.up()
    assert running.ssh("sinfo --noheader --Node --format=%N | sort -u").split() == ["train-0", "train-1", "train-2"]
    running.choose("pools.train.nodes", None)
    running.up()
    assert running.ssh("sinfo --noheader --Node --format=%N | sort -u").split() == ["train-0", "train-1"]
    assert not running.host("train-2").state.exists()
    assert {name: pid for name, pid in running.leaders().items() if name in before} == before


def test_an_unchanged_stack_is_said_in_a_few_lines(running: Deployment) -> None:
    running.up()  # puts back what other tests changed
    lines = running.up().splitlines()
    assert re.fullmatch(rf"stack {running.stack}: \d+ unchanged \(\d+ s\)", lines[0])
    assert len(lines) <= LINES_OF_AN_UNCHANGED_UP, "\n".join(lines)


def test_check_mode_of_the_engine_is_plain_pulumi(running: Deployment) -> None:
    done = running.run("pulumi", "refresh", "--preview-only", "--expect-no-changes", "--stack", running.stack)
    assert done.returncode == 0, done.stdout
    summary = json.loads(running.run("pulumi", "stack", "export", "--stack", running.stack).stdout)
    kinds = {resource["type"] for resource in summary["deployment"]["resources"]}
    assert "clusterwright:local:HostPool" in kinds
