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
if table == "pfc" and verb == "set":
    assert values[0] == "all:off", "flow control of one priority alone"
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


def run(host: Path, verb: str, *, marking: dict[str, int] = MARKING) -> subprocess.CompletedProcess[str]:
    order = {"interfaces": [{"name": "rail0", "mac": "02:00:00:00:00:01"}], "roce": marking, "catalog": files.mapping("roce")}
    environment = {"PATH": f"{host / 'bin'}:/usr/bin:/bin", "CLUSTERWRIGHT_ROOT": str(host)}
    return subprocess.run([sys.executable, str(PROGRAM), verb], input=json.dumps(order), capture_output=True, text=True, check=False, env=environment)


def changes(host: Path, verb: str, *, marking: dict[str, int] = MARKING) -> Any:
    ended = run(host, verb, marking=marking)
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


def set_before(host: Path, *, app: dict[str, str], on: str) -> dict[str, Any]:
    """Give the NIC settings of its owner's."""
    mine = {"app": app, "pfc": {str(priority): "on" if str(priority) in on else "off" for priority in range(8)}}
    (host / "bin/state.json").write_text(json.dumps({"eth1": mine}))
    return mine


@pytest.mark.parametrize(
    ("app", "on"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"26": "3", "48": "6"}, "3", id="the same"),
        pytest.param({"26": "5", "40": "4"}, "05", id="others"),
        pytest.param({"48": "6"}, "34", id="some of them"),
    ],
)
def test_undoing_gives_back_what_the_owner_had(host: Path, app: dict[str, str], on: str) -> None:
    before = set_before(host, app=app, on=on)
    changes(host, "set")
    assert table(host)["app"] == {**app, "26": "3", "48": "6"}
    assert [priority for priority, state in table(host)["pfc"].items() if state == "on"] == ["3"]
    assert changes(host, "set") == []
    changes(host, "undo")
    assert table(host) == before
    assert changes(host, "undo") == []


def test_a_nic_in_a_bond_is_found_by_its_own_address(host: Path) -> None:
    before = set_before(host, app={"26": "5"}, on="")
    (host / "sys/class/net/eth1/address").write_text("02:00:00:00:00:09\n")  # the bond's
    refused = run(host, "set")
    assert "no NIC has 02:00:00:00:00:01" in refused.stderr
    (host / "sys/class/net/eth1/bonding_slave").mkdir()
    (host / "sys/class/net/eth1/bonding_slave/perm_hwaddr").write_text("02:00:00:00:00:01\n")
    assert len(changes(host, "set")) == 3
    changes(host, "undo")
    assert table(host) == before


def test_a_unit_that_starts_again_keeps_what_was_recorded_first(host: Path) -> None:
    before = set_before(host, app={"26": "5"}, on="5")
    changes(host, "set")
    set_before(host, app={}, on="")  # the boot
    assert len(changes(host, "set")) == 3
    changes(host, "undo")
    assert table(host) == before


def test_other_values_leave_nothing_of_the_former_ones(host: Path) -> None:
    before = set_before(host, app={"40": "4"}, on="")
    changes(host, "set")
    other = {"dscp": 24, "priority": 4, "cnp_dscp": 48, "cnp_priority": 7}
    changes(host, "set", marking=other)
    assert table(host)["app"] == {"24": "4", "40": "4", "48": "7"}
    changes(host, "undo", marking=other)
    assert table(host) == before


def test_what_somebody_changed_since_is_left(host: Path) -> None:
    changes(host, "set")
    set_before(host, app={"26": "4", "48": "6"}, on="4")
    changes(host, "undo")
    assert table(host)["app"] == {"26": "4"}
    assert [priority for priority, state in table(host)["pfc"].items() if state == "on"] == ["4"]


def test_settings_that_a_driver_lost_are_told_and_set_again(host: Path) -> None:
    changes(host, "set")
    assert changes(host, "check") == []
    set_before(host, app={"48": "6"}, on="")
    assert [(one["interface"], one["what"]) for one in changes(host, "check")] == [
        ("rail0", "priority of RoCE packets by DSCP"),
        ("rail0", "flow control of the priority"),
    ]
    assert len(changes(host, "set")) == 2
    nic(host, link_layer="InfiniBand")
    assert "RoCE runs over Ethernet" in json.loads(run(host, "check").stdout)["failed"][0]["what"]


def written(host: Path, **contents: str) -> None:
    for path, content in contents.items():
        (host / path).parent.mkdir(parents=True, exist_ok=True)
        (host / path).write_text(content)


@pytest.mark.parametrize(("tclass", "restored"), [("", "-1"), ("Global tclass=96\n", "96"), ("tclass=66,src_ip=10.0.0.1\n", "-1")])
def test_files_of_the_makers_driver_are_written_where_they_exist_and_get_back_what_they_had(host: Path, tclass: str, restored: str) -> None:
    written(host, **{TRAFFIC_CLASS: tclass, RECEIVER: "0\n"})
    assert "DSCP of all RDMA traffic" in [one["what"] for one in changes(host, "set")]
    assert ((host / TRAFFIC_CLASS).read_text(), (host / RECEIVER).read_text()) == ("106", "1")  # 26 * 4 + ECT(0)
    (host / TRAFFIC_CLASS).write_text("Global tclass=106\n")  # as the driver shows it
    assert changes(host, "set") == []
    changes(host, "undo")
    assert ((host / TRAFFIC_CLASS).read_text(), (host / RECEIVER).read_text()) == (restored, "0")


def test_congestion_control_of_broadcom_s_driver_is_applied(host: Path) -> None:
    nic(host, vendor=BROADCOM, device="bnxt_re0")
    folder = "sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc"
    written(host, **{f"{folder}/ecn_marking": "0x0\n", f"{folder}/ecn_enable": "0x1\n", f"{folder}/apply": ""})
    assert "ECN of RoCE packets" in [one["what"] for one in changes(host, "set")]
    assert [(host / folder / name).read_text() for name in ("ecn_marking", "ecn_enable", "apply")] == ["1", "0x1\n", "1"]
    changes(host, "undo")
    assert (host / folder / "ecn_marking").read_text() == "0"


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
