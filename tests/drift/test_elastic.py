"""Hosts that come and go: those that are up are checked, those on their way are not, and those that are off are named. Pure."""

import dataclasses
import datetime as dt

import pytest

from components.cloud import instances as cloud_instances
from components.discovery import RunningNode, RunningNodes
from components.inspection import elastic
from components.inspection.elastic import Listing
from components.inspection.recorded_cluster import Known, KnownHost
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
    booting = dataclasses.replace(up("train-0", age_s=120.0), boot_s=600.0)
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
    elsewhere = dataclasses.replace(stack(), cluster=dataclasses.replace(stack().cluster, target="elsewhere"))
    assert [one.why for one in elastic.unchecked(elsewhere, elastic.look("prod", elsewhere), {})] == [elastic.ELSEWHERE]
    before_keys = dataclasses.replace(stack(), cluster=dataclasses.replace(stack().cluster, target="aws"))
    assert [one.why for one in elastic.unchecked(before_keys, elastic.look("prod", before_keys), {})] == [cloud_instances.NO_NODE_KEY]
    not_here = elastic.look("a-stack-that-is-not-on-this-machine", stack())
    assert "on another machine" in not_here.why


def test_running_nodes_are_looked_at_through_the_way_that_leads_to_the_controllers() -> None:
    control = dataclasses.replace(hosts()[0], jump="nlb.example", jump_key="ssh-ed25519 AAAAlogin")
    launched = dt.datetime(2026, 11, 2, tzinfo=dt.UTC)
    running = RunningNodes(
        (RunningNode("train-0", "train", "10.80.16.9", "i-0", "ssh-ed25519 AAAAnode", launched),), {"train-1": "it is starting or terminating"}
    )
    found = elastic.listing(running, dataclasses.replace(stack(), hosts=(control, *stack().hosts[1:])))
    [host] = found.hosts
    assert (host.name, host.group, host.role, host.address, host.incarnation) == ("train-0", "train", "compute", "10.80.16.9", "i-0")
    assert (host.host_key, host.jump, host.jump_key) == ("ssh-ed25519 AAAAnode", "nlb.example", "ssh-ed25519 AAAAlogin")
    assert found.launched_s == {"i-0": launched.timestamp()}
    unchecked = [(str(one.layer), one.where, one.why) for one in elastic.unchecked(stack(), found, {})]
    assert unchecked == [(layer, "train-1", "it is starting or terminating") for layer in ("hosts", "versions", "capability")]
