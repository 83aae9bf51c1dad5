"""What hosts behind instances of the simulated Google Cloud are told and may reach, without any host: metadata server, file systems, images."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.core.listening import Request
from tests.simcloud.google import rest_door
from tests.simcloud.google.cloud import Cloud
from tests.simcloud.hosted.google import image, metadata, shares, wanted
from tests.simcloud.hosted.shares import Export, Unreachable

from .test_door import NETWORK, SUBNET, SUBNETS, ask, made
from .test_instances import INSTANCE, ZONE

FLAVOR = {"metadata-flavor": "Google"}
USER_DATA = {"key": "user-data", "value": "#cloud-config\n{}\n"}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """A network with `one`, which has an account, and `two`, which has none."""
    with contextlib.closing(Cloud()) as here:
        made(here, "global/networks", NETWORK)
        made(here, SUBNETS, SUBNET)
        here.request("iam.googleapis.com", "POST", "/v1/projects/proj/serviceAccounts", body={"accountId": "nodes-1", "serviceAccount": {}})
        account = {"email": "nodes-1@proj.iam.gserviceaccount.com", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}
        made(here, f"{ZONE}/instances", {**INSTANCE, "metadata": {"items": [USER_DATA]}, "serviceAccounts": [account], "tags": {"items": ["nodes"]}})
        made(here, f"{ZONE}/instances", {**INSTANCE, "name": "two"})
        yield here


def thing(cloud: Cloud, name: str) -> Any:
    return cloud.need(f"projects/proj/{ZONE}/instances/{name}")


def told(cloud: Cloud, path: str, *, of: str = "one", headers: dict[str, str] | None = None, method: str = "GET", body: bytes = b"") -> tuple[int, str]:
    asked = Request(method, f"/computeMetadata/v1/{path}", FLAVOR if headers is None else headers, body)
    found = metadata.answer(cloud, asked, wanted.address(thing(cloud, of)))
    return found.status, found.body.decode()


def test_a_host_is_told_who_it_is(cloud: Cloud) -> None:
    assert told(cloud, "instance/name") == (200, "one")
    assert told(cloud, "instance/attributes/user-data") == (200, USER_DATA["value"])
    assert json.loads(told(cloud, "instance/attributes/?recursive=true")[1]) == {"user-data": USER_DATA["value"]}
    whole = json.loads(told(cloud, "instance/?recursive=true")[1])
    assert (whole["machineType"].rpartition("/")[2], whole["attributes"]["user-data"]) == ("n2-standard-4", USER_DATA["value"])
    assert whole["networkInterfaces"][0]["ip"] == wanted.address(thing(cloud, "one"))
    assert told(cloud, "instance/preempted") == (200, "FALSE")


def test_who_asks_without_the_header_or_from_elsewhere_is_told_nothing(cloud: Cloud) -> None:
    assert told(cloud, "instance/name", headers={})[0] == 403
    assert told(cloud, "instance/name", headers={**FLAVOR, "x-forwarded-for": "10.0.0.9"})[0] == 403
    assert metadata.answer(cloud, Request("GET", "/computeMetadata/v1/instance/name", FLAVOR, b""), "10.0.0.99").status == 404
    assert told(cloud, "instance/other")[0] == 404


def test_a_token_is_of_the_hosts_own_account_and_never_the_owners(cloud: Cloud) -> None:
    status, said = told(cloud, "instance/service-accounts/default/token")
    token = json.loads(said)["access_token"]
    assert status == 200
    assert cloud.request("compute.googleapis.com", "GET", "/compute/v1/projects/proj/global/networks", token=token).status == 403
    assert told(cloud, "instance/service-accounts/default/token", of="two")[0] == 404
    headers = {"host": "compute.googleapis.com", "authorization": f"Bearer {rest_door.OWNER_TOKEN}"}
    asked = Request("GET", "/compute/v1/projects/proj/global/networks", headers, b"")
    assert (rest_door.answer(cloud, asked).status, rest_door.answer(cloud, asked, owner=False).status) == (200, 401)


def test_guest_attributes_are_written_where_metadata_allow_it(cloud: Cloud) -> None:
    assert told(cloud, "instance/guest-attributes/clusterwright/bake", method="PUT", body=b"done")[0] == 403
    cloud.note(thing(cloud, "one"), metadata={"items": [{"key": "enable-guest-attributes", "value": "TRUE"}], "fingerprint": "x"})
    assert told(cloud, "instance/guest-attributes/clusterwright/bake", method="PUT", body=b"done")[0] == 200
    assert thing(cloud, "one")["_guestAttributes"] == {"clusterwright/bake": "done"}


def rule(cloud: Cloud, name: str, **more: Any) -> None:
    made(cloud, "global/firewalls", {"name": name, "network": "global/networks/net", "allowed": [{"IPProtocol": "tcp", "ports": ["2049"]}], **more})


@pytest.mark.parametrize(
    ("rules", "passes"),
    [
        ([], False),
        ([{"sourceRanges": ["10.0.0.0/20"]}], True),
        ([{"sourceRanges": ["10.9.0.0/20"]}], False),
        ([{"sourceTags": ["nodes"]}], True),
        ([{"sourceTags": ["others"]}], False),
        ([{"sourceRanges": ["10.0.0.0/20"], "targetTags": ["servers"]}], False),
        ([{"sourceRanges": ["10.0.0.0/20"], "allowed": [{"IPProtocol": "tcp", "ports": ["22", "2000-2048"]}]}], False),
        ([{"sourceRanges": ["10.0.0.0/20"]}, {"sourceRanges": ["10.0.0.0/20"], "priority": 900, "allowed": [], "denied": [{"IPProtocol": "all"}]}], False),
        ([{"sourceRanges": ["10.0.0.0/20"]}, {"sourceRanges": ["10.0.0.0/20"], "priority": 1100, "allowed": [], "denied": [{"IPProtocol": "all"}]}], True),
    ],
)
def test_another_hosts_folder_is_reached_through_firewall_rules(cloud: Cloud, rules: list[dict[str, Any]], passes: bool) -> None:
    for number, one in enumerate(rules):
        rule(cloud, f"rule-{number}", **one)
    source = f"{wanted.address(thing(cloud, 'two'))}:/srv"
    if passes:
        assert shares.export(cloud, thing(cloud, "one"), source) == Export(host="two", path="/srv")
    else:
        with pytest.raises(Unreachable, match="no firewall rule lets one in at port 2049"):
            shares.export(cloud, thing(cloud, "one"), source)


def test_filestore_is_mounted_by_those_whom_its_options_name(cloud: Cloud) -> None:
    export = {"accessMode": "READ_WRITE", "squashMode": "NO_ROOT_SQUASH", "ipRanges": ["10.0.0.0/20"]}
    body = {
        "tier": "BASIC_HDD",
        "fileShares": [{"name": "share", "capacityGb": "1024", "nfsExportOptions": [export]}],
        "networks": [{"network": "net", "modes": ["MODE_IPV4"]}],
    }
    found = cloud.request("file.googleapis.com", "POST", f"/v1/projects/proj/locations/{ZONE.rpartition('/')[2]}/instances", {"instanceId": "home"}, body)
    assert found.status == 200, found.body
    (system,) = cloud.store.all("file.instances")
    address = system["networks"][0]["ipAddresses"][0]
    assert shares.export(cloud, thing(cloud, "one"), f"{address}:/share") == Export(file_system="home", path="/")
    with pytest.raises(Unreachable, match="has the share share and no other"):
        shares.export(cloud, thing(cloud, "one"), f"{address}:/other")
    cloud.note(system, fileShares=[{**system["fileShares"][0], "nfsExportOptions": [{**export, "ipRanges": ["10.9.0.0/24"]}]}])
    with pytest.raises(Unreachable, match="its export options don't name"):
        shares.export(cloud, thing(cloud, "one"), f"{address}:/share")


def test_an_image_tells_what_its_builder_was_told(cloud: Cloud) -> None:
    script = "cat >variables.json <<'END'\n" + json.dumps({"cloud": "gcp", "software": {"profile": "small"}}) + "\nEND\n"
    cloud.note(thing(cloud, "one"), metadata={"items": [{"key": "bake", "value": script}], "fingerprint": "x"})
    assert ask(cloud, "POST", f"{ZONE}/instances/one/stop").status == 200
    assert ask(cloud, "POST", f"{ZONE}/instances/two/stop").status == 200
    for name in ("one", "two"):
        made(cloud, "global/images", {"name": f"image-{name}", "sourceDisk": f"projects/proj/{ZONE}/disks/{name}"})
    assert image.variables(cloud, "projects/proj/global/images/image-one") == {"cloud": "gcp", "software": {"profile": "small"}}
    with pytest.raises(image.Unknown, match="image-two was not baked"):
        image.variables(cloud, "projects/proj/global/images/image-two")
    assert "_told" not in ask(cloud, "GET", "global/images/image-one").body


def test_stopped_instances_and_builders_of_images_have_no_hosts(cloud: Cloud) -> None:
    assert wanted.wanted(cloud).guests.keys() == {"one", "two"}
    cloud.note(thing(cloud, "two"), labels={"clusterwright-part": "image"})
    assert ask(cloud, "POST", f"{ZONE}/instances/one/stop").status == 200
    assert wanted.wanted(cloud).ends == {"one"}, "it is told to shut down"
    assert ask(cloud, "GET", f"{ZONE}/instances/one").body["status"] == "TERMINATED"
    assert wanted.wanted(cloud).guests.keys() == set()
