"""Which members of etcd and which nodes a control plane forgets when its hosts are others, with stand-ins of etcdctl and kubectl that keep what they have in files."""

import os
import pathlib
import subprocess

import pytest
import yaml

from tests.playbooks import templates

ROLE = templates.PLAYBOOKS / "roles" / "kubeadm_control"
ADDRESSES = {"head-1": "10.0.0.1", "head-2": "10.0.0.2", "head-3": "10.0.0.3"}
"""The hosts of the blueprint."""
ETCDCTL = """\
for word; do case $word in --*) ;; *) break ;; esac; shift; done
case "$*" in
"member list") cat {0}/members ;;
"member remove "*) grep -q "^$3, " {0}/members || { echo "Error: etcdserver: member not found" >&2; exit 1; }
    sed -i "/^$3, /d" {0}/members; echo "Member $3 removed from cluster 1" ;;
*) echo "unknown: $*" >&2; exit 2 ;;
esac
"""
KUBECTL = """\
[ "${{1#--kubeconfig=}}" != "$1" ] && shift
case "$*" in
"get nodes --selector=node-role.kubernetes.io/control-plane --output=name") sed 's|^|node/|' {0}/nodes ;;
"delete node "*" --ignore-not-found") grep -qx "$3" {0}/nodes && echo "node \\"$3\\" deleted"; sed -i "/^$3$/d" {0}/nodes ;;
"delete node/"*" --ignore-not-found") name=${{2#node/}}; grep -qx "$name" {0}/nodes && echo "node \\"$name\\" deleted"; sed -i "/^$name$/d" {0}/nodes ;;
*) echo "unknown: $*" >&2; exit 2 ;;
esac
"""


def member(identifier: str, name: str, address: str, *, is_learner: bool = False) -> str:
    """Write a line as etcdctl does: a member that never started has neither a name nor addresses for clients."""
    clients = f"https://{address}:2379" if name else ""
    return f"{identifier}, {'started' if name else 'unstarted'}, {name}, https://{address}:2380, {clients}, {str(is_learner).lower()}"


ALL = {name: member(name[-1], name, address) for name, address in ADDRESSES.items()}
FORMER = member("9", "head-9", "10.0.0.9")


@pytest.fixture
def cluster(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for name, text in (("etcdctl", ETCDCTL.replace("{0}", str(tmp_path))), ("kubectl", KUBECTL.format(tmp_path))):
        (tmp_path / name).write_text(f"#!/bin/bash\nset -u\n{text}")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path


def run(tasks: str, cluster: pathlib.Path, members: list[str], nodes: list[str], *, host: str, have: list[str]) -> tuple[list[str], list[str]]:
    """Run the command of the first task, and give what etcd and the API server then have."""
    for file, lines in (("members", members), ("nodes", nodes)):
        (cluster / file).write_text("".join(f"{line}\n" for line in lines))
    known = {
        "spec": {"kubernetes": {"control": {"prefix": "head-", "count": len(ADDRESSES), "members": ",".join(ADDRESSES)}}},
        "groups": {"kubernetes": list(ADDRESSES)},
        "hostvars": {name: {"ansible_host": address} for name, address in ADDRESSES.items()},
        "inventory_hostname": host,
        "ansible_host": ADDRESSES[host],
        "kubeadm_control_members": have,
    }
    task = yaml.safe_load((ROLE / "tasks" / tasks).read_text(encoding="utf-8"))[0]
    peers = templates.value("kubeadm_control_peers", role="kubeadm_control", **known)
    command = templates.evaluate(task["ansible.builtin.shell"]["cmd"], kubeadm_control_peers=peers, **known)
    subprocess.run(["bash", "-c", command], check=True, timeout=60)
    return (cluster / "members").read_text().splitlines(), (cluster / "nodes").read_text().splitlines()


@pytest.mark.parametrize(
    ("members", "nodes"),
    [
        pytest.param([*ALL.values(), FORMER], [*ADDRESSES, "head-9"], id="lost without a word"),
        pytest.param([*ALL.values()], [*ADDRESSES, "head-9"], id="left etcd, its node stayed"),
        pytest.param([*ALL.values(), FORMER], [*ADDRESSES], id="its node was deleted, then the run was killed"),
        pytest.param([*ALL.values(), member("9", "", "10.0.0.9", is_learner=True)], [*ADDRESSES], id="learner that never started"),
    ],
)
def test_a_host_that_the_blueprint_no_longer_names_is_forgotten(cluster: pathlib.Path, members: list[str], nodes: list[str]) -> None:
    assert run("forget.yml", cluster, members, nodes, host="head-1", have=[*ADDRESSES]) == ([*ALL.values()], [*ADDRESSES])


def test_a_server_that_was_exchanged_is_forgotten_although_the_new_one_has_its_name(cluster: pathlib.Path) -> None:
    former = member("8", "head-3", "10.0.0.8")
    kept, _ = run("forget.yml", cluster, [ALL["head-1"], ALL["head-2"], former], [*ADDRESSES], host="head-1", have=["head-1", "head-2"])
    assert kept == [ALL["head-1"], ALL["head-2"]]


def test_a_member_stays_while_its_host_has_the_cluster_at_another_address(cluster: pathlib.Path) -> None:
    """It serves clients with the address that it joined with. Without it, etcd could lose its majority."""
    moved = [ALL["head-1"], ALL["head-2"], member("3", "head-3", "10.0.0.8")]
    assert run("forget.yml", cluster, moved, [*ADDRESSES], host="head-1", have=[*ADDRESSES])[0] == moved


@pytest.mark.parametrize(
    "former",
    [
        pytest.param(ALL["head-3"], id="installed again"),
        pytest.param(member("8", "head-3", "10.0.0.8"), id="exchanged for a server with another address"),
        pytest.param(member("7", "", "10.0.0.3", is_learner=True), id="killed while it joined"),
    ],
)
def test_a_host_that_joins_again_is_first_forgotten_as_it_was(cluster: pathlib.Path, former: str) -> None:
    others = [ALL["head-1"], ALL["head-2"]]
    assert run("leave.yml", cluster, [*others, former], [*ADDRESSES], host="head-3", have=["head-1", "head-2"]) == (others, ["head-1", "head-2"])


def test_a_host_that_joins_with_the_address_of_another_ones_member_leaves_that_member(cluster: pathlib.Path) -> None:
    """Clouds give addresses again: head-2 joined with the one that head-3 has now, and serves on."""
    moved = member("2", "head-2", ADDRESSES["head-3"])
    former = member("3", "head-3", "10.0.0.8")
    assert run("leave.yml", cluster, [ALL["head-1"], moved, former], [*ADDRESSES], host="head-3", have=["head-1", "head-2"])[0] == [ALL["head-1"], moved]
