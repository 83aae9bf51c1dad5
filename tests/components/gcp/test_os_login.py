"""`access.os_login`: Google Cloud decides who logs in to login nodes; the blueprint's users stay the Linux accounts."""

import functools
from pathlib import Path
from typing import Any

import pulumi
import pytest

from blueprints import load
from blueprints.spec import ClusterSpec, views
from components import discovery as of_targets
from components.gcp import attachments
from components.schedulers import keys
from tests.components import registered
from tests.components.gcp import programs, steps
from tests.components.gcp.standing import Standing
from tests.components.project import STACK
from tests.components.registered import Program
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

ADA: dict[str, Any] = {"uid": 2001, "account": "research", "cloud_identity": "ada@example.org"}
ALAN: dict[str, Any] = {"uid": 2002, "account": "research", "cloud_identity": "alan@example.org", "admin": True}
GRACE: dict[str, Any] = {"uid": 2003, "account": "research"}
SAID: dict[str, Any] = {
    "access__os_login": True,
    "access__login_nodes": 2,
    "accounts": {"research": {}},
    "users": {"ada": ADA, "alan_example_org": ALAN, "grace": GRACE},
}


@functools.cache
def starter() -> Program:
    return programs.program("starter", **SAID)


def test_login_nodes_alone_ask_os_login() -> None:
    on = {
        one.name: one.inputs["metadata"]["enable-oslogin"] for one in (*programs.of(starter(), "compute:Instance"), *programs.of(starter(), "InstanceTemplate"))
    }
    assert {name for name, value in on.items() if value == "TRUE"} == {"login-0", "login-1"}
    assert {*on.values()} == {"TRUE", "FALSE"}
    off = [one.inputs["metadata"]["enable-oslogin"] for one in programs.of(programs.library("starter"), "compute:Instance")]
    assert {*off} == {"FALSE"}


def test_each_login_node_lets_its_users_in_and_administrators_become_root() -> None:
    bindings = {(one.inputs["instanceName"], one.inputs["role"]): one.inputs["members"] for one in programs.of(starter(), "InstanceIAMBinding")}
    assert bindings == {
        (f"starter-test-login-{number}", role): [member]
        for number in (0, 1)
        for role, member in (("roles/compute.osLogin", "user:ada@example.org"), ("roles/compute.osAdminLogin", "user:alan@example.org"))
    }
    (actors,) = programs.of(starter(), "serviceaccount:IAMBinding")
    assert (actors.inputs["role"], actors.inputs["members"]) == ("roles/iam.serviceAccountUser", ["user:ada@example.org", "user:alan@example.org"])
    assert actors.inputs["serviceAccountId"].endswith("-access"), "of login nodes alone"
    assert all("osLogin" not in str(one.inputs.get("role")) for one in programs.of(starter(), "projects:IAMMember")), "no right in the whole project"


def test_without_os_login_no_role_is_given() -> None:
    found = programs.library("starter")
    assert programs.of(found, "InstanceIAMBinding") == programs.of(found, "serviceaccount:IAMBinding") == []


def test_the_number_of_resources_does_not_grow_with_users() -> None:
    many = {f"u{number}": {"uid": 3000 + number, "account": "research", "cloud_identity": f"u{number}@example.org"} for number in range(200)}
    few, found = (programs.program("starter", **{**SAID, "users": {**SAID["users"], **more}}) for more in ({}, many))
    assert len(programs.gcp(found)) == len(programs.gcp(few))


def test_the_stack_makes_keys_for_those_alone_whom_no_cloud_knows() -> None:
    cluster = programs.resolved("starter", {path.replace("__", "."): value for path, value in SAID.items()})
    made = registered.run(lambda: made_keys(cluster), provider=programs.Account())
    assert {one.name for one in made.resources} & {f"user-{name}-key" for name in SAID["users"]} == {"user-grace-key"}
    assert all("cloud_identity" not in user for user in views.slurm_view(cluster)["users"]), "hosts are configured alike with it and without"


def made_keys(cluster: ClusterSpec) -> None:
    keys.of_people(cluster.users, opts=pulumi.ResourceOptions())


def test_a_target_without_it_keeps_the_users_keys() -> None:
    found = load.examine(
        "starter", target="aws", stack="test", facts=programs.MACHINE, overrides={path.replace("__", "."): value for path, value in SAID.items()}
    )
    assert (found.spec.login.os_login, {one.cloud_identity for one in found.spec.users}) == (False, {""})


def test_a_role_that_another_gave_on_a_login_node_is_found(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    steps.network(cloud)
    steps.start(cloud, "login-0")
    set_policy(
        cloud,
        [{"role": "roles/compute.osLogin", "members": ["user:ada@example.org"]}, {"role": "roles/compute.osAdminLogin", "members": ["user:eve@example.org"]}],
    )
    outputs = {"instanceName": "login-0", "role": "roles/compute.osLogin"}
    host = {"type": attachments.HOST, "name": "login-0", "id": f"projects/{PROJECT}/zones/{ZONE}/instances/login-0", "outputs": {}}
    given = {"type": attachments.BINDING, "name": "login-0-osLogin", "id": "any", "outputs": outputs}
    for resources, found in (((host, given), ["role on the host user:eve@example.org"]), ((host,), [])):
        stack = of_targets.Stack(name=STACK, region=REGION, resources=resources, nodes={})
        attached = attachments.unrecorded(attachments.look(stack, project=PROJECT), stack)
        assert ([one.what for one in attached.found], dict(attached.refused)) == (found, {})


@pytest.mark.engine
@pytest.mark.soak
def test_who_may_log_in_follows_the_blueprint(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    said = {name: value for name, value in SAID.items() if name != "access__login_nodes"}
    with Standing.of(tmp_path / "stack", cloud, programs.CPU, **said) as stack:
        stack.up()
        assert policy(cloud) == {"roles/compute.osLogin": ["user:ada@example.org"], "roles/compute.osAdminLogin": ["user:alan@example.org"]}
        stack.succeed("up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")
        before = {one.id: one.properties["id"] for one in cloud.things("compute.instances")}

        stack.change(users={"ada": {**ADA, "admin": True}, "grace": GRACE})
        stack.up()
        assert policy(cloud) == {"roles/compute.osAdminLogin": ["user:ada@example.org"]}, "who left the blueprint is let in no more"
        assert {one.id: one.properties["id"] for one in cloud.things("compute.instances")} == before, "no host is replaced"

        add(cloud, "user:eve@example.org")
        stack.succeed("up", "--yes", "--skip-preview", "--refresh")
        assert policy(cloud) == {"roles/compute.osAdminLogin": ["user:ada@example.org"]}, "a stranger with the role is drift, and goes"

        recorded = of_stack(stack)
        assert attachments.unrecorded(attachments.look(recorded, project=PROJECT), recorded).found == (), "the roles are the stack's own"
        set_policy(cloud, [*bindings(cloud), {"role": "roles/compute.osLogin", "members": ["user:mallory@example.org"]}])
        found = attachments.unrecorded(attachments.look(recorded, project=PROJECT), recorded).found
        assert [one.what for one in found] == ["role on the host user:mallory@example.org"]
        stack.destroy()
        assert cloud.things() == [], "the policy of a host goes with it"


def login_node(cloud: SimulatedCloud) -> str:
    (name,) = [one.id.rpartition("/")[2] for one in cloud.things("compute.instances") if one.id.endswith("login-0")]
    return f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/instances/{name}"


def policy(cloud: SimulatedCloud) -> dict[str, list[str]]:
    return {one["role"]: one["members"] for one in bindings(cloud)}


def bindings(cloud: SimulatedCloud) -> list[dict[str, Any]]:
    found = cloud.request("compute.googleapis.com", "GET", f"{login_node(cloud)}/getIamPolicy").body
    return list(found.get("bindings", ()))


def set_policy(cloud: SimulatedCloud, wanted: list[dict[str, Any]]) -> None:
    answer = cloud.request("compute.googleapis.com", "POST", f"{login_node(cloud)}/setIamPolicy", body={"policy": {"bindings": wanted}})
    assert answer.status == 200, answer.body


def add(cloud: SimulatedCloud, member: str) -> None:
    set_policy(cloud, [{**one, "members": sorted([*one["members"], member])} for one in bindings(cloud)])


def of_stack(stack: Standing) -> of_targets.Stack:
    resources = tuple(
        {"type": one["type"], "name": one["urn"].rpartition("::")[2], "id": one.get("id", ""), "outputs": one.get("outputs", {})} for one in stack.resources()
    )
    return of_targets.Stack(name=STACK, region=REGION, resources=resources, nodes={})
