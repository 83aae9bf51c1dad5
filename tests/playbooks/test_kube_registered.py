"""What a node forgets of its pods when the API server says that it has no such node, and what it keeps when the API server says nothing."""

import os
import pathlib
import subprocess

import pytest
import yaml

from tests.playbooks import templates

ROLE = templates.PLAYBOOKS / "roles" / "kubeadm_node"
ANSWERS = {"known": "echo node/train-0", "unknown": "exit 0", "unanswered": "echo 'connection refused' >&2; exit 1"}


def program(folder: pathlib.Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("known", []), ("unanswered", ["systemctl restart kubelet.service"]), ("unknown", ["forget", "systemctl restart kubelet.service"])],
)
def test_a_node_forgets_its_pods_only_when_the_cluster_does_not_have_it(tmp_path: pathlib.Path, answer: str, expected: list[str]) -> None:
    """New pods get other addresses on a node that registers again; those of a node whose API server is away run on."""
    (task,) = (one for one in yaml.safe_load((ROLE / "tasks" / "main.yml").read_text(encoding="utf-8")) if one["name"] == "Register again")
    done = tmp_path / "done"
    done.write_text("")
    program(tmp_path, "kubectl", ANSWERS[answer])
    program(tmp_path, "systemctl", f'echo "systemctl $*" >> {done}')
    command = templates.evaluate(task["ansible.builtin.shell"]["cmd"], inventory_hostname="train-0", kubeadm_node_forget_pods=f"{{ echo forget >> {done}; }}")
    subprocess.run(["sh", "-euc", command], check=True, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.read_text().splitlines() == expected
