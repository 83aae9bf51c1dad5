"""Requests to the simulated Google Cloud: form, names, references, fingerprints, operations, lists."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simcloud.google import client
from tests.simcloud.google.cloud import Answer, Cloud

NETWORK = {"name": "net", "autoCreateSubnetworks": False}
SUBNET = {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.0.0.0/16"}
SUBNETS = "regions/us-central1/subnetworks"


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        yield one


def ask(cloud: Cloud, method: str, path: str, body: Any = None, **query: Any) -> Answer:
    return cloud.request("compute.googleapis.com", method, f"/compute/v1/projects/proj/{path}", query, body)


def made(cloud: Cloud, path: str, body: Any) -> Any:
    answer = ask(cloud, "POST", path, body)
    assert answer.status == 200, answer.body
    return ask(cloud, "GET", f"{path}/{body['name']}").body


def reason(answer: Answer) -> str:
    return f"{answer.status} {answer.body['error']['errors'][0]['reason']}"


def test_an_insert_is_an_operation_that_is_done_when_polled(cloud: Cloud) -> None:
    begun = ask(cloud, "POST", "global/networks", NETWORK).body
    assert (begun["status"], begun["operationType"], begun["targetLink"].rpartition("/")[2]) == ("RUNNING", "insert", "net")
    assert ask(cloud, "GET", f"global/operations/{begun['name']}").body["status"] == "DONE"
    assert ask(cloud, "POST", f"global/operations/{begun['name']}/wait").body["status"] == "DONE"
    assert ask(cloud, "GET", "global/networks/net").body["mtu"] == 1460


def test_what_is_not_ready_can_not_be_referred_to(cloud: Cloud) -> None:
    cloud.store.set_setting("operation_s", 60)
    ask(cloud, "POST", "global/networks", NETWORK)
    assert reason(ask(cloud, "POST", SUBNETS, SUBNET)) == "400 resourceNotReady"
    cloud.store.set_clock(60)
    assert ask(cloud, "POST", SUBNETS, SUBNET).status == 200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "Net"}, "400 invalid"),
        ({"name": "n" * 64}, "400 invalid"),
        ({}, "400 required"),
        ({"name": "n", "nmae": 1}, "400 badRequest"),
        ({"name": "n", "mtu": "big"}, "400 invalid"),
        ({"name": "n", "autoCreateSubnetworks": "no"}, "400 invalid"),
        ({"name": "n", "networkFirewallPolicyEnforcementOrder": "FIRST"}, "400 invalid"),
        ({"name": "n", "routingConfig": []}, "400 invalid"),
    ],
)
def test_a_body_against_its_schema_is_refused(cloud: Cloud, body: Any, expected: str) -> None:
    assert reason(ask(cloud, "POST", "global/networks", body)) == expected


def test_null_and_empty_text_count_as_unset_and_outputs_are_ignored(cloud: Cloud) -> None:
    network = made(cloud, "global/networks", {**NETWORK, "description": "", "mtu": None, "id": "7"})
    assert "description" not in network
    assert network["mtu"] == 1460
    assert network["id"] != "7"


def test_what_exists_is_refused(cloud: Cloud) -> None:
    made(cloud, "global/networks", NETWORK)
    assert reason(ask(cloud, "POST", "global/networks", NETWORK)) == "409 alreadyExists"


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("global/networks/other", "404 notFound"),
        ("net", "400 invalid"),
        ("global/firewalls/net", "400 invalid"),
        ("regions/us-west1/subnetworks/x", "400 invalid"),
    ],
)
def test_a_reference_to_nothing_is_refused(cloud: Cloud, network: str, expected: str) -> None:
    made(cloud, "global/networks", NETWORK)
    assert reason(ask(cloud, "POST", SUBNETS, {**SUBNET, "network": network})) == expected


@pytest.mark.parametrize(
    "before", ["", "https://www.googleapis.com/compute/v1/projects/proj/", "https://compute.googleapis.com/compute/beta/projects/proj/", "projects/proj/"]
)
def test_references_are_kept_in_full(cloud: Cloud, before: str) -> None:
    made(cloud, "global/networks", NETWORK)
    subnet = made(cloud, SUBNETS, {**SUBNET, "network": f"{before}global/networks/net"})
    assert subnet["network"] == "https://www.googleapis.com/compute/v1/projects/proj/global/networks/net"


def test_what_is_used_stays_until_its_user_goes(cloud: Cloud) -> None:
    made(cloud, "global/networks", NETWORK)
    made(cloud, SUBNETS, SUBNET)
    assert reason(ask(cloud, "DELETE", "global/networks/net")) == "400 resourceInUseByAnotherResource"
    assert ask(cloud, "DELETE", f"{SUBNETS}/sub").status == 200
    assert ask(cloud, "DELETE", "global/networks/net").status == 200
    assert reason(ask(cloud, "GET", "global/networks/net")) == "404 notFound"


def test_a_change_needs_the_fingerprint_of_what_it_changes(cloud: Cloud) -> None:
    made(cloud, "global/networks", NETWORK)
    before = made(cloud, SUBNETS, SUBNET)["fingerprint"]
    assert reason(ask(cloud, "PATCH", f"{SUBNETS}/sub", {"privateIpGoogleAccess": True})) == "412 conditionNotMet"
    assert ask(cloud, "PATCH", f"{SUBNETS}/sub", {"privateIpGoogleAccess": True, "fingerprint": before}).status == 200
    assert reason(ask(cloud, "PATCH", f"{SUBNETS}/sub", {"privateIpGoogleAccess": False, "fingerprint": before})) == "412 conditionNotMet"
    assert ask(cloud, "GET", f"{SUBNETS}/sub").body["privateIpGoogleAccess"] is True


def test_what_can_not_change_stays(cloud: Cloud) -> None:
    made(cloud, "global/networks", NETWORK)
    before = made(cloud, SUBNETS, SUBNET)["fingerprint"]
    assert reason(ask(cloud, "PATCH", f"{SUBNETS}/sub", {"ipCidrRange": "10.0.0.0/8", "fingerprint": before})) == "400 invalid"


def test_a_repeated_request_gives_the_first_operation(cloud: Cloud) -> None:
    ident = "5a0b6e2c-3a6f-4f6e-9f53-6a3c5a2f8a01"
    first, second = (ask(cloud, "POST", "global/networks", NETWORK, requestId=ident).body["name"] for _ in range(2))
    assert first == second


def test_lists_have_filters_pages_and_masks(cloud: Cloud) -> None:
    for number in range(3):
        made(cloud, "global/networks", {**NETWORK, "name": f"n{number}", "description": "odd" if number == 1 else "even"})
    names = [one["name"] for one in ask(cloud, "GET", "global/networks", filter='(description = "even") AND (name != n0)').body["items"]]
    assert names == ["n2"]
    page = ask(cloud, "GET", "global/networks", maxResults="2", fields="items(name),nextPageToken").body
    assert page["items"] == [{"name": "n0"}, {"name": "n1"}]
    rest = ask(cloud, "GET", "global/networks", maxResults="2", pageToken=page["nextPageToken"]).body
    assert [one["name"] for one in rest["items"]] == ["n2"]
    assert reason(ask(cloud, "GET", "global/networks", filter="name ~ n")) == "400 invalid"
    assert reason(ask(cloud, "GET", "global/networks", fliter="x")) == "400 badRequest"


def test_an_unknown_path_and_service_are_no_success(cloud: Cloud) -> None:
    assert ask(cloud, "GET", "global/netwroks").status == 404
    assert cloud.request("bigquery.googleapis.com", "GET", "/bigquery/v2/projects").status == 501


def test_a_kind_without_rules_is_not_simulated(cloud: Cloud) -> None:
    assert ask(cloud, "POST", "global/sslCertificates", {"name": "c"}).status == 501


def test_a_killed_server_goes_on_with_what_it_held(tmp_path: Path) -> None:
    with client.started(tmp_path) as running:
        base = f"{running.address}/compute.googleapis.com/compute/v1/projects/proj/global/networks"
        _http(base, NETWORK)
        running.kill()
        running.start()
        assert _http(f"{base}/net")["name"] == "net"
        assert [one.id for one in running.things("compute.networks")] == ["projects/proj/global/networks/net"]
        assert running.count("compute.networks.get") == 1
        with pytest.raises(urllib.error.HTTPError, match="401"):
            _http(base, token="")


def _http(address: str, body: Any = None, token: str = "ya29.owner") -> Any:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(address, data=json.dumps(body).encode() if body else None, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize("wanted", ["10.0.0.0/17", "10.0.0.0/16", "10.1.0.0/15", "192.168.0.0/8"])
def test_a_subnet_only_grows(cloud: Cloud, wanted: str) -> None:
    made(cloud, "global/networks", NETWORK)
    made(cloud, SUBNETS, SUBNET)
    assert reason(ask(cloud, "POST", f"{SUBNETS}/sub/expandIpCidrRange", {"ipCidrRange": wanted})) == "400 invalid"
    assert ask(cloud, "POST", f"{SUBNETS}/sub/expandIpCidrRange", {"ipCidrRange": "10.0.0.0/15"}).status == 200
    assert ask(cloud, "GET", f"{SUBNETS}/sub").body["ipCidrRange"] == "10.0.0.0/15"
