"""Hosts compared with their records and with the cluster: nothing on a right one, one finding for each thing on a wrong one."""

import dataclasses
from typing import Any

import pytest

from blueprints import spec
from blueprints.finding import Level
from blueprints.load import load
from components import bake, this_machine
from components.inspection import capability, hosts, servers, versions
from components.inspection.codes import Code
from components.inspection.hosts import ssh_keys
from stacks.drift import acceptance
from stacks.drift.report import texts
from tests.drift import examples
from tests.drift.examples import facts, known, told, unit
from tests.playbooks import clusters

CONTROL, LOGIN, TRAIN, OTHER = examples.hosts()


def file(**changes: Any) -> dict[str, Any]:
    return {"kind": "file", "mode": "0644", "owner": "root", "group": "root", "sha256": "a" * 64, **changes}


def found(**changes: Any) -> list[tuple[str, str]]:
    return told(hosts.findings(TRAIN, facts(**changes), known(), moment_s=examples.NOW_S))


def place(path: str, recorded: dict[str, Any] | None, actual: dict[str, Any] | None, *, written: bool = False) -> list[dict[str, Any]]:
    return [{"path": path, "recorded": recorded, "actual": actual, "written": written}]


def test_a_host_as_it_should_be_has_no_findings() -> None:
    assert found() == []
    assert [*versions.findings(known(), examples.all_facts())] == []
    assert [*capability.findings(known(), examples.all_facts())] == []


PLACES = [
    ("/etc/motd", file(), file(sha256="b" * 64), "CW721 train-0: /etc/motd"),
    ("/etc/motd", file(), None, "CW722 train-0: /etc/motd"),
    ("/etc/extra", None, file(), "CW723 train-0: /etc/extra"),
    ("/etc/motd", file(), file(mode="0666"), "CW724 train-0: /etc/motd"),
    ("/etc/motd", file(), file(group="adm"), "CW724 train-0: /etc/motd"),
    ("/etc/motd", file(), file(owner="ada"), "CW724 train-0: /etc/motd"),
    ("/etc/motd", file(), {"kind": "link", "link": "x"}, "CW725 train-0: /etc/motd"),
    ("/etc/hosts", {"kind": "link", "link": "a"}, {"kind": "link", "link": "b"}, "CW725 train-0: /etc/hosts"),
    ("/etc/systemd/system/multi-user.target.wants/x.service", {"kind": "link", "link": "a"}, None, "CW733 train-0: unit x.service"),
    ("/etc/systemd/system/multi-user.target.wants/x.service", None, {"kind": "link", "link": "a"}, "CW733 train-0: unit x.service"),
    ("/etc/systemd/system/x.timer", {"kind": "link", "link": "/dev/null"}, None, "CW733 train-0: unit x.timer"),
    ("/etc/systemd/system/x.timer", None, {"kind": "link", "link": "/dev/null"}, "CW733 train-0: unit x.timer"),
    ("/etc/systemd/system/x.timer", None, file(), "CW723 train-0: /etc/systemd/system/x.timer"),
]


@pytest.mark.parametrize(("path", "recorded", "actual", "expected"), PLACES)
def test_what_became_of_a_place(path: str, recorded: dict[str, Any] | None, actual: dict[str, Any] | None, expected: str) -> None:
    assert [" ".join(one) for one in found(places=place(path, recorded, actual))] == [expected]


def test_a_host_of_kubernetes_beside_slurm_needs_no_key_of_munge() -> None:
    """`scheduler: both`: the stack has a key of MUNGE, and this host has nothing of Slurm."""
    kubernetes = load("starter-kubernetes", target="local", stack="dev", facts=this_machine.facts(), overrides={}).kubernetes
    both = dataclasses.replace(known(), cluster=dataclasses.replace(known().cluster, slurm=None, kubernetes=kubernetes))
    assert both.munge_key_sha256
    assert Code.MUNGE_KEY not in {one.code for one in hosts.findings(TRAIN, facts(munge_key_sha256=""), both, moment_s=examples.NOW_S)}


def test_lines_of_a_changed_text_are_shown_and_the_rest_is_not() -> None:
    recorded, actual = file(text="a\nsame\n"), file(text="same\nb\n", sha256="b" * 64)
    [one] = hosts.findings(TRAIN, facts(places=place("/etc/ssh/sshd_config", recorded, actual)), known(), moment_s=examples.NOW_S)
    assert (texts(one).recorded, texts(one).actual) == ("a", "b")
    assert one.level is Level.ERROR, "who may log in matters more than other files"
    assert "who may log in" in one.what


def test_a_secret_file_shows_no_content() -> None:
    recorded, actual = file(mode="0600"), file(mode="0600", sha256="b" * 64, text="password")
    [one] = hosts.findings(TRAIN, facts(places=place("/etc/slurm/slurmdbd.conf", recorded, actual)), known(), moment_s=examples.NOW_S)
    assert "password" not in f"{texts(one).recorded}{texts(one).actual}"


HOLD = {"version": "1", "held": True}
FREE = {"version": "1", "held": False}
REST = [
    ({"packages": [{"name": "slurmd", "recorded": HOLD, "actual": None}]}, ["CW726 train-0: package slurmd"]),
    ({"packages": [{"name": "extra", "recorded": None, "actual": FREE}]}, ["CW727 train-0: package extra"]),
    ({"packages": [{"name": "slurmd", "recorded": HOLD, "actual": {"version": "2", "held": True}}]}, ["CW728 train-0: package slurmd"]),
    ({"packages": [{"name": "slurmd", "recorded": HOLD, "actual": FREE}]}, ["CW729 train-0: package slurmd"]),
    ({"packages": [{"name": "bash", "recorded": FREE, "actual": HOLD}]}, ["CW729 train-0: package bash"]),
    ({"package_files": ["/usr/sbin/slurmd"]}, ["CW730 train-0: /usr/sbin/slurmd"]),
    ({"units": {"x": unit(ActiveState="inactive", SubState="dead")}}, ["CW731 train-0: unit x"]),
    ({"units": {"cloud-init-main.service": unit(Type="notify", ActiveState="inactive", SubState="dead")}}, []),
    ({"units": {"x": unit(ActiveState="inactive", SubState="dead", ConditionResult="no")}}, []),
    ({"units": {"x": unit(ActiveState="inactive", SubState="dead", ConditionResult="no", Requires="y z", ConditionTimestampMonotonic="0"), "y": unit(ActiveState="failed", SubState="failed")}}, ["CW731 train-0: unit x", "CW732 train-0: unit y"]),
    ({"units": {"x": unit(ActiveState="inactive", SubState="dead", ConditionResult="no", Requires="y z", ConditionTimestampMonotonic="0"), "y": unit()}}, []),
    (
        {
            "units": {
                "x": unit(ActiveState="inactive", SubState="dead", ConditionResult="no", Requires="y z", ConditionTimestampMonotonic="9"),
                "y": unit(ActiveState="failed", SubState="failed"),
            }
        },
        ["CW732 train-0: unit y"],
    ),
    ({"units": {"x": unit(ActiveState="inactive", SubState="dead", Type="oneshot")}}, []),
    ({"units": {"x": unit(ActiveState="inactive", SubState="dead", UnitFileState="disabled")}}, []),
    ({"units": {"x": unit(ActiveState="activating", SubState="start-pre")}}, []),
    ({"units": {"x": unit(ActiveState="activating", SubState="auto-restart")}}, ["CW732 train-0: unit x"]),
    ({"units": {"x": unit(ActiveState="failed", SubState="failed")}}, ["CW732 train-0: unit x"]),
    ({"sysctls": {"a.b": {"declared": "0", "actual": "1"}}}, ["CW735 train-0: sysctl a.b"]),
    ({"sysctls": {"a.b": {"declared": "0", "actual": ""}}}, ["CW735 train-0: sysctl a.b"]),
    ({"kernel_modules": {"gdrdrv": False, "efa": True}}, ["CW736 train-0: kernel module gdrdrv"]),
    ({"users": {}}, ["CW737 train-0: user ada"]),
    ({"users": {"ada": "ada:x:2001:2001::/home/ada:/bin/bash", "eve": "eve:x:0:0:::"}}, ["CW738 train-0: user eve"]),
    ({"users": {"ada": "ada:x:2001:2001::/home/ada:/bin/sh"}}, ["CW739 train-0: user ada"]),
    ({"groups": {}}, []),  # as an older version left it: nobody is an administrator
    ({"groups": {"cluster-admin": "cluster-admin:x:61000:eve"}}, ["CW745 train-0: administrator eve"]),
    ({"root_keys": []}, ["CW740 train-0: root's key of the stack"]),
    ({"root_keys": ["# a comment", "", f'from="10.0.0.0/8" {examples.ADMIN_KEY}']}, []),
    ({"munge_key_sha256": ""}, ["CW741 train-0: MUNGE key"]),
    ({"epoch_s": examples.NOW_S + 59}, []),
    ({"epoch_s": examples.NOW_S - 61}, ["CW742 train-0: clock"]),
    ({"pending": ["slurm"]}, ["CW743 train-0: pending slurm"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), REST)
def test_what_else_is_seen_of_a_host(changes: dict[str, Any], expected: list[str]) -> None:
    assert [" ".join(one) for one in found(**changes)] == expected


def test_an_administrator_who_may_not_become_root_is_found() -> None:
    cluster = known().cluster
    cluster = dataclasses.replace(cluster, users=tuple(dataclasses.replace(user, admin=True) for user in cluster.users))
    [one] = hosts.findings(TRAIN, facts(), known(cluster=cluster), moment_s=examples.NOW_S)
    assert (str(one.code), one.place, texts(one).actual) == ("CW745", "train-0: administrator ada", "may not become root")
    there = facts(groups={"cluster-admin": "cluster-admin:x:61000:ada"})
    assert list(hosts.findings(TRAIN, there, known(cluster=cluster), moment_s=examples.NOW_S)) == []


def test_a_strangers_key_is_named_without_showing_it() -> None:
    key = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDstrangers eve@home"
    [one] = hosts.findings(TRAIN, facts(root_keys=[examples.ADMIN_KEY, key]), known(), moment_s=examples.NOW_S)
    assert one.place == "train-0: root's key gQDstrangers"
    assert texts(one).actual == "ssh-rsa … eve@home"


OWNERS_KEY = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDowners root@lab"


def test_keys_that_a_server_had_before_its_adoption_are_its_owners_and_stay() -> None:
    theirs = f'from="10.0.0.0/8" {OWNERS_KEY}'
    stranger = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDstrangers eve@home"
    lines = ["# admins", theirs, stranger, f"{examples.ADMIN_KEY} clusterwright"]
    server = {"root_keys": [theirs, "ssh-ed25519 AAAARemoved old@lab"]}
    seen = facts(root_keys=lines)
    assert [one.place for one in ssh_keys.of_root("train-0", {**seen, "server": server}, known())] == ["train-0: root's key gQDstrangers"]
    assert ssh_keys.wanted_of_root({**seen, "server": server}, known()).splitlines() == ["# admins", theirs, f"{examples.ADMIN_KEY} clusterwright"]
    assert ssh_keys.wanted_of_root({"root_keys": [theirs], "server": server}, known()).splitlines() == [theirs, examples.ADMIN_KEY]
    assert ssh_keys.wanted_of_root(seen, known()) == f"{examples.ADMIN_KEY}\n", "a host that the stack created has no owner beside it"


def test_a_host_that_was_configured_and_has_no_record_is_an_error() -> None:
    group = {"type": "clusterwright:finish:Group", "name": "finish-train", "id": "x", "outputs": {"finished": {"train-0": "mark"}}}
    configured = dataclasses.replace(known(), resources=(group,))

    def codes(**changes: Any) -> list[str]:
        return [code for code, _ in told(hosts.findings(TRAIN, facts(**changes), configured, moment_s=examples.NOW_S))]

    gone = {"has_record": False, "has_installation": False}
    assert codes(**gone) == ["CW969"]
    assert codes(has_record=False) == [], "a new disk that nobody has configured yet"
    assert codes(**gone, server={"mark": None, "root_keys": []}) == [], "a server that is adopted again"
    assert codes(**gone, server={"mark": {"token": "a"}, "root_keys": []}) == ["CW969"]
    assert found(**gone) == [], "nobody has configured it yet"


def test_what_ends_it_on_a_server_is_a_new_system() -> None:
    for finding in (hosts.not_inspected(TRAIN, "no python3"), examples.finding(code=Code.RECORD_GONE)):
        assert "Reinstall a controller" in servers.with_own_remedy(finding).remedy


def test_a_host_that_answers_and_gives_no_facts_is_an_error() -> None:
    found = hosts.not_inspected(TRAIN, "bash: line 1: /usr/bin/python3: No such file or directory")
    assert (found.code, found.level, found.place) == (Code.NOT_INSPECTED, Level.ERROR, "train-0: inspection")
    assert "clusterwright rebuild train-0" in found.remedy


def test_a_host_that_refuses_the_key_is_told_from_one_that_is_off() -> None:
    refused = hosts.unreachable(TRAIN, f"root@{TRAIN.address}: Permission denied (publickey).")
    assert refused.remedy.startswith("`clusterwright rebuild train-0`")
    assert servers.with_own_remedy(refused).remedy.startswith("`clusterwright up` logs in as the inventory's user")
    for message in ("Connection timed out", "root@192.0.2.7: Permission denied (publickey).\nConnection closed by UNKNOWN port 65535"):
        silent = hosts.unreachable(TRAIN, message)
        assert "console" in servers.with_own_remedy(silent).remedy


def test_a_host_without_a_record_is_said_to_be_unchecked() -> None:
    [one] = hosts.unchecked(TRAIN, facts(has_record=False))
    assert one.where == "train-0: files and packages"
    assert [*hosts.unchecked(TRAIN, facts())] == []


def test_the_files_of_a_host_whose_first_boot_is_not_over_are_said_to_be_unchecked() -> None:
    [one] = hosts.unchecked(TRAIN, facts(is_born=False))
    assert (one.where, "first boot is not over" in one.why) == ("train-0: files", True)


def test_versions_are_compared_with_the_profile_by_their_beginning() -> None:
    cases = [("24.11.5", "24.11", True), ("24.11", "24.11", True), ("24.110", "24.11", False), ("6.8.0-1015-aws", "6.8.0", True), ("570.1", "570.10", False)]
    for actual, asked, expected in cases:
        assert versions.matches(actual, asked) is expected, (actual, asked)


def test_another_version_is_one_finding_and_no_skew_beside_it() -> None:
    seen = examples.all_facts(train_1={"versions": {**facts()["versions"], "slurm": "22.05.8"}})
    assert told(versions.findings(known(), seen)) == [("CW770", "train-1: slurm")]


def test_slurm_is_no_version_of_hosts_where_only_kubernetes_schedules() -> None:
    silent = {host: {**facts, "versions": {}} for host, facts in examples.all_facts().items()}
    of_slurm = known()
    assert "all hosts: slurm" in {one.where for one in versions.unchecked(of_slurm, silent)}
    without = dataclasses.replace(of_slurm, cluster=dataclasses.replace(of_slurm.cluster, slurm=None))
    assert "all hosts: slurm" not in {one.where for one in versions.unchecked(without, silent)}


def test_what_the_profile_does_not_name_is_compared_among_hosts_of_a_group() -> None:
    seen = examples.all_facts(train_0={"versions": {**facts()["versions"], "cuda": "12.4"}}, login_0={"versions": {**facts()["versions"], "kernel": "6.1"}})
    assert told(versions.findings(known(), seen)) == [("CW771", "train-0: cuda")], "the only host of its group has nothing to differ from"


def test_a_host_that_keeps_an_earlier_image_is_named_with_the_command_that_rebuilds_it() -> None:
    pool = {"type": "clusterwright:local:HostPool", "name": "train", "id": "", "outputs": {"hosts": [], bake.OLDER: ["train-1"]}}
    [one] = versions.findings(known(resources=(pool,)), examples.all_facts())
    assert (one.code, str(one.subject), one.remedy) == ("CW772", "train-1: image", "`clusterwright rebuild train-1`")


def with_versions(versions: dict[str, str]) -> spec.ClusterSpec:
    cluster = known().cluster
    return dataclasses.replace(cluster, software=dataclasses.replace(cluster.software, versions=tuple(versions.items())))


def test_versions_that_no_host_can_tell_are_unchecked() -> None:
    cluster = with_versions({"driver": "570", "kernel": "6.12"})
    found = [(one.where, one.why) for one in versions.unchecked(known(cluster=cluster), examples.all_facts())]
    assert found == [("all hosts: driver", "simulated hosts don't have it"), ("all hosts: fabric_manager", "simulated hosts don't have it")]


def test_what_goes_with_the_kernel_is_compared_with_what_was_baked() -> None:
    baked = {"kernel": "6.8.0-1063-aws", "driver": "580.178.04", "nccl": "2.30.4", "efa_installer": "1.50.0", "lustre_client": "2.15.6-1fsx34"}
    cluster = dataclasses.replace(with_versions(baked), simulated=())
    good = {**facts()["versions"], **baked, "fabric_manager": "580.178.04"}
    del good["nccl"]
    seen = {host: {**of_host, "versions": dict(good)} for host, of_host in examples.all_facts().items()}
    assert told(versions.findings(known(cluster=cluster), seen)) == []
    assert [(one.where, one.why) for one in versions.unchecked(known(cluster=cluster), seen)] == [("all hosts: nccl", "jobs bring it")]
    host = next(host for host in seen if host.name == "train-1")
    moved = {"kernel": "6.8.0-1064-aws", "lustre_client": "none for this kernel", "fabric_manager": "580.159.03"}
    for name, version in moved.items():
        changed = {**seen, host: {**seen[host], "versions": {**good, name: version}}}
        assert told(versions.findings(known(cluster=cluster), changed)) == [("CW770", f"train-1: {name}")], name


def real(one: spec.NodeSet) -> spec.NodeSet:
    """Give a node set whose GPUs are not simulated."""
    machine = one.hosts.machine
    assert machine.gpus
    return dataclasses.replace(
        one, hosts=dataclasses.replace(one.hosts, machine=dataclasses.replace(machine, gpus=dataclasses.replace(machine.gpus, simulated=False)))
    )


def test_a_server_that_lacks_a_part_of_the_profile_is_a_finding() -> None:
    baked = with_versions({"nccl": "2.30.4", "container_toolkit": "1.18.2"})
    software = dataclasses.replace(baked.software, origins=(("nvidia_archive_key", "A" * 40),))
    servers = dataclasses.replace(baked, software=software, site=spec.Site("ubuntu", 22, ())).with_node_sets(real)
    seen = examples.all_facts(train_1={"versions": {**facts()["versions"], "nccl": "2.30.4"}})
    found = [*versions.findings(known(cluster=servers), seen)]
    assert told(found) == [("CW770", "train-0: nccl")]
    assert found[0].what.startswith("nccl is missing")
    unchecked = [(one.where, one.why) for one in versions.unchecked(known(cluster=servers), seen)]
    assert unchecked == [("train-0, train-1: container_toolkit", "the host doesn't report it")], "nobody installs the toolkit where its archive has no key"


def test_a_node_whose_image_has_nccl_and_that_lacks_it_is_a_finding() -> None:
    named = with_versions({"nccl": "2.30.4"})
    baked = dataclasses.replace(named, software=dataclasses.replace(named.software, origins=(("nvidia_archive_key", "A" * 40),))).with_node_sets(real)
    seen = examples.all_facts(train_1={"versions": {**facts()["versions"], "nccl": "2.30.4"}})
    found = [*versions.findings(known(cluster=baked), seen)]
    assert told(found) == [("CW770", "train-0: nccl")]
    assert "rebuild train-0" in found[0].remedy
    origins = (("nvidia_archive_key", "A" * 40), ("nvidia_archive_simulated", "yes"))
    parts = (("nccl", "2.30.4"), ("nccl_tests", "2.17.6"), ("container_toolkit", "1.18.2"))
    for proofs, names in ((origins[:1], {"nccl", "nccl_tests"}), (origins, {"nccl"})):  # stand-ins have no compiler
        image = dataclasses.replace(baked, software=dataclasses.replace(baked.software, versions=parts, origins=proofs))
        assert versions.baked(image, "train") == names
    unproved = [*versions.findings(known(cluster=named.with_node_sets(real)), seen)]
    assert not [one for one in told(unproved) if one[0] == "CW770"], "without the archive's key, no host has to have it"


def devices(**changes: Any) -> dict[str, Any]:
    return {**facts()["gpus"], **changes}


def mounts(**changes: Any) -> dict[str, Any]:
    whole = facts()["mounts"]
    return {name: {**whole[name], **changes.get(name.lstrip("/") or "root", {})} for name in whole if changes.get(name.lstrip("/") or "root", {}) is not None}


ABILITIES = [
    ({"gpus": devices(devices=facts()["gpus"]["devices"][:7])}, ["CW780 train-0: GPU 7"]),
    ({"gpus": devices(driver_count=7)}, ["CW780 train-0: GPUs of the driver"]),
    ({"gpus": devices(devices=[*facts()["gpus"]["devices"], {"path": "/dev/nvidia8", "mode": "0666", "major": 60, "minor": 8}])}, ["CW781 train-0: GPU 8"]),
    ({"gpus": devices(devices=[{**one, "mode": "0600"} if one["minor"] == 2 else one for one in facts()["gpus"]["devices"]])}, ["CW782 train-0: GPU 2"]),
    ({"mounts": mounts(home=None)}, ["CW783 train-0: mount /home"]),
    ({"mounts": mounts(home={"error": "Stale file handle", "options": ["rw"]})}, ["CW783 train-0: mount /home"]),
    ({"mounts": mounts(home={"options": ["ro", "noatime"]})}, ["CW784 train-0: mount /home"]),
    ({"mounts": mounts(home={"kind": "tmpfs"})}, ["CW784 train-0: mount /home"]),
    ({"mounts": mounts(home={"free_bytes": 4})}, ["CW785 train-0: space of /home"]),
    ({"mounts": mounts(root={"free_inodes": 4})}, ["CW785 train-0: files of /"]),
    ({"mounts": mounts(home={"free_bytes": 4, "device": 9}, root={"free_bytes": 4, "device": 9})}, ["CW785 train-0: space of /home"]),
    (
        {"mounts": mounts(home={"free_bytes": 4, "device": 9}, root={"free_bytes": 4, "device": 8})},
        ["CW785 train-0: space of /home", "CW785 train-0: space of /"],
    ),
    ({"hardware": {"cpus": 1, "memory_mib": 16_000}}, ["CW787 train-0: processors"]),
    ({"hardware": {"cpus": 2, "memory_mib": 15_999}}, ["CW787 train-0: memory"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), ABILITIES)
def test_what_a_host_can_do(changes: dict[str, Any], expected: list[str]) -> None:
    assert [" ".join(one) for one in told(capability.findings(known(), examples.all_facts(train_0=changes)))] == expected


def test_storage_that_is_nearly_full_is_one_finding_however_many_hosts_mount_it() -> None:
    full = mounts(home={"size_bytes": 300, "free_bytes": 4})
    found = told(capability.findings(known(), examples.all_facts(train_0={"mounts": full}, train_1={"mounts": full})))
    assert [" ".join(one) for one in found] == ["CW785 train-0: space of /home"]
    full = mounts(root={"size_bytes": 300, "free_bytes": 4})
    found = told(capability.findings(known(), examples.all_facts(train_0={"mounts": full}, train_1={"mounts": full})))
    assert [" ".join(one) for one in found] == ["CW785 train-0: space of /", "CW785 train-1: space of /"], "each has a disk of its own"


DIVIDED = {"layout": {"1g.10gb": 7}, "refused": "", "instances": 56}


@pytest.mark.parametrize(
    ("wanted", "found", "actual"),
    [
        ({}, None, None),
        ({"1g.10gb": 7}, DIVIDED, None),
        ({"1g.10gb": 7}, None, "whole GPUs"),
        ({"1g.10gb": 7}, {**DIVIDED, "instances": 55}, "7 x 1g.10gb on each GPU, 55 instances"),
        ({"1g.10gb": 7}, {**DIVIDED, "layout": {"3g.40gb": 2}, "instances": 16}, "2 x 3g.40gb on each GPU, 16 instances"),
        ({"1g.10gb": 7}, {**DIVIDED, "refused": "GPU 0: in use"}, "7 x 1g.10gb on each GPU, 56 instances: GPU 0: in use"),
        ({}, {"layout": {}, "refused": "", "instances": 2}, "unknown on each GPU, 2 instances"),
    ],
)
def test_gpus_are_divided_as_the_blueprint_says(wanted: dict[str, int], found: dict[str, Any] | None, actual: str | None) -> None:
    gpus = spec.Gpus("h100", 8, simulated=True, mig=tuple(spec.MigSlices(profile, count) for profile, count in wanted.items()))
    machine = dataclasses.replace(clusters.machine(), gpus=gpus)
    cluster = clusters.resolved(clusters.node_set(on=machine))
    changes = {"gpus": devices(**({"mig": found} if found else {}))}
    told_of = [one for one in capability.findings(known(cluster=cluster), examples.all_facts(train_0=changes, train_1=changes)) if one.code is Code.MIG_LAYOUT]
    assert {one.values.actual if one.values else None for one in told_of} == ({actual} if actual else set())


def port(state: str = "4: ACTIVE", rate: str = "400 Gb/sec (4X NDR)") -> dict[str, str]:
    return {"kind": "rdma", "state": state, "rate": rate}


PORTS = [
    ({"mlx5_0:1": port(), "mlx5_1:1": port()}, []),
    ({"mlx5_0:1": port()}, ["CW786 train-0: fabric"]),
    ({"mlx5_0:1": port(), "mlx5_1:1": port("1: DOWN")}, ["CW786 train-0: port mlx5_1:1"]),
    ({"mlx5_0:1": port(), "mlx5_1:1": port(rate="200 Gb/sec (4X HDR)")}, ["CW786 train-0: rate of mlx5_1:1"]),
]


@pytest.mark.parametrize(("nics", "expected"), PORTS)
def test_interfaces_of_the_fabric_are_counted_and_compared(nics: dict[str, Any], expected: list[str]) -> None:
    fabric = spec.Fabric("ib-ndr", "InfiniBand NDR", required=True, nics=2, gbps_per_gpu=400, plugin="", environment=(), log_line="", expected=None)
    cluster = known().cluster.with_node_sets(lambda node_set: dataclasses.replace(node_set, fabric=fabric))
    seen = examples.all_facts(train_0={"nics": nics}, train_1={"nics": {"mlx5_0:1": port(), "mlx5_1:1": port()}})
    assert [" ".join(one) for one in told(capability.findings(known(cluster=cluster), seen))] == expected


def test_what_acceptance_did_not_reach_is_a_finding_when_asked_for() -> None:
    checks = [{"name": name, "node": "train-[0-1]", "expected": "300", "measured": "180", "unit": "GB/s", "verdict": verdict, "look_at": ""} for name, verdict in (("busbw", "fail"), ("jobs", "pass"), ("rate", "reported"))]  # fmt: skip
    assert told(acceptance.findings(known(acceptance=tuple(checks)))) == [("CW788", "train-[0-1]: busbw")]


def test_every_code_is_of_its_own() -> None:
    assert len({str(code) for code in Code}) == len(Code)
    assert all(code.meaning for code in Code)


PAIR = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAPair"
BLOCKS = [
    ({"ada": [f"{PAIR} ada"]}, []),
    ({"ada": []}, ["CW744 user ada: key TE5AAAAPair"]),
    ({"ada": [PAIR, "ssh-ed25519 AAAAstranger eve"]}, ["CW744 user ada: key AAAAstranger"]),
    ({"ada": None}, []),
    ({}, []),
]


@pytest.mark.parametrize(("blocks", "expected"), BLOCKS)
def test_keys_that_the_stack_put_into_homes_are_compared_and_no_others(blocks: dict[str, list[str] | None], expected: list[str]) -> None:
    found = hosts.findings(TRAIN, facts(user_keys=blocks), known(user_keys={"ada": PAIR}), moment_s=examples.NOW_S)
    assert [f"{one.code} {one.place}" for one in found] == [
        line.replace("TE5AAAAPair", PAIR[-12:]).replace("AAAAstranger", "AAAAstranger"[-12:]) for line in expected
    ]


def test_one_host_is_asked_for_keys_a_login_node_where_there_is_one() -> None:
    whole = known()
    asked = ssh_keys.asked_host(whole)
    assert asked is not None
    assert asked.name == "login-0"
    without = [host for host in whole.hosts if host.role != "access"]
    other = ssh_keys.asked_host(known(hosts=tuple(without)))
    assert other is not None
    assert other.name == "control-0"
    assert ssh_keys.asked_host(known(hosts=())) is None
