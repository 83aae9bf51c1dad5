"""Compute Engine's adapter against the answers that its documentation gives: what is requested, what each refusal means, what is seen and deleted."""

import http.server
import json
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from components.elastic.act import Underway, Unended, Unreachable
from components.elastic.decide.answers import Refusal
from components.elastic.fleets import fleet
from components.elastic.fleets.gcp import Gcp, rest
from components.elastic.fleets.gcp.adapter import ANSWER_WITHIN_S
from components.elastic.memory import Launch
from components.elastic.model import Fault, Lease, Life, Queued
from tests.elastic.google import GROUP, OWNER, STAMP, START, ZONE, Script, fleet_table, instance, operation, refusal, row
from tests.elastic.values import NOW, launch

BULK, LIST = f"zones/{ZONE}/instances/bulkInsert", f"zones/{ZONE}/instances"
OPERATION, OPERATIONS = f"zones/{ZONE}/operations/operation-1", f"zones/{ZONE}/operations"
REQUESTS = f"{GROUP}/resizeRequests"
EARLIER = "1970-01-12T05:45:00.000-08:00"
FLEX = row(kind="flex", start={**START, "group": GROUP, "run_s": 86400})


@pytest.fixture
def script() -> Script:
    return Script()


def order(*nodes: str, token: str = "token-1", whole: bool = True, at: float = NOW) -> Launch:
    return launch(*nodes, token=token, at=at, launched=None, is_whole=whole)


def test_the_nodes_of_a_job_are_one_request_for_all_or_none_by_name(script: Script) -> None:
    script.on("POST", BULK, operation(status="RUNNING"))
    script.on("GET", OPERATION, operation(status="RUNNING"), operation())
    script.on("GET", LIST, {"items": [instance("train-0", 7), instance("train-1", 8)]})
    answer = script.fleet().launch(order("train-0", "train-1"))
    assert answer.refusal is None
    assert {one.node: (one.id, one.address, one.launch) for one in answer.instances} == {
        "train-0": (f"{ZONE}/starter-prod-train-0/7", "10.0.0.7", "token-1"),
        "train-1": (f"{ZONE}/starter-prod-train-1/8", "10.0.0.8", "token-1"),
    }
    [asked] = script.of("POST", BULK)
    assert asked.body == {
        "count": "2",
        "minCount": "2",
        "sourceInstanceTemplate": "projects/proj/global/instanceTemplates/train-1",
        "instanceProperties": {
            "labels": {
                "team": "vision",
                "clusterwright-stack": "prod",
                "clusterwright-owner": OWNER,
                "clusterwright-part": "compute",
                "clusterwright-node-set": "train",
                "clusterwright-launch": "token-1",
                "clusterwright-template": "train-1",
            }
        },
        "perInstanceProperties": {"starter-prod-train-0": {}, "starter-prod-train-1": {}},
    }
    assert uuid.UUID(asked.query["requestId"]).version == 5


def test_500_nodes_of_a_job_are_one_request(script: Script) -> None:
    nodes = [f"train-{number}" for number in range(500)]
    script.on("POST", BULK, operation())
    script.on("GET", LIST, {"items": [instance(node, number) for number, node in enumerate(nodes, start=1)]})
    answer = script.fleet(row(count=500)).launch(order(*nodes))
    assert (len(answer.instances), answer.refusal) == (500, None)
    assert len(script.asked) == 2


DOMAINS = [f"projects/proj/regions/us-central1/resourcePolicies/domain-{number}" for number in (1, 2)]
IN_DOMAINS: dict[str, Any] = {"count": 36, "start": {**START, "domains": DOMAINS, "domain_nodes": 18}}


def test_the_nodes_of_each_nvlink_domain_are_one_request_with_the_policy_of_the_domain(script: Script) -> None:
    nodes = ["train-17", "train-18", "train-0"]
    script.on("POST", BULK, operation(), operation())
    script.on("GET", LIST, {"items": [instance(node, number) for number, node in enumerate(nodes, start=1)]})
    answer = script.fleet(row(**IN_DOMAINS)).launch(order(*nodes))
    assert ({one.node for one in answer.instances}, answer.refusal) == ({*nodes}, None)
    bodies = [asked.body for asked in script.of("POST", BULK) if asked.body]
    assert [(body["instanceProperties"]["resourcePolicies"], [*body["perInstanceProperties"]]) for body in bodies] == [
        ([DOMAINS[0]], ["starter-prod-train-17", "starter-prod-train-0"]),
        ([DOMAINS[1]], ["starter-prod-train-18"]),
    ]
    assert [body["instanceProperties"]["labels"]["clusterwright-launch"] for body in bodies] == ["token-1", "token-1-1"], "each is repeated by itself"


FULL, UNDER_WAY = "ZONE_RESOURCE_POOL_EXHAUSTED", {"status": "RUNNING"}


@pytest.mark.parametrize(
    ("whole", "second", "made", "meant", "requests"),
    [
        (False, operation(), ["train-18"], Refusal.CAPACITY, 2),
        (False, operation(**UNDER_WAY), [], Refusal.LATER, 2),
        (True, operation(), [], Refusal.CAPACITY, 1),
    ],
    ids=["the other domain has capacity", "the other domain is under way", "a job needs both"],
)
def test_a_domain_without_capacity_keeps_others_back_only_from_a_job_over_both(
    script: Script, whole: bool, second: dict[str, Any], made: list[str], meant: Refusal, requests: int
) -> None:
    script.on("POST", BULK, operation(FULL), second)
    script.on("GET", OPERATION, operation(**UNDER_WAY))
    script.on("GET", LIST, {"items": []}, {"items": [instance("train-18", 7, launch="token-1-1")]})
    answer = script.fleet(row(**IN_DOMAINS)).launch(order("train-0", "train-18", whole=whole))
    assert ([one.node for one in answer.instances], answer.refusal) == (made, meant)
    assert len(script.of("POST", BULK)) == requests


def test_nodes_of_several_jobs_may_come_in_part(script: Script) -> None:
    script.on("POST", BULK, operation("ZONE_RESOURCE_POOL_EXHAUSTED"))
    script.on("GET", LIST, {"items": [instance("train-0", 7)]})
    answer = script.fleet().launch(order("train-0", "train-1", whole=False))
    [asked] = script.of("POST", BULK)
    assert asked.body
    assert asked.body["minCount"] == "1"
    assert [one.node for one in answer.instances] == ["train-0"]
    assert answer.refusal is Refusal.CAPACITY


@pytest.mark.parametrize(
    ("codes", "meant"),
    [
        (("ZONE_RESOURCE_POOL_EXHAUSTED",), Refusal.CAPACITY),
        (("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",), Refusal.CAPACITY),
        (("VM_MIN_COUNT_NOT_REACHED",), Refusal.CAPACITY),
        (("VM_MIN_COUNT_NOT_REACHED", "QUOTA_EXCEEDED"), Refusal.LIMIT),
        (("VM_MIN_COUNT_NOT_REACHED", "ZONE_RESOURCE_POOL_EXHAUSTED"), Refusal.CAPACITY),
        (("IP_SPACE_EXHAUSTED",), Refusal.CAPACITY),
        (("QUOTA_EXCEEDED",), Refusal.LIMIT),
        (("INTERNAL_ERROR",), Refusal.LATER),
        (("RESOURCE_OPERATION_RATE_EXCEEDED",), Refusal.LATER),
        (("UNSUPPORTED_OPERATION",), Refusal.ERROR),
    ],
)
def test_what_an_operation_says_is_no_other_kind_of_refusal(script: Script, codes: tuple[str, ...], meant: Refusal) -> None:
    script.on("POST", BULK, operation(*codes))
    answer = script.fleet().launch(order("train-0", "train-1"))
    assert (answer.instances, answer.refusal) == ((), meant)
    assert codes[-1] in answer.detail


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("Specified reservation 'ours' does not have available resources for the request.", Refusal.CAPACITY),
        ("The operation requires reservation to be in READY state, but it is CREATING", Refusal.LATER),
        ("Constraint constraints/compute.vmExternalIpAccess violated", Refusal.ERROR),
    ],
    ids=["full", "not open", "policy"],
)
def test_a_full_reservation_is_a_shortage_and_another_condition_none(script: Script, message: str, meant: Refusal) -> None:
    script.on("POST", BULK, operation("CONDITION_NOT_MET", message=message))
    answer = script.fleet().launch(order("train-0"))
    assert (answer.instances, answer.refusal) == ((), meant)
    assert message in answer.detail


def test_why_instances_are_missing_is_read_from_their_own_operations(script: Script) -> None:
    """Of two nodes one came, and the bulk operation itself says nothing."""
    script.on("POST", BULK, operation(operationGroupId="group-1"))
    script.on("GET", LIST, {"items": [instance("train-0", 7)]})
    script.on("GET", OPERATIONS, {"items": [operation(operationType="insert"), operation("QUOTA_EXCEEDED", operationType="insert")]})
    answer = script.fleet().launch(order("train-0", "train-1", whole=False))
    assert ([one.node for one in answer.instances], answer.refusal) == (["train-0"], Refusal.LIMIT)
    assert script.of("GET", OPERATIONS)[0].query["filter"] == 'operationGroupId = "group-1"'


def test_a_template_that_never_starts_is_no_shortage(script: Script) -> None:
    script.on("POST", BULK, operation("VM_MIN_COUNT_NOT_REACHED", operationGroupId="group-1"))
    script.on("GET", OPERATIONS, {"items": [operation("UNSUPPORTED_OPERATION", operationType="insert"), operation("INTERNAL_ERROR", operationType="delete")]})
    answer = script.fleet().launch(order("train-0", "train-1"))
    assert (answer.instances, answer.refusal) == ((), Refusal.ERROR)
    assert "UNSUPPORTED_OPERATION" in answer.detail


@pytest.mark.parametrize(
    ("status", "reason", "meant", "tries"),
    [
        (403, "quotaExceeded", Refusal.LIMIT, 1),
        (403, "forbidden", Refusal.ERROR, 1),
        (400, "invalid", Refusal.ERROR, 1),
        (503, "insufficientCapacity", Refusal.CAPACITY, 1),
        (403, "rateLimitExceeded", Refusal.LATER, 4),
        (429, "rateLimitExceeded", Refusal.LATER, 4),
        (503, "backendError", Refusal.LATER, 4),
        (401, "authError", Refusal.LATER, 4),
    ],
)
def test_what_is_refused_at_once_is_tried_again_only_where_that_may_help(script: Script, status: int, reason: str, meant: Refusal, tries: int) -> None:
    script.on("POST", BULK, refusal(status, reason))
    answer = script.fleet().launch(order("train-0"))
    assert (answer.instances, answer.refusal) == ((), meant)
    assert len(script.of("POST", BULK)) == tries
    assert len({one.query["requestId"] for one in script.of("POST", BULK)}) == 1


def test_a_slow_operation_is_left_to_the_next_look(script: Script) -> None:
    script.on("POST", BULK, operation(status="RUNNING"))
    script.on("GET", OPERATION, operation(status="RUNNING"))
    answer = script.fleet().launch(order("train-0"))
    assert answer.refusal is Refusal.LATER
    assert "still works on it" in answer.detail
    assert script.now - NOW <= ANSWER_WITHIN_S + 2


def test_a_repeated_launch_is_the_same_request_and_one_that_is_made_is_not_asked_for_again(script: Script) -> None:
    script.on("POST", BULK, operation(status="RUNNING"))
    script.on("GET", OPERATION, operation(status="RUNNING"))
    script.fleet().launch(order("train-0"))
    script.fleet().launch(order("train-0"))
    first, second = script.of("POST", BULK)
    assert first.query == second.query
    script.on("GET", LIST, {"items": [instance("train-0")]})
    answer = script.fleet().launch(order("train-0"))
    assert [one.node for one in answer.instances] == ["train-0"]
    assert len(script.of("POST", BULK)) == 2


def test_after_a_failure_that_passes_the_next_attempt_is_another_request(script: Script) -> None:
    script.on("POST", BULK, operation("INTERNAL_ERROR", at=EARLIER), operation())
    script.on("GET", LIST, {}, {}, {"items": [instance("train-0")]})
    answer = script.fleet().launch(order("train-0", at=NOW - 100))
    assert [one.node for one in answer.instances] == ["train-0"]
    first, second = script.of("POST", BULK)
    assert first.query != second.query


def test_a_stopped_instance_that_keeps_the_name_is_deleted_and_a_strangers_is_reported(script: Script) -> None:
    script.on("POST", BULK, operation("RESOURCE_ALREADY_EXISTS"))
    script.on("GET", LIST, {}, {"items": [instance("train-0", 5, status="TERMINATED", launch="older")]}, {})
    script.on("DELETE", f"{LIST}/starter-prod-train-0", operation())
    answer = script.fleet().launch(order("train-0"))
    assert answer.refusal is Refusal.LATER
    assert len(script.of("DELETE", f"{LIST}/starter-prod-train-0")) == 1
    answer = script.fleet().launch(order("train-0"))
    assert answer.refusal is Refusal.ERROR
    assert "not the stack's: starter-prod-train-0" in answer.detail


def test_a_name_that_is_taken_at_once_is_looked_at(script: Script) -> None:
    """Compute Engine may say so in its first answer instead of the operation's."""
    script.on("POST", BULK, refusal(409, "alreadyExists"))
    script.on("GET", LIST, {"items": [instance("train-0")]})
    answer = script.fleet().launch(order("train-0"))
    assert ([one.node for one in answer.instances], answer.refusal) == (["train-0"], None), "the launch itself made it"
    script.on("GET", LIST, {}, {"items": [instance("train-0", 5, status="TERMINATED", launch="older")]})
    script.on("DELETE", f"{LIST}/starter-prod-train-0", operation())
    assert script.fleet().launch(order("train-0")).refusal is Refusal.LATER
    assert len(script.of("DELETE", f"{LIST}/starter-prod-train-0")) == 1
    script.on("GET", LIST, {})
    answer = script.fleet().launch(order("train-0"))
    assert answer.refusal is Refusal.ERROR
    assert "not the stack's: starter-prod-train-0" in answer.detail


def test_nodes_beside_those_that_a_launch_has_already_are_requested_alone(script: Script) -> None:
    script.on("POST", BULK, refusal(409, "alreadyExists"), operation())
    script.on("GET", LIST, {"items": [instance("train-0")]}, {"items": [instance("train-0"), instance("train-1", 8)]})
    answer = script.fleet().launch(order("train-0", "train-1", whole=False))
    assert ([one.node for one in answer.instances], answer.refusal) == (["train-0", "train-1"], None)
    assert [sorted((one.body or {})["perInstanceProperties"]) for one in script.of("POST", BULK)] == [
        ["starter-prod-train-0", "starter-prod-train-1"],
        ["starter-prod-train-1"],
    ]


@pytest.mark.parametrize(("kind", "wanted"), [("spot", "SPOT"), ("reserved", "RESERVATION_BOUND"), ("block", "RESERVATION_BOUND"), ("flex", "FLEX_START")])
def test_instances_of_another_provisioning_model_are_deleted(script: Script, kind: str, wanted: str) -> None:
    bought = row(kind=kind, start={**START, "provisioning_model": wanted})
    script.on("POST", BULK, operation())
    script.on("GET", LIST, {"items": [instance("train-0", 7, model="STANDARD")]})
    script.on("DELETE", f"{LIST}/starter-prod-train-0", operation())
    answer = script.fleet(bought).launch(order("train-0"))
    assert (answer.instances, answer.refusal) == ((), Refusal.ERROR)
    assert f"starts instances as STANDARD, not as {wanted}" in answer.detail
    assert len(script.of("DELETE", f"{LIST}/starter-prod-train-0")) == 1
    script.on("GET", LIST, {"items": [instance("train-0", 7, model=wanted)]})
    assert script.fleet(bought).launch(order("train-0")).refusal is None


def test_a_view_has_every_page_and_only_what_carries_the_stacks_mark(script: Script) -> None:
    script.on("GET", LIST, {"items": [instance("train-0", 7)], "nextPageToken": "more"}, {"items": [instance("train-1", 8, status="STOPPING")]})
    seen = {one.node: one for one in script.fleet().view(is_brief=True).instances}
    assert {node: one.life for node, one in seen.items()} == {"train-0": Life.LIVE, "train-1": Life.ENDED}
    assert seen["train-0"].launched_at == NOW
    first, second = script.of("GET", LIST)
    assert first.query["filter"] == f'(labels.clusterwright-owner = "{OWNER}") (labels.clusterwright-part = "compute")'
    assert second.query["pageToken"] == "more"


@pytest.mark.parametrize(
    ("maintenance", "has_notice"),
    [
        ({}, False),
        ({"maintenanceStatus": "PENDING", "windowStartTime": "1970-01-13T05:46:40.000-08:00"}, False),
        ({"maintenanceStatus": "PENDING", "windowStartTime": "1970-01-12T05:50:00.000-08:00"}, True),
        ({"maintenanceStatus": "ONGOING"}, True),
    ],
)
def test_a_node_has_notice_when_maintenance_of_its_host_is_about_to_begin(script: Script, maintenance: dict[str, Any], has_notice: bool) -> None:
    script.on("GET", LIST, {"items": [instance("train-0", resourceStatus={"upcomingMaintenance": maintenance})]})
    [seen] = script.fleet().view().instances
    assert seen.has_notice is has_notice


def test_instances_of_an_earlier_template_are_outdated(script: Script) -> None:
    script.on("GET", LIST, {"items": [instance("train-0")]})
    assert not script.fleet().view().instances[0].is_outdated
    assert script.fleet(row(template="train-2")).view().instances[0].is_outdated


def test_a_preempted_instance_is_known_when_it_is_listed_no_longer(script: Script) -> None:
    took = {"targetId": "9", "targetLink": f"https://www.googleapis.com/compute/v1/projects/proj/{LIST}/starter-prod-train-3", "insertTime": STAMP}
    again = {**took, "targetId": "7", "targetLink": took["targetLink"].replace("train-3", "train-0")}
    old = {**took, "targetId": "6", "targetLink": took["targetLink"].replace("train-3", "train-4"), "insertTime": "1970-01-11T05:46:40.000-08:00"}
    script.on("GET", LIST, {"items": [instance("train-0", 7)]})
    script.on("GET", OPERATIONS, {"items": [took, again, old]}, {})
    seen = {one.node: one for one in script.fleet(row(kind="spot")).view().instances}
    assert seen["train-0"].life is Life.LIVE
    assert (seen["train-3"].life, seen["train-3"].ended_because) == (Life.ENDED, "Compute Engine took the spot instance back")
    assert len(seen) == 2


def test_a_view_without_the_list_of_instances_is_none_and_other_gaps_are_said(script: Script) -> None:
    script.on("GET", OPERATIONS, refusal(403, "forbidden", "compute.zoneOperations.list is missing"))
    [gap] = script.fleet().view().unknown
    assert "compute.zoneOperations.list is missing" in gap
    script.on("GET", LIST, refusal(403, "forbidden"))
    with pytest.raises(Unreachable, match="did not list the instances"):
        script.fleet().view()


def test_capacity_that_was_bought_ahead_is_a_lease(script: Script) -> None:
    reservation = f"zones/{ZONE}/reservations/h100"
    calendar = row(kind="block", capacity=f"projects/proj/{reservation}")
    window = {"startTime": STAMP, "endTime": "1970-01-19T05:46:40.000-08:00"}
    script.on("GET", f"zones/{ZONE}/futureReservations", {"items": [{"name": "other"}, {"name": "f", "reservationName": "h100", "timeWindow": window}]})
    assert script.fleet(calendar).view().leases == {"train": Lease(NOW, NOW + 7 * 86400)}
    script.on("GET", f"zones/{ZONE}/futureReservations", {})
    script.on("GET", reservation, {"name": "h100", "creationTimestamp": STAMP, "deleteAtTime": "1970-01-13T05:46:40.000-08:00"}, {"name": "h100"}, (404, {}))
    assert script.fleet(calendar).view().leases == {"train": Lease(NOW, NOW + 86400)}
    assert script.fleet(calendar).view().leases == {}
    assert script.fleet(calendar).view().leases == {"train": Lease(0.0, NOW)}
    hour = {"startTime": STAMP, "duration": {"seconds": "3600"}}
    script.on("GET", f"zones/{ZONE}/futureReservations", {"items": [{"name": "h100", "timeWindow": hour}]})
    assert script.fleet(calendar).view().leases == {"train": Lease(NOW, NOW + 3600)}


def test_a_reservation_that_another_project_shares_is_not_over(script: Script) -> None:
    """Controllers can't read it there."""
    shared = row(kind="block", capacity=f"projects/theirs/zones/{ZONE}/reservations/h100")
    script.on("GET", f"zones/{ZONE}/reservations/h100", refusal(404, "notFound"))
    assert script.fleet(shared).view().leases == {}


def test_what_can_not_be_deleted_is_said_and_does_not_keep_the_others(script: Script) -> None:
    script.on("DELETE", f"{LIST}/starter-prod-train-0", operation())
    script.on("DELETE", f"{LIST}/starter-prod-train-1", refusal(404, "notFound"))
    script.on("DELETE", f"{LIST}/starter-prod-train-2", refusal(400, "invalid", "deletion protection is on"))
    with pytest.raises(Unended, match="deletion protection is on") as refused:
        script.fleet().terminate([f"{ZONE}/starter-prod-train-{number - 7}/{number}" for number in (7, 8, 9)])
    assert refused.value.instances == {f"{ZONE}/starter-prod-train-2/9"}


def test_the_end_of_a_console_is_given_and_what_keeps_it_back_is_said(script: Script) -> None:
    script.on("GET", f"{LIST}/starter-prod-train-0/serialPort", {"contents": "kernel panic"}, refusal(404, "notFound", "gone"))
    fleet = script.fleet()
    assert fleet.console(f"{ZONE}/starter-prod-train-0/7") == "kernel panic"
    assert "gone" in fleet.console(f"{ZONE}/starter-prod-train-0/7")


@pytest.mark.parametrize("fault", Fault)
def test_a_faulty_host_is_reported_in_words_that_the_api_has(script: Script, fault: Fault) -> None:
    report = f"{LIST}/starter-prod-train-0/reportHostAsFaulty"
    script.on("POST", report, operation())
    script.fleet().report(f"{ZONE}/starter-prod-train-0/7", fault, "Xid 79")
    [asked] = script.of("POST", report)
    assert asked.body
    assert asked.body["disruptionSchedule"] == "IMMEDIATE"
    assert asked.body["faultReasons"][0]["description"] == "Xid 79"
    script.on("POST", report, operation("UNSUPPORTED_OPERATION"), refusal(400, "invalid", "no such host"))
    with pytest.raises(Unreachable, match="refused the report: UNSUPPORTED_OPERATION"):
        script.fleet().report(f"{ZONE}/starter-prod-train-0/7", fault, "Xid 79")
    with pytest.raises(Unreachable, match="refused the report: invalid: no such host"):
        script.fleet().report(f"{ZONE}/starter-prod-train-0/7", fault, "Xid 79")


def test_a_report_of_a_host_is_waited_for_until_compute_engine_is_done(script: Script) -> None:
    """Whoever ends the instance before that leaves its host in service."""
    report = f"{LIST}/starter-prod-train-0/reportHostAsFaulty"
    script.on("POST", report, operation(status="RUNNING"))
    script.on("GET", OPERATION, *[operation(status="RUNNING")] * 350, operation("UNSUPPORTED_OPERATION"))
    with pytest.raises(Unreachable, match="refused the report: UNSUPPORTED_OPERATION"):
        script.fleet().report(f"{ZONE}/starter-prod-train-0/7", Fault.SLOW, "slow")
    script.on("GET", OPERATION, operation(status="RUNNING"))
    with pytest.raises(Unreachable, match=r"still works on the report \(operation-1\)"):
        script.fleet().report(f"{ZONE}/starter-prod-train-0/7", Fault.SLOW, "slow")


def test_a_report_that_nobody_waits_for_is_asked_after_in_the_same_words(script: Script) -> None:
    report = f"{LIST}/starter-prod-train-0/reportHostAsFaulty"
    script.on("POST", report, operation(status="RUNNING"), operation())
    with pytest.raises(Underway):
        script.fleet().report(f"{ZONE}/starter-prod-train-0/7", Fault.GPU_ERROR, "Xid 79", waits=False)
    script.fleet().report(f"{ZONE}/starter-prod-train-0/7", Fault.GPU_ERROR, "Xid 79", waits=False)
    first, second = script.of("POST", report)
    assert first == second
    assert script.of("GET", OPERATION) == []


# Flex-start


def request(*nodes: str, state: str = "ACCEPTED", name: str = "launch-token-1", **status: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "creationTimestamp": STAMP, "instances": [{"name": f"starter-prod-{node}"} for node in nodes], "status": status}


def test_a_flex_node_whose_name_is_taken_does_not_wait_for_ever(script: Script) -> None:
    script.on("POST", REQUESTS, refusal(409, "alreadyExists"))
    script.on("GET", REQUESTS, {})
    script.on("GET", LIST, {"items": [instance("train-0", 5, status="RUNNING", launch="older")]})
    assert script.fleet(FLEX).launch(order("train-0")).refusal is Refusal.LATER
    script.on("GET", LIST, {})
    answer = script.fleet(FLEX).launch(order("train-0"))
    assert answer.refusal is Refusal.ERROR
    assert "not the stack's: starter-prod-train-0" in answer.detail
    script.on("GET", REQUESTS, {}, {"items": [request("train-0")]})
    assert script.fleet(FLEX).launch(order("train-0")).refusal is Refusal.QUEUED, "it was the request itself"


def test_a_job_of_flex_nodes_waits_in_the_queue_as_one_request(script: Script) -> None:
    stock_out = {"error": {"errors": [{"code": "ZONE_RESOURCE_POOL_EXHAUSTED"}]}}
    script.on("GET", REQUESTS, {}, {"items": [request("train-0", "train-1", lastAttempt=stock_out)]})
    script.on("POST", REQUESTS, operation())
    answer = script.fleet(FLEX).launch(order("train-0", "train-1"))
    assert (answer.instances, answer.refusal, answer.detail) == ((), Refusal.QUEUED, "ZONE_RESOURCE_POOL_EXHAUSTED")
    script.fleet(FLEX).launch(order("train-0", "train-1"))
    [asked] = script.of("POST", REQUESTS)
    assert asked.body == {
        "name": "launch-token-1",
        "instances": [{"name": "starter-prod-train-0"}, {"name": "starter-prod-train-1"}],
        "requestedRunDuration": {"seconds": "86400"},
    }


def test_flex_nodes_of_several_jobs_wait_each_for_itself(script: Script) -> None:
    script.on("GET", REQUESTS, {}, {"items": [request("train-0", name="launch-token-1-0", state="SUCCEEDED"), request("train-1", name="launch-token-1-1")]})
    script.on("POST", REQUESTS, operation())
    script.on("GET", LIST, {"items": [instance("train-0", launch="", model="FLEX_START")]})
    answer = script.fleet(FLEX).launch(order("train-0", "train-1", whole=False))
    assert ([one.node for one in answer.instances], answer.refusal) == (["train-0"], Refusal.QUEUED)
    assert [one.body["name"] for one in script.of("POST", REQUESTS) if one.body] == ["launch-token-1-0", "launch-token-1-1"]


def test_a_granted_request_gives_its_instances_and_a_failed_one_its_reason(script: Script) -> None:
    script.on("GET", REQUESTS, {"items": [request("train-0", state="SUCCEEDED")]})
    script.on("GET", LIST, {}, {"items": [instance("train-0", launch="", model="FLEX_START")]})
    assert script.fleet(FLEX).launch(order("train-0")).refusal is Refusal.LATER
    answer = script.fleet(FLEX).launch(order("train-0"))
    assert ([one.launch for one in answer.instances], answer.refusal) == (["token-1"], None)
    script.on("GET", REQUESTS, {"items": [request("train-0", state="FAILED", error={"errors": [{"code": "QUOTA_EXCEEDED"}]})]})
    assert script.fleet(FLEX).launch(order("train-0")).refusal is Refusal.LIMIT
    script.on("GET", REQUESTS, {"items": [request("train-0", state="CANCELLED")]})
    assert script.fleet(FLEX).launch(order("train-0")).refusal is Refusal.ERROR


def test_what_waits_in_the_queue_is_seen_and_can_be_withdrawn(script: Script) -> None:
    script.on("GET", REQUESTS, {"items": [request("train-0"), request("train-1", name="launch-token-2", state="SUCCEEDED")]})
    script.on("GET", LIST, {"items": [instance("train-1", launch="", model="FLEX_START")]})
    script.on("POST", f"{REQUESTS}/launch-token-1/cancel", operation(), refusal(404, "notFound"), refusal(400, "invalid"))
    fleet = script.fleet(FLEX)
    seen = fleet.view()
    assert seen.queued == (Queued(f"{REQUESTS}/launch-token-1", "token-1", ("train-0",)),)
    assert [one.launch for one in seen.instances] == ["token-2"]
    fleet.withdraw([seen.queued[0].id])
    fleet.withdraw([seen.queued[0].id])
    with pytest.raises(Unreachable, match="can't be cancelled"):
        fleet.withdraw([seen.queued[0].id])


def test_flex_nodes_are_deleted_from_their_group_which_would_replace_them_otherwise(script: Script) -> None:
    script.on("POST", f"{GROUP}/deleteInstances", operation())
    script.fleet(FLEX).terminate([f"{ZONE}/starter-prod-train-0/7", f"{ZONE}/starter-prod-train-1/8"])
    [asked] = script.asked
    assert asked.body == {"instances": [f"{LIST}/starter-prod-train-0", f"{LIST}/starter-prod-train-1"], "skipInstancesOnValidationError": True}


def test_requests_that_were_over_long_ago_are_deleted(script: Script) -> None:
    old = {**request("train-5", name="launch-older", state="FAILED"), "creationTimestamp": "1970-01-10T05:46:40.000-08:00"}
    script.on("GET", REQUESTS, {"items": [old, request("train-0")]})
    script.on("DELETE", f"{REQUESTS}/launch-older", operation())
    script.fleet(FLEX).launch(order("train-0"))
    assert [one.path for one in script.asked if one.method == "DELETE"] == [f"{REQUESTS}/launch-older"]


# Thousands of nodes, and the way to Google


def test_a_look_at_7500_instances_takes_few_calls_and_little_time() -> None:
    pages = [{"items": [instance(f"train-{500 * page + one}", 500 * page + one + 1) for one in range(500)], "nextPageToken": str(page)} for page in range(15)]
    del pages[-1]["nextPageToken"]
    texts = [json.dumps(page) for page in pages]
    asked: list[str] = []

    def send(method: str, path: str, query: Any, body: Any) -> tuple[int, Any]:
        asked.append(path)
        return 200, json.loads(texts[int(query.get("pageToken", -1)) + 1]) if path.endswith("/instances") else {}

    began = time.process_time()
    seen = Gcp(fleet_table(row(count=7500)), compute=rest.Compute("proj", send=send), now=lambda: NOW).view()
    assert time.process_time() - began < 3
    assert len(seen.instances) == 7500
    assert len(asked) == 16


class Google(http.server.BaseHTTPRequestHandler):
    """The metadata server and the API at one address."""

    tokens: ClassVar[list[str]] = []
    paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if self.path.startswith("/computeMetadata/") and self.headers["Metadata-Flavor"] == "Google":
            self.tokens.append(f"ya29.{len(self.tokens)}")
            self._answer(200, json.dumps({"access_token": self.tokens[-1], "expires_in": 3599, "token_type": "Bearer"}))
        elif self.headers["Authorization"] != f"Bearer {self.tokens[-1]}":
            self._answer(401, json.dumps({"error": {"code": 401, "message": "Invalid Credentials", "errors": [{"reason": "authError"}]}}))
        else:
            self.paths.append(self.path)
            self._answer(502 if "proxy" in self.path else 200, "<html>bad gateway</html>" if "proxy" in self.path else "{}")

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Google]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Google)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv(rest.METADATA_VARIABLE, f"127.0.0.1:{server.server_port}")
    monkeypatch.setenv(rest.ENDPOINT_VARIABLE, f"http://127.0.0.1:{server.server_port}/google/")
    Google.tokens.clear()
    Google.paths.clear()
    yield Google
    server.shutdown()
    thread.join()
    server.server_close()


def test_requests_carry_the_token_of_the_machines_service_account_which_is_renewed(google: type[Google]) -> None:
    compute = rest.Compute("proj", pause=lambda seconds: None)
    compute.call("GET", "zones/z/instances", {"filter": '(labels.a = "b")'})
    compute.call("GET", "zones/z/instances")
    assert google.paths[0] == "/google/compute/v1/projects/proj/zones/z/instances?filter=%28labels.a+%3D+%22b%22%29"
    assert len(google.tokens) == 1
    google.tokens.append("ya29.revoked")
    compute.call("GET", "zones/z/instances")
    assert len(google.tokens) == 3


def test_what_is_no_answer_is_said_as_such(google: type[Google], monkeypatch: pytest.MonkeyPatch) -> None:
    compute = rest.Compute("proj", pause=lambda seconds: None)
    with pytest.raises(rest.Failed, match="bad gateway") as refused:
        compute.call("GET", "proxy")
    assert refused.value.is_passing
    monkeypatch.setenv(rest.METADATA_VARIABLE, "127.0.0.1:1")
    with pytest.raises(Unreachable, match="the metadata server did not answer"):
        Gcp(fleet_table(), compute=rest.Compute("proj", pause=lambda seconds: None)).view()
    assert isinstance(fleet(fleet_table()), Gcp)
