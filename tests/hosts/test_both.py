"""Slurm and Kubernetes side by side: jobs of both read and write one user's home, and a pod that is nobody of the account gets no file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.local.machine import sweep
from tests.hosts.deployment import Deployment, deployment

pytestmark = pytest.mark.hosts

BLUEPRINT = """
name: both
description: Slurm and Kubernetes side by side
scheduler: both
pools:
  train: {nodes: 1, accelerator: h100, gpus_per_node: 8, partition: {default: true}, scheduler: slurm}
  serve: {nodes: 1, accelerator: h100, gpus_per_node: 8, scheduler: kubernetes}
accounts: {research: {}}
users: {ada: {uid: 2001, account: research}}
storage: {home: {kind: nfs, mount: /home, protect: false}}
accounting: {protect: false}
"""
CONTROL, PAUSE_IMAGE = "kubernetes-0", "registry.k8s.io/pause:3.10.1"
PROGRAM = "/home/ada/kubectl"
"""The image has no program that reads or writes; this one needs nothing else, reads a file into what it prints, and writes one."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    home = tmp_path_factory.mktemp("both")
    (home / "both.yaml").write_text(BLUEPRINT)
    with deployment("test-both", home, blueprint=str(home / "both.yaml")) as one:
        one.up()
        one.inside(CONTROL, "install", "--owner=2001", "--group=2001", "/usr/local/bin/kubectl", PROGRAM)
        yield one


def kubectl(cluster: Deployment, *words: str) -> str:
    done = cluster.clusterwright("kubectl", "--", "--namespace=research", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def submitted(cluster: Deployment, name: str, *command: str) -> str:
    """Run a job of one pod as ada to its end, and give what it printed."""
    options = ("--name", name, "--storage", "home", "--image", PAUSE_IMAGE, "--gpus-per-node", "0", "--user", "ada")
    done = cluster.clusterwright("submit", *options, "--", PROGRAM, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    kubectl(cluster, "wait", "--for=condition=Complete", "--timeout=120s", f"job/{name}")
    return kubectl(cluster, "logs", f"job/{name}")


def test_a_pod_reads_what_a_slurm_job_of_the_user_wrote(cluster: Deployment) -> None:
    cluster.ssh("umask 077 && srun sh -c 'echo marzipan > word'")
    assert "word: |\n    marzipan" in submitted(
        cluster, "reads", "create", "configmap", "seen", "--from-file=/home/ada/word", "--dry-run=client", "--output=yaml"
    )


def test_what_a_pod_writes_belongs_to_its_user(cluster: Deployment) -> None:
    submitted(cluster, "writes", "config", "--kubeconfig=/home/ada/written", "set-context", "marzipan")
    assert cluster.ssh("stat --format=%u:%g written && grep --count marzipan written").split() == ["2001:2001", "1"]


def test_a_second_up_changes_nothing(cluster: Deployment) -> None:
    assert cluster.preview_changes() == {}


def test_down_leaves_nothing(cluster: Deployment) -> None:
    cluster.down()
    assert sweep.left_behind(cluster.names) == ()
    assert not Path("/run/clusterwright/test-both").exists()
