"""Interfaces of InfiniBand partitions, on a simulated host: folders in the place of the kernel's, and a strict stand-in for `ip` that creates and deletes interfaces there as the kernel does."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root

PROGRAM = project_root() / "playbooks/roles/ib_partitions/files/ib_partitions.py"
MAC = "00:00:10:28:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:aa:bb:cc"
IP = """#!/usr/bin/python3
import pathlib, shutil, sys
net = pathlib.Path(__file__).parents[1] / "sys/class/net"
words = sys.argv[1:]
if words[:2] == ["link", "delete"]:
    assert words[2] == "dev" and "." in words[3] and len(words) == 4, words
    shutil.rmtree(net / words[3])
    sys.exit()
assert words[:3] == ["link", "add", "link"] and words[4] == "name" and words[6:9] == ["type", "ipoib", "pkey"] and len(words) == 10, words
port, name, key = words[3], words[5], words[9]
assert name == f"{port}.{int(key, 16):04x}", words
if (net / name).exists():
    sys.exit("RTNETLINK answers: File exists")
(net / name).mkdir()
(net / name / "ifindex").write_text("9\\n")
(net / name / "iflink").write_text("2\\n")
for file, text in (("type", "32"), ("pkey", key), ("address", "80:00:00:48" + (net / port / "address").read_text().strip()[11:])):
    (net / name / file).write_text(text + "\\n")
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with one InfiniBand port, whose second partition is 0x8001, and an Ethernet interface."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ip").write_text(IP)
    (tmp_path / "bin/ip").chmod(0o755)
    interface(tmp_path, "ibp24s0", kind="32", mac="00:00:11:04" + MAC[11:])  # another queue pair than when its address was written down
    interface(tmp_path, "eth0", kind="1", mac="02:00:00:00:00:01")
    for number, key in enumerate(("0xffff", "0x8001", "0x0002", "0x0000")):
        place = tmp_path / "sys/class/net/ibp24s0/device/infiniband/mlx5_0/ports/1/pkeys"
        place.mkdir(parents=True, exist_ok=True)
        (place / str(number)).write_text(f"{key}\n")
    return tmp_path


def interface(host: Path, name: str, *, kind: str, mac: str) -> None:
    place = host / "sys/class/net" / name
    place.mkdir(parents=True)
    for file, text in (("type", kind), ("address", mac), ("pkey", "0xffff"), ("dev_port", "0")):
        (place / file).write_text(f"{text}\n")


def partition(key: str = "0x8001", *, name: str = "rail0", mac: str = MAC) -> dict[str, str]:
    return {"name": name, "mac": mac, "partition_key": key, "address": "10.40.0.11/24"}


def run(host: Path, verb: str, *interfaces: dict[str, str], options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{host / 'bin'}:/usr/bin:/bin", "CLUSTERWRIGHT_ROOT": str(host)}
    words = [sys.executable, str(PROGRAM), verb, *options]
    return subprocess.run(words, input=json.dumps(interfaces), capture_output=True, text=True, check=False, env=environment)


def changes(host: Path, verb: str, *interfaces: dict[str, str], options: tuple[str, ...] = ()) -> Any:
    ended = run(host, verb, *interfaces, options=options)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)["changes"]


def there(host: Path) -> list[str]:
    return sorted(path.name for path in (host / "sys/class/net").iterdir())


@pytest.mark.parametrize("given", [partition(), partition(name="ibp24s0", mac="")])
def test_the_interface_of_a_partition_is_created_once(host: Path, given: dict[str, str]) -> None:
    assert changes(host, "check", given) == ["ibp24s0.8001 is missing"]
    assert there(host) == ["eth0", "ibp24s0"], "a check changes nothing"
    assert changes(host, "set", given) == ["ibp24s0.8001 is missing"]
    assert there(host) == ["eth0", "ibp24s0", "ibp24s0.8001"]
    assert changes(host, "set", given) == changes(host, "check", given) == []


def test_interfaces_of_former_partitions_are_deleted_and_those_of_others_stay(host: Path) -> None:
    interface(host, "ibp24s0.8009", kind="32", mac="80" + MAC[2:])  # its owner's
    changes(host, "set", partition())
    assert changes(host, "prune", partition()) == []
    (host / "sys/class/net/ibp24s0/device/infiniband/mlx5_0/ports/1/pkeys/2").write_text("0x8002\n")
    changes(host, "set", partition("0x8002"))
    assert changes(host, "prune", partition("0x8002")) == ["ibp24s0.8001 is no longer wanted"]
    assert changes(host, "undo") == ["ibp24s0.8002 is no longer wanted"]
    assert there(host) == ["eth0", "ibp24s0", "ibp24s0.8009"]
    assert changes(host, "undo") == []


def test_an_interface_that_its_owner_created_is_used_and_stays(host: Path) -> None:
    interface(host, "ibp24s0.8001", kind="32", mac="80" + MAC[2:])
    assert changes(host, "set", partition()) == []
    assert changes(host, "undo") == []
    assert "ibp24s0.8001" in there(host)


def test_a_boot_creates_what_it_can_and_a_port_that_appears_later_gets_its_own(host: Path) -> None:
    later = partition(name="rail1", mac=MAC.replace("aa", "ab"))
    order = host / "order.json"
    order.write_text(json.dumps([partition(), later]))
    assert changes(host, "set", options=("--at-boot", str(order))) == ["ibp24s0.8001 is missing"]
    interface(host, "ibp25s0", kind="32", mac=later["mac"])
    assert changes(host, "set", options=("--at-boot", str(order))) == ["ibp25s0.8001 is missing"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            partition("0x8003"),
            "the subnet manager has not made the port of ibp24s0 a full member of the partition 0x8003. The port has: 0x0002, 0x8001, 0xffff.",
        ),
        (partition("0x8002"), "It is a limited member (0x0002)."),
        (partition(mac="02:00:00:00:00:01"), "rail0: eth0 is not an InfiniBand interface"),
        (partition(mac=MAC.replace("aa", "ab")), "rail0: no InfiniBand interface has 00:00:10:28:"),
    ],
)
def test_a_partition_that_the_port_has_no_part_in_is_refused(host: Path, given: dict[str, str], said: str) -> None:
    ended = run(host, "set", given)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert there(host) == ["eth0", "ibp24s0"]


def test_a_partition_that_the_port_has_without_an_interface_of_its_own_is_refused(host: Path) -> None:
    (host / "sys/class/net/ibp24s0/pkey").write_text("0x8001\n")
    ended = run(host, "set", partition())
    assert "ibp24s0 itself has the partition 0x8001" in ended.stderr
    assert ended.returncode == 1
