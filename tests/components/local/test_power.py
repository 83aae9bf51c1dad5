"""The power supply of a host, with a program of this test in place of a container: nothing here creates a host."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from components.local.machine import host as hosts
from components.local.machine import names, power
from components.local.machine.names import HostNames, StackNames

REBOOTED, POWERED_OFF, KILLED = 133, 0, 137


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostNames:
    monkeypatch.setattr(names, "RUN_ROOT", tmp_path / "run")
    one = StackNames("test").host("train-0")
    one.run.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    # The machine's tool would change its network.
    (tmp_path / "bin" / "ip").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/plugged\n')
    (tmp_path / "bin" / "ip").chmod(0o755)
    return one


def supply(host: HostNames, folder: Path, *, statuses: list[int], boots_after_power_off: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the supply of a host whose boots end at once with these statuses, the last of them again and again."""
    container = folder / "container"
    lines = ["#!/bin/sh", f"cat {host.leader} >> {folder}/booted", f"case $(wc -l < {folder}/booted) in"]
    lines += [*(f"{number}) exit {status};;" for number, status in enumerate(statuses[:-1], start=1)), "esac", f"exit {statuses[-1]}"]
    container.write_text("\n".join(lines))
    values = power.variables(host, groups=(), interface="cable", fingerprint="f00", boots_after_power_off=boots_after_power_off)
    host.supply.write_text(power.script({**values, "pause_s": "0", "has_own_uptime": "no"}, ["/bin/sh", str(container)]))
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    return subprocess.run(["/bin/sh", str(host.supply)], capture_output=True, text=True, check=False, timeout=60, env=environment)


def booted(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "booted").read_text().splitlines()]


@pytest.mark.parametrize("status", [REBOOTED, POWERED_OFF, KILLED])
def test_a_host_that_never_gets_far_stays_off_at_last_and_says_so(host: HostNames, tmp_path: Path, status: int) -> None:
    done = supply(host, tmp_path, statuses=[status])
    assert done.returncode == 1
    assert len(booted(tmp_path)) == 8
    assert f"the host ended 8 times within 15 s of its start, the last time with status {status}; it stays off until the next `up`" in done.stdout


def test_an_instance_of_a_cloud_comes_back_from_a_reboot_and_stays_off_when_it_is_powered_off(host: HostNames, tmp_path: Path) -> None:
    done = supply(host, tmp_path, statuses=[REBOOTED, REBOOTED, POWERED_OFF], boots_after_power_off=False)
    assert done.returncode == 0
    assert len(booted(tmp_path)) == 3


def test_each_boot_has_a_record_of_its_own_and_a_network_of_its_own(host: HostNames, tmp_path: Path) -> None:
    supply(host, tmp_path, statuses=[REBOOTED, POWERED_OFF], boots_after_power_off=False)
    first, second = booted(tmp_path)
    assert first["pid"] != second["pid"]
    assert {first["boot"], second["boot"]} == {"f00"}
    assert {first["interface"], second["interface"]} == {"cable"}
    assert hosts.boot_mark(host) == second["started"]
    plugged = (tmp_path / "plugged").read_text().splitlines()
    # The first boot has the network that `clusterwright` created and checked.
    assert plugged == ["link del cable", "netns del cw-test-train-0", "netns add cw-test-train-0", f"-batch {host.cable}", f"-netns cw-test-train-0 -batch {host.addresses}"]  # fmt: skip


def test_hosts_that_an_older_version_started_keep_their_fingerprint() -> None:
    boot = hosts.Boot(address="10.80.1.0", prefix=20, gateway="10.80.0.1", bridge="cw-test", lowers=("/a",), binds=())
    assert hosts.fingerprint((), boot) == "e711161336c668e2"


def test_the_age_of_a_host_is_that_of_its_process(host: HostNames) -> None:
    assert hosts.age_s(host) == float("inf")
    host.leader.write_text(json.dumps({"pid": os.getpid(), "started": hosts.start_time(os.getpid())}))
    lived_s = float(subprocess.run(["ps", "-o", "etimes=", "-p", str(os.getpid())], capture_output=True, text=True, check=True).stdout)
    assert hosts.age_s(host) == pytest.approx(lived_s, abs=30)
