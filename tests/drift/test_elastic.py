"""Hosts that come and go: those that are up are checked, those on their way are not, and those that are off are named. Pure."""

import dataclasses
import datetime as dt
from typing import Any

import pytest

from components.aws.instances import Instance
from stacks.drift import elastic
from stacks.drift.elastic import Listing
from stacks.drift.record import Known, KnownHost
from tests.drift.examples import hosts, known

BEGUN_S = 1_800_000_000.0


def stack() -> Known:
    """The example without its recorded compute hosts."""
    return known(hosts=tuple(host for host in hosts() if host.role != "compute"))


def up(*names: str, age_s: float = 600.0, disk: str = "disk") -> Listing:
    found = tuple(KnownHost(name, "train", "compute", "10.80.0.9", f"{disk}-{name}", "ssh-ed25519 AAAA") for name in names)
    return Listing(found, {host.incarnation: BEGUN_S - age_s for host in found})


def slurm_says(**states: str) -> dict[str, dict[str, str]]:
    return {"nodes": {"text": "".join(f"NodeName={name.replace('_', '-')} State={state} Reason=x\n" for name, state in states.items())}}


def on_their_way(before: Listing, after: Listing, answers: dict[str, dict[str, str]]) -> list[str]:
    return [host.name for host in elastic.on_their_way(before, after, answers, moment_s=BEGUN_S)]


def test_groups_without_recorded_hosts_come_and_go() -> None:
    assert dict(elastic.groups(stack())) == {"train": ("train-0", "train-1")}
    assert dict(elastic.groups(known())) == {}


def test_a_host_that_is_up_before_and_after_is_judged() -> None:
    assert on_their_way(up("train-0"), up("train-0"), slurm_says(train_0="IDLE+CLOUD")) == []
    assert on_their_way(up("train-0"), up("train-0"), {}) == [], "a silent scheduler hides no host"


@pytest.mark.parametrize("state", ["IDLE+CLOUD+POWERING_DOWN", "ALLOCATED+CLOUD+POWERING_UP", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP"])
def test_a_host_that_slurm_starts_or_stops_is_not_judged(state: str) -> None:
    assert on_their_way(up("train-0"), up("train-0"), slurm_says(train_0=state)) == ["train-0"]


def test_a_host_that_went_came_anew_or_has_just_begun_is_not_judged() -> None:
    steady = slurm_says(train_0="IDLE+CLOUD")
    assert on_their_way(up("train-0"), up(), steady) == ["train-0"]
    assert on_their_way(up("train-0"), up("train-0", disk="other"), steady) == ["train-0"]
    young = up("train-0", age_s=5.0)
    assert on_their_way(young, young, steady) == ["train-0"]


def test_while_the_scheduler_is_silent_a_host_of_a_cloud_has_the_time_that_a_boot_may_take() -> None:
    booting = dataclasses.replace(up("train-0", age_s=120.0), boot_s=elastic.BOOT_S)
    assert on_their_way(booting, booting, {}) == ["train-0"]
    assert on_their_way(booting, booting, slurm_says(train_0="IDLE+CLOUD")) == []
    assert on_their_way(up("train-0", age_s=120.0), up("train-0", age_s=120.0), {}) == []


def test_hosts_that_are_off_and_those_on_their_way_are_named_with_the_reason() -> None:
    listing = up("train-0")
    [host] = listing.hosts
    found = [(str(one.layer), one.where, one.why) for one in elastic.unchecked(stack(), listing, {host: "it went while the check ran"})]
    assert found[0] == ("hosts", "train: train-1", "off: they come when jobs want them")
    assert found[1:] == [(layer, "train-0", "it went while the check ran") for layer in ("hosts", "versions", "capability")]


def test_where_nobody_can_list_them_that_is_said() -> None:
    elsewhere = dataclasses.replace(stack(), spec={**stack().spec, "target": "gcp"})
    assert [one.why for one in elastic.unchecked(elsewhere, elastic.look("prod", elsewhere), {})] == [elastic.ELSEWHERE]
    before_keys = dataclasses.replace(stack(), spec={**stack().spec, "target": "aws"})
    assert [one.why for one in elastic.unchecked(before_keys, elastic.look("prod", before_keys), {})] == [elastic.KEYLESS]
    not_here = elastic.look("a-stack-that-is-not-on-this-machine", stack())
    assert "not on this machine" in not_here.why


KEY, MADE = "ssh-ed25519 AAAAnode", dt.datetime(2026, 11, 1, tzinfo=dt.UTC)


def on_aws() -> Known:
    control = dataclasses.replace(hosts()[0], jump="nlb.example", jump_key="ssh-ed25519 AAAAlogin")
    return dataclasses.replace(stack(), hosts=(control, *stack().hosts[1:]), node_key=KEY, node_key_since=MADE)


def instance(node: str, **changes: Any) -> Instance:
    whole: dict[str, Any] = {
        "id": f"i-{node}", "machine": "p5.48xlarge", "state": "running", "part": "compute", "node_set": "train", "node": node, "launched": MADE + dt.timedelta(days=1),
        "groups": frozenset(), "profile": "", "template_version": "1", "address": "10.80.16.9",
    }  # fmt: skip
    return Instance(**{**whole, **changes})


def test_nodes_on_aws_are_looked_at_through_the_way_in_and_by_the_stacks_own_key() -> None:
    listing = elastic.of_instances([instance("train-1"), instance("train-0")], on_aws())
    assert [(host.name, host.group, host.role, host.address, host.incarnation) for host in listing.hosts] == [
        ("train-0", "train", "compute", "10.80.16.9", "i-train-0"),
        ("train-1", "train", "compute", "10.80.16.9", "i-train-1"),
    ]
    assert {(host.host_key, host.jump, host.jump_key) for host in listing.hosts} == {(KEY, "nlb.example", "ssh-ed25519 AAAAlogin")}
    assert listing.launched_s == {f"i-{name}": (MADE + dt.timedelta(days=1)).timestamp() for name in ("train-0", "train-1")}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "pending"}, elastic.JUST_ASKED_FOR),
        ({"address": ""}, elastic.JUST_ASKED_FOR),
        ({"state": "stopping"}, elastic.JUST_ASKED_FOR),
        ({"launched": MADE - dt.timedelta(seconds=1)}, elastic.BORN_BEFORE),
    ],
)
def test_nodes_on_aws_that_cannot_be_looked_at_are_named_and_not_called_off(changes: dict[str, Any], why: str) -> None:
    listing = elastic.of_instances([instance("train-0", **changes)], on_aws())
    assert listing.hosts == ()
    found = [(str(one.layer), one.where, one.why) for one in elastic.unchecked(on_aws(), listing, {})]
    assert found == [
        ("hosts", "train: train-1", "off: they come when jobs want them"),
        *((layer, "train-0", why) for layer in ("hosts", "versions", "capability")),
    ]


def test_what_is_no_node_of_the_stack_is_not_looked_at_and_of_two_the_younger_is_the_node() -> None:
    strangers = [instance("train-7"), instance("train-0", part="control"), instance("train-0", node_set="gone"), instance("")]
    assert elastic.of_instances(strangers, on_aws()).hosts == ()
    listing = elastic.of_instances([instance("train-0", id="i-new"), instance("train-0", id="i-old", launched=MADE)], on_aws())
    assert [host.incarnation for host in listing.hosts] == ["i-new"]
