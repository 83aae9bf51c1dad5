"""Which certificates a control plane's renewal looks at, and that a renewal that was killed restarts the programs the next time. kubeadm is a stand-in; tests/playbooks/test_kube_certificates.py has the real one."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.playbooks import templates

STAND_IN = {"pidof": "[ $1 = kube-scheduler ] && cat server", "kubeadm": "echo renewed >>asked; test ! -e killed || kill -KILL $PPID"}


class Host:
    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("kubernetes/pki/etcd", "bin", "run"):
            (folder / name).mkdir(parents=True)
        for name, text in STAND_IN.items():
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / "bin" / name).chmod(0o755)
        self.certificate("kubernetes/pki/apiserver.crt", days=365)
        text = templates.render("kube-certificates.sh.j2", role="kube_certificates")
        for place, own in (("=/etc/kubernetes", "=kubernetes"), ("=/run/clusterwright/", "=run/"), ("=/var/lib/clusterwright/", "=state/")):
            text = text.replace(place, own)
        (folder / "program").write_text(text)

    def certificate(self, name: str, *, days: int) -> None:
        argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", "/dev/null", "-subj", "/CN=it"]
        subprocess.run([*argv, "-days", str(days), "-out", name], cwd=self.folder, check=True, capture_output=True)

    def renew(self) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(["sh", "program"], cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=60)

    @property
    def renewals(self) -> int:
        asked = self.folder / "asked"
        return len(asked.read_text().splitlines()) if asked.exists() else 0


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of the scheduler, the only program that runs."""
    with subprocess.Popen(["sleep", "infinity"]) as process:
        (tmp_path / "server").write_text(str(process.pid))
        yield process
        process.kill()


def test_certificates_that_kubeadm_does_not_renew_restart_nothing(host: Host, scheduler: subprocess.Popen[bytes]) -> None:
    host.certificate("kubernetes/pki/their-webhook.crt", days=1)
    (host.folder / "kubernetes/their-robot.conf").write_text("users: [{user: {token: a}}]\n")
    done = host.renew()
    assert (done.returncode, done.stderr, host.renewals) == (0, "", 0)
    assert scheduler.poll() is None


def test_a_renewal_that_was_killed_restarts_the_programs_the_next_time(host: Host, scheduler: subprocess.Popen[bytes]) -> None:
    host.certificate("kubernetes/pki/apiserver.crt", days=1)
    (host.folder / "killed").touch()
    assert host.renew().returncode == -signal.SIGKILL
    assert scheduler.poll() is None
    host.certificate("kubernetes/pki/apiserver.crt", days=365)  # what kubeadm did before
    done = host.renew()
    assert (done.returncode, done.stderr, host.renewals) == (0, "", 1)
    assert scheduler.wait(10) == -signal.SIGTERM
    assert host.renew().stdout == "", "once"
