"""Kernels of servers that serve are exchanged a few servers at a time, and a server that doesn't come back stops it.

The servers share the kernel of this machine. Their kernels are stand-ins, packages of their owner's own archive: the newest installed one counts as the one that a server has started with.
"""

import csv
import io
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import plain, planted
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(1800)]  # five servers restart, and the first test also adopts them

CONTROL, LOGIN, NODES = "head-1", "login-1", ("gpu-1", "gpu-2", "gpu-3")
EVERYBODY = (CONTROL, LOGIN, *NODES)
HOME = "/home"
OLD, NEW, BROKEN, MENDED = "6.8.0-1-lab", "6.8.0-2-lab", "6.8.0-3-lab", "6.8.0-4-lab"
ARCHIVE = "/srv/kernels"
SSH_PORT = 2022
"""All that connects to the servers must ask there: nothing answers at port 22."""
NO_SSH = "/etc/ssh/sshd_not_to_be_run"
TOOL = "nvidia-lab-tool"
"""A package of the owner that goes with drivers by its name."""


def blueprint(servers: PlainHosts, kernel: str) -> dict[str, Any]:
    return {
        "name": "lab",
        "software": "debian-13",
        "versions": {"kernel": kernel},
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOME, "source": HOME}},
        "pools": {"train": {"hosts": "gpu-[1-3]", "rolling": "70 %"}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }


def kernel_packages(release: str, folder: Path) -> Iterator[Path]:
    """Build a stand-in of a kernel. It takes the place of an older one, as a boot loader takes the newest."""
    for name, files, script in (
        (f"linux-image-{release}", {f"boot/vmlinuz-{release}": "stand-in"}, ""),
        (
            f"linux-modules-{release}",
            {},
            f"mkdir -p /lib/modules/{release}/kernel; for other in /lib/modules/*; do [ $other = /lib/modules/{release} ] || rm -rf $other/kernel; done",
        ),
    ):
        tree = folder / name
        for path, text in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        (tree / "DEBIAN").mkdir(parents=True)
        depends = f"Depends: linux-modules-{release}\n" if name.startswith("linux-image") else ""
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: owner <owner@example.org>\n{depends}Description: stand-in of a kernel\n"
        )
        if script:
            (tree / "DEBIAN/postinst").write_text(f"#!/bin/sh\n{script}\n")
            (tree / "DEBIAN/postinst").chmod(0o755)
        yield built(tree)


def tool_package(version: str, folder: Path) -> Path:
    tree = folder / f"{TOOL}-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {TOOL}\nVersion: {version}\nArchitecture: all\nMaintainer: owner <owner@example.org>\nDescription: stand-in of a tool\n"
    )
    return built(tree)


def built(tree: Path) -> Path:
    """Build the package of a tree, beside it."""
    made = tree.with_name(f"{tree.name}.deb")
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(made)], check=True, capture_output=True)
    return made


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlainHosts]:
    """Servers whose owner has an archive with four kernels and two versions of a tool."""
    kernels = [made for release in (OLD, NEW, BROKEN, MENDED) for made in kernel_packages(release, tmp_path_factory.mktemp(release))]
    tools = [tool_package(version, tmp_path_factory.mktemp("tools")) for version in ("1", "2")]
    with plain.plain_hosts("rolling", len(EVERYBODY), names=EVERYBODY, shared=HOME, port=SSH_PORT) as found:
        for one in found.servers.values():
            archive = one.names.root / ARCHIVE.removeprefix("/")
            archive.mkdir(parents=True)
            for made in (*kernels, *tools):
                (archive / made.name).write_bytes(made.read_bytes())
            listed = subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=archive, check=True, capture_output=True, text=True).stdout
            (archive / "Packages").write_text(listed)
            found.inside(one.name, "sh", "-c", f"echo 'deb [trusted=yes] file:{ARCHIVE} ./' > /etc/apt/sources.list.d/owner.list")
            found.inside_all(one.name, "dpkg", "--install", f"{ARCHIVE}/{TOOL}-1.deb")
        yield found


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("lab")
    (folder / "lab.yaml").write_text(json.dumps(blueprint(servers, OLD)))
    with deployment("test-rolling", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def choose(stack: Deployment, servers: PlainHosts, kernel: str) -> None:
    (stack.home / "lab.yaml").write_text(json.dumps(blueprint(servers, kernel)))


def restarts(servers: PlainHosts) -> dict[str, str]:
    return {name: servers.inside_all(name, "systemctl", "show", "--property=UserspaceTimestamp") for name in EVERYBODY}


def kernels(servers: PlainHosts) -> dict[str, str]:
    return {name: servers.inside(name, "sh", "-c", "basename $(dirname /lib/modules/*/kernel)").strip() for name in EVERYBODY}


def tool(servers: PlainHosts, name: str) -> str:
    return servers.inside(name, "dpkg-query", "--show", "--showformat", "${Version}", TOOL)


def absences(servers: PlainHosts, since: float) -> list[tuple[int, int, str]]:
    """Give when each node was out of service since a moment, as Slurm recorded it: begin, end, node."""
    asked = ("sacctmgr", "--parsable2", "show", "event", f"nodes={','.join(NODES)}", "start=now-1hours")
    text = servers.inside(CONTROL, "env", "SLURM_TIME_FORMAT=%s", *asked)
    rows = [row for row in csv.DictReader(io.StringIO(text), delimiter="|") if row["NodeName"] and float(row["TimeStart"]) >= since - 1]
    return sorted((int(row["TimeStart"]), int(row["TimeEnd"]), row["NodeName"]) for row in rows)


def most_at_once(found: list[tuple[int, int, str]]) -> list[int]:
    """Give how many nodes were out of service at once while the first one was, and at most later."""
    counts = [(begin, len({node for start, end, node in found if start <= begin < end})) for begin, _, _ in found]
    first = found[0][2]
    until = max(end for _, end, node in found if node == first)
    return [max(count for begin, count in counts if begin < until), max(count for begin, count in counts if begin >= until)]


def test_new_servers_get_the_kernel_before_they_serve(servers: PlainHosts, stack: Deployment) -> None:
    assert set(kernels(servers).values()) == {OLD}
    assert sorted(stack.ssh("srun --nodes=3 hostname").split()) == [*NODES]
    held = servers.inside("gpu-1", "apt-mark", "showhold").split()
    assert {f"linux-image-{OLD}", f"linux-modules-{OLD}"} <= set(held)
    assert servers.inside_all("gpu-1", "systemctl", "show", "--property=LoadState", "apt-daily-upgrade.timer") == "LoadState=masked\n"


def test_servers_that_serve_are_rolled_when_somebody_agrees(servers: PlainHosts, stack: Deployment) -> None:
    choose(stack, servers, NEW)
    servers.inside_all("gpu-1", "dpkg", "--install", f"{ARCHIVE}/{TOOL}-2.deb")
    before = restarts(servers)
    job = stack.ssh("sbatch --parsable --nodelist=gpu-2 --wrap 'sleep 20; echo done > result'").strip()
    asked = stack.clusterwright("up")
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert f"gpu-[1-3]: kernel {NEW} (now {OLD})" in asked.stdout
    assert "at most 2 of 3 nodes out of service at once (rolling: 70 %)" in asked.stdout
    assert restarts(servers) == before, "nobody has agreed"
    assert tool(servers, "gpu-1") == "2", "the node serves"
    assert f"gpu-1: package {TOOL}: the package has another version [CW728]\n    do: run `clusterwright up` and agree to its roll" in asked.stdout
    begun = time.time()
    done = stack.clusterwright("up", "--yes")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert set(kernels(servers).values()) == {NEW}
    after = restarts(servers)
    assert all(after[name] != before[name] for name in EVERYBODY)
    assert most_at_once(absences(servers, begun)) == [1, 2], "the first one alone, then two of three (70 %)"
    assert tool(servers, "gpu-1") == "1", "the recorded version is back, although the other one was newer"
    assert "Still different" not in done.stdout
    assert stack.ssh("cat result").strip() == "done", "the job ended before its node restarted"
    assert stack.ssh(f"sacct --noheader --parsable2 --allocations --format=state --jobs={job}").strip() == "COMPLETED"
    stack.wait_for_idle(3)
    assert stack.clusterwright("drift").returncode == 0


def test_a_server_that_does_not_come_back_stops_the_roll(servers: PlainHosts, stack: Deployment) -> None:
    before = kernels(servers)
    choose(stack, servers, BROKEN)
    first = "gpu-1"
    # The next start has no SSH server (sshd's units ask for the file). A unit that is masked is repaired before the roll.
    servers.inside(first, "touch", NO_SSH)
    failed = stack.clusterwright("up", "--yes", "--restart-within", "60s")
    assert failed.returncode == 1
    assert f"the roll stopped: {first} did not come back into service" in failed.stderr
    assert "0 of 5 hosts are done" in failed.stderr
    assert {name: kernel for name, kernel in kernels(servers).items() if kernel != before[name]} == {first: BROKEN}
    # The first one is out of service, and the others are back in it.
    wait_until(lambda: "2 idle" in stack.ssh("sinfo --noheader --format='%D %t'").splitlines(), awaiting="two idle nodes", within_s=SOON_S)
    servers.inside(first, "rm", NO_SSH)
    servers.inside_all(first, "systemctl", "start", "ssh")


def test_a_roll_that_stopped_goes_on_with_another_kernel_and_leaves_out_what_an_administrator_drained(servers: PlainHosts, stack: Deployment) -> None:
    before = kernels(servers)
    assert before["gpu-1"] == BROKEN
    servers.inside(CONTROL, "scontrol", "update", "nodename=gpu-3", "state=drain", "reason=bad fan")
    out = stack.ssh("sinfo --noheader --nodes=gpu-1,gpu-3 --Node --format='%N %T %E'").splitlines()
    assert out == ["gpu-1 drained clusterwright: roll", "gpu-3 drained bad fan"], "acceptance would fail on them"
    choose(stack, servers, MENDED)
    stopped = stack.clusterwright("up", "--yes")
    assert stopped.returncode == 1
    assert "the roll left out gpu-3" in stopped.stderr, stopped.stdout[-6000:] + stopped.stderr[-3000:]
    assert kernels(servers) == {name: before[name] if name == "gpu-3" else MENDED for name in EVERYBODY}
    assert stack.ssh("sinfo --noheader --nodes=gpu-3 --format='%T %E'").strip() == "drained bad fan"


def test_a_node_that_is_back_in_service_is_rolled_by_the_next_up(servers: PlainHosts, stack: Deployment) -> None:
    before = restarts(servers)
    servers.inside(CONTROL, "scontrol", "update", "nodename=gpu-3", "state=resume")
    done = stack.clusterwright("up", "--yes")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert set(kernels(servers).values()) == {MENDED}
    assert [name for name, at in restarts(servers).items() if at != before[name]] == ["gpu-3"]
    wait_until(lambda: stack.ssh("sinfo --noheader --format='%D %t'").split() == ["3", "idle"], awaiting="three idle nodes", within_s=SOON_S)


def test_planted_drift_of_servers_is_found_exactly(servers: PlainHosts, stack: Deployment) -> None:
    for plant in planted.SERVERS:
        servers.inside(plant.host, "sh", "-c", plant.command)
    done = stack.clusterwright("drift", "--json")
    assert done.returncode == 7, done.stdout[-6000:] + done.stderr[-3000:]
    found = [f"{one['layer']} {one['code']} {one['where']}" for one in json.loads(done.stdout)["findings"]]
    assert planted.mismatch(found, planted.expected([], planted.SERVERS)) == ([], [])
