"""A control plane on loopback: etcd, API server, controllers."""

import base64
import contextlib
import ctypes
import dataclasses
import secrets
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from components.kubernetes import api as apis
from components.kubernetes.api import Api, Key
from tests import processes
from tests.apiserver import release

SERVICE_CIDR = "10.96.0.0/16"
PORTS = range(20000, 30000)
_PR_SET_PDEATHSIG = 1


@dataclasses.dataclass(slots=True)
class Cluster:
    """A running control plane."""

    folder: Path
    kubeconfig: str
    commands: dict[str, list[str]]
    running: dict[str, "subprocess.Popen[bytes]"] = dataclasses.field(default_factory=dict)

    def member(self) -> Api:
        """Speak as the user ada, who has the rights that the cluster's objects give."""
        return Api((self.folder / "member").read_text())

    def api(self, *, timeout_s: float = 30) -> Api:
        return Api(self.kubeconfig, timeout_s=timeout_s)

    def start(self, name: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                self.commands[name], stdout=log, stderr=log, cwd=self.folder, start_new_session=True, preexec_fn=_end_with_parent
            )

    def stop(self, name: str) -> None:
        """Kill a program, as a crash does."""
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def wait_ready(self) -> None:
        """Wait until the API server serves, with its default roles and namespaces."""
        api = self.api(timeout_s=5)

        def ready() -> bool:
            if self.running["apiserver"].poll() is not None:
                raise AssertionError(f"the API server ended: {self.log('apiserver')}")
            with contextlib.suppress(apis.Unreachable, apis.ApiError):
                api.request("GET", "/readyz")
                return bool(api.cluster_id())
            return False

        processes.wait_until(ready, awaiting="the API server", within_s=120)


@contextlib.contextmanager
def running(folder: Path, *, scheduler: bool = False) -> Iterator[Cluster]:
    """Run a control plane until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    etcd, peer, server = (free_port() for _ in range(3))
    token = base64.b32encode(folder.name.encode().ljust(20, b"x")).decode().lower()
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n{token}-of-ada,ada,ada\n")
    _make_authority(folder, names=("localhost",))
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(folder / "accounts.key"))
    _openssl("ec", "-in", str(folder / "accounts.key"), "-pubout", "-out", str(folder / "accounts.pub"))
    kubeconfig = _kubeconfig(server, (folder / "ca.crt").read_bytes(), token)
    (folder / "kubeconfig").write_text(kubeconfig)
    (folder / "member").write_text(_kubeconfig(server, (folder / "ca.crt").read_bytes(), f"{token}-of-ada"))
    found = Cluster(folder, kubeconfig, _commands(folder, etcd=etcd, peer=peer, server=server))
    try:
        found.start("etcd")
        processes.wait_until(lambda: _answers(f"http://127.0.0.1:{etcd}/health"), awaiting="etcd")
        found.start("apiserver")
        found.wait_ready()
        found.start("controller-manager")
        if scheduler:
            found.start("scheduler")
        api = found.api()
        account = Key("v1", "ServiceAccount", "default", "default")
        processes.wait_until(lambda: api.get(account) is not None, awaiting=f"the controllers: {found.log('controller-manager')}", within_s=120)
        yield found
    finally:
        for name in reversed(list(found.running)):
            found.stop(name)
        shutil.rmtree(folder / "etcd", ignore_errors=True)


def _commands(folder: Path, *, etcd: int, peer: int, server: int) -> dict[str, list[str]]:
    def program(name: str) -> str:
        return str(release.program(name))

    client, config = f"http://127.0.0.1:{etcd}", str(folder / "kubeconfig")
    return {
        "etcd": [
            program("etcd"), f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=default=http://127.0.0.1:{peer}", "--unsafe-no-fsync", "--log-level=warn",
        ],
        "apiserver": [
            program("kube-apiserver"), f"--etcd-servers={client}", "--bind-address=127.0.0.1", f"--secure-port={server}", "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none", f"--service-cluster-ip-range={SERVICE_CIDR}", f"--token-auth-file={folder / 'tokens.csv'}",
            f"--tls-cert-file={folder / 'server.crt'}", f"--tls-private-key-file={folder / 'server.key'}", f"--client-ca-file={folder / 'ca.crt'}",
            "--authorization-mode=Node,RBAC", "--allow-privileged=true", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder / 'accounts.pub'}",
            f"--service-account-signing-key-file={folder / 'accounts.key'}", f"--cert-dir={folder / 'certs'}", "--profiling=false",
        ],
        "controller-manager": [
            program("kube-controller-manager"), f"--kubeconfig={config}", "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0",
            f"--service-account-private-key-file={folder / 'accounts.key'}", f"--root-ca-file={folder / 'ca.crt'}", "--use-service-account-credentials",
            "--kube-api-qps=300", "--kube-api-burst=600", "--node-monitor-grace-period=1h",
        ],
        "scheduler": [program("kube-scheduler"), f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0", "--kube-api-qps=300", "--kube-api-burst=600"],
    }  # fmt: skip


def _kubeconfig(port: int, authority: bytes, token: str) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "clusters": [
                {"name": "test", "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": base64.b64encode(authority).decode()}}
            ],
            "users": [{"name": "admin", "user": {"token": token}}],
        }
    )


def _make_authority(folder: Path, *, names: Sequence[str]) -> None:
    """Make an authority and the server's certificate."""
    alternatives = ",".join(["IP:127.0.0.1", *(f"DNS:{name}" for name in names)])
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test", "-keyout", str(folder / "ca.key"),
             "-out", str(folder / "ca.crt"))  # fmt: skip
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
             f"subjectAltName={alternatives}", "-addext", "basicConstraints=critical,CA:FALSE", "-CA", str(folder / "ca.crt"), "-CAkey", str(folder / "ca.key"),
             "-keyout", str(folder / "server.key"), "-out", str(folder / "server.crt"))  # fmt: skip


def _openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def free_port() -> int:
    """Give a port that nothing listens on, below those that the kernel gives to connections (ip_local_port_range)."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as taken, contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(url, timeout=2).status == 200)
    return False


def _end_with_parent() -> None:
    """Let the kernel end the program with the thread that starts it, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
