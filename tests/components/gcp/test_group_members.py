"""A login node that was rebuilt is in the balancer's group again, though it has the name of the one before."""

import threading

import pytest

from components.gcp.group_members import GroupMembers, GroupMembersInputs
from components.provider.kind import Work
from tests.components.gcp import steps
from tests.simcloud.google.client import PROJECT, ZONE, SimulatedCloud

GROUP = f"zones/{ZONE}/instanceGroups/login"
INSTANCES = f"zones/{ZONE}/instances"


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    steps.network(cloud)
    steps.ask(cloud, "POST", f"zones/{ZONE}/instanceGroups", {"name": "login"})
    return cloud


def wanted(**instances: str) -> GroupMembersInputs:
    return GroupMembersInputs(PROJECT, ZONE, "login", {name.replace("_", "-"): number for name, number in instances.items()})


def work() -> Work:
    return Work(show=lambda text, keep: None, stopping=threading.Event(), timeout_s=60)


def test_a_rebuilt_instance_is_a_member_again(project: SimulatedCloud) -> None:
    kind, first = GroupMembers(), wanted(login_0=steps.start(project, "login-0"), login_1=steps.start(project, "login-1"))
    assert kind.create(first, work()) == kind.read(first, {}) == {"members": ["login-0", "login-1"]}
    kind.update(first, {}, work())
    assert project.count("compute.instanceGroups.addInstances") == 1, "members are not added again"
    steps.ask(project, "DELETE", f"{INSTANCES}/login-0")
    later = wanted(login_0=steps.start(project, "login-0"), login_1=first.instances["login-1"])
    assert later != first, "so that the engine sees a change"
    assert kind.read(later, {}) == {"members": ["login-1"]}, "the new instance is no member by its name"
    assert kind.update(later, {}, work()) == kind.read(later, {}) == kind.expected(later)


def test_a_group_that_is_gone_has_no_members(project: SimulatedCloud) -> None:
    found = wanted(login_0=steps.start(project, "login-0"))
    steps.ask(project, "DELETE", GROUP)
    assert GroupMembers().read(found, {}) == {"members": []}
