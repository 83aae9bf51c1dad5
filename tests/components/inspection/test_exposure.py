"""What no record names: each fact of an exposed host is one finding, and what hosts have in common is none."""

from typing import Any

import pytest

from blueprints.finding import Level
from components.inspection import common_settings, compare
from components.inspection.collect import Seen
from components.inspection.hosts import exposure
from components.inspection.recorded_cluster import KnownHost
from tests.drift import examples
from tests.drift.examples import told

CLEAN: dict[str, Any] = {
    "is_read": True,
    "privileged": [{"path": "/usr/bin/sudo", "right": "4755 root:root", "owned": True}],
    "writable": [], "unowned": [], "changed_programs": [], "runtime_files": [], "transient_units": [], "root_starts": [], "system_keys": [], "listening": [],
    "deleted": [], "covering": [],
}  # fmt: skip
SETUID = {"path": "/usr/bin/find", "right": "4755 root:root", "owned": True}
OPEN_KEY = {"path": "/etc/munge/munge.key", "kind": "file", "mode": "0440", "owner": "munge", "group": "munge", "needed_mode": "0400", "needed_owner": "munge"}
STRAY = {"path": "/usr/bin/helper", "right": "4755 root:root", "owned": False}

CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"privileged": [SETUID]}, ["CW710 train-0: /usr/bin/find"]),
    ({"privileged": [STRAY], "unowned": ["/usr/bin/helper"]}, ["CW710 train-0: /usr/bin/helper"]),
    ({"privileged": [{**STRAY, "path": "/opt/tool/helper"}]}, []),
    ({"writable": [{"path": "/var/lib/open", "mode": "0777", "owner": "root:root"}]}, ["CW711 train-0: /var/lib/open"]),
    ({"writable": [{"path": "/etc/open", "mode": "0777", "owner": "root:root"}]}, []),
    ({"unowned": ["/usr/bin/extra"]}, ["CW712 train-0: /usr/bin/extra"]),
    ({"changed_programs": ["/usr/bin/newgrp"]}, ["CW730 train-0: /usr/bin/newgrp"]),
    ({"runtime_files": ["/run/udev/rules.d/1.rules"]}, ["CW713 train-0: /run/udev/rules.d/1.rules"]),
    ({"transient_units": ["x.service"]}, ["CW713 train-0: unit x.service"]),
    ({"root_starts": ["/root/.bashrc"]}, ["CW746 train-0: /root/.bashrc"]),
    ({"system_keys": [{"user": "backup", "path": "/var/backups/.ssh/authorized_keys"}]}, ["CW747 train-0: /var/backups/.ssh/authorized_keys"]),
    ({"listening": [{"port": "9999", "program": "python3"}]}, ["CW718 train-0: port 9999"]),
    ({"deleted": [{"program": "/tmp/x", "name": "x"}]}, ["CW734 train-0: process x"]),
    ({"covering": [{"path": "/usr/bin", "kind": "tmpfs", "source": "none /"}]}, ["CW719 train-0: mount /usr/bin"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_each_exposure_is_one_finding(changes: dict[str, Any], expected: list[str]) -> None:
    facts = examples.facts(exposure={**CLEAN, **changes})
    assert [" ".join(one) for one in told(exposure.findings("train-0", facts, exposure.Common()))] == expected


def test_rights_below_a_recorded_folder_are_those_of_the_record() -> None:
    stray = {**STRAY, "path": "/usr/local/bin/helper"}
    place = {
        "path": "/usr/local/bin/helper",
        "recorded": None,
        "actual": {"kind": "file", "mode": "4755", "owner": "root", "group": "root", "sha256": "a"},
        "written": False,
    }
    seen = Seen({examples.hosts()[2]: examples.facts(places=[place], exposure={**CLEAN, "privileged": [stray]})}, None, {}, {}, examples.NOW_S)
    [of_host] = compare.of_hosts(seen, examples.known()).values()
    assert told(of_host) == [("CW710", "train-0: /usr/local/bin/helper")], "the added file is the same thing"


def test_what_most_hosts_have_came_with_the_image() -> None:
    own = {**CLEAN, "unowned": ["/usr/bin/driver-tool"], "privileged": [STRAY]}
    hosts = {name: examples.facts(exposure=own) for name in "abc"}
    shared = exposure.common(hosts)
    assert list(exposure.findings("a", hosts["a"], shared)) == []
    assert exposure.common({"a": hosts["a"]}) == exposure.Common(), "one host has nothing to be compared with"


def test_a_unit_that_failed_and_has_no_file_is_one_finding() -> None:
    failed = examples.unit(Id="oops.service", ActiveState="failed", SubState="failed", UnitFileState="transient")
    facts = examples.facts(units={"oops.service": failed}, exposure={**CLEAN, "transient_units": ["oops.service"]})
    seen = Seen({examples.hosts()[2]: facts}, None, {}, {}, examples.NOW_S)
    [of_host] = compare.of_hosts(seen, examples.known()).values()
    assert told(of_host) == [("CW732", "train-0: unit oops.service")]


def test_rights_that_could_not_be_read_are_named() -> None:
    facts = examples.facts(exposure={**CLEAN, "is_read": False})
    seen = Seen({examples.hosts()[2]: facts}, None, {}, {}, examples.NOW_S)
    assert ("train-0: rights of files", "reading all inodes took too long") in [(one.where, one.why) for one in compare.not_compared(seen)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"private_files": [OPEN_KEY]}, ["CW724 train-0: /etc/munge/munge.key"]),
        ({"munge_key_sha256": ""}, ["CW741 train-0: MUNGE key"]),
        ({"hostname": "elsewhere"}, ["CW717 train-0: hostname"]),
        ({"hostname": "train-0.cluster.internal"}, []),
    ],
)
def test_every_look_compares_private_files_and_the_hostname(changes: dict[str, Any], expected: list[str]) -> None:
    seen = Seen({examples.hosts()[2]: examples.facts(**changes)}, None, {}, {}, examples.NOW_S)
    [of_host] = compare.of_hosts(seen, examples.known()).values()
    assert [" ".join(one) for one in told(of_host)] == expected
    assert all(one.level is Level.ERROR for one in of_host)


def compared(name: str, *values: tuple[str, str]) -> list[str]:
    """Compare hosts that have these values, each a group and a value, and give the findings' places."""
    facts = {KnownHost(f"host-{number}", group, "compute", "", "", ""): examples.facts(alike={name: value}) for number, (group, value) in enumerate(values)}
    return [" ".join(one) for one in told(common_settings.findings(facts))]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("time zone", [("train", "UTC"), ("train", "UTC"), ("train", "UTC")], []),
        ("time zone", [("train", "UTC"), ("train", "UTC"), ("train", "Asia/Tokyo")], ["CW716 host-2: time zone"]),
        ("time zone", [("train", "UTC"), ("train", "Asia/Tokyo"), ("control", "UTC")], ["CW716 host-1: time zone"]),
        ("time zone", [("train", "UTC"), ("train", "UTC"), ("control", "Asia/Tokyo")], ["CW716 host-2: time zone"]),
        ("MTU of ens5", [("train", "9001"), ("train", "9001"), ("access", "1500"), ("control", "1500")], []),
        ("routes", [("train", ""), ("train", ""), ("control", "blackhole 192.0.2.0/24")], ["CW715 host-2: routes"]),
        ("routes", [("train", "a"), ("train", "a"), ("control", ""), ("access", "")], []),
        ("packet filter", [("train", ""), ("train", "ip filter"), ("control", ""), ("access", "")], ["CW714 host-1: packet filter"]),
        ("rules of the packet filter", [("train", "1"), ("train", "1"), ("control", "2")], []),
        ("time zone", [("train", "UTC")], []),
        ("time zone", [("train", "UTC"), ("control", "Asia/Tokyo")], []),
    ],
)  # fmt: skip
def test_a_host_that_differs_from_the_others_shows(name: str, values: list[tuple[str, str]], expected: list[str]) -> None:
    assert compared(name, *values) == expected


def test_two_facts_about_the_packet_filter_are_one_finding() -> None:
    own = {"packet filter": "", "rules of the packet filter": ""}
    foreign = {"packet filter": "ip filter", "rules of the packet filter": "ip filter INPUT: 1"}
    facts = {
        KnownHost(f"host-{number}", "train", "compute", "", "", ""): examples.facts(alike=foreign if number == 2 else own, exposure=CLEAN)
        for number in range(3)
    }
    seen = Seen(facts, None, {}, {}, examples.NOW_S)
    assert [code for of_host in compare.of_hosts(seen, examples.known()).values() for code, _ in told(of_host) if code == "CW714"] == ["CW714"]


@pytest.mark.parametrize(("epoch_s", "expected"), [(0.0, []), (40.0, []), (-1.0, []), (-61.0, ["CW742 train-0: clock"]), (101.0, ["CW742 train-0: clock"])])
def test_a_clock_is_off_when_no_moment_of_the_inspection_explains_it(epoch_s: float, expected: list[str]) -> None:
    """The inspection took 40 seconds, and its clock was read at an unknown moment of them."""
    host = examples.hosts()[2]
    begun_s = examples.NOW_S
    facts = {host: examples.facts(epoch_s=begun_s + epoch_s)}
    seen = Seen(facts, None, {}, {}, begun_s + 20, asked_s={host: (begun_s, begun_s + 40)})
    [of_host] = compare.of_hosts(seen, examples.known()).values()
    assert [" ".join(one) for one in told(of_host)] == expected
