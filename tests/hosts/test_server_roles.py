"""Roles that change a server's own disks, boot loader and modules, and one that runs a program there, run by Ansible on one server.

What disks, boot loaders and modules would change is simulated: programs that keep their state in files.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints import project
from components import host_folders
from components.elastic import table as fleet_table
from components.elastic.decide import topology
from tests.hosts import plays
from tests.hosts.plain import PlainHosts, plain_hosts
from tests.playbooks import test_scratch

pytestmark = pytest.mark.hosts

NODE = "gpu-1"
SCRATCH, STATE, MOUNTS = "/scratch", "/srv/disks/state.json", "/srv/disks/mounts"
RUNNING, KERNEL = "6.8.0-85-generic", "6.8.0-149-generic"
DKMS = f"""#!/bin/sh
cd /srv/dkms
case $1 in
autoinstall)
  [ "$2 $3" = "--kernelver {KERNEL}" ] || exit 2
  [ ! -e broken ] || {{ echo "Error! Bad return status for module build on kernel: {KERNEL}" >&2; exit 11; }}
  [ -e built ] || echo "Building module(s)... done."
  touch built
  ;;
status)
  echo "mlnx-ofed-kernel/24.10, {RUNNING}, x86_64: installed"
  [ ! -e built ] || echo "mlnx-ofed-kernel/24.10, {KERNEL}, x86_64: installed (original_module exists)"
  ;;
*) exit 2 ;;
esac
"""
UPDATE_GRUB = """#!/bin/sh
set -e
mkdir -p /boot/grub
grep -q '^GRUB_DEFAULT=' /etc/default/grub.d/clusterwright.cfg
for image in /boot/vmlinuz-*; do
  echo "menuentry_id_option 'gnulinux-${image#/boot/vmlinuz-}-advanced-12-34'"
done >/boot/grub/grub.cfg
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PlainHosts]:
    with plain_hosts("server-roles", 1, suites=("noble",), names=(NODE,)) as made:
        yield made


def write(server: PlainHosts, path: str, content: str, *, mode: str = "644") -> None:
    server.inside(NODE, "sh", "-c", f"mkdir -p $(dirname {path}); cat >{path}; chmod {mode} {path}", stdin=content)


def package(server: PlainHosts, name: str) -> None:
    """Install an empty package of a name."""
    write(server, f"/srv/packages/{name}/DEBIAN/control", f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: stand-in\n")
    server.inside(NODE, "sh", "-c", f"cd /srv/packages && dpkg-deb --build {name} >/dev/null && dpkg --install {name}.deb >/dev/null")


def disks(server: PlainHosts, change: dict[str, Any] | None = None) -> Any:
    if change is not None:
        write(server, STATE, json.dumps(change))
    return json.loads(server.inside(NODE, "cat", STATE))


def test_scratch_space_is_mounted_by_its_unit_and_made_again_without_a_lost_disk(server: PlainHosts, tmp_path: Path) -> None:
    for name in ("mdadm", "xfsprogs"):
        package(server, name)
    for name in ("lsblk", "wipefs", "mdadm", "mkfs.xfs", "mount", "umount"):
        write(server, f"/usr/local/sbin/{name}", test_scratch.STAND_IN.format(python="/usr/bin/python3", name=name, state=STATE), mode="755")
    server.inside(NODE, "ln", "-s", "/usr/local/sbin/mdadm", "/usr/sbin/mdadm")
    disks(server, {"disks": test_scratch.blank(4), "arrays": {}, "stopped": {}, "asked": [], "made": 0})
    write(server, MOUNTS, "")
    write(server, "/etc/systemd/system/clusterwright-scratch.service.d/simulated.conf", f"[Service]\nEnvironment=MOUNTS={MOUNTS}\n")
    server.inside_all(NODE, "/usr/bin/mount", "--bind", "/usr/local/sbin/umount", "/usr/bin/umount")
    variables = {"node_group": "train", "provided": {"scratch": {"train": SCRATCH}}}

    def role(tasks: str = "scratch_raid", **more: Any) -> Any:
        return plays.run(server, [NODE], [tasks], {**variables, **more}, folder=tmp_path)

    def mounted(at: str = SCRATCH) -> list[str]:
        [array] = [one for one in disks(server)["arrays"].values() if one.get("mounted") == at]
        return list(array["members"])

    assert plays.changed(role()) > 0
    assert mounted() == sorted(test_scratch.blank(4))
    assert plays.changed(role()) == 0
    state = disks(server)
    del state["disks"]["/dev/nvme2n1"]
    disks(server, state)
    server.inside_all(NODE, "systemctl", "restart", "clusterwright-scratch.service")
    assert mounted() == ["/dev/nvme0n1", "/dev/nvme1n1", "/dev/nvme3n1"]
    assert "is empty now: 4 disks before, 3 now" in server.inside_all(NODE, "journalctl", "--unit", "clusterwright-scratch.service", "--output", "cat")
    elsewhere = {"scratch": {"train": "/local/scratch"}}
    assert plays.changed(role(provided=elsewhere)) > 0
    assert mounted("/local/scratch") == ["/dev/nvme0n1", "/dev/nvme1n1", "/dev/nvme3n1"]
    assert plays.changed(role(provided=elsewhere)) == 0
    assert plays.changed(role("scratch_raid/absent")) > 0
    assert [one for one in disks(server)["arrays"].values() if one.get("mounted")] == []
    assert server.inside(NODE, "sh", "-c", "ls -d /local /etc/systemd/system/*scratch.service 2>/dev/null || true") == ""
    assert plays.changed(role()) > 0
    server.inside_all(NODE, "systemctl", "stop", "clusterwright-scratch.service")
    assert server.inside(NODE, "sh", "-c", f"test -e {SCRATCH} || echo gone").strip() == "gone", "the folder was created to mount it there"
    disks(server, {**disks(server), "disks": {"/dev/nvme0n1": dict(test_scratch.EXT4)}})
    refused = role()
    assert refused.returncode != 0
    assert f"{NODE} has no scratch space at {SCRATCH}" in refused.stdout
    assert "no free NVMe disk (left alone: /dev/nvme0n1: ext4)" in refused.stdout


def test_a_server_restarts_with_another_kernel_only_when_its_own_modules_and_the_menu_have_it(server: PlainHosts, tmp_path: Path) -> None:
    package(server, f"linux-headers-{KERNEL}")
    write(server, "/usr/sbin/dkms", DKMS, mode="755")
    write(server, "/usr/local/sbin/grub-probe", "#!/bin/sh\necho 12-34\n", mode="755")
    write(server, "/usr/local/sbin/update-grub", UPDATE_GRUB, mode="755")
    write(server, f"/boot/vmlinuz-{RUNNING}", "")
    write(server, "/srv/dkms/broken", "")
    software = {"versions": [["kernel", KERNEL]], "origins": [], "os": "ubuntu-24.04"}
    variables = {"software": software, "spec": {"slurm": {"node_sets": []}}, "node_group": "train"}

    def roles() -> Any:
        return plays.run(server, [NODE], ["kernel_and_drivers/dkms", "kernel_and_drivers/boot_loader"], variables, folder=tmp_path, group="compute")

    refused = roles()
    assert refused.returncode != 0
    assert f"DKMS built no mlnx-ofed-kernel for the kernel {KERNEL}" in refused.stdout
    assert "Bad return status for module build" in refused.stdout
    server.inside(NODE, "rm", "/srv/dkms/broken")
    refused = roles()
    assert refused.returncode != 0, "the menu has no entry of a kernel whose image is not there"
    assert "TASK [kernel_and_drivers : The menu has the entry]" in refused.stdout
    write(server, f"/boot/vmlinuz-{KERNEL}", "")
    assert plays.changed(roles()) > 0, "what was cut off is finished"
    entry = f"gnulinux-{KERNEL}-advanced-12-34"
    assert f'GRUB_DEFAULT="gnulinux-advanced-12-34>{entry}"' in server.inside(NODE, "cat", "/etc/default/grub.d/clusterwright.cfg")
    assert f"'{entry}'" in server.inside(NODE, "cat", "/boot/grub/grub.cfg")
    assert plays.changed(roles()) == 0


def fleet(count: int) -> dict[str, Any]:
    """Give the fleet table of a pool on Google Cloud whose instances have a place in its network."""
    node_set = {"name": "train", "pool": "train", "prefix": "train", "count": count, "minimum": 0, "partition": "train", "machine": "a3-megagpu-8g"}
    return {
        "version": fleet_table.VERSION,
        "target": "gcp",
        "cluster": "lab",
        "stack": "test",
        "topology": host_folders.SWITCHES,
        "node_sets": [{**node_set, "capacity": {"kind": "on-demand"}, "boot_timeout_s": 600}],
    }


def test_elastic_nodes_have_switches_that_slurm_s_user_can_change(server: PlainHosts, tmp_path: Path) -> None:
    state, folder = Path(host_folders.SWITCHES).parents[1], Path(host_folders.SWITCHES).parent
    server.inside(NODE, "sh", "-c", f"useradd --system --user-group slurm; install --directory --owner=slurm --group=slurm {state}")
    plays_folder = tmp_path / "playbooks"  # the role takes the program from beside the play's folder
    plays_folder.mkdir()
    for package_folder in ("blueprints", "components"):
        (tmp_path / package_folder).symlink_to(project.project_root() / package_folder)

    def role(count: int) -> Any:
        return plays.run(server, [NODE], ["elastic"], {"provided": {"fleet": fleet(count)}, "spec": {"slurm": {"control": {"count": 1}}}}, folder=plays_folder)

    def switches() -> str:
        return server.inside(NODE, "cat", host_folders.SWITCHES)

    assert plays.changed(role(4)) > 0
    assert switches() == topology.unplaced(fleet_table.read(fleet(4)))
    owners = server.inside(NODE, "stat", "--format=%U:%G %a %n", str(folder), host_folders.SWITCHES).splitlines()
    assert owners == [f"slurm:slurm 700 {folder}", f"slurm:slurm 644 {host_folders.SWITCHES}"], "the next one to write is the service, as Slurm's user"
    assert plays.changed(role(4)) == 0
    assert plays.changed(role(6)) > 0
    assert switches() == topology.unplaced(fleet_table.read(fleet(6))), "a node without a switch gets no jobs"
