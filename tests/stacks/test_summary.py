"""What a person reads when a stack is up: the summary, and how to log in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints import load
from blueprints.facts import Facts
from blueprints.project import project_root
from blueprints.spec import ClusterSpec, as_record
from stacks.cli import summary as command
from stacks.engine import login
from stacks.errors import Problem
from stacks.render import summary

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


def summarized(found: Mapping[str, Any]) -> list[str]:
    return list(summary.lines("dev", found, logins=[f"ssh {user['name']}@10.80.0.2" for user in found["spec"]["users"]]))


def section(lines: list[str], title: str) -> list[str]:
    """The indented lines below a title."""
    start = lines.index(title) + 1
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("  ")), len(lines))
    return [line.strip() for line in lines[start:end]]


def test_a_summary_has_one_login_a_user_and_one_line_a_partition() -> None:
    resolved = spec(pools__dev={"nodes": 1}, users__grace={"uid": 2002, "account": "research"})
    lines = summarized(outputs(resolved))
    assert [line.rpartition(" ")[2] for line in section(lines, "Log in")] == ["ada@10.80.0.2", "grace@10.80.0.2"]
    assert [line.partition(",")[0] for line in section(lines, "Partitions")] == ["train (default): 2 nodes train-0…1", "dev: 1 node dev-0"]
    assert section(lines, "Simulated") == list(resolved.simulated)


def test_passed_checks_of_an_earlier_run_are_counted_and_others_shown() -> None:
    found = outputs(spec())
    logins = ["ssh ada@10.80.0.2"]
    (counted, *others) = section(list(summary.lines("dev", found, logins=logins, has_new_checks=False)), "Checked")
    assert counted.startswith("1 check passed")
    assert [line.partition(" (")[0] for line in others] == ["all-reduce", "gpus"]
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
    lines = summarized({**outputs(spec()), "acceptance": None})
    assert section(lines, "Checked") == []


def test_a_record_of_a_later_version_is_a_page() -> None:
    found = outputs(spec())
    with pytest.raises(Problem) as raised:
        command.lines("dev", {**found, "spec": {**found["spec"], "later": 1}})
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


def test_a_command_is_shown_as_one_types_it_in_the_project_folder() -> None:
    argv = ["ssh", "-i", f"{project_root()}/.clusterwright/a key", "ada@10.80.0.2"]
    assert login.shown(argv, relative_to=project_root()) == "ssh -i '.clusterwright/a key' ada@10.80.0.2"
