"""Manifests of add-ons as a stack applies them, whether objects are ready, and kubeconfigs."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.kubernetes import apply, kubeconfig, manifests, readiness

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "manager", "namespace": "system", "creationTimestamp": None},
    "spec": {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "manager", "image": "example.org/manager:v1", "args": ["--a"]}, {"name": "side", "image": "b:2"}]}},
    },
    "status": {},
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "system"}}
DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "queues.example.org"}}
CUSTOM = {"apiVersion": "example.org/v1", "kind": "Queue", "metadata": {"name": "a"}}
IMAGES = {"example.org/manager:v1": {"digest": "sha256:1"}, "b:2": {"digest": "sha256:2"}}


def adapted(**settings: Any) -> list[dict[str, Any]]:
    return manifests.adapt([CUSTOM, DEPLOYMENT, NAMESPACE, DEFINITION], group="example", images=IMAGES, settings=settings)


def test_objects_are_applied_after_what_they_need() -> None:
    assert [one["kind"] for one in adapted()] == ["Namespace", "CustomResourceDefinition", "Deployment", "Queue"]


def test_what_controllers_serve_is_awaited_when_they_have_been_applied() -> None:
    service = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.example.org"}}
    wanted = manifests.labelled([CUSTOM, service, DEPLOYMENT, NAMESPACE, DEFINITION], group="example")
    steps = sorted({manifests.step_of(one["kind"]) for one in wanted})
    assert [[key.kind for key in apply.awaited(wanted, step)] for step in steps] == [
        ["Namespace"],
        ["CustomResourceDefinition"],
        [],
        ["APIService", "Deployment"],
        [],
    ]


def test_images_are_pinned_by_digest_and_objects_carry_the_group() -> None:
    found = next(one for one in adapted() if one["kind"] == "Deployment")
    assert [one["image"] for one in found["spec"]["template"]["spec"]["containers"]] == ["example.org/manager:v1@sha256:1", "b:2@sha256:2"]
    assert {one["metadata"]["labels"][manifests.PART_OF] for one in adapted()} == {"example"}
    assert "status" not in found
    assert "creationTimestamp" not in found["metadata"]


def test_an_image_that_the_registry_lacks_is_named() -> None:
    with pytest.raises(manifests.ImageMissing) as raised:
        manifests.adapt([DEPLOYMENT], group="example", images={"b:2": {"digest": "sha256:2"}}, settings={})
    assert raised.value.names == ("example.org/manager:v1",)


def test_settings_change_containers_by_name() -> None:
    change = {"Deployment/manager": {"spec": {"template": {"spec": {"containers": [{"name": "manager", "args": ["--b"]}]}}}}, "Queue/a": None}
    found = manifests.adapt([CUSTOM, DEPLOYMENT], group="example", images=IMAGES, settings=change)
    assert [one["kind"] for one in found] == ["Deployment"]
    containers = found[0]["spec"]["template"]["spec"]["containers"]
    assert [(one["name"], one.get("args")) for one in containers] == [("manager", ["--b"]), ("side", None)]


def test_settings_for_what_is_not_there_are_refused() -> None:
    with pytest.raises(KeyError, match="Deployment/other"):
        adapted(**{"Deployment/other": {}})


def test_a_fingerprint_names_the_content() -> None:
    assert manifests.fingerprint(adapted()) == manifests.fingerprint(adapted())
    assert manifests.fingerprint(adapted()) != manifests.fingerprint(adapted()[:1])


def test_a_folder_without_manifests_is_no_addon(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        manifests.read(tmp_path)
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([NAMESPACE, {"kind": "List", "items": [CUSTOM]}]))
    assert [one["kind"] for one in manifests.read(tmp_path)] == ["Namespace", "Queue"]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "is not there"),
        ({"kind": "Deployment", "metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": {"observedGeneration": 1}}, "its controller has not seen it"),
        ({"kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 2}, "status": {"observedGeneration": 1, "updatedReplicas": 2, "readyReplicas": 1}}, "1 of 2 pods"),
        ({"kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 1}, "status": {"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 1}}, ""),
        ({"kind": "DaemonSet", "metadata": {"generation": 1}, "status": {"observedGeneration": 1, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 2}}, "2 of 3 pods"),
        ({"kind": "CustomResourceDefinition", "metadata": {}, "status": {"conditions": [{"type": "Established", "status": "True"}]}}, ""),
        ({"kind": "CustomResourceDefinition", "metadata": {}}, "is not established"),
        ({"kind": "Namespace", "metadata": {}, "status": {"phase": "Terminating"}}, "is being deleted"),
    ],
)  # fmt: skip
def test_an_object_says_what_it_lacks(found: dict[str, Any] | None, text: str) -> None:
    assert readiness.waiting_for(found) == text


def test_pods_say_why_they_do_not_start() -> None:
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
    pod = {"metadata": {"name": "a", "namespace": "n"}, "status": {"containerStatuses": [{"state": waiting}]}}
    assert readiness.pod_trouble([pod]) == "Pod n/a: ErrImagePull: not found"


def config(**user: Any) -> str:
    cluster = {"server": "https://10.0.0.1:6443", "certificate-authority-data": base64.b64encode(b"PEM").decode()}
    return yaml.safe_dump({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": cluster}], "users": [{"name": "u", "user": user}],
    })  # fmt: skip


def test_a_kubeconfig_gives_server_and_credentials() -> None:
    access = kubeconfig.read(config(token="secret"))
    assert (access.server, access.address, access.authority, access.token) == ("https://10.0.0.1:6443", ("10.0.0.1", 6443), "PEM", "secret")
    assert "secret" not in repr(access)


def test_a_program_of_a_kubeconfig_prints_the_token() -> None:
    program = {"command": "sh", "args": ["-c", 'echo "{\\"status\\": {\\"token\\": \\"$WORD\\"}}"'], "env": [{"name": "WORD", "value": "made"}]}
    assert kubeconfig.bearer(kubeconfig.read(config(exec=program))) == "made"
    with pytest.raises(kubeconfig.KubeconfigInvalid, match="printed no token: no rights"):
        kubeconfig.bearer(kubeconfig.read(config(exec={"command": "sh", "args": ["-c", "echo no rights; exit 1"]})))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "is no YAML"),
        ("a", "is no YAML mapping"),
        ("{}", "has no context"),
        (config(**{"client-certificate": "/home/ada/cert.pem"}), "names a file for client-certificate"),
        (config(**{"client-certificate-data": "%"}), "is not Base64"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why(text: str, why: str) -> None:
    with pytest.raises(kubeconfig.KubeconfigInvalid, match=why):
        kubeconfig.read(text)
