"""Kueue beside the control plane: the manifests of the add-on, with its controller as a process of this machine instead of a pod."""

import base64
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import yaml

from components.kubernetes import manifests, settings
from components.kubernetes.api import Key
from components.kubernetes.objects import Objects, ObjectsInputs
from tests import processes
from tests.apiserver import cluster, release, works

SECRET = Key("v1", "Secret", "kueue-system", "kueue-webhook-server-cert")


@contextlib.contextmanager
def running(kubernetes: cluster.Cluster) -> Iterator[None]:
    """Run Kueue until the block ends."""
    port, notes, api = cluster.free_port(), works.Notes(), kubernetes.api()
    images = json.loads((release.folder() / "images.json").read_text())
    adapted = manifests.adapt(manifests.read(release.folder() / "manifests" / "kueue"), group="kueue", images=images, settings=settings.of_addon("kueue"))
    wanted = [_reaching(one, port) for one in adapted if one["kind"] not in (*manifests.WORKLOADS, "APIService", "FlowSchema", "PriorityLevelConfiguration")]
    inputs = ObjectsInputs("kueue", kubernetes.kubeconfig, tuple(wanted))
    made = Objects().create(inputs, notes.work())
    folder = kubernetes.folder / "kueue"
    folder.mkdir()
    configuration = {
        **settings.kueue_configuration(),
        "health": {"healthProbeBindAddress": f"127.0.0.1:{cluster.free_port()}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(folder)},
        "leaderElection": {"leaderElect": False},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(configuration))
    kubernetes.commands["kueue"] = [
        str(release.program("kueue-manager")), f"--config={folder / 'config.yaml'}", f"--kubeconfig={kubernetes.folder / 'kubeconfig'}",
        "--feature-gates=TopologyAwareScheduling=true,VisibilityOnDemand=false", "--zap-log-level=2",
    ]  # fmt: skip
    kubernetes.start("kueue")
    try:
        processes.wait_until(lambda: bool((api.get(SECRET) or {}).get("data")), awaiting=f"Kueue's certificate: {kubernetes.log('kueue')}", within_s=120)
        for name, content in (api.get(SECRET) or {})["data"].items():
            (folder / name).write_bytes(base64.b64decode(content))
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "ready"}}

        def answers() -> bool:
            with contextlib.suppress(Exception):
                return bool(api.apply(flavor, dry_run=True))
            assert kubernetes.running["kueue"].poll() is None, kubernetes.log("kueue")
            return False

        processes.wait_until(answers, awaiting="Kueue's webhooks", within_s=120)
        yield
        Objects().delete(inputs, made, notes.work())
    finally:
        kubernetes.stop("kueue")


def _reaching(manifest: dict[str, Any], port: int) -> dict[str, Any]:
    """Let the API server find Kueue's webhooks on loopback."""
    if manifest["kind"] == "Service" and manifest["metadata"]["name"] == "kueue-webhook-service":
        return {**manifest, "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}}
    if manifest["kind"].endswith("WebhookConfiguration"):
        hooks = [{**one, "clientConfig": {"service": {**one["clientConfig"]["service"], "port": port}}} for one in manifest["webhooks"]]
        return {**manifest, "webhooks": hooks}
    return manifest
