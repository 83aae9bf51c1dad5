"""A blueprint of existing hosts: rehearsed on this machine under the hosts' own names, and the host keys of real servers read and confirmed."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from components.ssh import host_keys
from tests.hosts.deployment import deployment
from tests.hosts.plain import plain_hosts

pytestmark = pytest.mark.hosts

KEYS = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILfO7axdAlzocl3lyLUde3ycoDtp7k+/IF+u2cOZy+M0",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEN6R02Uon1KE7LvzsaWmElRXRqE70irJWhpPuN50NMt",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINemqOt8IQG98KsF67IJxFxGMLUzmaMFxJj4sJRBRPIl",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMVCpp3OXD3WmDZqGaCONjIEATrRajSvmH1FSz+OVouK",
)
NAMES = ("head", "login", "gpu-007", "gpu-012")


def lab(nodes: str = "gpu-[007,012]") -> dict[str, object]:
    """Give a blueprint for bare metal: the rehearsal uses its names, and none of its addresses."""
    hosts = {name: {"address": f"10.20.0.{number}", "host_key": key} for number, (name, key) in enumerate(zip(NAMES, KEYS, strict=True), start=11)}
    return {
        "name": "lab",
        "software": "debian-13",
        "inventory": {"user": "ubuntu", "hosts": hosts},
        "control": {"hosts": ["head"]},
        "access": {"hosts": ["login"], "address": "10.20.0.5"},
        "storage": {"home": {"kind": "existing", "mount": "/home", "source": "10.20.0.9:/home", "protect": False}},
        "accounting": {"protect": False},
        "pools": {"train": {"hosts": nodes, "accelerator": "h100", "gpus_per_node": 8}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }


def test_a_blueprint_of_bare_metal_is_rehearsed_under_its_own_host_names(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(lab()))
    with deployment("test-inventory", tmp_path, blueprint=str(file)) as one:
        one.up()
        outputs = one.outputs()
        assert [host["name"] for host in outputs["inventory"]["train"]] == ["gpu-007", "gpu-012"]
        assert {check["verdict"] for check in outputs["acceptance"]} <= {"pass", "reported"}
        where = one.ssh("srun --nodes=2 --gpus-per-node=8 hostname").split()
        assert sorted(where) == ["gpu-007", "gpu-012"]
        assert "at head is UP" in one.ssh("scontrol ping")

        file.write_text(yaml.safe_dump(lab("gpu-012")))
        one.up()
        assert one.ssh("sinfo --noheader --format=%N --partition=train").split() == ["gpu-012"]
        assert not one.host("gpu-007").state.exists(), "a host that left the pool is removed"
        one.down()
        assert not one.names.state.exists()


def test_host_keys_of_real_servers_are_read_confirmed_and_written(tmp_path: Path) -> None:
    def lookup(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["clusterwright", "lookup", "hosts", str(file), *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def states() -> dict[str, str]:
        return {host["name"]: host["state"] for host in json.loads(lookup("--json").stdout)["hosts"]}

    file = tmp_path / "lab.yaml"
    with plain_hosts("inventory", 2, names=("head", "gpu-007")) as servers:
        entries = "".join(f"    {name}: {{address: {servers[name].address}}}\n" for name in ("head", "gpu-007"))
        groups = "control: {hosts: head}\naccess: {login_nodes: 0}\npools: {train: {hosts: gpu-007}}\n"
        file.write_text(f"name: lab\nsoftware: debian-13\n# Our servers.\ninventory:\n  # Racked in May.\n  user: ubuntu\n  hosts:\n{entries}{groups}")
        assert states() == {"head": "new", "gpu-007": "new"}

        unconfirmed = lookup("--write")
        assert unconfirmed.returncode == 1
        assert "nothing was written" in unconfirmed.stderr
        assert not (tmp_path / "known_hosts").exists()

        head = host_keys.fingerprint(servers["head"].host_key)
        half = lookup("--write", "--yes", head)
        assert half.returncode == 1, "one host was not confirmed"
        assert states() == {"head": "same", "gpu-007": "new"}
        assert lookup("--write", "--yes", host_keys.fingerprint(servers["gpu-007"].host_key)).returncode == 0
        assert states() == {"head": "same", "gpu-007": "same"}
        assert "# Racked in May." in file.read_text()
        written = (tmp_path / "known_hosts").read_text()
        assert f"head,{servers['head'].address} {servers['head'].host_key}\n" in written

        servers.reinstall("gpu-007")
        other = lookup("--write", "--yes", host_keys.fingerprint(servers["gpu-007"].host_key))
        assert other.returncode == 1
        assert states() == {"head": "same", "gpu-007": "other"}
        assert (tmp_path / "known_hosts").read_text() == written, "a key that changed is never written over the old one"
        servers.power_off("head")
        assert states() == {"head": "silent", "gpu-007": "other"}
