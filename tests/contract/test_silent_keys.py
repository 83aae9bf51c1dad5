"""No key of a blueprint is silent: it changes what is provisioned or configured, or a check names it.

Each key gets a value that no blueprint has, one after the other, and the program runs with and without it.
"""

import functools
import json
from typing import Any

import pydantic
import pytest

from blueprints import finding, language, load
from blueprints.codes import Code
from tests.contract.offerings import GCP, MACHINE

KEY = "projects/our-project/locations/us-central1/keyRings/ours/cryptoKeys/data"
BASE = GCP.blueprints[0]
NAMED = (Code.FEATURE_NOT_BUILT, Code.NOT_ON_TARGET)
OTHERS: dict[str, Any] = {
    "control.size": "medium",
    "control.machine": "n2-standard-16",
    "control.highly_available": True,
    "control.hosts": ["a"],
    "control.state": "home",
    "control.address": "10.0.0.1",
    "control.managed": True,
    "access.login_nodes": 3,
    "access.machine": "n2-standard-8",
    "access.hosts": ["a"],
    "access.address": "10.0.0.1",
    "access.load_balancer": False,
    "access.rest_api": True,
    "access.tunnel": True,
    "access.os_login": True,
    "access.allowed_cidrs": ["203.0.113.7/32"],
    "access.ldap": {"uri": "ldaps://ldap.example.org", "base": "dc=example,dc=org"},
    "accounting.database": "managed",
    "accounting.protect": True,
    "network.cidr": "10.9.0.0/16",
    "network.region": "us-east4",
    "network.zones": ["us-central1-c"],
    "network.existing": "ours",
    "network.subnets": ["ours"],
    "network.host_project": "net-host",
    "network.egress": "none",
    "network.private_endpoints": True,
    "network.nat": "control",
    "network.dns": "control",
    "kubernetes.version": "1.34",
    "kubernetes.secondary_networks": {"rail0": "10.40.0.128/25"},
    "storage.home.mount": "/homes",
    "storage.home.size": "2 TiB",
    "storage.home.throughput": "250 MB/s/TiB",
    "storage.data.durability": "scratch",
    "storage.data.writable_by": "administrators",
    "storage.home.protect": True,
    "storage.data.on_delete": "snapshot",
    "storage.home.on_delete": "keep",
    "storage.home.backup_days": 3,
    "storage.home.encrypted": False,
    "storage.home.key": KEY,
    "storage.data.key": KEY,
    "storage.home.source": "10.0.0.5:/export",
    "storage.home.exchange": {"bucket": "gs://ours"},
    "storage.home.quotas": {"user": "5 GiB"},
    "pools.batch.accelerator": "h100",
    "pools.batch.gpus_per_node": 8,
    "pools.batch.machine": "n2-standard-16",
    "pools.batch.machines": ["n2-standard-8", "n2-standard-16"],
    "pools.batch.hosts": ["a"],
    "pools.batch.nodes": {"min": 1, "max": 16},
    "pools.batch.capacity": "on-demand",
    "pools.batch.fabric": "required",
    "pools.batch.busbw_percent": 50,
    "pools.batch.placement": "packed",
    "pools.tight.placement": "spread",
    "pools.batch.scratch": {},
    "pools.batch.scheduler": "kubernetes",
    "pools.batch.partition.default": False,
    "pools.batch.partition.max_time": "60",
    "pools.batch.partition.priority": 7,
    "pools.batch.partition.exclusive": True,
    "pools.batch.partition.accounts": ["research"],
    "pools.batch.mig": {"1g.10gb": 7},
    "pools.batch.health.check": "full",
    "pools.batch.health.brake": 2,
    "pools.batch.health.on_failure": "reboot",
    "pools.batch.rolling": 2,
    "pools.batch.labels": {"a": "b"},
    "pools.batch.taints": [{"key": "a"}],
    "pools.batch.image": "ours",
    "pools.batch.cpus_per_node": 4,
    "pools.batch.memory": "4 GiB",
    "accounts.research.description": "Research",
    "accounts.research.share": 3,
    "accounts.research.limits": {"nodes": 2},
    "qos": {"fast": {"priority": 10}},
    "users.ada.admin": True,
    "maintenance": [{"weekday": "sunday", "start": "02:00", "hours": 4}],
    "monitoring.metrics": True,
    "monitoring.retention_days": 7,
    "monitoring.dashboards": False,
    "acceptance.gate": ["nodes"],
    "monitoring.alert_webhook": "https://alerts.example.org/clusters",
    "tags": {"team": "a"},
    "versions": {"kernel": "6.8.0-90-generic"},
    "archives": {"nvidia": {"address": "https://mirror.example.org/cuda"}},
    "software": "ubuntu-24.04-gcp",
    "scheduler": "kubernetes",
    "description": "Another",
}
SAID_ELSEWHERE = {
    "name": "it names everything",
    "audience": "a text of the library",
    "extends": "the blueprint that is read",
    "inventory": "hosts that exist already; a finding says that it does not apply",
    "targets": "values of the keys here",
    "suppress": "accepts findings",
    "storage.kind": "tests of the kinds",
    "pools.name": "it names the nodes",
    "pools.partition.qos": "as `accounts`",
    "accounts.parent": "a tree of accounts, as on every target",
    "accounts.qos": "as `pools.partition.qos`",
}
"""Keys without a value here → why."""


@functools.cache
def registered(overrides: str) -> str:
    """Give everything that a run of the program registers, as text."""
    program = GCP.run(BASE, json.loads(overrides))
    said = [(one.type, one.name, one.inputs, one.protect, one.keep) for one in program.resources]
    return json.dumps([said, program.outputs], sort_keys=True, default=str)


@pytest.mark.soak
@pytest.mark.parametrize("path", OTHERS)
def test_a_key_has_an_effect_or_a_finding_names_it(path: str) -> None:
    try:
        findings = load.examine(BASE, target="gcp", stack="test", facts=MACHINE, overrides={path: OTHERS[path]}).findings
    except finding.Invalid:
        return  # it is refused, as an error
    if not any(one.code in NAMED for one in findings):
        assert registered(json.dumps({path: OTHERS[path]})) != registered("{}")


def test_every_key_of_the_language_is_tried_or_has_a_reason() -> None:
    tried = {_without_names(path) for path in OTHERS} | {*SAID_ELSEWHERE}
    keys = {
        key
        for key in _keys(language.Blueprint, "")
        if key not in ("kubernetes", "users") and not key.startswith(("kubernetes.", "users.", "qos.", "maintenance."))
    }
    assert sorted(key for key in keys if not any(key == one or key.startswith(f"{one}.") or one.startswith(f"{key}.") for one in tried)) == []


def _without_names(path: str) -> str:
    """Write a path of values as a key of the language: without the names that a blueprint chose."""
    first, *rest = path.split(".")
    return ".".join([first, *(rest[1:] if first in language.NAMED else rest)])


def _keys(section: type[pydantic.BaseModel], prefix: str) -> set[str]:
    found: set[str] = set()
    for name, field in section.model_fields.items():
        found.add(f"{prefix}{name}")
        for inner in _sections(field.annotation):
            found |= _keys(inner, f"{prefix}{name}.")
    return found


def _sections(annotation: Any) -> list[type[pydantic.BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [annotation]
    return [inner for argument in getattr(annotation, "__args__", ()) for inner in _sections(argument)]
