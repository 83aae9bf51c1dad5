"""A login node that was rebuilt is in the balancer's group again, though it has the name of the one before."""

import threading

import pytest

from components.gcp.group_members import GroupMembers, GroupMembersInputs
from components.provider.kind import Work
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

GROUP = f"zones/{ZONE}/instanceGroups/login"
INSTANCES = f"zones/{ZONE}/instances"


def ask(cloud: SimulatedCloud, method: str, path: str, body: dict[str, object] | None = None) -> dict[str, object]:
    answer = cloud.request("compute.googleapis.com", method, f"/compute/v1/projects/{PROJECT}/{path}", body=body)
    assert answer.status == 200, answer.body
    if "operationType" in answer.body:
        where = "global" if path.startswith("global/") else "/".join(path.split("/")[:2])
        cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/{where}/operations/{answer.body['name']}/wait")
    return dict(answer.body)


def start(cloud: SimulatedCloud, name: str) -> str:
    disk = {"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}
    interface = {"subnetwork": f"projects/{PROJECT}/regions/{REGION}/subnetworks/sub"}
    machine = f"zones/{ZONE}/machineTypes/n2-standard-2"
    ask(cloud, "POST", INSTANCES, {"name": name, "machineType": machine, "disks": [disk], "networkInterfaces": [interface]})
    return str(ask(cloud, "GET", f"{INSTANCES}/{name}")["id"])


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    ask(cloud, "POST", "global/networks", {"name": "net", "autoCreateSubnetworks": False})
    subnet = {"name": "sub", "network": f"projects/{PROJECT}/global/networks/net", "ipCidrRange": "10.0.0.0/20"}
    ask(cloud, "POST", f"regions/{REGION}/subnetworks", dict(subnet))
    ask(cloud, "POST", f"zones/{ZONE}/instanceGroups", {"name": "login"})
    return cloud


def wanted(**instances: str) -> GroupMembersInputs:
    return GroupMembersInputs(PROJECT, ZONE, "login", {name.replace("_", "-"): number for name, number in instances.items()})


def work() -> Work:
    return Work(show=lambda text, keep: None, stopping=threading.Event(), timeout_s=60)


def test_a_rebuilt_instance_is_a_member_again(project: SimulatedCloud) -> None:
    kind, first = GroupMembers(), wanted(login_0=start(project, "login-0"), login_1=start(project, "login-1"))
    assert kind.create(first, work()) == kind.read(first, {}) == {"members": ["login-0", "login-1"]}
    kind.update(first, {}, work())
    assert project.count("compute.instanceGroups.addInstances") == 1, "members are not added again"
    ask(project, "DELETE", f"{INSTANCES}/login-0")
    later = wanted(login_0=start(project, "login-0"), login_1=first.instances["login-1"])
    assert later != first, "so that the engine sees a change"
    assert kind.read(later, {}) == {"members": ["login-1"]}, "the new instance is no member by its name"
    assert kind.update(later, {}, work()) == kind.read(later, {}) == kind.expected(later)


def test_a_group_that_is_gone_has_no_members(project: SimulatedCloud) -> None:
    found = wanted(login_0=start(project, "login-0"))
    ask(project, "DELETE", GROUP)
    assert GroupMembers().read(found, {}) == {"members": []}
