"""The add-on that enforces NetworkPolicies: its own image against a real API server, with the packets of a node and pods that are network namespaces."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.kubernetes import api as apis
from components.kubernetes import apply, network_policies, queues
from components.kubernetes.api import Api, Key
from tests import processes
from tests.apiserver import cluster, namespaces, release, works
from tests.components.kubernetes import test_queues

pytestmark = pytest.mark.engine

NODE = "np-0"
SERVICES = "10.63.0.0/16"
HOSTS, NODE_ADDRESS, SERVER, OUTSIDE = "10.81.0.0/16", "10.81.0.1", "10.81.0.2", "198.51.100.2"
RESEARCH, COLLEAGUE, PRODUCT, DNS, SYSTEM = (f"10.224.1.{number}" for number in (2, 3, 4, 5, 6))
GATEWAY = "10.224.1.1"
WEB, DOMAIN, API, NFS, KUBELET = 8000, 53, 6443, 2049, 10250
IMAGE = "clusterwright.invalid/network-policies:v1"
DAEMONSET = Key("apps/v1", "DaemonSet", "kube-system", "network-policies")


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    net: namespaces.Net
    api: Api
    root: Path
    folder: Path

    def start(self) -> "subprocess.Popen[bytes]":
        """Run the program of the image on the node, with what a container of the DaemonSet sees."""
        # Root's programs get what the bounding set allows; only chroot needs the last one.
        words = [
            "setpriv",
            "--bounding-set=-all,+net_admin,+net_raw,+sys_chroot",
            "--no-new-privs",
            "chroot",
            str(self.root),
            "/usr/local/bin/network-policies",
            f"--services={SERVICES}",
            f"--node={NODE}",
            "--kubeconfig=/kubeconfig",
        ]
        script = f'mount -t proc proc {self.root}/proc && mount --bind /dev {self.root}/dev && exec "$@"'
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.net.full(namespaces.NODE), "sh", "-c", script, "sh", *words], stdout=log, stderr=log, start_new_session=True
            )

    def started(self) -> "subprocess.Popen[bytes]":
        """Run it until it is healthy and its rules are there."""
        process = self.start()

        def is_ready() -> bool:
            assert process.poll() is None, self.log()
            return self.is_healthy() and not self.net.reaches("product", RESEARCH, WEB)

        processes.wait_until(is_ready, awaiting="the rules", within_s=60)
        return process

    def is_healthy(self) -> bool:
        def asks() -> bool:
            with contextlib.suppress(OSError):
                return bool(urllib.request.urlopen("http://127.0.0.1:20244/healthz", timeout=5).status == 200)
            return False

        return self.net.within(namespaces.NODE, asks)

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-3000:]


@pytest.fixture(scope="module")
def site(kubernetes: cluster.Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if os.geteuid():
        pytest.skip("only root makes network namespaces")
    api, folder = kubernetes.api(), tmp_path_factory.mktemp("policies")
    root = unpacked(folder / "root")
    with namespaces.running() as net:
        for name, address in (("research", RESEARCH), ("colleague", COLLEAGUE), ("product", PRODUCT), ("dns", DNS), ("system", SYSTEM)):
            net.add_pod(name, address, gateway=GATEWAY)
            net.listen(name, WEB)
            net.listen(name, DOMAIN)
        net.add_host("server", SERVER, gateway=NODE_ADDRESS)
        net.add_host("outside", OUTSIDE, gateway="198.51.100.1")
        for name, port in (("server", API), ("server", NFS), ("outside", WEB), (namespaces.NODE, KUBELET)):
            net.listen(name, port)
        port = urllib.parse.urlsplit(api.server).port or 0
        namespaces.relay(net.listen(namespaces.NODE, port, "127.0.0.1"), port)
        shutil.copy(kubernetes.folder / "kubeconfig", root / "kubeconfig")
        made = objects(api)
        yield Site(net, api, root, folder)
        apply.delete(api, made, works.Notes().work(), title="network policies")


def unpacked(folder: Path) -> Path:
    """Lay the layers of the add-on's image into a folder."""
    stored = release.folder() / "registry/docker/registry/v2/blobs/sha256"

    def blob(digest: str) -> Path:
        name = digest.removeprefix("sha256:")
        return stored / name[:2] / name / "data"

    folder.mkdir()
    entry = json.loads((release.folder() / "images.json").read_text())[IMAGE]
    for layer in json.loads(blob(entry["digest"]).read_text())["layers"]:
        subprocess.run(["tar", "--extract", "--file", str(blob(layer["digest"])), "--directory", str(folder)], check=True)
    for name in ("proc", "dev"):
        (folder / name).mkdir(exist_ok=True)
    return folder


def objects(api: Api) -> list[Key]:
    """Apply two accounts with their policies, the node, and pods that run there."""
    wanted = test_queues.cluster()
    kubernetes = dataclasses.replace(queues.kubernetes_of(wanted), pod_cidr="10.224.0.0/11", service_cidr=SERVICES)
    wanted = dataclasses.replace(wanted, kubernetes=kubernetes, network=dataclasses.replace(wanted.network, cidr=HOSTS))
    api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}, force=True)
    api.merge(Key("v1", "Node", "", NODE), {"status": {"addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}]}}, subresource="status")
    made = [Key("v1", "Node", "", NODE)]
    for account in ("research", "product"):
        for manifest in queues.by_account(wanted, has_queues=False)[account]:
            if manifest["kind"] in ("Namespace", "NetworkPolicy"):
                api.apply(manifest, force=True)
                made.append(apis.key_of(manifest))
    pods: tuple[tuple[str, str, str, dict[str, str]], ...] = (
        ("research", "research", RESEARCH, {}),
        ("research", "colleague", COLLEAGUE, {}),
        ("product", "product", PRODUCT, {}),
    )
    for namespace, name, address, marks in (*pods, ("kube-system", "dns", DNS, network_policies.DNS), ("kube-system", "system", SYSTEM, {})):
        made.append(pod(api, namespace, name, address, marks))
    return made[::-1]


def pod(api: Api, namespace: str, name: str, address: str, marks: dict[str, str]) -> Key:
    key = Key("v1", "Pod", namespace, name)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}
    api.apply(account, force=True)
    spec = {"nodeName": NODE, "terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "example.org/a:1"}]}
    api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": marks}, "spec": spec}, force=True)
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "hostIP": NODE_ADDRESS}
    api.merge(key, {"status": status}, subresource="status")
    return key


@pytest.fixture
def enforced(site: Site) -> Iterator[Site]:
    assert site.net.reaches("product", RESEARCH, WEB)
    process = site.started()
    yield site
    os.kill(process.pid, signal.SIGTERM)
    process.wait(timeout=30)


OPEN = [("colleague", COLLEAGUE, WEB), ("DNS", DNS, DOMAIN), ("API server", SERVER, API), ("outside", OUTSIDE, WEB)]
CLOSED = [
    ("other account", PRODUCT, WEB),
    ("system", SYSTEM, WEB),
    ("DNS, another port", DNS, WEB),
    ("file server", SERVER, NFS),
    ("kubelet", NODE_ADDRESS, KUBELET),
]


def test_pods_of_an_account_reach_their_own_and_what_is_outside_alone(enforced: Site) -> None:
    net = enforced.net
    assert [what for what, address, port in OPEN if not net.reaches("research", address, port)] == []
    assert [what for what, address, port in CLOSED if net.reaches("research", address, port)] == []
    assert [name for name in ("product", "system", "outside", "server") if net.reaches(name, RESEARCH, WEB)] == []
    # What no policy names stays open, and the kubelet of the node reaches its pods.
    assert net.reaches("product", OUTSIDE, WEB)
    assert net.reaches("system", DNS, WEB)
    assert net.reaches(namespaces.NODE, RESEARCH, WEB)


def test_it_says_that_it_is_healthy_to_the_node_alone(enforced: Site) -> None:
    assert enforced.is_healthy()
    assert not enforced.net.reaches("system", GATEWAY, 20244)


def test_rules_stay_while_it_starts_again_and_go_with_the_add_on(site: Site) -> None:
    labels = {"app": "network-policies"}
    template = {"metadata": {"labels": labels}, "spec": {"nodeSelector": {"never": "here"}, "containers": [{"name": "main", "image": "example.org/a:1"}]}}
    metadata = {"name": DAEMONSET.name, "namespace": DAEMONSET.namespace}
    site.api.apply({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": {"selector": {"matchLabels": labels}, "template": template}})
    closed = []
    for is_there in (True, False):
        if not is_there:
            site.api.delete(DAEMONSET)
            processes.wait_until(lambda: site.api.get(DAEMONSET) is None, awaiting="the end of the DaemonSet")
        process = site.started()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=30) == 0, site.log()
        closed.append(not site.net.reaches("product", RESEARCH, WEB))
    assert closed == [True, False]
