"""Certificates of a control plane that kubeadm made: which are renewed, and that its programs are restarted once."""

import datetime as dt
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from components.local.machine.names import cache_root
from tests import certificates
from tests.playbooks import templates

pytestmark = pytest.mark.slow

SETTINGS = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 192.0.2.1, bindPort: 6443}
nodeRegistration: {name: kubernetes-0, criSocket: "unix:///run/containerd/containerd.sock"}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: lab
kubernetesVersion: v%s
controlPlaneEndpoint: 192.0.2.1:6443
encryptionAlgorithm: ECDSA-P256
"""
INIT = "kubeadm init phase certs all --config=$1 >&2; kubeadm init phase kubeconfig all --config=$1 >&2"
WITHIN = 'mount -t overlay overlay -o lowerdir=/etc,upperdir=upper,workdir=work /etc && exec "$@"'
"""kubeadm has fixed places below /etc."""
SERVER = "kube-apiserver"
PIDOF = f"#!/bin/sh\n[ $1 = {SERVER} ] && cat server\n"
"""Only the API server runs."""


class Host:
    """A folder whose /etc is a host's."""

    def __init__(self, folder: Path, release: Path):
        self.folder, self.kubernetes = folder, folder / "upper/kubernetes"
        for name in ("upper/kubernetes", "work", "bin"):
            (folder / name).mkdir(parents=True)
        (folder / "bin/kubeadm").symlink_to(release / "bin/kubeadm")
        (folder / "settings.yaml").write_text(SETTINGS % release.name.partition("-")[0])
        self.run("sh", "-euc", INIT, "sh", "settings.yaml")
        text = templates.render("kube-certificates.sh.j2", role="kube_certificates", kube_certificates_settings=str(folder / "settings.yaml"))
        (folder / "program").write_text(text.replace("/var/lib/clusterwright/metrics", str(folder / "metrics")))

    def run(self, *argv: str) -> str:
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", WITHIN, "sh", *argv], cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def renew(self) -> str:
        return self.run("sh", "program")

    def measured(self) -> dict[str, int]:
        """Certificate → when it ends, as Prometheus reads it."""
        lines = (self.folder / "metrics/certificates.prom").read_text().splitlines()
        return {line.partition('"')[2].partition('"')[0]: int(line.split()[-1]) for line in lines}

    def ends(self, name: str) -> dt.datetime:
        return x509.load_pem_x509_certificate((self.kubernetes / "pki" / name).read_bytes()).not_valid_after_utc

    def let_end(self, name: str, when: dt.datetime) -> None:
        path = self.kubernetes / "pki" / name
        path.write_text(certificates.ending(path.read_text(), when, authority_key=(self.kubernetes / "pki/ca.key").read_text()))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of the API server."""
    with subprocess.Popen(["sleep", "infinity"]) as process:
        (tmp_path / "server").write_text(str(process.pid))
        yield process
        process.kill()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    if os.geteuid():
        pytest.skip("only root mounts")
    releases = sorted(path.parents[1] for path in (cache_root() / "kubernetes").glob("*/bin/kubeadm"))
    if not releases:
        pytest.skip("no release of Kubernetes is in the cache")
    one = Host(tmp_path, releases[-1])
    (tmp_path / "bin/pidof").write_text(PIDOF)
    (tmp_path / "bin/pidof").chmod(0o755)
    return one


def test_certificates_with_enough_time_are_left_alone(host: Host, server: subprocess.Popen[bytes]) -> None:
    before = host.ends("apiserver.crt")
    assert host.renew() == ""
    assert host.ends("apiserver.crt") == before
    assert server.poll() is None, "it is not restarted"
    measured = host.measured()
    assert measured["pki/apiserver.crt"] == before.timestamp()
    assert len(measured) == 11


@pytest.mark.parametrize("days", [-1, 100], ids=["ended", "ends soon"])
def test_all_are_renewed_when_one_ends(host: Host, server: subprocess.Popen[bytes], days: int) -> None:
    now = dt.datetime.now(dt.UTC)
    host.let_end("apiserver.crt", now + dt.timedelta(days=days))
    assert host.renew().endswith("these ended soon or had ended: pki/apiserver.crt\n")
    assert host.ends("apiserver.crt") - now > dt.timedelta(days=360)
    assert host.measured()["pki/apiserver.crt"] == host.ends("apiserver.crt").timestamp(), "metrics say it at once"
    assert server.wait(10) == -signal.SIGTERM, "kubelet starts it again, with the new ones"
    assert host.renew() == "", "the next look finds nothing to do"
