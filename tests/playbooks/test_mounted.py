"""The program that waits for a host's file systems, with programs in the place of mount(8) and its kin that answer as they would."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from blueprints.project import project_root

PROGRAM = project_root() / "playbooks/roles/cloud_host/files/mounted.sh"
FSTAB = """\
# written by cloud-init
LABEL=root / ext4 defaults 0 1
fs-1.efs.us-east-1.amazonaws.com:/ {folder}/home nfs4 nfsvers=4.1,_netdev,nofail 0 0
server:/old {folder}/old nfs4 noauto,_netdev 0 0
/dev/disk/by-id/nvme-volume {folder}/state xfs nofail,x-systemd.makefs,x-systemd.device-timeout=600 0 0
"""
STUB = """\
#!/bin/sh
echo "{name} $*" >> {folder}/asked
{does}
"""
DOES = {
    "findmnt": 'test -e "{folder}/mounted$2"',
    # The first attempt comes before the file system's name is known.
    "mount": 'if [ -e {folder}/known ]; then mkdir -p "{folder}/mounted$(dirname $1)"; : > "{folder}/mounted$1"; else : > {folder}/known; echo "mount: no such name" >&2; exit 32; fi',
    "systemctl": 'mkdir -p "{folder}/mounted{folder}"; : > "{folder}/mounted{folder}/state"',
    "systemd-escape": "echo state.mount",
    "sleep": "",
}


class Host:
    """A host of a cloud, as far as the program sees it."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "fstab").write_text(FSTAB.format(folder=folder))
        (folder / "console").touch()
        for name, does in DOES.items():
            self.answers(name, does.format(folder=folder))

    def answers(self, name: str, does: str) -> None:
        program = self.folder / "bin" / name
        program.write_text(STUB.format(name=name, does=does, folder=self.folder))
        program.chmod(0o755)

    def run(self, seconds: int) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "FSTAB": str(self.folder / "fstab"),
            "CONSOLE": str(self.folder / "console"),
            "LOCK": str(self.folder / "lock"),
        }
        return subprocess.run(["bash", PROGRAM, str(seconds)], env=environment, capture_output=True, text=True, timeout=60, check=False)

    def asked(self, name: str) -> list[str]:
        return [line for line in (self.folder / "asked").read_text().splitlines() if line.split()[0] == name]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_what_the_table_wants_is_mounted_as_soon_as_it_can_be(host: Host) -> None:
    done = host.run(60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert host.asked("mount") == [f"mount {host.folder}/home"] * 2, "once before its name was known"
    assert host.asked("systemctl") == ["systemctl start state.mount"], "systemd waits for disks, and makes a file system on an empty one"
    assert (host.folder / "console").read_text() == ""


def test_what_is_mounted_is_left_alone(host: Host) -> None:
    host.answers("findmnt", "true")
    assert host.run(60).returncode == 0
    assert host.asked("mount") == host.asked("systemctl") == []


def test_what_serves_a_bucket_does_not_hold_the_others_up(host: Host) -> None:
    """Mountpoint goes on in the background, with what it inherited open."""
    host.answers(
        "mount",
        f'mkdir -p "{host.folder}/mounted$(dirname $1)"; : > "{host.folder}/mounted$1"; tail -f --pid $PPID /dev/null >/dev/null 2>&1 & echo $! > {host.folder}/serving',
    )
    host.answers("findmnt", f'test -e "{host.folder}/mounted$2"; exit $?')
    assert host.run(60).returncode == 0
    with (host.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_is_missing_is_named_with_its_source_and_the_reason_here_and_on_the_console(host: Host) -> None:
    host.answers("mount", "echo 'mount: access denied' >&2; exit 32")
    done = host.run(0)
    assert done.returncode == 1
    assert done.stderr == f"{host.folder}/home (fs-1.efs.us-east-1.amazonaws.com:/) is not mounted after 0 s: mount: access denied\n"
    assert (host.folder / "console").read_text() == f"clusterwright: {done.stderr}"
