"""Elastic pools of the local target: what the service is told, and what the controller gets to know. Nothing here makes a host."""

import dataclasses
import itertools
import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from blueprints.project import project_root
from components.elastic import table as fleet_table
from components.local import fleet as local_fleet
from components.local import join, recipe
from components.local.elastic import daemon, description, fleet
from components.local.machine import host as hosts
from components.local.machine import names, record
from components.local.machine.names import StackNames
from tests import processes

POOL = recipe.HostPoolInputs(
    stack="test",
    site="token",
    group="train",
    role="compute",
    cluster="starter",
    prefix="train",
    count=4,
    first_address="10.80.1.0",
    cidr="10.80.0.0/20",
    gateway="10.80.0.1",
    bridge="cw-test",
    controllers=("control-0",),
    image="debian-13-1",
    lowers=("/cache/layer", "/cache/base"),
    mounts=(recipe.Mount("/folders/home", "/home", "incarnation-1"),),
    simulated_gpus=8,
    admin_public_key="ssh-ed25519 AAAA",
    munge_key="QUJD" * 16,
)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(names, "STATE_ROOT", tmp_path)
    return tmp_path


def test_a_description_is_read_as_it_was_written(state: Path) -> None:
    assert not description.is_written(POOL)
    description.write(POOL)
    assert description.is_written(POOL)
    [one] = description.read(StackNames("test"))
    assert one.pool == POOL
    assert one.template == description.template(POOL)
    [file] = (state / "test" / "elastic" / "pools").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600, "it holds the MUNGE key"
    description.remove(POOL)
    assert [*description.read(StackNames("test"))] == []


@pytest.mark.parametrize(
    ("changed", "is_other"),
    [
        ({"image": "debian-13-2"}, True),
        ({"munge_key": "QUJE" * 16}, True),
        ({"simulated_gpus": 4}, True),
        ({"expected": "{}"}, True),
        ({"count": 9}, False),
        ({"site": "other"}, False),
    ],
)
def test_hosts_are_outdated_by_what_they_boot_with_and_by_nothing_else(changed: dict[str, Any], is_other: bool) -> None:
    assert (description.template(dataclasses.replace(POOL, **changed)) != description.template(POOL)) is is_other


NODE = dataclasses.replace(POOL, role=recipe.NODE, munge_key="")


def test_what_joins_a_cluster_by_itself_is_part_of_what_its_hosts_start_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before, of_slurm = description.template(NODE), description.template(POOL)
    changed = tmp_path / "join.py"
    changed.write_text("print('joined otherwise')")
    monkeypatch.setattr(join, "__file__", str(changed))
    assert description.template(NODE) != before
    assert description.template(POOL) == of_slurm


def test_what_a_node_is_told_is_for_root_alone_and_starts_what_joins() -> None:
    found = {one.path: one for one in recipe.join_seeds('{"token": "planted"}')}
    [told] = [one for one in found.values() if b"planted" in one.content]
    assert told.mode == 0o600
    assert Path(told.path).parent.name in hosts.PRIVATE_FOLDERS
    unit = found["/etc/systemd/system/clusterwright-join.service"].content.decode()
    assert f"ConditionPathExists={told.path}\n" in unit
    assert next(one.path for one in found.values() if one.content.startswith(b'"""')) in unit
    assert any(
        path.startswith("/etc/systemd/system/multi-user.target.d/") and b"Wants=clusterwright-join.service" in one.content for path, one in found.items()
    )


def test_a_control_plane_has_the_door_where_a_pool_is_elastic() -> None:
    def targets(*, starts_hosts: bool) -> set[str]:
        return {bind.target for bind in recipe.boot(dataclasses.replace(NODE, role=recipe.CONTROL_PLANE, starts_hosts=starts_hosts), 0).binds}

    assert targets(starts_hosts=True) - targets(starts_hosts=False) == {hosts.GUEST_DOOR}


def made(pool: recipe.HostPoolInputs, hostname: str) -> str:
    """Write what is there of a host that does not run; give its id."""
    description.write(pool)
    host = StackNames(pool.stack).host(hostname)
    record.write(host.record, {"incarnation": f"disk of {hostname}", "image": pool.image})
    record.write(host.launch, {"token": "a", "at": 1.0, "template": "t"})
    return f"disk of {hostname}"


def test_of_two_schedulers_each_has_its_own_hosts_only(state: Path) -> None:
    known = StackNames("test")
    made(POOL, "train-0")
    of_kubernetes = made(dataclasses.replace(NODE, group="serve", prefix="serve", controllers=("kubernetes-0",)), "serve-0")
    assert {asker: [one["node"] for one in fleet.listed(known, asker)] for asker in ("control-0", "kubernetes-0", "login-0", None)} == {
        "control-0": ["train-0"], "kubernetes-0": ["serve-0"], "login-0": [], None: ["serve-0", "train-0"],
    }  # fmt: skip
    with pytest.raises(fleet.RequestRefused, match="has no elastic pool serve"):
        fleet.launch(known, "control-0", "serve", ["serve-1"], token="x", is_whole=False, told="{}")
    fleet.terminate(known, "control-0", [of_kubernetes])
    assert [one["node"] for one in fleet.listed(known, "kubernetes-0")] == ["serve-0"]


def test_only_controllers_have_the_door_mounted() -> None:
    def targets(role: str) -> set[str]:
        return {bind.target for bind in recipe.boot(dataclasses.replace(POOL, role=role), 0).binds}

    assert targets("control") - targets("compute") == {"/var/lib/clusterwright/elastic"}
    assert targets("access") == targets("compute")


def test_the_fleet_table_is_one_that_the_program_reads_and_holds_no_secret() -> None:
    machine = spec.Machine("local", 1, 2, 1, 2048, None, exists=True)
    hosts = spec.HostGroup("train", "compute", "train", 4, "10.80.1.0", machine)
    elastic = spec.NodeSet("train", spec.Partition("train", True, "UNLIMITED"), hosts, (), minimum=1, pool_most=3)
    standing = dataclasses.replace(elastic, pool="debug", hosts=dataclasses.replace(hosts, name="debug", prefix="debug"), minimum=None)
    none = dataclasses.replace(hosts, count=0)
    cluster = spec.ClusterSpec(
        version=spec.SPEC_VERSION,
        name="starter",
        description="",
        target="local",
        software=spec.Software("debian-13", "debian-13", "trixie", "24.11", "simulated"),
        network=spec.Network("10.80.0.0/20", "10.80.0.1", "10.80.0.2", "starter.internal"),
        access=none,
        storage=(),
        accounts=(),
        users=(),
        simulated=(),
        slurm=spec.Slurm("slurm_hosts", none, spec.Database("embedded", protect=False), (elastic, standing)),
    )
    record = local_fleet.table(cluster, "dev", {"train": "template-1"})
    table = fleet_table.read(json.loads(json.dumps(record)))
    assert [(one.name, one.count, one.minimum, one.pool_most, one.template) for one in table.node_sets] == [("train", 4, 1, 3, "template-1")]
    assert table.cloud["service"]["socket"] == "/var/lib/clusterwright/elastic/socket"
    assert not {name for name in record if "key" in name or "token" in name}


def test_the_service_starts_anew_when_any_of_its_code_changes() -> None:
    loaded = "import sys, components.local.elastic.service; print(*(one.__file__ for one in sys.modules.values() if getattr(one, '__file__', None)), sep='\\n')"
    run = subprocess.run([sys.executable, "-c", loaded], cwd=project_root(), check=True, capture_output=True, text=True)
    components = project_root() / "components"
    files = {file for file in map(Path, run.stdout.splitlines()) if components in file.parents and file.read_text()}
    assert components / "bootstrap/files.py" in files
    assert files <= {*daemon.sources()}, "the service goes on with old code of these, and the engine has new code"


def boot_that_slurm_takes_down(started_s: float, *, uptime_before_s: float, heard_after_s: float) -> int:
    """When a host seems to have booted: its uptime begins with the fraction that whole seconds leave of the machine's, and is rounded up; the moment is cut off."""
    heard_s = started_s + heard_after_s
    return math.floor(heard_s) - math.ceil(heard_after_s + uptime_before_s % 1)


def is_ever_refused(not_before_s: float) -> bool:
    fractions = [number / 16 for number in range(16)]
    return any(
        boot_that_slurm_takes_down(asked_s + not_before_s, uptime_before_s=uptime_s, heard_after_s=2 + heard_s) < math.floor(asked_s)
        for asked_s, uptime_s, heard_s in itertools.product(fractions, repeat=3)
    )


def test_a_host_starts_late_enough_for_slurm_whatever_the_fractions_of_the_seconds_are() -> None:
    assert not is_ever_refused(fleet.NOT_BEFORE_S)
    assert is_ever_refused(1.5), "a shorter wait is too short for some of them"


SERVES = """
import pathlib, sys
from components.local.elastic import service
from components.local.machine import names
names.STATE_ROOT = pathlib.Path(sys.argv[1])
service.serve(names.StackNames("dev"))
"""


def test_a_socket_that_is_there_is_answered(state: Path) -> None:
    """`up` waits for the file alone: one that a killed service left must not be taken for the next one's."""
    dev = names.StackNames("dev")
    dev.door.mkdir(parents=True)
    door = os.open(dev.door, os.O_RDONLY)
    place = f"/proc/self/fd/{door}/socket"  # a socket's path has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(place)
    daemon.end(dev)
    assert not Path(place).exists()
    with subprocess.Popen([sys.executable, "-c", SERVES, str(state)], cwd=project_root()) as serving, socket.socket(socket.AF_UNIX) as asking:
        try:
            processes.wait_until(Path(place).exists, awaiting="the service's socket")
            asking.connect(place)
            asking.sendall(b"{}\n")
            assert set(json.loads(asking.makefile().readline())) == {"error"}
        finally:
            serving.kill()
            os.close(door)
