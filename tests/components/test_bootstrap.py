"""What a host needs before it first runs, as each renderer writes it."""

import base64
import dataclasses
import json
from typing import Any

import yaml

from components.bootstrap import cloud_init, files
from components.bootstrap.config import FstabEntry, HostConfig, HostKeys

NFS = FstabEntry("server:/", "/home", "nfs4", ("nofail", "ro"))
DISK = FstabEntry("/dev/disk/by-id/volume", "/data", "xfs", ("nofail", "x-systemd.makefs"))
KEYS = HostKeys(base64.b64encode(b"munge").decode(), "host")


def config(**changed: Any) -> HostConfig:
    values: dict[str, Any] = {
        "role": "compute",
        "cluster": "small",
        "group": "train",
        "controllers": ("10.0.0.1", "10.0.0.2"),
        "admin_key": "ssh-ed25519 AAAA",
    }
    return HostConfig(**(values | changed))


def document(wanted: HostConfig) -> dict[str, Any]:
    text = cloud_init.user_data(wanted, program="print()", order={"secret": "name"})
    assert text.startswith("#cloud-config\n")
    return dict(yaml.safe_load(text))


def test_all_files_of_a_host_are_named_with_their_modes_and_keys_are_for_root_alone() -> None:
    assert {file.path: (file.mode, file.content) for file in files.complete(config(expected="{}"), KEYS)} == {
        "/etc/clusterwright/secrets/munge.key": (0o400, b"munge"),
        "/etc/clusterwright/node.env": (
            0o644,
            b"CLUSTERWRIGHT_ROLE=compute\nCLUSTERWRIGHT_CLUSTER=small\nCLUSTERWRIGHT_GROUP=train\nCLUSTERWRIGHT_CONTROLLERS=10.0.0.1,10.0.0.2\n",
        ),
        "/root/.ssh/authorized_keys": (0o600, b"ssh-ed25519 AAAA\n"),
        "/etc/clusterwright/expected.json": (0o644, b"{}"),
        "/etc/ssh/ssh_host_ed25519_key": (0o600, b"host"),
    }


def test_a_host_without_a_key_of_the_group_makes_its_own() -> None:
    assert "/etc/ssh/ssh_host_ed25519_key" not in {file.path for file in files.complete(config(), HostKeys(KEYS.munge))}


def test_settings_of_a_target_follow_those_of_all() -> None:
    assert files.settings(config(settings={"CLUSTERWRIGHT_SIMULATED_GPUS": "8"})).content.decode().splitlines()[-1] == "CLUSTERWRIGHT_SIMULATED_GPUS=8"


def test_what_a_host_of_the_cluster_serves_is_not_mounted_by_the_first_boot() -> None:
    written = document(config(mounts=(dataclasses.replace(NFS, is_late=True),)))
    assert "mounts" not in written, "it may come minutes later, and cloud-init tries once"
    (fstab,) = [file for file in written["write_files"] if file["path"] == "/etc/fstab"]
    assert fstab["content"] == "server:/ /home nfs4 nofail,ro 0 0\n"
    assert written["runcmd"] == [["systemctl", "daemon-reload"], ["systemctl", "restart", "--no-block", "clusterwright-mounted.service"]]


def test_cloud_init_mounts_network_file_systems_and_leaves_disks_to_systemd() -> None:
    written = document(config(mounts=(NFS, DISK)))
    assert written["mounts"] == [["server:/", "/home", "nfs4", "nofail,ro", "0", "0"]]
    (fstab,) = [file for file in written["write_files"] if file["path"] == "/etc/fstab"]
    assert fstab["content"] == "/dev/disk/by-id/volume /data xfs nofail,x-systemd.makefs 0 0\n"
    assert fstab["append"]
    assert written["runcmd"] == [["systemctl", "daemon-reload"], ["systemctl", "start", "--no-block", "/data"]]


def test_a_host_without_file_systems_has_no_rows_for_them() -> None:
    written = document(config())
    assert "mounts" not in written
    assert [file["path"] for file in written["write_files"]] == ["/etc/clusterwright/node.env"]


def test_exported_folders_are_given_to_the_network_of_the_cluster_and_the_server_is_enabled() -> None:
    written = document(config(exports=("/data",), clients="10.0.0.0/16"))
    (exports,) = [file for file in written["write_files"] if file["path"] == "/etc/exports.d/clusterwright.exports"]
    assert exports["content"] == "/data 10.0.0.0/16(rw,sync,no_root_squash,no_subtree_check)\n"
    assert ["systemctl", "enable", "nfs-server.service"] in written["runcmd"]


def test_the_program_gets_its_order_as_its_only_argument() -> None:
    ((python, _, program, order),) = document(config())["bootcmd"]
    assert (python, program, json.loads(order)) == ("/usr/bin/python3", "print()", {"secret": "name"})
