"""File systems of a site on its hosts: mounted now and at each boot, named when they are missing, and never over the homes of the hosts' owner."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from blueprints.finding.subject import Mount
from blueprints.finding.values import Values
from components.inspection.codes import Code
from components.inspection.finding import drift
from components.metal import file_systems
from stacks.drift import fix
from stacks.drift.fix import devices
from tests.components.metal import test_file_systems
from tests.hosts import plays
from tests.hosts.deployment import wait_until
from tests.hosts.plain import PlainHosts, plain_hosts

pytestmark = pytest.mark.hosts

NAMES = ("head-a", "gpu-b")
SITE = "/srv/site"
HOME = {"name": "home", "target": "/home", "source": f"{SITE}/home", "kind": "bind", "within": SITE, "create": True}
DATA = {"name": "data", "target": "/data/my-set", "source": f"{SITE}/data", "kind": "bind", "within": SITE, "create": True}
BOOTED_WITHIN_S = 60
SOURCES = {
    "nfs": "10.20.0.9:/export",
    "lustre": "10.20.0.5@o2ib:10.20.0.6@o2ib:/data",
    "ceph": "10.20.0.7:6789:/",
    "wekafs": "weka-1,weka-2/training",
}
"""Kind → a source as docs/metal.md has it."""
CLIENT = """\
#!/bin/sh
echo "${0##*/} $*" >>/root/clients
exec mount --internal-only -t tmpfs -o size=1m "$1" "$2"
"""
"""Stands in for the program that mounts one of the kinds: it notes its words and mounts a file system in memory with the same source."""
PUT = """\
set -eu
for kind in nfs lustre ceph wekafs; do
    dpkg-divert --quiet --local --no-rename --add /sbin/mount.$kind
    dpkg-divert --quiet --local --no-rename --add /usr/sbin/mount.$kind
    cp /root/client /usr/sbin/mount.$kind
    chmod 755 /usr/sbin/mount.$kind
done
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain_hosts("services-mounts", 2, suites=("trixie", "noble"), names=NAMES, shared=SITE) as made:
        yield made


def mount(servers: PlainHosts, rows: Sequence[dict[str, Any]], folder: Path, *, names: Sequence[str] = NAMES, group: str = "compute") -> Any:
    return plays.run(servers, names, ["site_mounts"], {"provided": {"mounts": rows}, "site_mounts_within_s": 4}, folder=folder, group=group)


def mounted(servers: PlainHosts, name: str) -> set[str]:
    lines = servers.inside(name, "cat", "/proc/self/mounts").splitlines()
    return {line.split()[1] for line in lines} & {"/home", "/data/my-set", "/home/ubuntu", "/nowhere"}


def test_file_systems_are_mounted_and_the_owner_keeps_the_home_with_the_key(servers: PlainHosts, tmp_path: Path) -> None:
    assert plays.changed(mount(servers, [HOME, DATA], tmp_path)) > 0
    for name in NAMES:
        assert mounted(servers, name) == {"/home", "/data/my-set", "/home/ubuntu"}
        assert servers.ssh(name, "cat .ssh/authorized_keys").split() == servers.identity.with_suffix(".pub").read_text().split()
    servers.inside("head-a", "sh", "-c", "echo text >/data/my-set/file; mkdir /home/ada")
    assert servers.inside("gpu-b", "sh", "-c", "cat /data/my-set/file; ls /home").split() == ["text", "ada", "ubuntu"]
    assert plays.changed(mount(servers, [HOME, DATA], tmp_path)) == 0


def test_file_systems_are_mounted_at_each_boot(servers: PlainHosts) -> None:
    servers.power_off("gpu-b")
    servers.power_on("gpu-b")
    wait_until(lambda: mounted(servers, "gpu-b") == {"/home", "/data/my-set", "/home/ubuntu"}, awaiting="the file systems", within_s=BOOTED_WITHIN_S)
    assert servers.ssh("gpu-b", "pwd").strip() == "/home/ubuntu"


def test_what_somebody_unmounted_is_mounted_again_beside_the_others(servers: PlainHosts) -> None:
    """By the step with which `up` and `drift fix` repair it."""
    servers.inside("gpu-b", "umount", "/data/my-set")
    assert mounted(servers, "gpu-b") == {"/home", "/home/ubuntu"}
    lost = drift(Code.MOUNT_MISSING, Mount("gpu-b", "/data/my-set"), "the file system is not mounted", remedy="mount it")
    [step] = devices.of_mount(lost, Mount("gpu-b", "/data/my-set"), Values())
    assert isinstance(step.action, fix.Command)
    servers.inside_all("gpu-b", *step.action.argv)
    assert mounted(servers, "gpu-b") == {"/home", "/data/my-set", "/home/ubuntu"}


def test_a_missing_file_system_is_named_and_the_others_are_mounted(servers: PlainHosts, tmp_path: Path) -> None:
    lost = {"name": "lost", "target": "/nowhere", "source": f"{SITE}/lost", "kind": "bind", "within": SITE}
    weka = {"name": "weka", "target": "/weka", "source": "backend/training", "kind": "wekafs"}
    foreign = {"name": "run", "target": "/run", "source": f"{SITE}/data", "kind": "bind", "within": SITE}
    present = {"name": "there", "target": "/mnt", "source": "/mnt", "kind": "present"}
    done = mount(servers, [HOME, DATA, lost, weka, foreign, present], tmp_path, names=["gpu-b"])
    assert done.returncode != 0
    for words in (
        f"/nowhere ({SITE}/lost) is not mounted: there is no folder {SITE}/lost",
        "/weka (backend/training) is not mounted: this host has no mount.wekafs",
        f"/run ({SITE}/data) is not mounted: tmpfs is mounted there",
        "/mnt (/mnt) is not mounted: nothing is mounted there",
    ):
        assert words in done.stdout
    assert mounted(servers, "gpu-b") == {"/home", "/data/my-set", "/home/ubuntu"}


def test_homes_of_the_servers_own_users_stay_where_a_file_system_is_in_use(servers: PlainHosts) -> None:
    """It is unmounted by a process that is in it."""
    program = "/usr/lib/clusterwright/site_mounts.py"
    assert servers.inside("gpu-b", "sh", "-c", f"cd /home; python3 {program} --unmount home.mount 2>/dev/null || echo stays").split() == ["stays"]
    assert mounted(servers, "gpu-b") == {"/home", "/data/my-set", "/home/ubuntu"}
    assert servers.ssh("gpu-b", "pwd").strip() == "/home/ubuntu"


def test_a_file_system_that_left_the_blueprint_is_unmounted(servers: PlainHosts, tmp_path: Path) -> None:
    assert plays.changed(mount(servers, [HOME], tmp_path)) > 0
    assert [mounted(servers, name) for name in NAMES] == [{"/home", "/home/ubuntu"}] * 2
    assert servers.inside("gpu-b", "findmnt", "--noheadings", "--output=FSTYPE", "/run").split() == ["tmpfs"], "what others mounted stays"
    assert (servers.shared_folder / "data/file").read_text() == "text\n"


def test_stopping_the_unit_leaves_the_host_as_it_was(servers: PlainHosts) -> None:
    servers.inside_all("head-a", "systemctl", "stop", "clusterwright-mounts")
    assert mounted(servers, "head-a") == set()
    assert servers.inside("head-a", "sh", "-c", "ls -d /data /nowhere 2>/dev/null || true") == "", "folders that were not there before"
    assert servers.ssh("head-a", "pwd; ls -A /home").split() == ["/home/ubuntu", "ubuntu"]


@pytest.mark.soak  # it installs the clients of the distribution's archive
def test_each_kind_of_a_sites_file_systems_is_mounted_by_its_client(servers: PlainHosts, tmp_path: Path) -> None:
    """The programs that mount are simulated, since no server is here: units, options and packages are those of the role."""
    name = "gpu-b"
    storage = [spec.FileSystem(kind, "existing", f"/net/{kind}", protect=True, simulated=False, source=source) for kind, source in SOURCES.items()]
    rows = file_systems.mounts(test_file_systems.lab(*storage))
    assert {row["kind"]: row["source"] for row in rows} == SOURCES
    servers.inside(name, "sh", "-c", "systemctl stop clusterwright-mounts 2>/dev/null || true")  # `run` logs in at a home that tests before this one mounted
    servers.inside(name, "sh", "-c", "cat >/root/client", stdin=CLIENT)
    servers.inside_all(name, "sh", "-c", PUT)

    def there() -> dict[str, str]:
        """Give what is mounted below /net: kind → source."""
        lines = [line.split() for line in servers.inside(name, "cat", "/proc/self/mounts").splitlines()]
        return {target.removeprefix("/net/"): source for source, target, *_ in lines if target.startswith("/net/")}

    assert plays.changed(mount(servers, rows, tmp_path, names=[name])) > 0
    assert there() == SOURCES
    asked = [line.split() for line in servers.inside(name, "cat", "/root/clients").splitlines()]
    assert [words[:3] for words in asked] == [[f"mount.{row['kind']}", row["source"], row["target"]] for row in rows]
    for row, words in zip(rows, asked, strict=True):
        assert {*row["options"]} <= {*words[words.index("-o") + 1].split(",")}
    installed = servers.inside(name, "dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n", "nfs-common", "ceph-common")
    assert installed.splitlines() == ["ceph-common installed", "nfs-common installed"]
    assert plays.changed(mount(servers, rows, tmp_path, names=[name])) == 0

    servers.power_off(name)
    servers.power_on(name)
    wait_until(lambda: there() == SOURCES, awaiting="the file systems after a restart", within_s=BOOTED_WITHIN_S)
    servers.inside_all(name, "systemctl", "stop", "clusterwright-mounts")
    assert there() == {}
    assert servers.inside(name, "sh", "-c", "ls -d /net 2>/dev/null || true") == ""


def test_a_kernel_without_an_nfs_server_is_named(servers: PlainHosts, tmp_path: Path) -> None:
    done = plays.run(servers, ["head-a"], ["nfs_export"], exports(servers), folder=tmp_path)
    assert done.returncode != 0
    assert "The kernel of head-a has no NFS server (module nfsd), so that it can't export /var/lib/clusterwright/state/exports/home" in done.stdout


def test_folders_are_exported_to_the_hosts_of_the_cluster(servers: PlainHosts, tmp_path: Path) -> None:
    """The kernel's own server is simulated, since this kernel has none: exportfs(8) is real and reads the exports."""
    unit = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    servers.inside("head-a", "sh", "-c", "cat >/etc/systemd/system/nfs-server.service; echo 'nodev nfsd' >/run/filesystems", stdin=unit)
    servers.inside_all("head-a", "systemctl", "daemon-reload")
    variables = {**exports(servers), "nfs_export_kernel_table": "/run/filesystems"}
    assert plays.changed(plays.run(servers, ["head-a"], ["nfs_export"], variables, folder=tmp_path)) > 0
    exported = servers.inside("head-a", "exportfs", "-s").splitlines()
    assert [line.split("(")[0].split() for line in exported] == [["/var/lib/clusterwright/state/exports/home", servers[name].address] for name in sorted(NAMES)]
    assert plays.changed(plays.run(servers, ["head-a"], ["nfs_export"], variables, folder=tmp_path)) == 0


def exports(servers: PlainHosts) -> dict[str, Any]:
    clients = [servers[name].address for name in sorted(NAMES)]
    return {"provided": {"exports": {"host": "head-a", "folders": ["/var/lib/clusterwright/state/exports/home"], "clients": clients}}}
