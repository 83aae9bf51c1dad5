"""The provider's operations on the simulated Google Cloud, without engine and server: what programs declare, as requests to the REST door."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.simcloud.core import typed
from tests.simcloud.core.failure import NotSimulated
from tests.simcloud.google import provider_door
from tests.simcloud.google.bridge import kinds
from tests.simcloud.google.bridge.resource import Refused
from tests.simcloud.google.bridge.rest import OperationFailed, RequestFailed, Rest
from tests.simcloud.google.cloud import PROJECT, Cloud

Values = Mapping[str, Any]
UBUNTU = "ubuntu-os-cloud/ubuntu-2404-lts-amd64"
NETWORK = {"name": "net", "autoCreateSubnetworks": False}
SUBNET = {"name": "sub", "network": "net", "ipCidrRange": "10.0.0.0/20"}
NIC = {"subnetwork": "regions/us-central1/subnetworks/sub"}
BOOT = {"initializeParams": {"image": UBUNTU, "size": 20, "type": "pd-balanced"}}
MACHINE = {"name": "vm", "machineType": "n2-standard-4", "bootDisk": BOOT, "networkInterfaces": [NIC], "tags": ["a"], "metadata": {"user-data": "x"}}
TEMPLATE = {
    "name": "t",
    "machineType": "n2-standard-4",
    "disks": [{"boot": True, "sourceImage": UBUNTU, "diskSizeGb": 20}],
    "networkInterfaces": [NIC],
    "metadata": {"a": "b"},
}
NAT = {"name": "nat", "router": "way", "region": "us-central1", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}
FIREWALL = {"name": "in", "network": "net", "allows": [{"protocol": "tcp", "ports": ["22"]}], "sourceRanges": ["10.0.0.0/8", "192.168.0.0/16"]}
FILES = {
    "name": "fs",
    "location": "us-central1-a",
    "tier": "BASIC_SSD",
    "fileShares": {"name": "home", "capacityGb": 2560},
    "networks": [{"network": "net", "modes": ["MODE_IPV4"]}],
}
ROLE = {"roleId": "nodes", "title": "nodes", "permissions": ["compute.instances.list"]}
SECRET = {"secretId": "key", "replication": {"auto": {}}}
BUCKET = {"name": "try-bucket", "location": "us-central1", "uniformBucketLevelAccess": True, "publicAccessPrevention": "enforced", "forceDestroy": True}
CHECK = {"name": "ssh", "region": "us-central1", "tcpHealthCheck": {"port": 22}}

LUSTRE = {
    "instanceId": "fast",
    "location": "us-central1-a",
    "filesystem": "lfs",
    "capacityGib": "18000",
    "network": "projects/proj/global/networks/net",
    "perUnitStorageThroughput": "1000",
}
IP = {"ipv4Enabled": False, "privateNetwork": "projects/proj/global/networks/net", "sslMode": "ENCRYPTED_ONLY"}
DATABASE: Values = {
    "name": "db", "databaseVersion": "MYSQL_8_0", "region": "us-central1", "deletionProtection": False,
    "settings": {"tier": "db-n1-standard-2", "edition": "ENTERPRISE", "diskSize": 20, "ipConfiguration": IP, "userLabels": {"a": "b"}},
}  # fmt: skip
RANGE = {"name": "services", "purpose": "VPC_PEERING", "addressType": "INTERNAL", "prefixLength": 16, "network": "net"}
PEERED = {"network": "projects/proj/global/networks/net", "service": "servicenetworking.googleapis.com", "reservedPeeringRanges": ["services"]}
PRIVATE_ACCESS = ("lustre.Instance", "sql.DatabaseInstance")

LIVES = [  # kind, inputs, changes in place, what takes a new thing
    ("compute.Network", {"name": "own", "autoCreateSubnetworks": False, "mtu": 8896}, [{"mtu": 1500}, {"routingMode": "GLOBAL"}], {"description": "other"}),
    ("compute.Subnetwork", SUBNET | {"name": "own", "ipCidrRange": "10.32.0.0/20"}, [{"ipCidrRange": "10.32.0.0/19"}, {"privateIpGoogleAccess": True}, {"logConfig": {"flowSampling": 0.5}}], {"ipCidrRange": "10.32.0.0/24"}),
    ("compute.Firewall", FIREWALL, [{"allows": [{"protocol": "udp"}]}, {"targetTags": ["b"]}], {"direction": "EGRESS"}),
    ("compute.Router", {"name": "other", "network": "net"}, [{"description": "x"}], {"name": "third"}),
    ("compute.RouterNat", NAT, [{"minPortsPerVm": 128}], {"name": "other"}),
    ("compute.Address", {"name": "a", "labels": {"x": "y"}}, [{"labels": {"x": "z", "v": "w"}}, {"labels": {}}], {"addressType": "INTERNAL"}),
    ("compute.Disk", {"name": "d", "size": 10, "type": "pd-balanced"}, [{"size": 20}, {"labels": {"a": "b"}}], {"size": 5}),
    ("compute.Instance", MACHINE, [{"metadata": {"user-data": "y"}}, {"tags": ["b"]}, {"labels": {"a": "b"}}], {"hostname": "a.b.c"}),
    ("compute.Instance", MACHINE | {"allowStoppingForUpdate": True}, [{"machineType": "n2-standard-8"}], {"bootDisk": {"initializeParams": BOOT["initializeParams"] | {"size": 30}}}),
    ("compute.InstanceTemplate", TEMPLATE, [], {"machineType": "n2-standard-8"}),
    ("compute.RegionInstanceTemplate", TEMPLATE | {"labels": {"pool": "p"}, "scheduling": {"preemptible": True, "automaticRestart": False, "provisioningModel": "SPOT"}}, [], {"labels": {}}),
    ("compute.ResourcePolicy", {"name": "near", "groupPlacementPolicy": {"collocation": "COLLOCATED", "vmCount": 4}}, [], {"groupPlacementPolicy": {"collocation": "COLLOCATED", "vmCount": 8}}),
    ("filestore.Instance", FILES, [{"fileShares": {"name": "home", "capacityGb": 3072}}, {"labels": {"a": "b"}}, {"description": "x"}], {"tier": "ZONAL"}),
    ("serviceaccount.Account", {"accountId": "try-node"}, [{"displayName": "nodes"}, {"disabled": True}], {"accountId": "other-node"}),
    ("projects.IAMCustomRole", ROLE, [{"permissions": ["compute.instances.get"]}, {"title": "other"}], {"roleId": "other"}),
    ("secretmanager.Secret", SECRET, [{"labels": {"a": "b"}}, {"labels": {}}], {"secretId": "other"}),
    ("storage.Bucket", BUCKET, [{"labels": {"a": "b"}}, {"labels": {"c": "d"}}, {"versioning": {"enabled": True}}], {"location": "europe-west4"}),
    ("lustre.Instance", LUSTRE, [{"labels": {"a": "b"}}, {"capacityGib": "36000"}], {"filesystem": "other"}),
    ("sql.DatabaseInstance", DATABASE, [{"settings": {**DATABASE["settings"], "tier": "db-n1-standard-4"}}], {"region": "europe-west4"}),
    ("compute.RegionHealthCheck", CHECK, [{"tcpHealthCheck": {"port": 2222}}], {"name": "other"}),
]  # fmt: skip


class Provider:
    """The provider without an engine."""

    def __init__(self, cloud: Cloud):
        self.cloud = cloud
        self.requests: list[str] = []
        self.lost = 0

    def send(self, host: str, method: str, path: str, query: Values, body: Any) -> tuple[int, Any]:
        self.requests.append(f"{method} {path}")
        answer = self.cloud.request(host, method, path, query, body)
        if method == "POST" and self.lost:
            self.lost -= 1
            return 503, {"error": {"code": 503, "message": "lost", "errors": [{"reason": "backendError"}]}}
        return answer.status, answer.body

    def ask(self, operation: str, kind: str = "", **values: Any) -> Any:
        asked = {"project": PROJECT, "region": "us-central1", "zone": "us-central1-a", "labels": {}, "operation": operation, **values}
        return provider_door.answer(Rest(self.send), asked | ({"type": kinds.kinds()[kind].token} if kind else {}))

    def check(self, kind: str, inputs: Values, olds: Values | None = None) -> Any:
        return self.ask("check", kind, name="it", seed="s", olds=olds or {}, news=inputs)

    def make(self, kind: str, inputs: Values) -> tuple[Any, Any]:
        checked = self.check(kind, inputs)
        assert checked["failures"] == []
        return checked["inputs"], self.ask("create", kind, inputs=checked["inputs"])

    def changed(self, kind: str, made: Any, old_inputs: Values, inputs: Values) -> Mapping[str, bool]:
        found: Mapping[str, bool] = self.ask("diff", kind, olds=made["properties"], news=inputs, oldInputs=old_inputs)["changed"]
        return found


@pytest.fixture
def provider() -> Iterator[Provider]:
    with contextlib.closing(Cloud()) as cloud:
        yield Provider(cloud)


@pytest.fixture
def furnished(provider: Provider) -> Provider:
    for kind, inputs in (("compute.Network", NETWORK), ("compute.Subnetwork", SUBNET), ("compute.Router", {"name": "way", "network": "net"})):
        provider.make(kind, inputs)
    provider.requests.clear()
    return provider


def peer(provider: Provider) -> tuple[Any, Any]:
    """Let Google's services into the network."""
    provider.make("compute.GlobalAddress", RANGE)
    return provider.make("servicenetworking.Connection", PEERED)


@pytest.mark.parametrize(("kind", "inputs", "changes", "replacing"), LIVES, ids=[f"{place}-{life[0]}" for place, life in enumerate(LIVES)])
def test_a_kind_is_made_changed_read_and_removed(furnished: Provider, kind: str, inputs: Values, changes: list[Values], replacing: Values) -> None:
    if kind in PRIVATE_ACCESS:
        peer(furnished)
    recorded, made = furnished.make(kind, inputs)
    read = furnished.ask("read", kind, id=made["id"], inputs=recorded)
    assert (read["properties"], read["inputs"]) == (made["properties"], recorded)
    assert furnished.changed(kind, made, recorded, recorded) == {}
    imported = furnished.ask("read", kind, id=made["id"], inputs={})
    assert imported["id"] == made["id"]
    assert not any(furnished.changed(kind, imported, imported["inputs"], recorded).values()), "what was taken over is not made anew"
    for change in changes:
        wanted = {**recorded, **change}
        assert furnished.changed(kind, made, recorded, wanted) == dict.fromkeys(change, False)
        updated = furnished.ask("update", kind, id=made["id"], inputs=wanted, olds=made["properties"], oldInputs=recorded)
        assert furnished.changed(kind, updated, wanted, wanted) == {}
        recorded, made = wanted, {"id": made["id"], **updated}
    assert furnished.changed(kind, made, recorded, {**recorded, **replacing}) == dict.fromkeys(replacing, True)
    furnished.ask("delete", kind, id=made["id"], inputs=made["properties"])
    assert furnished.ask("read", kind, id=made["id"], inputs=recorded)["id"] == ""
    furnished.ask("delete", kind, id=made["id"], inputs=made["properties"])


@pytest.mark.parametrize(
    ("kind", "inputs", "property"),
    [
        ("compute.Instance", MACHINE | {"networkInterfaces": [NIC | {"nicTyp": "GVNIC"}]}, "networkInterfaces[0].nicTyp"),
        ("compute.Instance", MACHINE | {"bootDisk": {"initializeParams": {"sise": 3}}}, "bootDisk.initializeParams.sise"),
        ("compute.Network", NETWORK | {"mtu": "8896"}, "mtu"),
        ("compute.Subnetwork", {"ipCidrRange": "10.0.0.0/20"}, "network"),
        ("compute.Network", NETWORK | {"routingMode": "EVERYWHERE"}, "routingMode"),
        ("filestore.Instance", FILES | {"networks": [{"network": "net", "modes": ["MODE_IPV5"]}]}, "networks[0].modes[0]"),
    ],
)
def test_what_the_provider_does_not_take_is_refused_at_its_place_in_a_preview(provider: Provider, kind: str, inputs: Values, property: str) -> None:  # noqa: A002
    assert [one["property"] for one in provider.check(kind, inputs)["failures"]] == [property]


def test_what_has_no_place_in_a_body_is_not_passed_over(provider: Provider) -> None:
    with pytest.raises(NotSimulated, match=r"scheduling\.maintenanceInterval of compute\.InstanceTemplate"):
        provider.check("compute.InstanceTemplate", TEMPLATE | {"scheduling": {"maintenanceInterval": "PERIODIC"}})


def test_a_name_is_made_once(provider: Provider) -> None:
    first = provider.check("compute.Network", {})["inputs"]
    assert first["name"].startswith("it-")
    assert provider.check("compute.Network", {}, olds={"name": "it-kept"})["inputs"]["name"] == "it-kept"
    assert provider.ask("first", "compute.Network", olds={"name": "net"}, news={"name": "net", "__defaults": []})["first"]
    assert not provider.ask("first", "compute.Network", olds={"name": "it-kept"}, news={"name": "it-kept", "__defaults": ["name"]})["first"]


def test_a_preview_knows_what_is_declared_and_no_more(furnished: Provider) -> None:
    planned = furnished.ask("planned", "compute.Instance", inputs=MACHINE, olds={})["properties"]
    assert (planned["machineType"], planned["selfLink"], planned["networkInterfaces"][0]["networkIp"]) == ("n2-standard-4", typed.UNKNOWN, typed.UNKNOWN)
    recorded, made = furnished.make("compute.Instance", MACHINE)
    planned = furnished.ask("planned", "compute.Instance", inputs=recorded | {"machineType": "n2-standard-8"}, olds=made["properties"])["properties"]
    assert planned == made["properties"] | {"machineType": "n2-standard-8"}


def test_labels_are_the_programs_the_settings_and_the_providers_own(provider: Provider) -> None:
    settings = {"labels": {"team": "hpc"}}
    inputs = provider.check("compute.Address", {"labels": {"a": "b"}})["inputs"]
    made = provider.ask("create", "compute.Address", inputs=inputs, **settings)
    assert made["properties"]["labels"] == {"a": "b"}
    assert made["properties"]["effectiveLabels"] == {"a": "b", "team": "hpc", "goog-pulumi-provisioned": "true"}
    assert provider.ask("diff", "compute.Address", olds=made["properties"], news=inputs, oldInputs=inputs, **settings)["changed"] == {}
    changed = provider.ask("diff", "compute.Address", olds=made["properties"], news=inputs, oldInputs=inputs, labels={})["changed"]
    assert changed == {"effectiveLabels": False}


def test_services_of_google_are_let_into_a_network_and_out_again(furnished: Provider) -> None:
    kind = "servicenetworking.Connection"
    recorded, made = peer(furnished)
    assert furnished.changed(kind, made, recorded, recorded) == {}
    furnished.make("compute.GlobalAddress", RANGE | {"name": "more"})
    wanted = recorded | {"reservedPeeringRanges": ["services", "more"]}
    updated = furnished.ask("update", kind, id=made["id"], inputs=wanted, olds=made["properties"], oldInputs=recorded)
    assert furnished.changed(kind, updated, wanted, wanted) == {}
    furnished.ask("delete", kind, id=made["id"], inputs=updated["properties"])
    assert furnished.ask("read", kind, id=made["id"], inputs=wanted)["id"] == ""


def test_a_user_of_a_database_has_another_password_and_goes(furnished: Provider) -> None:
    peer(furnished)
    _, database = furnished.make("sql.DatabaseInstance", DATABASE)
    assert database["properties"]["privateIpAddress"] == database["properties"]["firstIpAddress"]
    recorded, made = furnished.make("sql.User", {"name": "slurm", "instance": "db", "password": "x", "host": "%"})
    wanted = recorded | {"password": "y"}
    assert furnished.changed("sql.User", made, recorded, wanted) == {"password": False}
    updated = furnished.ask("update", "sql.User", id=made["id"], inputs=wanted, olds=made["properties"], oldInputs=recorded)
    furnished.ask("delete", "sql.User", id=made["id"], inputs=updated["properties"])
    assert furnished.ask("read", "sql.User", id=made["id"], inputs=wanted)["id"] == ""


def test_a_database_has_tables_and_an_endpoint_in_the_network(furnished: Provider) -> None:
    access = {"ipv4Enabled": False, "sslMode": "ENCRYPTED_ONLY", "pscConfigs": [{"pscEnabled": True, "allowedConsumerProjects": [PROJECT]}]}
    wanted = {**DATABASE, "settings": {**DATABASE["settings"], "ipConfiguration": access}}
    recorded, made = furnished.make("sql.DatabaseInstance", wanted)
    assert furnished.changed("sql.DatabaseInstance", made, recorded, recorded) == {}
    told = made["properties"]
    assert told["dnsName"].endswith(".sql.goog.")
    assert told["serverCaCerts"][0]["cert"].startswith("-----BEGIN CERTIFICATE-----")
    tables = {"name": "slurm_acct_db", "instance": "db"}
    recorded, made = furnished.make("sql.Database", tables)
    assert made["id"] == f"projects/{PROJECT}/instances/db/databases/slurm_acct_db"
    assert furnished.changed("sql.Database", made, recorded, recorded) == {}
    furnished.make("compute.Address", {"name": "db", "addressType": "INTERNAL", "subnetwork": "sub"})
    endpoint = {"name": "db", "target": told["pscServiceAttachmentLink"], "network": "net", "ipAddress": "regions/us-central1/addresses/db"}
    with pytest.raises(RequestFailed, match="no scheme"):
        furnished.make("compute.ForwardingRule", endpoint)  # the provider's default is EXTERNAL
    recorded, found = furnished.make("compute.ForwardingRule", endpoint | {"loadBalancingScheme": ""})
    assert found["properties"]["pscConnectionStatus"] == "ACCEPTED"
    assert furnished.changed("compute.ForwardingRule", found, recorded, recorded) == {}
    furnished.ask("delete", "sql.Database", id=made["id"], inputs=made["properties"])
    assert furnished.ask("read", "sql.Database", id=made["id"], inputs=recorded)["id"] == ""


def test_a_protected_database_stays(furnished: Provider) -> None:
    peer(furnished)
    _, made = furnished.make("sql.DatabaseInstance", {**DATABASE, "deletionProtection": None})
    with pytest.raises(Refused, match="deletion_protection is set to true"):
        furnished.ask("delete", "sql.DatabaseInstance", id=made["id"], inputs=made["properties"])


OWN = 'resource.name.startsWith("projects/proj/zones/us-central1-a/instances/try-")'
MEMBERS = {
    "projects.IAMMember": {"project": PROJECT},
    "serviceaccount.IAMMember": {"serviceAccountId": f"projects/{PROJECT}/serviceAccounts/the-nodes@{PROJECT}.iam.gserviceaccount.com"},
    "secretmanager.SecretIamMember": {"secretId": f"projects/{PROJECT}/secrets/key"},
    "storage.BucketIAMMember": {"bucket": "try-bucket"},
}


@pytest.mark.parametrize("kind", MEMBERS)
def test_a_member_joins_a_policy_and_leaves_it_to_others(provider: Provider, kind: str) -> None:
    for owner, inputs in (("serviceaccount.Account", {"accountId": "the-nodes"}), ("secretmanager.Secret", SECRET), ("storage.Bucket", BUCKET)):
        provider.make(owner, inputs)
    nodes = f"serviceAccount:the-nodes@{PROJECT}.iam.gserviceaccount.com"
    others = [
        provider.make(kind, {**MEMBERS[kind], "role": "roles/viewer", "member": "user:a@example.com"}),
        provider.make(kind, {**MEMBERS[kind], "role": "roles/viewer", "member": nodes, "condition": {"title": "own", "expression": OWN}}),
    ]
    recorded, made = provider.make(kind, {**MEMBERS[kind], "role": "roles/viewer", "member": nodes})
    assert provider.changed(kind, made, recorded, recorded) == {}
    provider.ask("delete", kind, id=made["id"], inputs=made["properties"])
    assert provider.ask("read", kind, id=made["id"], inputs=recorded)["id"] == ""
    assert all(provider.ask("read", kind, id=one["id"], inputs=inputs)["id"] for inputs, one in others)


def test_members_of_one_policy_join_one_after_the_other(provider: Provider) -> None:
    joining = [{"project": PROJECT, "role": "roles/viewer", "member": f"user:{name}@example.com"} for name in "abcdefghijkl"]
    with ThreadPoolExecutor(len(joining)) as threads:
        made = list(threads.map(lambda inputs: provider.make("projects.IAMMember", inputs), joining))
    assert all(provider.ask("read", "projects.IAMMember", id=one["id"], inputs=inputs)["id"] for inputs, one in made)
    assert sum(request.endswith(":setIamPolicy") for request in provider.requests) == len(joining), "none had to try again"


def test_the_text_of_a_secret_is_a_version(provider: Provider) -> None:
    provider.make("secretmanager.Secret", SECRET)
    kind, inputs = "secretmanager.SecretVersion", {"secret": f"projects/{PROJECT}/secrets/key", "secretData": "words"}
    recorded, made = provider.make(kind, inputs)
    assert (made["properties"]["version"], provider.changed(kind, made, recorded, recorded)) == ("1", {})
    assert provider.changed(kind, made, recorded, {**recorded, "secretData": "other words"}) == {"secretData": True}
    disabled = {**recorded, "enabled": False}
    updated = provider.ask("update", kind, id=made["id"], inputs=disabled, olds=made["properties"], oldInputs=recorded)
    assert updated["properties"]["enabled"] is False
    provider.ask("delete", kind, id=made["id"], inputs=made["properties"])
    assert provider.ask("read", kind, id=made["id"], inputs=recorded)["id"] == ""


def test_a_balancer_leads_to_machines(furnished: Provider) -> None:
    _, machine = furnished.make("compute.Instance", MACHINE)
    recorded, group = furnished.make("compute.InstanceGroup", {"name": "login", "instances": [machine["id"]]})
    _, check = furnished.make("compute.RegionHealthCheck", CHECK)
    backends = [{"group": group["id"], "balancingMode": "CONNECTION"}]
    _, service = furnished.make(
        "compute.RegionBackendService", {"name": "login", "loadBalancingScheme": "EXTERNAL", "healthChecks": check["id"], "backends": backends}
    )
    rule_inputs, rule = furnished.make("compute.ForwardingRule", {"name": "login", "backendService": service["id"], "ports": ["22"], "ipAddress": None})
    assert furnished.changed("compute.ForwardingRule", rule, rule_inputs, rule_inputs) == {}
    emptied = {**recorded, "instances": []}
    assert furnished.changed("compute.InstanceGroup", group, recorded, emptied) == {"instances": False}
    updated = furnished.ask("update", "compute.InstanceGroup", id=group["id"], inputs=emptied, olds=group["properties"], oldInputs=recorded)
    assert updated["properties"]["instances"] == []


def test_drift_is_read_and_differs(furnished: Provider) -> None:
    recorded, made = furnished.make("compute.Firewall", FIREWALL)
    (thing,) = furnished.cloud.store.all("compute.firewalls")
    furnished.cloud.note(thing, sourceRanges=["0.0.0.0/0"])
    read = furnished.ask("read", "compute.Firewall", id=made["id"], inputs=recorded)
    assert read["inputs"]["sourceRanges"] == ["0.0.0.0/0"]
    assert furnished.changed("compute.Firewall", read, read["inputs"], recorded) == {"sourceRanges": False}


def test_a_machine_that_runs_is_not_stopped_without_leave(furnished: Provider) -> None:
    recorded, made = furnished.make("compute.Instance", MACHINE)
    wanted = recorded | {"machineType": "n2-standard-8"}
    with pytest.raises(Refused, match="allow_stopping_for_update = true"):
        furnished.ask("update", "compute.Instance", id=made["id"], inputs=wanted, olds=made["properties"], oldInputs=recorded)
    assert not any(request.endswith("/stop") for request in furnished.requests)


def test_an_image_of_a_family_is_no_change_when_the_family_goes_on(furnished: Provider) -> None:
    recorded, made = furnished.make("compute.Instance", MACHINE)
    assert made["properties"]["bootDisk"]["initializeParams"]["image"] == UBUNTU
    changed = recorded | {"bootDisk": {"initializeParams": BOOT["initializeParams"] | {"image": "debian-cloud/debian-12"}}}
    assert furnished.changed("compute.Instance", made, recorded, changed) == {"bootDisk": True}


def test_a_refusal_is_told_in_the_words_of_the_provider(provider: Provider) -> None:
    provider.make("compute.Network", NETWORK)
    with pytest.raises(RequestFailed, match=r"googleapi: Error 409: The resource 'projects/proj/global/networks/net' already exists, alreadyExists"):
        provider.make("compute.Network", NETWORK)


def test_an_operation_that_fails_leaves_nothing_recorded(furnished: Provider) -> None:
    furnished.cloud.store.settings["capacity"] = {"n2-standard-4": 0}
    with pytest.raises(OperationFailed, match="does not have enough resources"):
        furnished.make("compute.Instance", MACHINE)


def test_a_lost_answer_is_asked_again_and_finds_what_it_made(provider: Provider) -> None:
    provider.lost = 1
    with pytest.raises(RequestFailed, match="Error 409"):
        provider.make("compute.Network", NETWORK)
    assert provider.requests.count("POST /compute/v1/projects/proj/global/networks") == 2


def test_zones_of_the_region_are_found(provider: Provider) -> None:
    found = provider.ask("invoke", token="gcp:compute/getZones:getZones", arguments={})
    assert "us-central1-a" in found["names"]
    assert all(name.startswith("us-central1-") for name in found["names"])
    found = provider.ask(
        "invoke", token="gcp:compute/getMachineTypes:getMachineTypes", arguments={"zone": "us-central1-a", "filter": '(name = "n2-standard-4")'}
    )
    assert [one["name"] for one in found["machineTypes"]] == ["n2-standard-4"]
    with pytest.raises(NotSimulated, match="getUnknown"):
        provider.ask("invoke", token="gcp:compute/getUnknown:getUnknown", arguments={})
