"""Hosts that run containers: what they boot with beside what all hosts do, which keeps its fingerprint."""

import dataclasses
import hashlib
import json

from components.local import recipe
from components.local.machine import host as hosts
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
