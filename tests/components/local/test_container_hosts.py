"""Hosts that run containers: what they boot with beside what all hosts do, which keeps its fingerprint, and what they keep when they get another disk or the stack another image."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from components.local import pool, recipe
from components.local.machine import disk, names, rootfs
from components.local.machine import host as hosts
from components.local.machine.names import StackNames
from tests.components.local.test_named_hosts import BY_NUMBER

BOOT = hosts.Boot(address="10.80.1.0", prefix=20, gateway="10.80.0.1", bridge="cw-a", lowers=("lower",), binds=(hosts.Bind("/a", "/b"),))


def test_a_host_that_runs_no_containers_keeps_the_fingerprint_that_earlier_versions_gave_it() -> None:
    earlier = {
        "address": "10.80.1.0", "prefix": 20, "gateway": "10.80.0.1", "bridge": "cw-a", "lowers": ("lower",),
        "binds": ({"source": "/a", "target": "/b", "read_only": False},), "program": (), "has_own_uptime": False,
    }  # fmt: skip
    assert hosts.fingerprint((), BOOT) == hashlib.sha256(json.dumps(earlier, sort_keys=True).encode()).hexdigest()[:16]
    assert hosts.fingerprint((), dataclasses.replace(BOOT, runs_containers=True)) != hosts.fingerprint((), BOOT)


def test_hosts_of_kubernetes_run_containers_and_find_releases() -> None:
    slurm = recipe.boot(BY_NUMBER, 0)
    assert not slurm.runs_containers
    for role in (recipe.CONTROL_PLANE, recipe.NODE):
        boot = recipe.boot(dataclasses.replace(BY_NUMBER, role=role), 0)
        assert boot.runs_containers
        assert [bind.target for bind in boot.binds if bind not in slurm.binds] == [recipe.RELEASES]
        assert all(bind.read_only for bind in boot.binds)


def test_a_host_without_slurm_has_no_key_of_it() -> None:
    named = {one.path for one in recipe.seeds(BY_NUMBER)}
    assert "/etc/clusterwright/secrets/munge.key" not in named
    assert "/etc/clusterwright/secrets/munge.key" in {one.path for one in recipe.seeds(dataclasses.replace(BY_NUMBER, munge_key="c2VjcmV0"))}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> names.HostNames:
    for module in (names, disk):
        monkeypatch.setattr(module, "STATE_ROOT", tmp_path / "state")
        monkeypatch.setattr(module, "RUN_ROOT", tmp_path / "run")
    monkeypatch.setenv("CLUSTERWRIGHT_CACHE", str(tmp_path / "cache"))
    return StackNames(BY_NUMBER.stack).host("train-0")


BOOT_OF_KUBERNETES = dataclasses.replace(BOOT, runs_containers=True)


def volumes(host: names.HostNames) -> dict[str, Path]:
    return {bind.target: Path(bind.source) for bind in hosts._container_binds(host, BOOT_OF_KUBERNETES)}


def test_the_next_disk_has_the_state_of_kubernetes_and_nothing_else_of_the_one_before(host: names.HostNames) -> None:
    before = volumes(host)
    for folder in before.values():
        (folder / "member").write_text("kept")
    hosts.set_state_aside(host)
    hosts.remove(host)
    after = volumes(host)
    assert {target for target, folder in after.items() if (folder / "member").exists()} == set(hosts.STATE_FOLDERS)
    assert not any(host.kept.iterdir()), "the next rebuild finds nothing old"


def test_snapshots_on_the_overlay_of_a_host_that_an_earlier_version_started_are_kept_too(host: names.HostNames) -> None:
    volumes(host)
    snapshots = host.upper / "var/lib/clusterwright/etcd-snapshots"
    (host.volumes / "var-lib-clusterwright-etcd-snapshots").rmdir()
    snapshots.mkdir(parents=True)
    (snapshots / "etcd-1.db").touch()
    hosts.set_state_aside(host)
    hosts.remove(host)
    assert [one.name for one in volumes(host)["/var/lib/clusterwright/etcd-snapshots"].iterdir()] == ["etcd-1.db"]


def test_a_host_that_was_killed_between_setting_aside_and_deleting_has_its_state_again(host: names.HostNames) -> None:
    (volumes(host)["/var/lib/etcd"] / "member").write_text("kept")
    hosts.set_state_aside(host)
    assert (volumes(host)["/var/lib/etcd"] / "member").read_text() == "kept"


def test_snapshots_that_earlier_versions_had_on_the_overlay_move_to_their_volume(host: names.HostNames) -> None:
    snapshots = host.upper / "var/lib/clusterwright/etcd-snapshots"
    snapshots.mkdir(parents=True)
    (snapshots / "etcd-1.db").touch()
    assert [one.name for one in volumes(host)["/var/lib/clusterwright/etcd-snapshots"].iterdir()] == ["etcd-1.db"]


@pytest.mark.parametrize("role", [recipe.NODE, "compute"])
def test_a_host_of_kubernetes_boots_with_the_image_that_it_was_created_from(host: names.HostNames, role: str) -> None:
    first = dataclasses.replace(BY_NUMBER, role=role, image="first", lowers=("/first", "/base"))
    hosts.make_disk(host, image=first.image, lowers=first.lowers)
    later = dataclasses.replace(first, image="later", lowers=("/later", "/base"))
    assert pool._boot(first, "train-0").lowers == ("/first", "/base")
    assert pool._boot(later, "train-0").lowers == (("/first", "/base") if role == recipe.NODE else ("/later", "/base"))
    outputs = pool._outputs(later)
    assert outputs.get("older") == (["train-0"] if role == recipe.NODE else None)


def test_the_folders_of_an_image_follow_from_its_name_where_an_earlier_version_recorded_no_more(host: names.HostNames, tmp_path: Path) -> None:
    image, base = "debian-13-0123456789ab", tmp_path / "cache/rootfs/trixie-012345abcdef"
    for folder in (base, base.with_name("trixie-fedcba543210"), base.with_name(f"{base.name}.partial")):
        folder.mkdir(parents=True)
    hosts.make_disk(host, image=image)
    later = dataclasses.replace(BY_NUMBER, role=recipe.NODE, image="later", lowers=("/later", "/base"))
    assert pool._boot(later, "train-0").lowers == (rootfs.lower(image), str(base))
    base.rmdir()
    assert not Path(pool._boot(later, "train-0").lowers[-1]).exists(), "no other base takes its place"
