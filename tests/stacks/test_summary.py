"""What a person reads when a stack is up: the summary, and how to log in."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints import load
from blueprints.facts import Facts
from blueprints.project import project_root
from blueprints.spec import ClusterSpec, as_record
from components.finish import node_states
from components.inspection import record
from stacks.cli import summary as command
from stacks.engine import login
from stacks.errors import Problem
from stacks.render import summary, summary_json

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
CHECKS = [
    {"name": "nodes idle", "node": "train-0", "expected": "idle", "measured": "idle", "unit": "", "verdict": "pass"},
    {"name": "all-reduce", "node": "train-[0-1]", "expected": "", "measured": 1.5, "unit": "GB/s", "verdict": "reported"},
    {"name": "gpus", "node": "train-1", "expected": 8, "measured": 7, "unit": "", "verdict": "fail"},
]


def spec(**settings: Any) -> ClusterSpec:
    return load.load("starter", target="local", stack="local", facts=FACTS, overrides={name.replace("__", "."): value for name, value in settings.items()})


def outputs(resolved: ClusterSpec) -> dict[str, Any]:
    login_node = {"address": "10.80.0.2", "port": 22, "host_key": "ssh-ed25519 AAAA"}
    return {"spec": as_record(resolved), "login": login_node, "user_keys": {}, "acceptance": CHECKS}


RAN_AT = "2026-01-02T03:04:05+00:00"


def exported(found: Mapping[str, Any], **accepted: Any) -> dict[str, Any]:
    """Give the record of a stack with these outputs, as the engine exports it."""
    acceptance = {"checks": found["acceptance"], "began": RAN_AT, "seconds": 4.6, "outdated": "", **accepted}
    resources = [
        {"urn": "urn:pulumi:dev::clusterwright::pulumi:pulumi:Stack::clusterwright-dev", "type": "pulumi:pulumi:Stack", "outputs": {"inventory": {}, **found}},
        {"urn": "urn:pulumi:dev::clusterwright::clusterwright:accept:Acceptance::acceptance", "type": "clusterwright:accept:Acceptance", "outputs": acceptance},
    ]
    return {"deployment": {"resources": resources}}


def summarized(found: Mapping[str, Any], *, now: str = "", has_new_checks: bool = True, **accepted: Any) -> list[str]:
    known = record.read(exported(found, **accepted))
    logins = [f"ssh {user['name']}@10.80.0.2" for user in found["spec"]["users"]]
    return list(summary.lines("dev", known, now=node_states.parse(now), logins=logins, has_new_checks=has_new_checks))


def section(lines: list[str], title: str) -> list[str]:
    """The indented lines below a title."""
    start = next(number for number, line in enumerate(lines) if line == title or line.startswith(f"{title} ")) + 1
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("  ")), len(lines))
    return [line.strip() for line in lines[start:end]]


def test_a_summary_has_one_login_a_user_and_one_line_a_partition() -> None:
    resolved = spec(pools__dev={"nodes": 1}, users__grace={"uid": 2002, "account": "research"})
    lines = summarized(outputs(resolved))
    assert [line.rpartition(" ")[2] for line in section(lines, "Log in")] == ["ada@10.80.0.2", "grace@10.80.0.2"]
    assert [line.partition(",")[0] for line in section(lines, "Partitions")] == ["train (default): 2 nodes train-0…1", "dev: 1 node dev-0"]
    assert section(lines, "Simulated") == list(resolved.simulated)


def test_passed_checks_and_figures_of_an_earlier_run_are_counted_and_others_shown() -> None:
    found = outputs(spec())
    (counted, *others) = section(summarized(found, has_new_checks=False), "Checked")
    assert counted.startswith("1 check passed when acceptance last ran, and 1 figure was measured;")
    assert [line.partition(" (")[0] for line in others] == ["gpus"]
    assert len(section(summarized(found), "Checked")) == len(CHECKS)


def test_a_summary_names_the_controller_that_takes_over_where_there_is_one() -> None:
    assert "Controllers" not in summarized(outputs(spec()))
    (line,) = section(summarized(outputs(spec(control__highly_available=True))), "Controllers")
    assert line.startswith("control-0 is active, and control-1 takes over")


def examined(name: str) -> ClusterSpec:
    return load.examine(name, target="aws", stack="test", facts=FACTS).spec


def test_a_summary_of_both_schedulers_has_the_nodes_of_each() -> None:
    lines = summarized(outputs(examined("train-and-serve")))
    software = examined("train-and-serve").software
    assert f"with Slurm {software.slurm} and Kubernetes {software.kubernetes})" in lines[1]
    assert [line.partition(":")[0] for line in section(lines, "Partitions")] == ["train (default)"]
    kubernetes = section(lines, "Kubernetes nodes")
    assert [line.partition(":")[0] for line in kubernetes] == ["develop", "serve", "system"]
    assert not [line for line in kubernetes if "a job" in line]


def test_a_summary_of_kubernetes_alone_names_no_slurm_and_no_login() -> None:
    lines = summarized(outputs(examined("llm-pretraining-kubernetes")))
    assert not {"Log in", "Partitions"} & set(lines)
    assert "Slurm" not in lines[1]
    assert len(section(lines, "Kubernetes nodes")) == 2


def test_a_summary_says_what_was_checked_and_what_was_only_measured() -> None:
    lines = summarized(outputs(spec()))
    assert section(lines, "Checked") == [
        "nodes idle (train-0): idle, ok",
        "all-reduce (train-[0-1]): 1.5 GB/s, measured, not judged",
        "gpus (train-1): 7, fail",
    ]


def test_a_summary_before_any_acceptance_claims_nothing() -> None:
    lines = summarized({**outputs(spec()), "acceptance": None}, began=None)
    assert "Checked" in lines
    assert section(lines, "Checked") == []


STATES = [{"name": "node state", "node": "train-[0-1]", "expected": "idle", "measured": "idle", "unit": "", "verdict": "pass"}]


def test_the_last_lines_are_the_result_with_its_time_and_the_states_now() -> None:
    lines = summarized({**outputs(spec()), "acceptance": STATES}, now="idle|Unknown|Unknown|train-[0-1]|none\n")
    assert lines[1].startswith("Cluster starter is up (stack dev ")
    assert lines[-5:] == ["Checked 2026-01-02 03:04:05 UTC, in 5 s", "  node state (train-[0-1]): idle, ok", "", "Now", "  train-[0-1]: idle"]


def test_a_cluster_with_a_drained_node_says_so_first_and_calls_the_result_out_of_date() -> None:
    now = "idle|Unknown|Unknown|train-0|none\ndrained|ada(2001)|2026-01-02T04:00:00|train-1|bars\n"
    lines = summarized({**outputs(spec()), "acceptance": STATES}, now=now)
    assert lines[1].startswith("Cluster starter is up, but 1 of 2 nodes takes no jobs (stack dev ")
    why = "drained (bars, by ada at 2026-01-02T04:00:00)"
    assert section(lines, "Checked")[0] == f"out of date: train-1 is {why}; `clusterwright up` checks again"
    assert section(lines, "Now") == [f"train-1: {why}", "train-0: idle"]


def test_nodes_that_are_off_until_a_job_needs_them_take_jobs() -> None:
    lines = summarized(outputs(spec()), now="idle~|Unknown|Unknown|train-[0-1]|none\n")
    assert lines[1].startswith("Cluster starter is up (stack dev ")
    assert section(lines, "Now") == ["train-[0-1]: idle, off until a job needs them"]


def test_a_scheduler_that_does_not_answer_is_said_beside_the_old_result() -> None:
    lines = list(summary.lines("dev", record.read(exported(outputs(spec()))), now="login-0: Connection refused", logins=[]))
    assert lines[1].startswith("Cluster starter is up, but Slurm does not answer (stack dev ")
    assert section(lines, "Now") == ["Slurm does not answer: login-0: Connection refused"]


def test_a_failed_acceptance_is_shown_instead_of_the_one_that_passed_before() -> None:
    """The outputs of a stack stay those of the last run that succeeded."""
    lines = summarized(outputs(spec()), checks=[{**STATES[0], "verdict": "fail", "measured": "down"}])
    assert section(lines, "Checked") == ["node state (train-[0-1]): down, fail"]


@pytest.mark.parametrize("now", ["connection refused", node_states.parse("idle|Unknown|Unknown|train-[0-1]|none")])
def test_a_result_is_out_of_date_once_hosts_were_repaired(now: tuple[node_states.State, ...] | str) -> None:
    known = dataclasses.replace(record.read(exported(outputs(spec()))), repaired="train-0 was repaired since")
    assert "  out of date: train-0 was repaired since; `clusterwright up` checks again" in summary.lines("dev", known, now=now, logins=())


def test_a_result_of_a_version_that_recorded_no_time_says_that() -> None:
    assert "Checked (by a version that recorded no time)" in summarized(outputs(spec()), began=None)


def test_a_record_of_a_later_version_is_a_page() -> None:
    found = outputs(spec())
    with pytest.raises(Problem) as raised:
        command.readable("dev", exported({**found, "spec": {**found["spec"], "later": 1}}))
    assert raised.value.what == "the record of stack dev can't be shown"
    assert "later is not known" in raised.value.why


@pytest.mark.parametrize("made", [True, False], ids=["a key that the stack made", "a key of the user's own"])
def test_a_login_verifies_the_host_and_uses_the_stack_s_key_if_there_is_one(made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "private_folder", lambda stack: tmp_path / stack)
    found: Mapping[str, Any] = {**outputs(spec()), "user_keys": {"ada": "PRIVATE"} if made else {}}
    keys = login.write_keys("dev", found)
    folder = tmp_path / "dev"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "known_hosts").read_text() == "10.80.0.2 ssh-ed25519 AAAA\n"
    identity = ["-i", str(folder / "ada.key")] if made else []
    assert login.command("dev", found, "ada") == ["ssh", *identity, "-o", f"UserKnownHostsFile={folder / 'known_hosts'}", "ada@10.80.0.2"]
    assert {user: (path.read_text(), path.stat().st_mode & 0o777) for user, path in keys.items()} == ({"ada": ("PRIVATE", 0o600)} if made else {})


def test_a_login_goes_to_the_port_of_the_ssh_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "private_folder", lambda stack: tmp_path / stack)
    found = outputs(spec())
    moved: Mapping[str, Any] = {**found, "login": {**found["login"], "port": 2022}, "user_keys": {}}
    login.write_keys("dev", moved)
    assert (tmp_path / "dev/known_hosts").read_text() == "[10.80.0.2]:2022 ssh-ed25519 AAAA\n"
    assert login.command("dev", moved, "ada")[-3:] == ["-p", "2022", "ada@10.80.0.2"]


def test_a_command_is_shown_as_one_types_it_in_the_project_folder() -> None:
    argv = ["ssh", "-i", f"{project_root()}/.clusterwright/a key", "ada@10.80.0.2"]
    assert login.shown(argv, relative_to=project_root()) == "ssh -i '.clusterwright/a key' ada@10.80.0.2"


def document(found: dict[str, Any], *, now: tuple[node_states.State, ...] | str, **accepted: Any) -> dict[str, Any]:
    known = record.read(exported(found, **accepted))
    written: dict[str, Any] = json.loads(json.dumps(summary_json.document("dev", known, now=now, logins={"ada": "ssh ada@10.80.0.2"})))
    return written


def test_the_document_has_what_the_text_has() -> None:
    resolved = spec()
    proven = [*CHECKS, {"name": "node state", "node": "train-[0-1]", "expected": "idle", "measured": "idle", "unit": "", "verdict": "pass"}]
    written = document({**outputs(resolved), "acceptance": proven}, now=node_states.parse("drained|root|2026-01-02T03:00:00|train-[0-1]|fan"))
    assert written["spec"] == json.loads(json.dumps(as_record(resolved)))
    assert written["logins"] == {"ada": "ssh ada@10.80.0.2"}
    assert written["acceptance"]["at"] == RAN_AT
    assert [check["verdict"] for check in written["acceptance"]["checks"]] == ["pass", "reported", "fail", "pass"]
    assert written["acceptance"]["outdated"].startswith("train-[0-1] are drained")
    [state] = written["nodes"]
    assert (state["names"], state["takes_jobs"], state["reason"]) == (["train-0", "train-1"], False, "fan")


def test_the_document_has_the_port_of_each_hosts_ssh_server() -> None:
    one = {"name": "login-0", "address": "10.80.0.2", "incarnation": "1", "host_key": "ssh-ed25519 AAAA"}
    found = {**outputs(spec()), "inventory": {"access": [one, {**one, "name": "login-1", "port": 2022}]}}
    assert [(host["name"], host["port"]) for host in document(found, now=())["hosts"]] == [("login-0", 22), ("login-1", 2022)]


def test_the_document_says_why_nodes_are_unknown() -> None:
    written = document(outputs(spec()), now="connection refused")
    assert (written["nodes"], written["nodes_unknown"]) == (None, "connection refused")


def test_a_cluster_of_kubernetes_says_how_to_reach_it() -> None:
    resolved = load.load("starter-kubernetes", target="local", stack="local", facts=FACTS)
    lines = summarized({name: value for name, value in outputs(resolved).items() if name != "login"})
    assert resolved.kubernetes is not None
    assert section(lines, "Kubernetes")[0] == f"API server: https://{resolved.kubernetes.endpoint}, version 1.34.4, on kubernetes-0"
    assert section(lines, "Kubernetes")[2] == "Network policies: enforced on nodes by the add-on network-policies"
    assert "kueue v0.12.3" in section(lines, "Kubernetes")[3]
    assert [line.split()[1] for line in section(lines, "Try")] == ["kubectl", "kubeconfig", "submit"]
    assert all("--stack dev" in line for line in section(lines, "Try"))
