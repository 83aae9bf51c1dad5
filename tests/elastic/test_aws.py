"""EC2's adapter against the simulated cloud: what is started, seen and ended, and what becomes of answers that are lost."""

import dataclasses
import itertools
import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import botocore.config
import botocore.exceptions
import pytest

from components import errors
from components.aws import instances, policies
from components.elastic.act import Unended, Unreachable
from components.elastic.decide.answers import Answer, Refusal
from components.elastic.fleets.aws import Aws, known
from components.elastic.fleets.aws.adapter import LAUNCH_AT_ONCE
from components.elastic.fleets.aws.answers import UNSAID
from components.elastic.fleets.aws.known import AGAIN_AFTER_S, AGAIN_AT_ONCE, ENDED_YOUNG_S, SETTLED_AFTER_S, Known, Shelf
from components.elastic.memory import Launch
from components.elastic.model import Lease, Life
from components.elastic.table import NodeSet, Table
from tests.elastic.values import NOW, launch, node_set, table
from tests.simcloud.aws import images
from tests.simcloud.aws.client import REGION, SimulatedCloud

MACHINE = "g6.48xlarge"


@dataclasses.dataclass
class Account:
    """A network and a launch template in the simulated cloud, and the adapter that uses them."""

    cloud: SimulatedCloud
    ec2: Any
    table: Table
    template: str
    now: float = NOW

    @property
    def fleet(self) -> Aws:
        return Aws(self.table, client=self.ec2, now=lambda: self.now, pause=self._pass)

    def _pass(self, seconds: float) -> None:
        self.cloud.advance(round(seconds))

    @property
    def nodes(self) -> dict[str, str]:
        """Node → instance, of those that live."""
        return {one.node: one.id for one in self.fleet.view().instances if one.life is Life.LIVE}


Make = Callable[..., Account]


@pytest.fixture
def account(simulated: SimulatedCloud, session: Any, monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(*, kind: str = "on-demand", count: int = 16, prefix: str = "10.0.0.0/20", capacity: str | None = None, **more: Any) -> Account:
        for name, value in simulated.environment.items():
            monkeypatch.setenv(name, value)
        # One attempt: what the adapter makes of a refusal is asked here, not how long boto3 tries.
        ec2 = session.client("ec2", region_name=REGION, config=botocore.config.Config(retries={"total_max_attempts": 1, "mode": "standard"}))
        vpc = simulated.make("ec2.Vpc", cidrBlock="10.0.0.0/16").id
        subnet = simulated.make("ec2.Subnet", vpcId=vpc, cidrBlock=prefix, availabilityZone=f"{REGION}a").id
        group = simulated.make("ec2.SecurityGroup", name="nodes", vpcId=vpc).id
        bought: dict[str, Any] = {}
        if kind in ("spot", "block"):
            bought["instanceMarketOptions"] = {"marketType": {"spot": "spot", "block": "capacity-block"}[kind]}
        if capacity:
            named = "capacityReservationResourceGroupArn" if capacity.startswith("arn:") else "capacityReservationId"
            bought["capacityReservationSpecification"] = {"capacityReservationTarget": {named: capacity}}
        tags = {"clusterwright:stack": "prod", "clusterwright:cluster": "starter", "clusterwright:part": "compute"}
        template = simulated.make(
            "ec2.LaunchTemplate",
            name="train",
            imageId=str(next(images.public(REGION))["ImageId"]),
            instanceType=MACHINE,
            networkInterfaces=[{"networkCardIndex": 0, "deviceIndex": 0, "subnetId": subnet, "securityGroups": [group]}],
            tagSpecifications=[{"resourceType": kind, "tags": tags} for kind in ("instance", "volume", "network-interface")],
            tags=tags,
            **bought,
            **more,
        )
        row = node_set(count=count, kind=kind, capacity=capacity, machine=MACHINE, start={"launch_template": template.id, "subnets": [subnet]}, template="1")
        return Account(simulated, ec2, dataclasses.replace(table(row), cloud={"region": REGION}), template.id)

    return make


def order(*nodes: str, token: str = "token-1", whole: bool = True) -> Launch:
    return launch(*nodes, token=token, at=NOW, launched=None, is_whole=whole)


def names(answer: Answer) -> set[str]:
    return {instance.node for instance in answer.instances}


@pytest.mark.parametrize("kind", ["on-demand", "spot"])
def test_nodes_are_started_together_and_named(account: Make, kind: str) -> None:
    here = account(kind=kind)
    answer = here.fleet.launch(order("train-0", "train-1", "train-2"))
    assert answer.refusal is None
    assert names(answer) == {"train-0", "train-1", "train-2"}
    seen = here.fleet.view().instances
    assert {one.node: one.id for one in seen} == {one.node: one.id for one in answer.instances}
    assert all(one.life is Life.LIVE and one.address and one.launch == "token-1" and not one.is_outdated for one in seen)
    shown = here.ec2.describe_instances(InstanceIds=[answer.instances[0].id])["Reservations"][0]["Instances"][0]
    tags = {tag["Key"]: tag["Value"] for tag in shown["Tags"]}
    assert tags["clusterwright:stack"] == "prod"
    assert tags["clusterwright:part"] == "compute"
    assert tags["Name"] == f"starter-prod-{answer.instances[0].node}"


def test_what_another_stack_of_the_same_name_started_is_not_seen(account: Make) -> None:
    here = account()
    older, *_ = here.fleet.launch(order("train-0", token="older")).instances
    here.table = dataclasses.replace(here.table, cloud={**here.table.cloud, "owner": "mine"})
    theirs = dataclasses.replace(here, table=dataclasses.replace(here.table, cloud={**here.table.cloud, "owner": "theirs"}))
    mine, *_ = here.fleet.launch(order("train-1", token="mine")).instances
    other, *_ = theirs.fleet.launch(order("train-1", token="theirs")).instances
    assert here.nodes == {"train-0": older.id, "train-1": mine.id}, "what has no mark is known by its launch template"
    theirs.table = dataclasses.replace(theirs.table, node_sets=(dataclasses.replace(here.table.node_sets[0], start={"launch_template": "lt-another"}),))
    assert theirs.nodes == {"train-1": other.id}


@pytest.mark.parametrize("kind", ["on-demand", "spot"])
def test_a_launch_whose_answer_was_lost_is_made_once(account: Make, kind: str) -> None:
    here = account(kind=kind)
    here.cloud.fault("ec2.RunInstances" if kind == "spot" else "ec2.CreateFleet", "leave", code="InternalError")
    lost = here.fleet.launch(order("train-0", "train-1"))
    assert (lost.refusal, lost.instances) == (Refusal.LATER, ())
    here.now = NOW + 5
    assert names(here.fleet.launch(order("train-0", "train-1"))) == {"train-0", "train-1"}
    here.now = NOW + 60
    again = here.fleet.launch(order("train-0", "train-1"))
    assert names(again) == {"train-0", "train-1"}
    assert len(here.fleet.view().instances) == 2


@pytest.mark.parametrize("kind", ["on-demand", "spot"])
def test_a_part_of_a_launch_is_no_answer_yet(account: Make, kind: str) -> None:
    here = account(kind=kind)
    names_of = ("train-0", "train-1", "train-2")
    here.fleet.launch(order(*names_of))
    here.cloud.end(here.nodes["train-1"])
    here.now = NOW + 60
    again = here.fleet.launch(order(*names_of))
    assert (again.refusal, names(again)) == (Refusal.LATER, {"train-0", "train-2"})


def test_instances_that_were_not_named_are_named_by_the_next_try(account: Make) -> None:
    here = account()
    here.cloud.fault("ec2.CreateTags", "fail", code="RequestLimitExceeded", skip=1, times=2)
    assert here.fleet.launch(order("train-0", "train-1", "train-2")).refusal is Refusal.LATER
    partly = here.nodes
    here.cloud.clear_faults()  # whose turn had not come when another failed has met none
    here.now = NOW + 60
    assert names(here.fleet.launch(order("train-0", "train-1", "train-2"))) == {"train-0", "train-1", "train-2"}
    assert {node: identity for node, identity in here.nodes.items() if node in partly} == {node: one for node, one in partly.items() if node}
    assert len(here.fleet.view().instances) == 3


@pytest.mark.parametrize("kind", ["on-demand", "spot"])
def test_without_capacity_a_job_gets_nothing_and_nodes_for_themselves_what_there_is(account: Make, kind: str) -> None:
    here = account(kind=kind)
    here.cloud.set("capacity", {MACHINE: 1})
    refused = here.fleet.launch(order("train-0", "train-1"))
    assert (refused.refusal, refused.instances) == (Refusal.CAPACITY, ())
    assert refused.detail == "InsufficientInstanceCapacity"
    assert here.fleet.view().instances == ()
    partly = here.fleet.launch(order("train-2", "train-3", token="token-2", whole=False))
    assert len(partly.instances) == 1


def test_a_limit_of_the_account_is_named(account: Make) -> None:
    here = account(prefix="10.0.0.0/28", count=100)
    full = here.fleet.launch(order(*(f"train-{number}" for number in range(12))))
    assert (full.refusal, full.detail) == (Refusal.CAPACITY, "InsufficientFreeAddressesInSubnet")


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("InsufficientInstanceCapacity", Refusal.CAPACITY),
        ("VcpuLimitExceeded", Refusal.LIMIT),
        ("RequestLimitExceeded", Refusal.LATER),
        ("InternalError", Refusal.LATER),
        ("UnauthorizedOperation", Refusal.ERROR),
        ("InvalidLaunchTemplateId.NotFound", Refusal.ERROR),
    ],
)
def test_each_refusal_is_of_its_kind(account: Make, code: str, refusal: Refusal) -> None:
    here = account()
    here.cloud.fault("ec2.CreateFleet", "fail", code=code)
    answer = here.fleet.launch(order("train-0"))
    assert (answer.refusal, answer.instances) == (refusal, ())
    assert code in answer.detail


def test_an_instance_that_is_not_shown_yet_or_has_no_address_is_no_error(account: Make) -> None:
    here = account()
    here.cloud.set("describe_lag_s", 20)
    late = here.fleet.launch(order("train-0"))
    assert (late.refusal, late.instances) == (Refusal.LATER, ()), "it can't be named yet"
    assert here.fleet.view().instances == ()
    here.cloud.advance(20)
    assert names(here.fleet.launch(order("train-0"))) == {"train-0"}
    here.cloud.set("describe_lag_s", 3)
    assert names(here.fleet.launch(order("train-2", token="token-3"))) == {"train-2"}, "a short wait is waited for"
    here.cloud.set("describe_lag_s", 0)
    here.cloud.set("address_lag_s", 30)
    assert names(here.fleet.launch(order("train-1", token="token-2"))) == {"train-1"}
    assert {one.node: bool(one.address) for one in here.fleet.view().instances}["train-1"] is False


def test_what_ended_is_seen_as_ended_and_can_be_ended_again(account: Make) -> None:
    here = account()
    here.fleet.launch(order("train-0", "train-1"))
    identity = here.nodes["train-0"]
    here.fleet.terminate([identity, "i-0123456789abcdef0"])
    assert set(here.nodes) == {"train-1"}
    assert {one.node: one.life for one in here.fleet.view().instances}["train-0"] is Life.ENDED
    here.fleet.terminate([identity])
    here.cloud.end(here.nodes["train-1"])
    assert here.nodes == {}


def test_one_protected_instance_keeps_no_others_alive(account: Make) -> None:
    here = account()
    here.fleet.launch(order("train-0", "train-1", "train-2", "train-3"))
    nodes = here.nodes
    here.cloud.drift(nodes["train-2"], protected=True)
    with pytest.raises(Unended, match=nodes["train-2"]) as refused:
        here.fleet.terminate([*nodes.values()])
    assert refused.value.instances == {nodes["train-2"]}
    assert set(here.nodes) == {"train-2"}


def test_down_ends_the_other_nodes_too_and_names_the_one_that_is_refused(account: Make) -> None:
    here = account()
    here.fleet.launch(order("train-0", "train-1", "train-2", "train-3"))
    nodes = here.nodes
    here.cloud.drift(nodes["train-2"], protected=True)
    with pytest.raises(errors.TargetUnanswered, match=nodes["train-2"]):
        instances.Ec2("us-east-1", client=here.ec2).end([*nodes.values(), "i-0123456789abcdef0"])
    assert set(here.nodes) == {"train-2"}


class Choosy:
    """EC2 as it refuses: a whole list for some of it, and without a word which (as for an instance that a policy does not let end)."""

    def __init__(self, may_not: set[str], *, code: str):
        self.may_not, self.code, self.ended, self.calls = may_not, code, set[str](), 0

    def terminate_instances(self, InstanceIds: list[str]) -> None:  # noqa: N803 - EC2's name
        self.calls += 1
        if self.may_not.intersection(InstanceIds):
            raise botocore.exceptions.ClientError({"Error": {"Code": self.code, "Message": "no"}}, "TerminateInstances")
        self.ended.update(InstanceIds)


def test_of_a_list_that_is_refused_without_a_name_the_others_end() -> None:
    asked = [f"i-{number}" for number in range(100)]
    ec2 = Choosy({"i-7", "i-70"}, code="UnauthorizedOperation")
    with pytest.raises(Unended) as refused:
        Aws(table(), client=ec2).terminate(asked)
    assert refused.value.instances == {"i-7", "i-70"}
    assert ec2.ended == set(asked) - {"i-7", "i-70"}


@pytest.mark.parametrize(("code", "most"), [("RequestLimitExceeded", 1), ("UnauthorizedOperation", 50)])
def test_what_is_refused_for_all_is_not_asked_for_each(code: str, most: int) -> None:
    asked = [f"i-{number}" for number in range(1000)]
    ec2 = Choosy(set(asked), code=code)
    with pytest.raises(Unended) as refused:
        Aws(table(), client=ec2).terminate(asked)
    assert refused.value.instances == set(asked)
    assert ec2.calls <= most


def test_instances_of_another_stack_and_of_other_parts_are_not_seen(account: Make) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    other = dataclasses.replace(here.table, stack="other")
    assert Aws(other, client=here.ec2).view().instances == ()
    here.ec2.create_tags(Resources=[here.nodes["train-0"]], Tags=[{"Key": "clusterwright:part", "Value": "control"}])
    assert here.fleet.view().instances == ()


def test_an_instance_of_an_older_template_is_outdated(account: Make) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    [row] = here.table.node_sets
    here.table = dataclasses.replace(here.table, node_sets=(dataclasses.replace(row, template="2"),))
    assert [one.is_outdated for one in here.fleet.view().instances] == [True]


def test_a_spot_notice_is_seen(account: Make) -> None:
    here = account(kind="spot")
    here.fleet.launch(order("train-0", "train-1"))
    here.cloud.advance(60)
    here.cloud.interrupt(here.nodes["train-0"])
    assert {one.node: one.has_notice for one in here.fleet.view().instances} == {"train-0": True, "train-1": False}


def test_a_capacity_block_is_a_lease_that_ends_half_an_hour_early(account: Make, simulated: SimulatedCloud) -> None:
    block = simulated.reserve(MACHINE, f"{REGION}a", 2, kind="capacity-block", starts_in_s=-3600, ends_in_s=7200).id
    here = account(kind="block", capacity=block)
    leases = here.fleet.view().leases
    assert leases
    lease = leases["train"]
    assert lease.ends - lease.begins == pytest.approx(3600 + 7200 - 1800, abs=2)
    assert names(here.fleet.launch(order("train-0", "train-1"))) == {"train-0", "train-1"}
    assert here.fleet.launch(order("train-2", token="token-2")).refusal is Refusal.CAPACITY


@pytest.mark.parametrize("identity", [f"arn:aws:resource-groups:{REGION}:123456789012:group/h100", "cr-0123456789abcdef0", "h100"])
def test_capacity_of_which_no_times_are_known_keeps_nothing_else_from_being_seen(account: Make, identity: str) -> None:
    """A group of blocks, one that is over and gone, and what is no id at all."""
    here = account()
    here.fleet.launch(order("train-0"))
    [row] = here.table.node_sets
    block = dataclasses.replace(row, name="other", prefix="other", capacity_kind="block", capacity_id=identity)
    here.table = dataclasses.replace(here.table, node_sets=(row, block))
    seen = here.fleet.view()
    assert [one.node for one in seen.instances] == ["train-0"]
    assert seen.leases == ({"other": Lease(0.0, NOW)} if identity.startswith("cr-") else {})


def test_nodes_are_started_in_a_group_of_reservations(account: Make, simulated: SimulatedCloud) -> None:
    group = f"arn:aws:resource-groups:{REGION}:123456789012:group/big"
    simulated.set("reservation_groups", {group: [simulated.reserve(MACHINE, f"{REGION}a", 2).id]})
    here = account(kind="reserved", capacity=group)
    assert names(here.fleet.launch(order("train-0", "train-1"))) == {"train-0", "train-1"}
    assert here.fleet.launch(order("train-2", token="token-2")).refusal is Refusal.CAPACITY
    assert len(here.fleet.view().instances) == 2


# Why an instance ended


def test_an_instance_that_ended_while_it_booted_tells_why(account: Make, tmp_path: Path) -> None:
    here = account()
    here.fleet.launch(order("train-0", "train-1"))
    looks(here, tmp_path).view()
    here.cloud.end(here.nodes["train-0"])
    for _ in range(2):
        ended = {one.node: one.ended_because for one in looks(here, tmp_path).view().instances}
        assert ended == {"train-0": "Server.InternalError: Internal error", "train-1": ""}


def test_one_that_has_lost_its_tags_ended_nevertheless() -> None:
    mine = Known(0.0, 0.0, is_ours=True, node="train-0", address="a", launched_at=0.0)
    assert known.to_read({"i-1": mine}, {"i-1": False}, 60.0) == ["i-1"]
    kept = known.with_read({"i-1": mine}, {"i-1": False}, ["i-1"], {}, 60.0)
    assert kept == {"i-1": dataclasses.replace(mine, read_at=60.0, ended_because=UNSAID)}
    assert known.to_read(kept, {"i-1": False}, 61.0) == []


@pytest.mark.parametrize("may_encrypt", [True, False])
def test_a_key_of_the_accounts_own_must_be_one_that_controllers_may_use(account: Make, session: Any, *, may_encrypt: bool) -> None:
    here = account(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100, "volumeType": "gp3", "encrypted": "true"}}])
    here.cloud.set("ebs_key", here.cloud.make("kms.Key").id)
    here.table = dataclasses.replace(here.table, cloud={**here.table.cloud, "owner": "mine"})
    here.ec2 = as_controller(here, session, without=() if may_encrypt else ("EncryptDisks", "LetDisksBeDecrypted"))
    answer = here.fleet.launch(order("train-0", "train-1"))
    assert names(answer) == {"train-0", "train-1"}, "EC2 takes the launch all the same"
    lives = {one.life for one in here.fleet.view().instances}
    told = {one.ended_because for one in here.fleet.view().instances}
    if may_encrypt:
        assert (lives, told) == ({Life.LIVE}, {""})
    else:
        assert lives == {Life.ENDED}
        assert told == {"Client.InternalError: Client error on launch (EC2 may not use the KMS key of its disks on behalf of the caller that started it)"}


def as_controller(here: Account, session: Any, *, without: Collection[str] = ()) -> Any:
    """Give a client with the keys of an instance that has the controllers' policy, less some of its statements."""
    trust = policies.as_json(policies.trust("ec2.amazonaws.com"))
    role = here.cloud.make("iam.Role", name="control", assumeRolePolicy=trust)
    profile = here.cloud.make("iam.InstanceProfile", name="control", role=role.id)
    started = policies.start_nodes(policies.Nodes(REGION, "prod", (MACHINE,)), owner="mine", compute_role_arn="arn:aws:iam::123456789012:role/compute")
    kept = [one for one in started if one["Sid"] not in without]
    assert len(kept) == len(started) - len(without)
    here.cloud.make("iam.RolePolicy", name="control", role=role.id, policy=policies.as_json(kept))
    image = str(next(images.public(REGION))["ImageId"])
    host = here.cloud.make("ec2.Instance", ami=image, instanceType="m5.large", subnetId=here.cloud.thing("ec2.Subnet").id, iamInstanceProfile=profile["name"])
    return session.client("ec2", region_name=REGION, **here.cloud.keys_of(host.id))


@pytest.mark.parametrize(("kind", "call"), [("spot", "ec2.DescribeSpotInstanceRequests"), ("block", "ec2.DescribeCapacityReservations")])
def test_what_cannot_be_asked_beside_the_instances_keeps_nothing_running(account: Make, simulated: SimulatedCloud, kind: str, call: str) -> None:
    block = simulated.reserve(MACHINE, f"{REGION}a", 2, kind="capacity-block", starts_in_s=-3600, ends_in_s=72000).id if kind == "block" else None
    here = account(kind=kind, capacity=block)
    here.fleet.launch(order("train-0", "train-1"))
    here.cloud.fault(call, "fail", code="UnauthorizedOperation", times=None)
    seen = here.fleet.view()
    assert {one.node for one in seen.instances} == {"train-0", "train-1"}
    assert (len(seen.unknown), seen.leases is None) == (1, kind == "block")
    asked = here.cloud.count(call)
    assert len(here.fleet.view(is_brief=True).instances) == 2
    assert here.cloud.count(call) == asked


# What is asked again


def looks(here: Account, folder: Path) -> Aws:
    """Give the adapter of another process, with what earlier ones kept."""
    return Aws(here.table, client=here.ec2, shelf=Shelf(folder, "here"), now=lambda: here.now, pause=here._pass)


def test_what_was_read_once_is_not_read_again_and_how_it_is_now_is_always_asked(account: Make, tmp_path: Path) -> None:
    here = account()
    here.fleet.launch(order("train-0", "train-1"))
    first = looks(here, tmp_path).view()
    read = here.cloud.count("ec2.DescribeInstances")
    assert looks(here, tmp_path).view() == first
    assert here.cloud.count("ec2.DescribeInstances") == read
    here.cloud.end(here.nodes["train-0"])
    read = here.cloud.count("ec2.DescribeInstances")
    assert {one.node: one.life for one in looks(here, tmp_path).view().instances} == {"train-0": Life.ENDED, "train-1": Life.LIVE}
    assert here.cloud.count("ec2.DescribeInstances") == read + 1, "why it ended, so soon after its launch"
    assert {one.node: one.life for one in looks(here, tmp_path).view().instances} == {"train-0": Life.ENDED, "train-1": Life.LIVE}
    assert here.cloud.count("ec2.DescribeInstances") == read + 1
    here.fleet.launch(order("train-2", token="token-2"))
    read = here.cloud.count("ec2.DescribeInstances")
    assert {one.node for one in looks(here, tmp_path).view().instances} == {"train-0", "train-1", "train-2"}
    assert here.cloud.count("ec2.DescribeInstances") == read + 1, "and only what is new is read"


def test_an_instance_without_an_address_is_read_until_it_has_one(account: Make, tmp_path: Path) -> None:
    here = account()
    here.cloud.set("address_lag_s", 60)
    here.fleet.launch(order("train-0"))
    assert [one.address for one in looks(here, tmp_path).view().instances] == [""]
    here.cloud.advance(60)
    assert [bool(one.address) for one in looks(here, tmp_path).view().instances] == [True]


def test_instances_of_others_are_read_for_a_while_and_then_no_more(account: Make, tmp_path: Path) -> None:
    here = account()
    other = Aws(dataclasses.replace(here.table, stack="other"), client=here.ec2, shelf=Shelf(tmp_path, "here"), now=lambda: here.now)
    here.fleet.launch(order("train-0"))
    counts = []
    for here.now in (NOW, NOW + 60, NOW + SETTLED_AFTER_S, NOW + SETTLED_AFTER_S + 60):
        assert other.view().instances == ()
        counts.append(here.cloud.count("ec2.DescribeInstances"))
    assert [later - earlier for earlier, later in itertools.pairwise(counts)] == [1, 0, 0]


def test_what_was_ours_is_ours_still_when_one_answer_lacks_it() -> None:
    ours = {"i-1": known.Known(0.0, 0.0, is_ours=True, node="train-0", address="10.0.0.1")}
    missed = known.with_read(ours, {"i-1": True}, ["i-1"], {}, 1000.0)
    assert (missed["i-1"].is_ours, missed["i-1"].node) == (True, "train-0")
    assert known.to_read(missed, {"i-1": True}, 1030.0) == ["i-1"], "it is asked for again at once"
    assert known.with_read(missed, {"i-1": True}, ["i-1"], ours, 1030.0)["i-1"].missed_since == 0.0
    assert not known.with_read(missed, {"i-1": True}, ["i-1"], {}, 1000.0 + SETTLED_AFTER_S)["i-1"].is_ours


def test_tags_that_somebody_changed_are_seen_in_time(account: Make, tmp_path: Path) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    assert len(looks(here, tmp_path).view().instances) == 1
    [identity] = here.nodes.values()
    here.ec2.create_tags(Resources=[identity], Tags=[{"Key": "clusterwright:part", "Value": "control"}])
    here.now += AGAIN_AFTER_S - 1
    assert len(looks(here, tmp_path).view().instances) == 1
    here.now += 1
    assert len(looks(here, tmp_path).view().instances) == 1, "one answer may be wrong"
    here.now += SETTLED_AFTER_S
    assert looks(here, tmp_path).view().instances == ()
    here.ec2.create_tags(Resources=[identity], Tags=[{"Key": "clusterwright:part", "Value": "compute"}])
    here.now += 30
    assert len(looks(here, tmp_path).view().instances) == 1


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        '{"form": 0}',
        '{"form": 1}',
        '{"form": 2, "of": "elsewhere", "instances": {"i-1": []}}',
        '{"form": 2, "of": "here", "instances": {"i-1": [0]}}',
    ],
)
def test_what_was_kept_may_be_lost_at_any_time(account: Make, tmp_path: Path, text: str | None) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    first = looks(here, tmp_path).view()
    file = tmp_path / known.FILE
    file.unlink() if text is None else file.write_text(text)
    assert looks(here, tmp_path).view() == first
    assert len(json.loads(file.read_text())["instances"]) == 1


def test_what_cannot_be_kept_is_read_again(account: Make, tmp_path: Path) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    (tmp_path / f".{known.FILE}.{os.getpid()}").mkdir()  # in the place of the file's next form
    for _ in range(2):
        read = here.cloud.count("ec2.DescribeInstances")
        assert {one.node for one in looks(here, tmp_path).view().instances} == {"train-0"}
        assert here.cloud.count("ec2.DescribeInstances") == read + 1


def test_who_only_looks_writes_nothing(account: Make, tmp_path: Path) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    assert len(Aws(here.table, client=here.ec2, shelf=Shelf(tmp_path, "here", keeps=False)).view().instances) == 1
    assert list(tmp_path.iterdir()) == []


def test_no_more_is_read_again_at_once_than_takes_a_moment() -> None:
    old = {f"i-{number}": Known(0.0, float(number), is_ours=True, node="n", address="a", launched_at=-ENDED_YOUNG_S) for number in range(100)}
    chosen = known.to_read(old, dict.fromkeys(old, True), AGAIN_AFTER_S + 50)
    assert chosen == [f"i-{number}" for number in range(AGAIN_AT_ONCE)], "those that were read longest ago"
    assert known.to_read(old, dict.fromkeys(old, False), AGAIN_AFTER_S + 50) == [], "nothing comes of what has ended"


# When it can't be asked


def test_a_cloud_that_does_not_answer_is_never_taken_for_an_empty_one(account: Make) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    here.cloud.fault("ec2.DescribeInstanceStatus", "fail", code="RequestLimitExceeded")
    with pytest.raises(Unreachable, match="RequestLimitExceeded"):
        here.fleet.view()
    here.cloud.fault("ec2.DescribeInstances", "fail", code="InternalError")
    with pytest.raises(Unreachable, match="InternalError"):
        here.fleet.view()
    here.cloud.expire_credentials()
    with pytest.raises(Unreachable, match="expired"):
        here.fleet.view()


def test_the_console_of_an_instance_is_given_or_why_not(account: Make) -> None:
    here = account()
    here.fleet.launch(order("train-0"))
    assert "simulated" in here.fleet.console(here.nodes["train-0"])
    assert "EC2 did not return it" in here.fleet.console("i-0123456789abcdef0")


def test_500_nodes_are_one_call_and_more_are_several(account: Make) -> None:
    here = account(count=600)
    answer = here.fleet.launch(order(*(f"train-{number}" for number in range(600))))
    assert len(names(answer)) == 600
    assert here.cloud.count("ec2.CreateFleet") == -(-600 // LAUNCH_AT_ONCE)


def test_a_node_set_that_is_not_in_the_table_is_refused(account: Make) -> None:
    here = account()
    unknown = dataclasses.replace(order("train-0"), node_set="other")
    assert here.fleet.launch(unknown).refusal is Refusal.ERROR
    assert isinstance(here.table.node_sets[0], NodeSet)
