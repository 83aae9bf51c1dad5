"""Services beside Compute Engine: Filestore, Secret Manager, service accounts and policies, Cloud Storage, private services access."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google.cloud import Answer, Cloud

from .test_door import NETWORK, SUBNET, SUBNETS, made, reason

FILER = {"tier": "BASIC_SSD", "fileShares": [{"name": "home", "capacityGb": "2560"}], "networks": [{"network": "net", "modes": ["MODE_IPV4"]}]}
FILERS = "/v1/projects/proj/locations/us-central1-a/instances"
ACCOUNTS = "/v1/projects/proj/serviceAccounts"
BINDING = {"role": "roles/compute.instanceAdmin.v1", "members": ["serviceAccount:robot-1@proj.iam.gserviceaccount.com"]}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        yield one


def ask(cloud: Cloud, service: str, method: str, path: str, body: Any = None, **query: Any) -> Answer:
    return cloud.request(f"{service}.googleapis.com", method, path, query, body)


def right(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return answer.body


def test_a_filestore_is_made_by_an_operation_and_holds_its_network(cloud: Cloud) -> None:
    begun = right(ask(cloud, "file", "POST", FILERS, FILER, instanceId="home"))
    assert begun["done"] is False
    ended = right(ask(cloud, "file", "GET", f"/v1/{begun['name']}"))
    assert (ended["done"], ended["response"]["state"]) == (True, "READY")
    assert ended["response"]["networks"][0]["ipAddresses"][0].endswith(".2")
    network = cloud.request("compute.googleapis.com", "DELETE", "/compute/v1/projects/proj/global/networks/net")
    assert reason(network) == "400 resourceInUseByAnotherResource"
    grown = {"fileShares": [{"name": "home", "capacityGb": "3000"}]}
    assert reason(ask(cloud, "file", "PATCH", f"{FILERS}/home", grown)) == "400 required"
    right(ask(cloud, "file", "PATCH", f"{FILERS}/home", grown, updateMask="file_shares"))
    assert reason(ask(cloud, "file", "PATCH", f"{FILERS}/home", FILER, updateMask="fileShares")) == "400 invalid"
    assert reason(ask(cloud, "file", "PATCH", f"{FILERS}/home", {"tier": "ZONAL"}, updateMask="tier")) == "400 invalid"
    right(ask(cloud, "file", "DELETE", f"{FILERS}/home"))
    assert ask(cloud, "file", "GET", f"{FILERS}/home").status == 404


@pytest.mark.parametrize(
    "change",
    [
        {"tier": None}, {"tier": "REGIONAL"}, {"fileShares": []}, {"fileShares": [{"name": "home", "capacityGb": "1024"}]}, {"fileShares": [{"name": "h" * 17, "capacityGb": "2560"}]},
        {"protocol": "NFS_V4_1"}, {"networks": [{"network": "net"}]}, {"networks": [{"network": "other", "modes": ["MODE_IPV4"]}]}, {"labels": {"A": "b"}}, {"size": 1},
        {"deletionProtectionEnabled": True}, {"tier": "ZONAL", "fileShares": [{"name": "home", "capacityGb": "10496"}]},
    ],
)  # fmt: skip
def test_a_filestore_that_can_not_be_is_refused(cloud: Cloud, change: Any) -> None:
    assert ask(cloud, "file", "POST", FILERS, {**FILER, **change}, instanceId="home").status in (400, 404)
    right(ask(cloud, "file", "POST", FILERS, FILER, instanceId="home"))


def test_a_secret_has_versions(cloud: Cloud) -> None:
    path = "/v1/projects/proj/secrets"
    assert reason(ask(cloud, "secretmanager", "POST", path, {}, secretId="key")) == "400 required"
    right(ask(cloud, "secretmanager", "POST", path, {"replication": {"automatic": {}}}, secretId="key"))
    assert ask(cloud, "secretmanager", "GET", f"{path}/key/versions/latest:access").status == 404
    for text in ("one", "two"):
        right(ask(cloud, "secretmanager", "POST", f"{path}/key:addVersion", {"payload": {"data": base64.b64encode(text.encode()).decode()}}))
    found = right(ask(cloud, "secretmanager", "GET", f"{path}/key/versions/latest:access"))
    assert (base64.b64decode(found["payload"]["data"]), found["name"].rpartition("/")[2]) == (b"two", "2")
    right(ask(cloud, "secretmanager", "POST", f"{path}/key/versions/2:destroy", {}))
    assert reason(ask(cloud, "secretmanager", "GET", f"{path}/key/versions/latest:access")) == "400 failedPrecondition"
    assert right(ask(cloud, "secretmanager", "GET", f"{path}/key/versions/1:access"))["name"].endswith("/1")
    assert reason(ask(cloud, "secretmanager", "POST", f"{path}/key:addVersion", {"payload": {"data": "not base64!"}})) == "400 invalid"
    right(ask(cloud, "secretmanager", "DELETE", f"{path}/key"))
    assert not list(cloud.store.all("secretmanager.secrets.versions"))


def test_a_policy_names_accounts_that_exist_and_remembers_those_that_went(cloud: Cloud) -> None:
    project = "/v1/projects/proj"
    assert reason(ask(cloud, "cloudresourcemanager", "POST", f"{project}:setIamPolicy", {"policy": {"bindings": [BINDING]}})) == "400 badRequest"
    right(ask(cloud, "iam", "POST", ACCOUNTS, {"accountId": "robot-1"}))
    before = right(ask(cloud, "cloudresourcemanager", "POST", f"{project}:getIamPolicy"))
    after = right(ask(cloud, "cloudresourcemanager", "POST", f"{project}:setIamPolicy", {"policy": {**before, "bindings": [BINDING]}}))
    assert after["bindings"] == [BINDING]
    assert reason(ask(cloud, "cloudresourcemanager", "POST", f"{project}:setIamPolicy", {"policy": before})) == "409 aborted"
    right(ask(cloud, "iam", "DELETE", f"{ACCOUNTS}/robot-1@proj.iam.gserviceaccount.com"))
    (binding,) = right(ask(cloud, "cloudresourcemanager", "POST", f"{project}:getIamPolicy"))["bindings"]
    assert binding["members"][0].startswith("deleted:serviceAccount:robot-1@")


@pytest.mark.parametrize("body", [{"accountId": "bot"}, {"accountId": "Robot1"}, {"accountId": "r" * 31}, {}])
def test_a_service_account_needs_a_proper_name(cloud: Cloud, body: Any) -> None:
    assert ask(cloud, "iam", "POST", ACCOUNTS, body).status == 400
    right(ask(cloud, "iam", "POST", ACCOUNTS, {"accountId": "robot1"}))
    assert ask(cloud, "iam", "POST", ACCOUNTS, {"accountId": "robot1"}).status == 409


def test_a_deleted_role_keeps_its_name(cloud: Cloud) -> None:
    path = "/v1/projects/proj/roles"
    wanted = {"roleId": "elastic", "role": {"includedPermissions": ["compute.instances.create"]}}
    right(ask(cloud, "iam", "POST", path, wanted))
    right(ask(cloud, "iam", "DELETE", f"{path}/elastic"))
    assert right(ask(cloud, "iam", "GET", f"{path}/elastic"))["deleted"] is True
    assert ask(cloud, "iam", "POST", path, wanted).status == 409
    right(ask(cloud, "iam", "POST", f"{path}/elastic:undelete", {}))


def test_a_bucket_goes_when_it_is_empty(cloud: Cloud) -> None:
    base = "/storage/v1/b"
    cloud.store.set_setting("foreign_buckets", ["taken"])
    for name in ("taken", "Ours", "goog-ours"):
        assert ask(cloud, "storage", "POST", base, {"name": name, "location": "US"}, project="proj").status in (400, 409)
    right(ask(cloud, "storage", "POST", base, {"name": "ours", "location": "us-central1", "labels": {"a": "b"}}, project="proj"))
    assert ask(cloud, "storage", "POST", base, {"name": "ours"}, project="proj").status == 409
    right(ask(cloud, "storage", "POST", f"{base}/ours/o", {"_content": base64.b64encode(b"x").decode()}, name="one"))
    assert ask(cloud, "storage", "DELETE", f"{base}/ours").status == 409
    assert reason(ask(cloud, "storage", "PATCH", f"{base}/ours", {"location": "EU"})) == "400 invalid"
    assert right(ask(cloud, "storage", "PATCH", f"{base}/ours", {"labels": {"a": None, "c": "d"}}))["labels"] == {"c": "d"}
    right(ask(cloud, "storage", "DELETE", f"{base}/ours/o/one"))
    right(ask(cloud, "storage", "DELETE", f"{base}/ours"))


def test_private_services_access_needs_a_reserved_range(cloud: Cloud) -> None:
    path = "/v1/services/servicenetworking.googleapis.com/connections"
    wanted = {"network": "projects/123456789012/global/networks/net", "reservedPeeringRanges": ["range"]}
    assert reason(ask(cloud, "servicenetworking", "POST", path, wanted)) == "400 badRequest"
    made(
        cloud, "global/addresses", {"name": "range", "addressType": "INTERNAL", "purpose": "VPC_PEERING", "prefixLength": 20, "network": "global/networks/net"}
    )
    right(ask(cloud, "servicenetworking", "POST", path, wanted))
    assert right(ask(cloud, "servicenetworking", "GET", path, network=wanted["network"]))["connections"][0]["reservedPeeringRanges"] == ["range"]
    right(ask(cloud, "servicenetworking", "POST", f"{path}/servicenetworking-googleapis-com", {"consumerNetwork": wanted["network"]}))
    assert right(ask(cloud, "servicenetworking", "GET", path, network=wanted["network"])) == {}


def connected(cloud: Cloud) -> None:
    made(
        cloud, "global/addresses", {"name": "range", "addressType": "INTERNAL", "purpose": "VPC_PEERING", "prefixLength": 20, "network": "global/networks/net"}
    )
    wanted = {"network": "projects/proj/global/networks/net", "reservedPeeringRanges": ["range"]}
    right(ask(cloud, "servicenetworking", "POST", "/v1/services/servicenetworking.googleapis.com/connections", wanted))


DISCONNECT = (
    "/v1/services/servicenetworking.googleapis.com/connections/servicenetworking-googleapis-com",
    {"consumerNetwork": "projects/proj/global/networks/net"},
)
LUSTRE = {"filesystem": "scratch", "capacityGib": "18000", "perUnitStorageThroughput": "500", "network": "projects/proj/global/networks/net"}
DATABASE = {
    "name": "accounts", "databaseVersion": "MYSQL_8_0", "region": "us-central1",
    "settings": {"tier": "db-custom-2-7680", "ipConfiguration": {"ipv4Enabled": False, "privateNetwork": "projects/proj/global/networks/net"}},
}  # fmt: skip


def test_a_lustre_file_system_needs_private_services_access_and_grows(cloud: Cloud) -> None:
    assert reason(ask(cloud, "lustre", "POST", FILERS, LUSTRE, instanceId="fast")) == "400 failedPrecondition"
    connected(cloud)
    begun = right(ask(cloud, "lustre", "POST", FILERS, LUSTRE, instanceId="fast"))
    shown = right(ask(cloud, "lustre", "GET", f"/v1/{begun['name']}"))["response"]
    assert (shown["state"], shown["mountPoint"].partition("@")[2]) == ("ACTIVE", "tcp:/scratch")
    right(ask(cloud, "lustre", "PATCH", f"{FILERS}/fast", {"capacityGib": "36000"}, updateMask="capacityGib"))
    for change, mask in (({"capacityGib": "18000"}, "capacityGib"), ({"capacityGib": "36001"}, "capacityGib"), ({"filesystem": "other"}, "filesystem")):
        assert reason(ask(cloud, "lustre", "PATCH", f"{FILERS}/fast", change, updateMask=mask)) == "400 invalid"
    right(ask(cloud, "lustre", "PATCH", f"{FILERS}/fast", {"capacityGib": "3060000"}, updateMask="capacityGib"))
    assert reason(ask(cloud, "lustre", "PATCH", f"{FILERS}/fast", {"capacityGib": "3168000"}, updateMask="capacityGib")) == "400 invalid"
    assert reason(ask(cloud, "servicenetworking", "POST", *DISCONNECT)) == "400 failedPrecondition"
    right(ask(cloud, "lustre", "DELETE", f"{FILERS}/fast"))
    assert ask(cloud, "lustre", "GET", f"{FILERS}/fast").status == 404
    right(ask(cloud, "lustre", "POST", FILERS, {**LUSTRE, "capacityGib": "3168000"}, instanceId="large"))


@pytest.mark.parametrize(
    "change", [{"filesystem": "longername"}, {"capacityGib": "9000"}, {"perUnitStorageThroughput": "300"}, {"network": "net"}, {"network": None}, {"size": "1"}]
)
def test_a_lustre_file_system_that_can_not_be_is_refused(cloud: Cloud, change: Any) -> None:
    connected(cloud)
    assert ask(cloud, "lustre", "POST", FILERS, {**LUSTRE, **change}, instanceId="fast").status == 400
    right(ask(cloud, "lustre", "POST", FILERS, LUSTRE, instanceId="fast"))


def test_a_database_lives_in_a_connected_network(cloud: Cloud) -> None:
    base = "/sql/v1beta4/projects/proj/instances"
    assert ask(cloud, "sqladmin", "POST", base, DATABASE).status == 400
    connected(cloud)
    begun = right(ask(cloud, "sqladmin", "POST", base, DATABASE))
    assert right(ask(cloud, "sqladmin", "GET", f"/sql/v1beta4/projects/proj/operations/{begun['name']}"))["status"] == "DONE"
    shown = right(ask(cloud, "sqladmin", "GET", f"{base}/accounts"))
    assert (shown["state"], [one["type"] for one in shown["ipAddresses"]]) == ("RUNNABLE", ["PRIVATE"])
    right(ask(cloud, "sqladmin", "POST", f"{base}/accounts/databases", {"name": "slurm_acct_db"}))
    right(ask(cloud, "sqladmin", "POST", f"{base}/accounts/users", {"name": "slurm", "password": "secret", "host": "%"}))
    assert "secret" not in str(right(ask(cloud, "sqladmin", "GET", f"{base}/accounts/users")))
    assert ask(cloud, "sqladmin", "POST", f"{base}/accounts/users", {"name": "slurm", "host": "%"}).status == 409
    right(ask(cloud, "sqladmin", "PATCH", f"{base}/accounts", {"settings": {"tier": "db-custom-4-15360"}}))
    assert right(ask(cloud, "sqladmin", "GET", f"{base}/accounts"))["settings"]["ipConfiguration"]["ipv4Enabled"] is False
    assert reason(ask(cloud, "sqladmin", "PATCH", f"{base}/accounts", {"settings": {"tier": "db-huge"}})) == "400 invalid"
    assert reason(ask(cloud, "servicenetworking", "POST", *DISCONNECT)) == "400 failedPrecondition"
    right(ask(cloud, "sqladmin", "DELETE", f"{base}/accounts/users", name="slurm", host="%"))
    right(ask(cloud, "sqladmin", "DELETE", f"{base}/accounts"))
    assert ask(cloud, "sqladmin", "GET", f"{base}/accounts").status == 404
    assert ask(cloud, "sqladmin", "POST", base, DATABASE).status == 409  # the name is taken for a week
    cloud.store.set_clock(7 * 86_400 + 1)
    right(ask(cloud, "sqladmin", "POST", base, DATABASE))


def test_an_api_that_is_off_refuses_everything_until_it_is_on(cloud: Cloud) -> None:
    cloud.store.set_setting("apis_off", ["file.googleapis.com"])
    assert reason(ask(cloud, "file", "GET", FILERS)) == "403 accessNotConfigured"
    right(ask(cloud, "serviceusage", "POST", "/v1/projects/proj/services/file.googleapis.com:enable", {}))
    assert right(ask(cloud, "file", "GET", FILERS)) == {}
