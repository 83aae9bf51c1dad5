"""Controllers and login nodes: what stays when they are replaced, and how people and finishing reach them."""

from typing import Any

import pytest

from components.finish import inventory
from tests.blueprints import hand_made
from tests.components.aws import programs
from tests.components.registered import Program

PUBLIC: dict[str, Any] = {"access__allowed_cidrs": ["198.51.100.0/24"]}


def described(found: Program, group: str) -> list[dict[str, Any]]:
    hosts: list[dict[str, Any]] = found.named(f"finish-{group}").inputs["hosts"]
    return hosts


def instances(found: Program) -> dict[str, dict[str, Any]]:
    return {one.name: dict(one.inputs) for one in programs.of(found, "Instance") if one.type.startswith("aws:ec2")}


# Controllers


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_a_controllers_address_outlives_it(blueprint: str) -> None:
    found = programs.library(blueprint)
    for hostname in hand_made.controllers(programs.resolved(blueprint)).hostnames:
        interface, host = programs.one(found, "NetworkInterface", f"{hostname}-interface"), programs.one(found, "Instance", hostname)
        assert host.inputs["primaryNetworkInterface"] == {"networkInterfaceId": programs.ident(interface)}
        assert host.replace_first, "two instances can't have one interface"
        assert hostname not in found.all_needs(interface.name)
        assert not {"subnetId", "vpcSecurityGroupIds"} & host.inputs.keys()


@pytest.mark.parametrize("protect", [True, False])
def test_a_controller_is_guarded_where_its_records_are(protect: bool) -> None:
    host = instances(programs.program("starter", accounting__protect=protect))["control-0"]
    assert (host["disableApiTermination"], host["forceDestroy"]) == (protect, protect)
    assert programs.one(programs.program("starter", accounting__protect=protect), "Volume", "state-volume").protect is protect


def test_two_controllers_share_their_state_and_each_has_its_own_address() -> None:
    found = programs.library("scale-7500")
    state = programs.one(found, "MountTarget", "state-mount-target")
    assert state.inputs["securityGroups"] == ["SecurityGroup/state-security-group"]
    assert programs.one(found, "FileSystem", "state-file-system").protect
    for hostname in ("control-0", "control-1"):
        mounts = [row[:2] for row in programs.user_data(programs.one(found, "Instance", hostname))["mounts"]]
        assert ["state-file-system.efs:/", "/var/lib/clusterwright/state/slurmctld"] in mounts
    settings = programs.user_data(programs.of(found, "LaunchTemplate")[0])["write_files"][0]["content"]
    assert "CLUSTERWRIGHT_CONTROLLERS=address of control-0-interface,address of control-1-interface\n" in settings
    assert not programs.of(found, "VolumeAttachment")


def test_two_controllers_with_their_own_database_have_it_on_the_disk_of_the_first() -> None:
    found = programs.program("starter", control__highly_available=True)
    told = {hostname: programs.user_data(programs.one(found, "Instance", hostname)) for hostname in ("control-0", "control-1")}
    tables = {hostname: [file["content"] for file in one["write_files"] if file["path"] == "/etc/fstab"] for hostname, one in told.items()}
    assert len(tables["control-0"]) == 1
    assert " /var/lib/clusterwright/state/mysql xfs " in tables["control-0"][0]
    assert tables["control-1"] == []


PAIR: dict[str, Any] = {"control__highly_available": True, "accounting__database": "managed"}


@pytest.mark.parametrize(
    ("zones", "subnets"), [(["us-east-1b", "us-east-1c"], ["cluster-subnet", "cluster-2-subnet"]), (["us-east-1b"], ["cluster-subnet"] * 2)]
)
def test_the_second_controller_stands_in_the_second_zone_that_is_named_and_reaches_every_file_system_there(zones: list[str], subnets: list[str]) -> None:
    found = programs.program("starter", network__zones=zones, **PAIR)
    stand = [programs.one(found, "NetworkInterface", f"control-{number}-interface").inputs["subnetId"] for number in range(2)]
    assert stand == [f"Subnet/{subnet}" for subnet in subnets]
    reached: dict[str, list[str]] = {}
    for target in programs.of(found, "MountTarget"):
        reached.setdefault(target.inputs["fileSystemId"], []).append(target.inputs["subnetId"])
    assert reached.keys() == {f"FileSystem/{name}-file-system" for name in ("state", "cluster", "home", "shared")}
    assert all(sorted(there) == sorted({*stand}) for there in reached.values())


def test_the_disk_of_one_controller_is_not_taken_for_one_of_two() -> None:
    """What they hold is in other places, so that a protected one is refused rather than mounted where the other was."""
    disks = [{one.name for one in programs.of(programs.program("starter", control__highly_available=pair), "Volume")} for pair in (False, True)]
    assert disks == [{"state-volume"}, {"accounting-volume"}]


def test_state_is_where_only_controllers_mount_it() -> None:
    found = programs.library("scale-7500")
    for one in (*programs.of(found, "LaunchTemplate"), programs.one(found, "Instance", "login-0")):
        assert not any("/var/lib/clusterwright/state" in row[1] for row in programs.user_data(one)["mounts"]), one.name


def test_the_clusters_folder_is_written_by_controllers_only() -> None:
    found = programs.library("starter")
    control, login, node = (
        programs.one(found, kind, name) for kind, name in (("Instance", "control-0"), ("Instance", "login-0"), ("LaunchTemplate", "train-template"))
    )
    for one, expected in ((control, False), (login, True), (node, True)):
        (row,) = [row for row in programs.user_data(one)["mounts"] if row[1] == "/var/lib/clusterwright/cluster"]
        assert ("ro" in row[3].split(",")) is expected


def test_another_machine_changes_the_instance_and_nothing_that_it_keeps() -> None:
    before, after = programs.library("starter"), programs.program("starter", control__machine="m7i.2xlarge")
    changed = {one.name for one in programs.aws(after) if one.inputs != programs.one(before, one.type.rpartition(":")[2], one.name).inputs}
    assert changed == {"control-0"}
    assert instances(after)["control-0"]["instanceType"] == "m7i.2xlarge"


def test_finishing_is_told_the_addresses_of_all_hosts_that_always_stand() -> None:
    found = programs.program("starter", access__login_nodes=2)
    for group in ("control", "access"):
        provided = found.named(f"finish-{group}").inputs["provided"]
        assert provided["addresses"] == {
            "control-0": "address of control-0-interface",
            "login-0": "private address of login-0",
            "login-1": "private address of login-1",
        }
        assert provided["fleet"]["names"] == "/var/lib/clusterwright/cluster/names/hosts"


def test_no_host_lets_cloud_init_write_the_table_of_hosts() -> None:
    found = programs.library("starter")
    for one in (*programs.of(found, "LaunchTemplate"), *(programs.one(found, "Instance", name) for name in ("control-0", "login-0"))):
        assert programs.user_data(one)["manage_etc_hosts"] is False


def test_disks_are_in_the_table_only_after_cloud_init_has_mounted_all_of_it() -> None:
    """`mount -a` fails over an empty disk, and the whole first boot with it."""
    (table,) = [
        file for file in programs.user_data(programs.one(programs.library("starter"), "Instance", "control-0"))["write_files"] if file["path"] == "/etc/fstab"
    ]
    assert "x-systemd.makefs" in table["content"]
    assert (table["append"], table["defer"]) == (True, True)


# Login nodes and what stands in front of them


def test_the_balancer_answers_on_the_internet_for_networks_of_the_internet() -> None:
    found = programs.program("starter", **PUBLIC)
    balancer = programs.one(found, "LoadBalancer", "login-balancer").inputs
    assert (balancer["internal"], balancer["subnets"]) == (False, ["Subnet/public-1-subnet", "Subnet/public-2-subnet"])
    inside = programs.one(programs.library("starter"), "LoadBalancer", "login-balancer").inputs
    assert (inside["internal"], inside["subnets"]) == (True, ["Subnet/cluster-subnet"])


@pytest.mark.parametrize("blueprint", ["llm-pretraining", "scale-7500", "starter"])
def test_login_nodes_stand_behind_the_balancer_and_have_no_public_address(blueprint: str) -> None:
    found, count = programs.program(blueprint, **PUBLIC), programs.resolved(blueprint).access.count
    (targets,), (listener,) = programs.of(found, "TargetGroup"), programs.of(found, "Listener")
    assert (targets.inputs["port"], targets.inputs["protocol"], targets.inputs["healthCheck"]["protocol"]) == (22, "TCP", "TCP")
    assert (listener.inputs["port"], listener.inputs["defaultActions"][0]["targetGroupArn"]) == (
        22,
        "arn:aws:service:us-east-1:123456789012:TargetGroup/login-targets",
    )
    assert {one.inputs["targetId"] for one in programs.of(found, "TargetGroupAttachment")} == {f"Instance/login-{number}" for number in range(count)}
    assert all(instances(found)[f"login-{number}"]["subnetId"] == "Subnet/cluster-subnet" for number in range(count))
    assert {one.name for one in programs.of(found, "Eip")} == {"nat-address"}


def test_a_login_node_without_a_balancer_has_an_address_of_its_own_where_it_is_wanted() -> None:
    inside, outside = programs.library("single-gpu"), programs.program("single-gpu", **PUBLIC)
    assert not programs.of(inside, "LoadBalancer")
    assert {one.name for one in programs.of(inside, "Eip")} == {"nat-address"}
    assert instances(inside)["login-0"]["subnetId"] == "Subnet/cluster-subnet"
    assert {one.name for one in programs.of(outside, "Eip")} == {"nat-address", "login-0-address"}
    assert instances(outside)["login-0"]["subnetId"] == "Subnet/public-1-subnet"


def test_a_login_node_less_takes_its_target_with_it_and_nothing_else() -> None:
    two, one = programs.program("starter", access__login_nodes=2), programs.library("starter")
    assert {(left.type, left.name) for left in programs.aws(two)} - {(left.type, left.name) for left in programs.aws(one)} == {
        ("aws:ec2/instance:Instance", "login-1"),
        ("aws:lb/targetGroupAttachment:TargetGroupAttachment", "login-1-target"),
    }


# Finishing reaches hosts through them


def test_hosts_are_reached_through_the_balancer_with_known_keys() -> None:
    found = programs.program("starter", **PUBLIC)
    for group, address in (("control", "address"), ("access", "login-0")):
        (host,) = described(found, group)
        assert address in host["address"]
        assert (host["jump"], host["jump_key"]) == ("login.elb", "public of clusterwright:secret:Secret")
        assert host["host_key"] == "public of clusterwright:secret:Secret"
    assert {"login-listener", "login-0-target", "state-attachment"} <= found.named("finish-control").needs


def test_hosts_are_reached_directly_where_nothing_stands_before_them() -> None:
    for group in ("control", "access"):
        assert "jump" not in described(programs.library("single-gpu"), group)[0]


def test_every_host_that_always_stands_is_finished_and_no_other() -> None:
    found = programs.library("llm-pretraining")
    assert [host["name"] for host in described(found, "control")] == ["control-0"]
    assert [host["name"] for host in described(found, "access")] == ["login-0", "login-1"]
    assert found.named("acceptance").inputs["proves"]["boots"] == [
        {"control-0": "Instance/control-0"},
        {"login-0": "Instance/login-0", "login-1": "Instance/login-1"},
        {"train-[0-15]": "LaunchTemplate/train-template:3"},
    ]


def test_a_replaced_host_is_finished_again() -> None:
    (host,) = described(programs.library("starter"), "control")
    assert host["incarnation"] == "Instance/control-0"


def test_ansible_goes_through_the_jump_host_with_this_runs_own_key() -> None:
    far = inventory.FinishedHost("control-0", "10.0.0.5", "i-1", "ssh-ed25519 AAAA", jump="login.elb", jump_key="ssh-ed25519 BBBB")
    near = inventory.FinishedHost("login-0", "10.0.0.6", "i-2", "ssh-ed25519 BBBB")
    hosts = inventory.inventory({"control": [far], "access": [near]})
    through = hosts["control"]["hosts"]["control-0"]["ansible_ssh_common_args"]
    assert through.startswith('-o ProxyCommand="ssh ')
    assert through.endswith(' -W [%h]:%p root@login.elb"')
    assert "ANSIBLE_PRIVATE_KEY_FILE" in through
    assert "ansible_ssh_common_args" not in hosts["access"]["hosts"]["login-0"]
    assert inventory.known_hosts([far, near]) == ("10.0.0.5,control-0 ssh-ed25519 AAAA", "10.0.0.6,login-0 ssh-ed25519 BBBB", "login.elb ssh-ed25519 BBBB")


def test_controllers_are_configured_once_the_way_through_the_balancer_is_there() -> None:
    """A balancer has its name before it forwards anything."""
    found = programs.program("starter", **PUBLIC, access__load_balancer=True)
    ways = {one.name for kind in ("Listener", "TargetGroupAttachment") for one in programs.of(found, kind)}
    assert ways
    assert ways <= found.named("finish-control").needs
