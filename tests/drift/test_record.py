"""What the stack's own record says, as `pulumi stack export --show-secrets` gives it. Pure."""

import datetime as dt
import json
from typing import Any

import pytest

from components import errors
from components.inspection import record
from tests.playbooks import clusters

PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----"


def secret(value: Any) -> dict[str, str]:
    return {record.SECRET_SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps(value)}


def resource(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "urn": f"urn:pulumi:prod::clusterwright::{kind}::{name}", "custom": True, "id": f"id-{name}", **more}


def exported(*resources: dict[str, Any], **outputs: Any) -> dict[str, Any]:
    host = {
        "name": "control-0",
        "address": "10.80.0.4",
        "incarnation": "i-1",
        "host_key": "ssh-ed25519 AAAA",
        "jump": "nlb.example",
        "jump_key": "ssh-ed25519 BBBB",
    }
    whole = {"spec": clusters.recorded(), "inventory": {"control": [host]}, **outputs}
    return {
        "deployment": {"manifest": {"time": "2026-11-21T20:00:00Z"}, "resources": [resource(record.STACK_TYPE, "it", outputs=whole, custom=False), *resources]}
    }


def test_hosts_and_keys_are_read_and_secrets_unwrapped() -> None:
    admin = resource(record.SECRET_TYPE, "admin-key", outputs={"value": secret(PRIVATE), "public": "ssh-ed25519 CCCC"})
    known = record.read(exported(admin))
    [host] = known.hosts
    assert (host.name, host.role, host.jump, host.jump_key) == ("control-0", "control", "nlb.example", "ssh-ed25519 BBBB")
    assert (known.private_key, known.admin_public) == (PRIVATE, "ssh-ed25519 CCCC")
    assert known.updated == dt.datetime(2026, 11, 21, 20, tzinfo=dt.UTC)


def test_a_host_that_a_failed_run_made_anew_is_known_by_what_its_resource_recorded() -> None:
    anew = {"name": "control-0", "address": "10.80.0.5", "incarnation": "i-2", "host_key": "ssh-ed25519 NEW"}
    pool = resource("clusterwright:local:HostPool", "control", outputs={"group": "control", "hosts": [anew]})
    finished = resource("clusterwright:finish:Group", "finish-control", outputs={"group": "control", "hosts": [{**anew, "host_key": "ssh-ed25519 AAAA"}]})
    of_another = resource("clusterwright:local:HostPool", "train", outputs={"group": "train", "hosts": [anew]})
    [host] = record.read(exported(pool, finished)).hosts
    assert (host.address, host.incarnation, host.host_key, host.jump) == ("10.80.0.5", "i-2", "ssh-ed25519 NEW", "nlb.example")
    [host] = record.read(exported(of_another)).hosts
    assert (host.address, host.host_key) == ("10.80.0.4", "ssh-ed25519 AAAA")


def test_the_host_key_of_compute_nodes_is_read_with_the_moment_since_when_there_is_one() -> None:
    key = resource(
        record.SECRET_TYPE, record.NODE_KEY, outputs={"value": secret(PRIVATE), "public": "ssh-ed25519 DDDD"}, created="2026-11-21T19:00:00.123456789Z"
    )
    known = record.read(exported(key))
    assert (known.node_key, known.node_key_since) == ("ssh-ed25519 DDDD", dt.datetime(2026, 11, 21, 19, 0, 0, 123456, tzinfo=dt.UTC))
    without = record.read(exported())
    assert (without.node_key, without.node_key_since) == ("", None)


def test_a_stack_whose_first_up_has_not_ended_has_no_cluster_to_check() -> None:
    with pytest.raises(errors.NotUp, match="no `up` of it has finished"):
        record.read(exported(inventory=None))


def test_a_record_in_another_form_is_none_that_can_be_checked() -> None:
    with pytest.raises(errors.NotUp, match="can't read the recorded cluster"):
        record.read(exported(spec={**clusters.recorded(), "network": {"colour": "blue"}}))
