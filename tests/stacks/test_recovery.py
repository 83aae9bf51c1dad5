"""How a stack's record is mended once it is known what became of what was being made."""

import datetime as dt
from typing import Any

import pytest

from components.adoption import ABSENT, AGAIN, Certainty, Trace
from stacks.engine import deployment, recovery

PREFIX = "urn:pulumi:dev::clusterwright::"
PROVIDER = f"{PREFIX}pulumi:providers:aws::aws"


def urn(name: str) -> str:
    return f"{PREFIX}aws:ec2/vpc:Vpc::{name}"


def resource(name: str, ident: str | None = None, **more: Any) -> dict[str, Any]:
    known = {"id": ident, "outputs": {"arn": "arn"}} if ident else {}
    inputs = {"tags": {"Name": name}}
    return {"urn": urn(name), "type": "aws:ec2/vpc:Vpc", "custom": True, "inputs": inputs, "provider": f"{PROVIDER}::1", **known, **more}


BASE = {"urn": PROVIDER, "type": "pulumi:providers:aws", "custom": True, "id": "1", "inputs": {"region": "eu-west-1"}}


def record(*resources: dict[str, Any], pending: list[dict[str, Any]], kind: str = "creating") -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": [BASE, *resources], "pending_operations": [{"type": kind, "resource": one} for one in pending]}}


def found(*identities: str) -> Trace:
    return Trace(Certainty.FOUND, identities)


def after(given: dict[str, Any], **traces: Trace) -> list[tuple[str, str, bool]]:
    """Mend a record; give name, id and whether it is to be deleted of what it holds then, the provider left out."""
    mended = deployment.repaired(given, {urn(name): trace for name, trace in traces.items()})["deployment"]
    assert mended["pending_operations"] == []
    return [(one["urn"].rpartition("::")[2], one.get("id", ""), one.get("delete", False)) for one in mended["resources"][1:]]


def test_what_exists_is_recorded_with_what_was_asked_for() -> None:
    given = record(pending=[resource("net")])
    mended = deployment.repaired(given, {urn("net"): found("vpc-1")})
    assert mended["deployment"]["resources"][1] == {**resource("net"), "id": "vpc-1", "outputs": {"tags": {"Name": "net"}}}
    assert given["deployment"]["resources"] == [BASE], "what was given stays as it is"


def test_what_does_not_exist_is_forgotten() -> None:
    assert after(record(pending=[resource("a"), resource("b")]), a=ABSENT, b=AGAIN) == []


def step(one: dict[str, Any], op: str = "create") -> dict[str, Any]:
    return {"op": op, "newState": one}


UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def test_what_a_failed_run_may_have_made_is_what_the_next_one_would_make() -> None:
    whole = {"tags": {"Name": "a"}, "password": "[secret]", "subnets": [UNKNOWN], "count": 1}
    steps = [
        step(resource("made")),
        step({**resource("partly"), "inputs": whole}),
        step({**resource("untagged"), "inputs": {"role": "r"}}),
        step({**resource("unknown"), "inputs": {"role": UNKNOWN}}),
        step({**resource("open"), "inputs": {"tags": {"Name": UNKNOWN}}}),
        step(resource("anew"), "create-replacement"),
        step(resource("there"), "same"),
        step({**resource("component"), "custom": False}),
        {"op": "delete", "oldState": resource("gone")},
    ]
    supposed = deployment.supposed(record(resource("there", "vpc-1"), pending=[]), steps)
    asked = {one.name: one.inputs for one in deployment.creations(supposed)}
    assert asked == {
        "made": {"tags": {"Name": "made"}},
        "partly": {"tags": {"Name": "a"}, "count": 1},
        "untagged": {"role": "r"},
        "anew": {"tags": {"Name": "anew"}},
    }
    assert after(supposed, **{**dict.fromkeys(asked, ABSENT), "made": found("vpc-2")}) == [("there", "vpc-1", False), ("made", "vpc-2", False)]


def test_a_need_comes_before_what_needs_it() -> None:
    late = resource("late", dependencies=[urn("early")], parent=f"{PREFIX}component::network")
    component = {"urn": f"{PREFIX}component::network", "type": "component", "custom": False}
    given = record(pending=[late, resource("early"), component])
    assert after(given, late=found("vpc-2"), early=found("vpc-1")) == [("network", "", False), ("early", "vpc-1", False), ("late", "vpc-2", False)]


def test_what_needs_something_that_does_not_exist_is_not_recorded() -> None:
    given = record(pending=[resource("late", dependencies=[urn("early")]), resource("early")])
    assert after(given, late=found("vpc-2"), early=ABSENT) == []


def test_a_successor_takes_the_place_of_the_one_that_is_to_go() -> None:
    given = record(resource("net", "vpc-1"), resource("user", "vpc-3"), pending=[resource("net")])
    assert after(given, net=found("vpc-2")) == [("net", "vpc-2", False), ("user", "vpc-3", False), ("net", "vpc-1", True)]


def test_a_successor_takes_the_place_of_the_one_that_is_gone() -> None:
    given = record(resource("net", "vpc-1", pendingReplacement=True), pending=[resource("net")])
    assert after(given, net=found("vpc-2")) == [("net", "vpc-2", False)]
    assert after(given, net=ABSENT) == [("net", "vpc-1", False)], "the engine makes it anew"


def test_what_was_made_twice_is_once_to_be_deleted() -> None:
    gone = resource("old", "vpc-9", delete=True)
    given = record(gone, pending=[resource("net")])
    assert after(given, net=found("vpc-1", "vpc-2")) == [("net", "vpc-1", False), ("net", "vpc-2", True), ("old", "vpc-9", True)]


def test_only_creations_are_looked_for() -> None:
    assert deployment.creations(record(resource("net", "vpc-1"), pending=[resource("net", "vpc-1")], kind="updating")) == ()


def test_what_the_killed_run_had_learnt_is_known() -> None:
    given = record(pending=[resource("net", "vpc-1"), resource("other")])
    assert deployment.known_ids(given) == {urn("net"): "vpc-1"}


def test_a_resource_is_in_the_region_of_its_provider() -> None:
    given = record(pending=[resource("net")])
    assert deployment.region(given, deployment.creations(given)[0]) == "eu-west-1"


def test_a_provider_that_was_just_made_says_the_region_too() -> None:
    given = {"deployment": {"resources": [], "pending_operations": [{"type": "creating", "resource": one} for one in (resource("net"), BASE)]}}
    assert deployment.region(given, deployment.creations(given)[0]) == "eu-west-1"


def test_the_age_of_a_record_is_that_of_its_last_write() -> None:
    given = {"deployment": {"manifest": {"time": "2026-11-21T10:00:00.123456789Z"}}}
    assert deployment.age_s(given, dt.datetime(2026, 11, 21, 10, 1, tzinfo=dt.UTC)) == pytest.approx(59.9, abs=0.1)


def test_identities_are_those_of_one_kind_that_live() -> None:
    given = record(resource("net", "vpc-1"), resource("gone", "vpc-2", pendingReplacement=True), pending=[])
    assert deployment.identities(given, "aws:ec2/vpc:Vpc") == {"vpc-1"}
    assert deployment.identities(given, "aws:iam/role:Role") == frozenset()


def test_one_line_about_each() -> None:
    given = record(pending=[resource(name) for name in "abcd"])
    traces = {urn("a"): found("vpc-1", "vpc-2"), urn("b"): Trace(Certainty.LIKELY, ("x",)), urn("c"): ABSENT, urn("d"): AGAIN}
    assert list(deployment.lines(deployment.creations(given), traces)) == [
        "Vpc a: it exists (vpc-1) and is recorded",
        "Vpc a: it exists a second time (vpc-2), which is deleted",
        "Vpc b: it is recorded if the refresh finds it",
        "Vpc c: it was not created",
        "Vpc d: it is created again, which adopts what exists",
    ]


def test_what_stays_is_known_before_the_stack_goes() -> None:
    given = record(resource("net", "vpc-1", retainOnDelete=True), resource("other", "vpc-2"), pending=[])
    assert deployment.kept(given) == (deployment.Kept("Vpc net", "aws:ec2/vpc:Vpc", "vpc-1", "arn", "eu-west-1"),)


@pytest.mark.parametrize(("identity", "name"), [("projects/p/global/networks/n", "projects/p/global/networks/n"), ("p/us-central1/router/nat", "")])
def test_a_full_path_names_what_stays_where_there_is_no_arn(identity: str, name: str) -> None:
    given = record(resource("net", identity, retainOnDelete=True, outputs={}), pending=[])
    assert [one.name for one in deployment.kept(given)] == [name]


SERVERS = f"{PREFIX}clusterwright:metal:Hosts::train"


def servers(*names: str, **more: Any) -> dict[str, Any]:
    inputs = {"stack": "lab", "group": "train", "members": list(names)}
    return {"urn": SERVERS, "type": "clusterwright:metal:Hosts", "custom": True, "inputs": inputs, **more}


def test_of_the_projects_own_kinds_those_are_recorded_that_nobody_finds_without_the_record() -> None:
    """A killed run may have adopted servers, and only the record says which ones."""
    [adopting, other] = deployment.creations(record(pending=[servers("gpu-001"), {**servers(), "type": "clusterwright:finish:Group"}]))
    assert [recovery.identity(one) for one in (adopting, other)] == ["lab/train", ""]
    gone = deployment.creations(record(pending=[{**servers("gpu-001"), "type": kind} for kind in ("clusterwright:metal:Gone", "clusterwright:gone:Hosts")]))
    assert [recovery.identity(one) for one in gone] == ["", ""], "a kind that this version no longer has stops no command"
    made = deployment.repaired(record(pending=[servers("gpu-001")]), {SERVERS: Trace(Certainty.LIKELY, ("lab/train",))})["deployment"]["resources"][1]
    assert (made["id"], made["outputs"]["members"]) == ("lab/train", ["gpu-001"])


def test_a_change_that_was_cut_off_is_recorded_as_half_made() -> None:
    before = servers("gpu-001", id="lab/train", outputs={"members": ["gpu-001"], "adopted": ["gpu-001"], "complete": True})
    given = record(before, resource("net", "vpc-1"), pending=[servers("gpu-001", "gpu-002", id="lab/train")], kind="updating")
    [change] = deployment.updates(given)
    mended = deployment.repaired(given, {change.urn: Trace(Certainty.LIKELY, (recovery.identity(change),))})["deployment"]
    assert mended["resources"][1]["inputs"]["members"] == ["gpu-001", "gpu-002"]
    assert mended["resources"][1]["outputs"] == {**change.inputs, "adopted": ["gpu-001"], "complete": False}
    assert mended["resources"][2] == resource("net", "vpc-1")
    assert deployment.repaired(given, {})["deployment"]["resources"] == given["deployment"]["resources"], "of other kinds, the next run changes them again"
