"""What a host says about itself before it is adopted: each fact is read from files and programs of a fake root folder. Programs in it are stand-ins, and say what the real ones print."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints.live import hosts
from blueprints.live.hosts import ownership
from components.metal import guest_program
from components.metal.guest import archives, clock, probe, reachability
from components.metal.guest.system import System

ORDER: Mapping[str, Any] = {"ports": [6817, 6818], "peers": [], "kernel": "6.8.0-149-generic", "reach_within_s": 1, "within_s": 60}
FILES = {
    "etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n',
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "proc/sys/kernel/hostname": "gpu-001\n",
    "proc/sys/kernel/osrelease": "6.8.0-85-generic\n",
    "proc/meminfo": "MemTotal:       2113536000 kB\n",
    "proc/modules": "nouveau 3096576 1 - Live 0x0\n",
    "proc/812/comm": "chronyd\n",
    "var/lib/dpkg/status": "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n",
    "sys/class/net/eno1/address": "02:00:00:00:00:AA\n",
    "sys/class/net/eno1/mtu": "1500\n",
    "sys/class/dmi/id/product_serial": "S1\n",
    "run/systemd/system/there": "",
}


def file(root: Path, path: str, text: str, *, mode: int = 0o644) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(mode)


def program(root: Path, name: str, prints: str) -> None:
    """Write a stand-in for a program: it prints what the real one would."""
    file(root, f"usr/bin/{name}", f"#!/bin/sh\ncat <<'END'\n{prints}\nEND\n", mode=0o755)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        file(tmp_path, path, text)
    program(tmp_path, "lscpu", "# CPU,Core,Socket\n" + "\n".join(f"{cpu},0,0" for cpu in sorted(os.sched_getaffinity(0))))
    return tmp_path


def facts(root: Path, **order: Any) -> hosts.Facts:
    found = probe.probe(System(str(root)), {**ORDER, **order})
    return hosts.facts(json.loads(json.dumps(found)))


def gpu(root: Path, address: str, *, vendor: str = "0x10de", kind: str = "0x030200", device: str = "0x2330") -> None:
    for name, text in (("vendor", vendor), ("class", kind), ("device", device)):
        file(root, f"sys/bus/pci/devices/{address}/{name}", f"{text}\n")


def test_a_plain_host_is_described(root: Path) -> None:
    found = facts(root)
    assert (found.os, found.os_title, found.kernel, found.hostname) == ("ubuntu-24.04", "Ubuntu 24.04.3 LTS", "6.8.0-85-generic", "gpu-001")
    assert (found.cpus, found.memory_mib, found.serial) == (len(os.sched_getaffinity(0)), 2_064_000, "S1")
    assert (found.mark, found.occupied, found.incomplete, found.locked_by) == (None, [], [], "")
    assert found.interfaces == {"eno1": "02:00:00:00:00:aa"}
    assert found.modules == ["nouveau"]
    assert found.has_systemd
    assert found.disks["/"].size_mib > 0


def test_gpus_are_counted_on_the_bus_without_a_driver(root: Path) -> None:
    gpu(root, "0000:18:00.0")
    gpu(root, "0000:2a:00.0")
    gpu(root, "0000:03:00.0", vendor="0x1a03")  # the display of a BMC
    gpu(root, "0000:05:00.0", kind="0x068000", device="0x22a3")  # an NVSwitch
    assert facts(root).gpus == ("0x2330", "0x2330")


def test_an_interface_in_a_bond_has_its_own_address(root: Path) -> None:
    file(root, "sys/class/net/eno1/bonding_slave/perm_hwaddr", "02:00:00:00:00:bb\n")
    assert facts(root).interfaces == {"eno1": "02:00:00:00:00:bb"}


CHRONY = "7F000001,,10,1732400000.0,{offset},0.000001,0.000002,-1.0,0.0,0.01,0.001,0.001,64.0,{leap}"


@pytest.mark.parametrize(
    ("offset", "leap", "wanted"),
    [("-3.250000000", "Normal", (True, -3.25)), ("0.0", "Not synchronised", (False, 0.0)), ("0.000010000", "Insert second", (True, 0.00001))],
)
def test_chrony_reports_the_clock(root: Path, offset: str, leap: str, wanted: tuple[bool, float]) -> None:
    program(root, "chronyc", CHRONY.format(offset=offset, leap=leap))
    found = facts(root).clock
    assert (found.service, (found.is_synchronized, found.offset_s)) == ("chronyd", wanted)


def test_ntpd_reports_the_clock(root: Path) -> None:
    file(root, "proc/812/comm", "ntpd\n")
    program(root, "ntpq", "stratum=3, offset=+1500.250")
    found = facts(root).clock
    assert (found.service, found.is_synchronized, found.offset_s) == ("ntpd", True, 1.50025)


def test_timesyncd_reports_the_clock(root: Path) -> None:
    file(root, "proc/812/comm", "systemd-timesyn\n")
    file(root, "usr/bin/timedatectl", '#!/bin/sh\ncase $1 in show) echo no;; *) echo "       Offset: -1min 2.5s";; esac\n', mode=0o755)
    found = facts(root).clock
    assert (found.is_synchronized, found.offset_s) == (False, -62.5)


@pytest.mark.parametrize(("words", "seconds"), [("+1.066ms", 0.001066), ("-320us", -0.00032), ("2h 1min", 7260.0), ("n/a", None)])
def test_spans_of_time_of_systemd_are_read(words: str, seconds: float | None) -> None:
    assert clock.duration_s(words) == (None if seconds is None else pytest.approx(seconds))


def test_no_time_service_is_said(root: Path) -> None:
    file(root, "proc/812/comm", "bash\n")
    assert facts(root).clock.service == ""


def test_headers_of_the_next_kernel_are_found_where_they_are(root: Path) -> None:
    assert facts(root).headers is None, "the host builds no modules"
    file(root, "usr/sbin/dkms", "")
    assert facts(root).headers == "unknown"
    file(root, "var/lib/apt/lists/mirror_dists_noble_main_binary-amd64_Packages", "")
    program(root, "apt-cache", "linux-headers-6.8.0-85-generic linux-image-6.8.0-85-generic")
    assert facts(root).headers == "unknown", "the lists are older than the kernel"
    program(root, "apt-cache", "linux-headers-6.8.0-149-generic-64k linux-image-6.8.0-149-generic")
    assert facts(root).headers == "none"
    program(root, "apt-cache", "linux-headers-6.8.0-149-generic linux-image-6.8.0-149-generic")
    assert facts(root).headers == "archive"
    file(root, "lib/modules/6.8.0-149-generic/build/Makefile", "")
    assert facts(root).headers == "installed"
    assert facts(root, kernel="").headers is None


def test_secure_boot_is_the_fifth_byte_of_the_firmwares_variable(root: Path) -> None:
    place = root / probe.SECURE_BOOT.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_bytes(b"\x06\0\0\0\x00")
    assert not facts(root).is_secure_boot
    place.write_bytes(b"\x06\0\0\0\x01")
    assert facts(root).is_secure_boot


def test_mig_is_asked_of_the_driver(root: Path) -> None:
    program(root, "nvidia-smi", "Enabled\nDisabled")
    assert facts(root).mig_modes == [], "without the driver nothing is asked"
    file(root, "proc/modules", "nvidia 1 0 - Live 0x0\n")
    assert facts(root).mig_modes == ["Enabled", "Disabled"]


def test_half_installed_packages_and_unattended_upgrades_are_found(root: Path) -> None:
    status = FILES["var/lib/dpkg/status"]
    file(root, "var/lib/dpkg/status", f"{status}\nPackage: slow\nStatus: install ok half-configured\nArchitecture: amd64\nVersion: 1\n")
    assert facts(root).incomplete == ["slow"]
    file(root, "var/lib/dpkg/status", f"{status}\nPackage: unattended-upgrades\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n")
    assert not facts(root).upgrades_unattended
    file(root, "etc/apt/apt.conf.d/20auto-upgrades", 'APT::Periodic::Unattended-Upgrade "1";\n')
    assert facts(root).upgrades_unattended
    file(root, "etc/apt/apt.conf.d/99off", 'APT::Periodic::Unattended-Upgrade "0";\n')
    assert not facts(root).upgrades_unattended


def test_who_has_the_package_manager_locked_is_said_without_locking_it(root: Path) -> None:
    file(root, "var/lib/dpkg/lock-frontend", "")
    hold = f"import fcntl,sys\nstream=open({str(root / 'var/lib/dpkg/lock-frontend')!r},'r+b')\nfcntl.lockf(stream,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert facts(root).locked_by.endswith(f"(process {holder.pid})")
        holder.communicate("")
    assert facts(root).locked_by == ""


def test_a_restart_that_packages_ask_for_is_found(root: Path) -> None:
    file(root, "run/reboot-required", "*** System restart required ***\n")
    file(root, "run/reboot-required.pkgs", "linux-base\nlibc6\nlinux-base\n")
    assert facts(root).restart_for == ["libc6", "linux-base"]


def test_ports_that_are_taken_have_the_name_of_their_program(root: Path) -> None:
    table = "  sl  local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    lines = "   0: 00000000:1AA2 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n"
    established = "   1: 00000000:1AA1 0100007F:1AA2 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n"
    file(root, "proc/net/tcp", table + lines + established)
    file(root, "proc/900/comm", "nginx\n")
    (root / "proc/900/fd").mkdir()
    (root / "proc/900/fd/5").symlink_to("socket:[4711]")
    assert facts(root).listeners == {"6818": "nginx"}


def test_packet_filters_are_named(root: Path) -> None:
    file(root, "etc/ufw/ufw.conf", "ENABLED=yes\n")
    program(root, "nft", "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n}")
    assert facts(root).filters == ["ufw", "nftables table inet filter"]


def test_the_mark_of_a_cluster_and_a_damaged_one_are_read(root: Path) -> None:
    mark = {"stack": "lab", "owner": "/srv/ours", "token": "t"}
    file(root, "etc/clusterwright/owner.json", json.dumps(mark))
    assert facts(root).mark == mark
    file(root, "etc/clusterwright/owner.json", "{")
    assert facts(root).mark == {}


def test_a_slurm_of_somebody_else_is_named(root: Path) -> None:
    file(root, "etc/slurm/slurm.conf", "ClusterName=theirs\n")
    file(root, "var/lib/dpkg/status", f"{FILES['var/lib/dpkg/status']}\nPackage: munge\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n")
    assert facts(root).occupied == [f"{ownership.PACKAGES}munge", "/etc/slurm/slurm.conf is there"]


def test_sources_of_packages_are_read_in_both_forms(root: Path) -> None:
    file(
        root,
        "etc/apt/sources.list",
        "deb [signed-by=/k.gpg] http://a.example/debian trixie main\n# deb http://off.example/ x main\ndeb-src http://src.example/ x main\n",
    )
    text = "Types: deb deb-src\nURIs: http://b.example/ubuntu\nSuites: noble noble-updates\nComponents: main\n\nEnabled: no\nTypes: deb\nURIs: http://off.example/\nSuites: x\n"
    file(root, "etc/apt/sources.list.d/ubuntu.sources", text)
    wanted = [("http://a.example/debian", "trixie"), ("http://b.example/ubuntu", "noble"), ("http://b.example/ubuntu", "noble-updates")]
    assert archives.sources(System(str(root))) == wanted


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """Answer HTTP requests as an archive does that has the suite `noble` only; give its address and the requests."""
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(4096).decode().splitlines()[0])
                    status = "200 OK" if "/dists/noble/InRelease" in asked[-1] else "404 Not Found"
                    connection.sendall(f"HTTP/1.1 {status}\r\n\r\n".encode())

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", asked
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_an_archive_is_asked_for_its_suite_directly_or_through_the_proxy(server: tuple[str, list[str]]) -> None:
    place, asked = server
    uri = f"http://{place}/ubuntu"
    assert archives.unreached([(uri, "noble")], "", within_s=5) == {}
    assert archives.unreached([("http://a.example/ubuntu/", "noble")], f"http://{place}", within_s=5) == {}
    assert asked == ["HEAD /ubuntu/dists/noble/InRelease HTTP/1.1", "HEAD http://a.example/ubuntu/dists/noble/InRelease HTTP/1.1"]
    assert archives.unreached([(uri, "jammy")], "", within_s=5) == {uri: f"{place} answers with status 404 for the suite jammy"}


def test_an_archive_without_a_server_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}/debian"
    assert archives.unreached([(uri, "trixie")], "", within_s=5) == {uri: f"127.0.0.1:{port}: Connection refused"}


def test_a_host_that_refuses_is_reached_and_one_that_is_silent_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        refusing = free.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
        place = silent.getsockname()
        with socket.create_connection(place):  # the queue of connections is full: the kernel answers no further one
            peers = [("a", "127.0.0.1", refusing), ("b", "127.0.0.1", listening.getsockname()[1]), ("c", *place), ("d", "no-such.invalid", 6817)]
            found = reachability.unreached(peers, within_s=0.2)
    assert set(found) == {f"c:{place[1]}", "d:6817"}
    assert found[f"c:{place[1]}"] == "no answer within 0.2 s"


def test_the_program_runs_from_standard_input_and_the_record_is_read(root: Path) -> None:
    text = guest_program.probe({**ORDER, "root": str(root)})
    done = subprocess.run([sys.executable, "-IS", "-", "sudo: a password is required"], input=text, capture_output=True, check=True)
    found = hosts.facts(guest_program.answer(done.stdout))
    assert found.sudo == "sudo: a password is required"
    assert found.is_root == (os.geteuid() == 0)
    assert found.hostname == "gpu-001"


def test_an_old_python_is_refused_with_its_version() -> None:
    pretend = b"import sys\nsys.version_info = (3, 6, 8, 'final', 0)\n"
    done = subprocess.run([sys.executable, "-IS", "-"], input=pretend + guest_program.probe(ORDER), capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().strip() == "this needs Python 3.9, and the host has 3.6"


def test_users_and_groups_of_the_host_are_known_by_their_numbers(root: Path) -> None:
    file(root, "etc/passwd", "root:x:0:0::/root:/bin/bash\nubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n+ada::::::\n")
    file(root, "etc/group", "root:x:0:\nadm:x:4:ubuntu\n")
    found = facts(root)
    assert found.users == {"root": 0, "ubuntu": 1000}
    assert found.groups == {"root": 0, "adm": 4}
