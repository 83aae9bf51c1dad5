"""RoCE settings, on simulated NICs: folders in the place of the kernel's, and a strict stand-in for `dcb` that knows the table of each interface."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints.catalog import files
from blueprints.project import project_root

PROGRAM = project_root() / "playbooks/roles/roce/files/roce.py"
MELLANOX, BROADCOM, INTEL = "0x15b3", "0x14e4", "0x8086"
MARKING = {"dscp": 26, "priority": 3, "cnp_dscp": 48, "cnp_priority": 6}
DCB = """#!/usr/bin/python3
import json, pathlib, re, sys
state = pathlib.Path(__file__).with_name("state.json")
known = json.loads(state.read_text())
words = [word for word in sys.argv[1:] if word != "-N"]
table, verb, dev, interface, parameter, *values = words
assert dev == "dev" and interface in known, words
assert (table, parameter) in (("app", "dscp-prio"), ("pfc", "prio-pfc")), words
mine = known[interface].setdefault(table, {} if table == "app" else {str(priority): "off" for priority in range(8)})
if verb == "show":
    print(parameter, *(f"{key}:{value}" for key, value in sorted(mine.items())))
for value in values:
    key, _, to = value.partition(":")
    assert re.fullmatch("all|[0-9]+", key) and to, words
    if table == "app" and verb == "del":
        assert mine.pop(key) == to
    elif (table, verb) in (("app", "replace"), ("pfc", "set")):
        mine.update(dict.fromkeys(mine, to) if key == "all" else {key: to})
    else:
        sys.exit("Command is unknown")
state.write_text(json.dumps(known))
"""
TRAFFIC_CLASS, RECEIVER = "sys/class/infiniband/mlx5_0/tc/1/traffic_class", "sys/class/net/eth1/ecn/roce_np/enable/3"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with one NIC, eth1."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/dcb").write_text(DCB)
    (tmp_path / "bin/dcb").chmod(0o755)
    (tmp_path / "bin/state.json").write_text(json.dumps({"eth1": {}}))
    nic(tmp_path)
    return tmp_path


def nic(host: Path, *, vendor: str = MELLANOX, link_layer: str = "Ethernet", device: str = "mlx5_0") -> None:
    for path, content in (
        ("sys/class/net/eth1/address", "02:00:00:00:00:01"),
        ("sys/class/net/eth1/device/vendor", vendor),
        (f"sys/class/net/eth1/device/infiniband/{device}/x", ""),
        (f"sys/class/infiniband/{device}/ports/1/link_layer", link_layer),
    ):
        (host / path).parent.mkdir(parents=True, exist_ok=True)
        (host / path).write_text(f"{content}\n")


def run(host: Path, verb: str) -> subprocess.CompletedProcess[str]:
    order = {"interfaces": [{"name": "rail0", "mac": "02:00:00:00:00:01"}], "roce": MARKING, "catalog": files.mapping("roce")}
    environment = {"PATH": f"{host / 'bin'}:/usr/bin:/bin", "CLUSTERWRIGHT_ROOT": str(host)}
    return subprocess.run([sys.executable, str(PROGRAM), verb], input=json.dumps(order), capture_output=True, text=True, check=False, env=environment)


def changes(host: Path, verb: str) -> Any:
    ended = run(host, verb)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)["changes"]


def table(host: Path) -> Any:
    return json.loads((host / "bin/state.json").read_text())["eth1"]


@pytest.mark.parametrize("vendor", [MELLANOX, BROADCOM])
def test_packets_get_their_priority_and_flow_control_once(host: Path, vendor: str) -> None:
    nic(host, vendor=vendor)
    assert len(changes(host, "check")) == 3
    assert table(host)["app"] == {}
    assert len(changes(host, "set")) == 3
    assert table(host)["app"] == {"26": "3", "48": "6"}
    assert [priority for priority, state in table(host)["pfc"].items() if state == "on"] == ["3"]
    assert changes(host, "set") == []


def test_what_was_set_is_undone(host: Path) -> None:
    changes(host, "set")
    assert len(changes(host, "undo")) == 3
    assert table(host)["app"] == {}
    assert set(table(host)["pfc"].values()) == {"off"}
    assert changes(host, "undo") == []


def test_files_of_the_makers_driver_are_written_where_they_exist(host: Path) -> None:
    for path, content in ((TRAFFIC_CLASS, ""), (RECEIVER, "0")):
        (host / path).parent.mkdir(parents=True)
        (host / path).write_text(content)
    assert "eth1: DSCP of all RDMA traffic" in changes(host, "set")
    assert ((host / TRAFFIC_CLASS).read_text(), (host / RECEIVER).read_text()) == ("106", "1")  # 26 * 4 + ECT(0)
    (host / TRAFFIC_CLASS).write_text("Global tclass=106\n")  # as the driver shows it
    assert changes(host, "set") == []


@pytest.mark.parametrize(
    ("unlike", "said"),
    [
        ({"vendor": INTEL}, "eth1: its PCI vendor is 0x8086, and settings for RoCE are known of NVIDIA ConnectX and Broadcom NetXtreme-E"),
        ({"link_layer": "InfiniBand"}, "the link of mlx5_0 is InfiniBand, and RoCE runs over Ethernet"),
    ],
)
def test_a_nic_that_is_not_for_roce_is_refused_before_anything_is_set(host: Path, unlike: dict[str, str], said: str) -> None:
    nic(host, **unlike)
    ended = run(host, "set")
    assert ended.returncode == 1
    assert said in ended.stderr
    assert table(host) == {}


def test_a_driver_that_forgets_a_setting_is_named(host: Path) -> None:
    (host / "bin/dcb").write_text(DCB.replace("state.write_text(json.dumps(known))", ""))
    ended = run(host, "set")
    assert ended.returncode == 1
    assert "eth1: the driver does not keep the setting" in ended.stderr
