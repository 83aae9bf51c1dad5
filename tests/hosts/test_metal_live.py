"""`check --live` asks real servers that no stack made: each that can't be adopted as it is, is named on one page, and nothing on any server is changed.

A stand-in is what the machine of the tests can't have for real: GPUs on the PCI bus, a second clock, a Slurm of somebody else's.
"""

import contextlib
import io
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints.live.hosts import login
from stacks.cli import main
from tests.hosts.plain import PlainHosts, plain_hosts

pytestmark = pytest.mark.hosts
EXIT_INVALID = 2
NODES = 9
NAMES = ("head-1", "login-1", *(f"gpu-{number:03}" for number in range(1, NODES + 1)))
UNATTENDED = ("CW831", "note")
CHRONY = "7F000001,,3,1732400000.0,-12.500000000,0.000001,0.000002,-1.0,0.0,0.01,0.001,0.001,64.0,Normal"


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain_hosts("probe", len(NAMES), names=NAMES, suites=("trixie",), interfaces=2) as made:
        made.reinstall("gpu-006", suite="bookworm")
        yield made


def blueprint(servers: PlainHosts, **pool: Any) -> dict[str, Any]:
    inventory = servers.inventory()
    inventory["hosts"]["gpu-001"]["interfaces"] = {"rail0": {"mac": servers["gpu-001"].macs[1]}}
    train = {"hosts": f"gpu-[001-{NODES:03}]", "cpus_per_node": len(os.sched_getaffinity(0)), "memory": "512 MiB", "partition": {"default": True}, **pool}
    return {
        "name": "lab",
        "software": "debian-13",
        "inventory": inventory,
        "control": {"hosts": "head-1"},
        "access": {"hosts": "login-1"},
        "storage": {"home": {"kind": "existing", "mount": "/home", "source": "192.0.2.5:/home"}},
        "pools": {"train": train},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
        "targets": {"metal": {"network": {"cidr": servers.cidr}}},
    }


def checked(folder: Path, given: Mapping[str, Any], *, status: int) -> dict[str, Any]:
    file = folder / "lab.yaml"
    file.write_text(json.dumps(given, indent=1))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main.main(["check", str(file), "--target", "metal", "--stack", "probe", "--live", "--json"]) == status, printed.getvalue()
    said: dict[str, Any] = json.loads(printed.getvalue())
    return said


def found(said: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Give what was said of hosts: code and level → the beginnings of the findings."""
    by_code: dict[tuple[str, str], list[str]] = {}
    for one in said["findings"]:
        if one["code"] >= "CW820":
            by_code.setdefault((one["code"], one["level"]), []).append(one["what"])
    return by_code


def one(said: Mapping[str, Any], code: str) -> dict[str, Any]:
    [finding] = [one for one in said["findings"] if one["code"] == code]
    return dict(finding)


def files(servers: PlainHosts, name: str) -> str:
    """List what a change of files would change: path, size and time of change below /etc, /usr, /var and /root, but for what runs by itself."""
    words = "find /etc /usr /root /opt /var/lib /var/cache -xdev -type f -printf '%p %s %C@\\n' | grep -v -e /var/lib/systemd -e /var/lib/private | sort"
    return servers.inside(name, "sh", "-c", words)


def test_good_servers_are_no_error_and_are_not_changed(servers: PlainHosts, tmp_path: Path) -> None:
    given = blueprint(servers)
    given["pools"]["train"]["hosts"] = [name for name in NAMES[2:] if name != "gpu-006"]
    before = files(servers, "gpu-001")
    said = checked(tmp_path, given, status=0)
    assert set(found(said)) == {UNATTENDED}
    assert said["hosts"]["asked"] == said["hosts"]["answered"] == f"gpu-[001-005,007-{NODES:03}],head-1,login-1"
    assert files(servers, "gpu-001") == before


def break_all(servers: PlainHosts) -> str:
    """Break each server in another way, and give the new fingerprint of the one with another host key."""
    key = "/etc/ssh/ssh_host_ed25519_key"
    servers.inside("gpu-001", "sh", "-c", f"rm {key}*; ssh-keygen -q -t ed25519 -N '' -f {key}")
    servers.inside_all("gpu-001", "systemctl", "restart", "ssh.service")
    servers.inside("gpu-002", "mv", "/home/ubuntu/.ssh/authorized_keys", "/home/ubuntu/.ssh/kept")
    servers.inside("gpu-003", "sh", "-c", "echo 'ubuntu ALL=(ALL) ALL' >/etc/sudoers.d/90-ubuntu")
    foreign = "mkdir -p /etc/slurm /usr/local/sbin; echo ClusterName=theirs >/etc/slurm/slurm.conf; cp /bin/sleep /usr/local/sbin/slurmd"
    servers.inside("gpu-004", "sh", "-c", f"{foreign}; setsid /usr/local/sbin/slurmd 3600 >/dev/null 2>&1 </dev/null &")
    servers.power_off("gpu-005")
    clock = f"printf '#!/bin/sh\\necho {CHRONY}\\n' >/usr/bin/chronyc; chmod 755 /usr/bin/chronyc; cp /bin/sleep /usr/local/sbin/chronyd"
    servers.inside("gpu-007", "sh", "-c", f"{clock}; setsid /usr/local/sbin/chronyd 3600 >/dev/null 2>&1 </dev/null &")
    servers.inside("gpu-007", "sh", "-c", "mkdir -p /var/cache/apt && mount -t tmpfs -o size=16m tmpfs /var/cache/apt")
    servers.inside(
        "gpu-007", "nft", "add table inet site; add chain inet site in { type filter hook input priority 0; }; add rule inet site in tcp dport 6818 drop"
    )
    servers.inside(
        "gpu-008", "sh", "-c", 'mkdir -p /etc/clusterwright; echo \'{"stack": "prod", "owner": "/srv/theirs", "token": "t"}\' >/etc/clusterwright/owner.json'
    )
    servers.inside("gpu-009", "mv", "/usr/bin/python3", "/usr/bin/python3.away")
    return servers.inside("gpu-001", "ssh-keygen", "-lf", f"{key}.pub").split()[1]


def mend_all(servers: PlainHosts) -> None:
    servers.power_on("gpu-005")
    servers.inside("gpu-002", "mv", "/home/ubuntu/.ssh/kept", "/home/ubuntu/.ssh/authorized_keys")
    servers.inside("gpu-009", "mv", "/usr/bin/python3.away", "/usr/bin/python3")


def test_each_broken_server_is_named_with_its_cause_on_one_page(servers: PlainHosts, tmp_path: Path) -> None:
    given = blueprint(servers)
    pinned = given["inventory"]["hosts"]["gpu-001"]["host_key"]
    new = break_all(servers)
    try:
        said = checked(tmp_path, given, status=EXIT_INVALID)
    finally:
        mend_all(servers)
    neighbours = found(said)["CW844", "error"]
    assert {key: [what.split(":")[0] for what in whats] for key, whats in found(said).items()} == {
        ("CW820", "error"): ["gpu-005"],
        ("CW821", "error"): ["gpu-001"],
        ("CW822", "error"): ["gpu-002"],
        ("CW823", "error"): ["gpu-003"],
        ("CW824", "error"): ["gpu-009"],
        ("CW826", "error"): ["gpu-006"],
        ("CW827", "error"): ["gpu-007"],
        ("CW828", "warning"): ["gpu-007"],
        ("CW831", "note"): ["gpu-[003-004,006-008],head-1,login-1 (7 hosts)"],
        ("CW841", "error"): ["gpu-008"],
        ("CW842", "error"): ["gpu-004"],
        ("CW844", "error"): ["gpu-006,head-1 (2 hosts)"],
    }
    assert neighbours == ["gpu-006,head-1 (2 hosts): port 6818 of gpu-007 can't be reached"]
    changed = one(said, "CW821")
    assert login.fingerprint(pinned) in changed["why"]
    assert new in changed["why"]
    assert "password" in one(said, "CW822")["what"]
    assert "-12.5 s, chronyd reports it" in one(said, "CW828")["why"]
    assert "slurmd runs" in one(said, "CW842")["why"]
    assert "hosts of `train` run debian-12 and debian-13" in one(said, "CW826")["why"]
    assert said["hosts"]["unreachable"] == "gpu-005"


def test_the_remedy_for_sudo_works_when_typed(servers: PlainHosts, tmp_path: Path) -> None:
    servers.inside("gpu-003", "sh", "-c", "echo 'ubuntu ALL=(ALL) ALL' >/etc/sudoers.d/90-ubuntu; echo ubuntu:once | chpasswd")
    given = blueprint(servers)
    given["pools"]["train"]["hosts"] = "gpu-003"
    remedy = one(checked(tmp_path, given, status=EXIT_INVALID), "CW823")["remedy"]
    log_in, command = remedy.split("`")[1], remedy.split("`")[3]
    known = tmp_path / "known_hosts"
    known.write_text(f"{servers['gpu-003'].address} {servers['gpu-003'].host_key}\n")
    typed = [*log_in.split(), "-tt", "-o", f"UserKnownHostsFile={known}", command]
    with subprocess.Popen(typed, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as terminal:
        assert terminal.stdin is not None
        assert terminal.stdout is not None
        shown = b""
        while b"password" not in shown:
            letter = terminal.stdout.read(1)
            assert letter, shown
            shown += letter
        terminal.stdin.write(b"once\n")
        terminal.stdin.flush()
        assert terminal.wait(timeout=60) == 0, terminal.stdout.read()
    assert ("CW823", "error") not in found(checked(tmp_path, given, status=0))


def test_half_of_the_servers_off_is_a_warning_where_the_minimum_allows_it(servers: PlainHosts, tmp_path: Path) -> None:
    servers.power_off("gpu-002")
    try:
        given = blueprint(servers)
        given["pools"]["train"] = {**given["pools"]["train"], "hosts": "gpu-[002,005]", "nodes": {"min": 1, "max": 2}}
        said = checked(tmp_path, given, status=0)
        assert one(said, "CW820")["level"] == "warning"
        given["pools"]["train"]["nodes"] = 2
        assert one(checked(tmp_path, given, status=EXIT_INVALID), "CW820")["level"] == "error"
    finally:
        servers.power_on("gpu-002")


def test_gpus_are_counted_before_there_is_a_driver(servers: PlainHosts, tmp_path: Path) -> None:
    given = blueprint(servers, accelerator="h100", gpus_per_node=2)
    given["pools"]["train"]["hosts"] = "gpu-005"
    assert "no GPUs on the PCI bus" in one(checked(tmp_path, given, status=EXIT_INVALID), "CW833")["what"]
    devices = " ".join(f"0000:{number}8:00.0" for number in (1, 2))
    made = f"mkdir -p /tmp/pci; for one in {devices}; do mkdir -p /tmp/pci/$one; cd /tmp/pci/$one; echo 0x10de >vendor; echo 0x030200 >class; echo 0x2330 >device; done"
    servers.inside("gpu-005", "sh", "-c", f"{made}; mount --bind /tmp/pci /sys/bus/pci/devices")  # a stand-in for the bus
    try:
        assert ("CW833", "error") not in found(checked(tmp_path, given, status=0))
    finally:
        servers.inside("gpu-005", "umount", "/sys/bus/pci/devices")
