"""How commands reach a stack's Kubernetes: never another cluster, and no kubeconfig in a file that nobody asked for."""

import argparse
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from blueprints import load
from blueprints.facts import Facts
from blueprints.plan import images
from components.kubernetes import user_access
from stacks.cli import images as images_command
from stacks.cli import kubeconfig as command
from stacks.engine import commands, kubernetes_access, login
from stacks.errors import EXIT_USAGE, Problem

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
SERVER = "https://10.80.0.14:6443"
ADMINISTRATOR = json.dumps({"clusters": [{"name": "tiny", "cluster": {"server": SERVER, "certificate-authority-data": "QQ=="}}], "users": [], "contexts": []})


def access(release: Path) -> kubernetes_access.Access:
    return kubernetes_access.Access("tiny", SERVER, ADMINISTRATOR, release, ("ada",))


@pytest.mark.parametrize(
    "words", [["--kubeconfig", "other", "get", "nodes"], ["--context=prod", "get", "pods"], ["get", "pods", "-s", "https://x"], ["--token=abc", "get", "pods"]]
)
def test_options_that_lead_to_another_cluster_are_refused(words: list[str]) -> None:
    with pytest.raises(Problem, match="leads away from the cluster of stack tiny") as refused:
        kubernetes_access.refuse_other_cluster("tiny", words)
    assert refused.value.status == EXIT_USAGE


@pytest.mark.parametrize("words", [["get", "nodes"], ["exec", "pod", "--", "ls", "-s"], ["logs", "--selector=a=b", "pod"], []])
def test_other_words_are_kubectl_s(words: list[str]) -> None:
    kubernetes_access.refuse_other_cluster("tiny", words)


def test_kubectl_reads_a_kubeconfig_that_no_file_keeps(tmp_path: Path) -> None:
    program = tmp_path / "kubectl"
    program.write_text('#!/bin/sh\nreadlink "$KUBECONFIG"\ncat "$KUBECONFIG"\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    code = f"from stacks.engine import kubernetes_access as k; k.replace_process({str(program)!r}, ['get', 'nodes'], 'secret text\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    kept, *rest = done.stdout.splitlines()
    assert kept.startswith("/memfd:kubeconfig")
    assert rest == ["secret text", "get", "nodes"]


def test_kubectl_is_the_release_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "bin" / "kubectl"
    own.parent.mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Problem, match="there is no kubectl"):
        access(tmp_path).kubectl()
    own.write_text("")
    assert access(tmp_path).kubectl() == str(own)


def test_a_cluster_without_login_nodes_says_how_it_is_reached() -> None:
    with pytest.raises(Problem, match="stack tiny has no login nodes") as refused:
        login.write_keys("tiny", {"spec": {}, "kubeconfig": ADMINISTRATOR})
    assert "clusterwright kubectl --stack tiny -- get nodes" in refused.value.remedy


def test_a_user_that_the_blueprint_lacks_has_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no user bob"):
        access(tmp_path).kubeconfig("bob", life_s=600)


def test_a_user_s_kubeconfig_reaches_the_same_cluster_as_somebody_else() -> None:
    found = user_access.of_user(json.loads(ADMINISTRATOR), "ada", certificate="Qw==", key="Sw==")
    assert found["clusters"] == json.loads(ADMINISTRATOR)["clusters"]
    assert found["current-context"] == found["contexts"][0]["name"] == "ada@tiny"
    assert found["contexts"][0]["context"] == {"cluster": "tiny", "user": "ada"}
    assert kubernetes_access.same_cluster(json.dumps(found), SERVER)


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setattr(commands, "require", lambda: None)
    monkeypatch.setattr(kubernetes_access, "of_stack", lambda _: access(tmp_path))
    command.run(argparse.Namespace(stack="tiny", user=None, days=30, to=file))


def test_a_kubeconfig_is_written_for_its_owner_alone_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    for _ in range(2):
        written(tmp_path, monkeypatch, file)
        assert json.loads(file.read_text()) == json.loads(ADMINISTRATOR)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("there", [ADMINISTRATOR.replace("10.80.0.14", "10.81.0.14"), "apiVersion: v1\n", "{}"])
def test_the_kubeconfig_of_another_cluster_stays_as_it_is(there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    file.write_text(there)
    with pytest.raises(Problem, match="is not a kubeconfig of stack tiny"):
        written(tmp_path, monkeypatch, file)
    assert file.read_text() == there


def test_every_part_of_a_cluster_has_images() -> None:
    cluster = load.load("starter-kubernetes", target="local", stack="local", facts=FACTS)
    found = images.images(cluster)
    assert {one.of.partition(" ")[0] for one in found} == {"Kubernetes", *(one.name for one in cluster.kubernetes.addons)} if cluster.kubernetes else False
    assert images.images(load.load("starter", target="local", stack="local", facts=FACTS)) == ()


def export(*words: str) -> None:
    parser = argparse.ArgumentParser()
    images_command.arguments(parser)
    images_command.run(parser.parse_args(words))


def test_images_of_a_release_that_is_not_made_are_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERWRIGHT_CACHE", str(tmp_path))
    with pytest.raises(Problem, match="not in the cache") as missing:
        export("--blueprint", "starter-kubernetes", "--target", "local", "--export", str(tmp_path / "images"))
    assert "tools/kubernetes/install --version" in missing.value.remedy


def test_a_blueprint_without_kubernetes_has_no_images_to_export(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no images to export"):
        export("--blueprint", "starter", "--target", "local", "--export", str(tmp_path / "images"))
