"""The foundation on Google Cloud: networks, rules, permissions, file systems, and whose they are."""

import json

import pytest

from components.gcp import identity, names
from tests.components.gcp import programs

OWNER = "owner of clusterwright:gcp:Site"
UNLABELLED = (
    "Account",
    "IAMCustomRole",
    "InstanceGroup",
    "Network",
    "RegionBackendService",
    "RegionHealthCheck",
    "ResourcePolicy",
    "Router",
    "Subnetwork",
    "Firewall",
)
"""Kinds that can't have labels: their description says whose they are."""
BLUEPRINTS = ("single-gpu", "starter")
LUSTRE = {"data": {"kind": "lustre", "mount": "/data", "throughput": "1000 MB/s/TiB"}, "sets": {"kind": "object", "mount": "/sets"}}
PARTS_OF_OTHERS = ("BucketIAMMember", "Connection", "IAMMember", "RouterNat", "SecretIamMember", "SecretVersion", "Database", "User")
"""Kinds that are a property of another resource of the stack."""


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_everything_says_whose_it_is(blueprint: str) -> None:
    found = programs.program(blueprint, accounting__database="managed", software="ubuntu-24.04-gcp", storage=LUSTRE)
    for one in programs.gcp(found):
        kind = one.type.rpartition(":")[2]
        if kind in PARTS_OF_OTHERS:
            continue
        if kind in UNLABELLED:
            assert one.inputs["description"].endswith(f"cluster {blueprint}, stack test, clusterwright-owner={OWNER}"), one.name
        else:
            labels = one.inputs["settings"]["userLabels"] if kind == "DatabaseInstance" else one.inputs["labels"]
            assert (labels["clusterwright-stack"], labels["clusterwright-cluster"], labels["clusterwright-owner"]) == ("test", blueprint, OWNER), one.name


def test_names_fit_into_what_google_cloud_allows() -> None:
    long = names.Names("c" * 40, "a-stack-with-a-long-name-that-somebody-gave")
    mark = "-0123456789abcdef"
    assert len(long.instance(f"{'p' * 32}-7499")) <= 63
    assert len(long.name("control", kind="service_account")) <= 30
    assert len(long.name("state", "disk", kind="disk", spare=names.MARK_ROOM) + mark + "-YYYYMMDD-HHmm") <= 63, "its last snapshot has a name, too"
    assert len(long.name("something", "with", "many", "parts", "and", "a", "long", "tail", "end")) <= 63
    assert len(long.name("s" * 40, spare=names.MARK_ROOM) + mark) <= 63
    assert names.Names("a-b", "c").instance_prefix == "a-b-c-"
    assert names.Names("a", "b-c").instance_prefix != "a-b-c-", "another cluster has it"


def test_a_label_has_only_characters_that_google_cloud_allows() -> None:
    assert names.label("train_1-a") == "train_1-a"
    assert names.label("Our.Stack").startswith("our-stack-")
    assert names.label("Our.Stack") != names.label("our.stack")
    assert len(names.label("x" * 100)) == 63


def test_hosts_reach_each_other_by_their_accounts_and_nobody_else_reaches_them() -> None:
    rules = {one.name: one.inputs for one in programs.of(programs.library("starter"), "Firewall")}
    assert sorted(rules) == ["checks-firewall", "hosts-firewall"], "the blueprint allows no network in"
    accounts = sorted(f"starter-test-{part}@our-project" for part in ("access", "compute", "control"))
    assert sorted(rules["hosts-firewall"]["sourceServiceAccounts"]) == accounts == sorted(rules["hosts-firewall"]["targetServiceAccounts"])
    assert "sourceRanges" not in rules["hosts-firewall"]
    assert rules["checks-firewall"]["targetServiceAccounts"] == ["starter-test-access@our-project"]


def test_only_the_networks_of_the_blueprint_reach_login_nodes() -> None:
    found = programs.program("starter", access__allowed_cidrs=["203.0.113.0/24"])
    (rule,) = [one.inputs for one in programs.of(found, "Firewall") if one.name == "login-firewall"]
    assert (rule["sourceRanges"], rule["allows"]) == (["203.0.113.0/24"], [{"protocol": "tcp", "ports": ["22"]}])
    assert rule["targetServiceAccounts"] == ["starter-test-access@our-project"]
    assert found.named("login-rule").inputs["loadBalancingScheme"] == "EXTERNAL"
    assert programs.library("starter").named("login-rule").inputs["loadBalancingScheme"] == "INTERNAL", "nobody from the Internet may come"


@pytest.mark.parametrize("blueprint", BLUEPRINTS)
def test_no_host_has_a_public_address(blueprint: str) -> None:
    found = programs.library(blueprint)
    for one in (*programs.of(found, "compute:Instance"), *programs.of(found, "InstanceTemplate")):
        assert [interface for interface in one.inputs["networkInterfaces"] if "accessConfigs" in interface] == []


def test_a_host_starts_when_it_reaches_its_keys() -> None:
    found = programs.library("starter")
    for host, part in (("control-0", "control"), ("login-0", "access")):
        assert {"nat", "hosts-firewall", f"{part}-reads-keys"} <= found.all_needs(host)


def test_each_kind_of_host_reads_its_own_keys_alone() -> None:
    found = programs.library("starter")
    members = {one.inputs["secretId"].rpartition("/")[2]: one.inputs["member"] for one in programs.of(found, "SecretIamMember")}
    assert members == {f"{part}-keys": f"serviceAccount:starter-test-{part}@our-project" for part in ("access", "compute", "control")}
    for one in programs.of(found, "SecretVersion"):
        assert "secretData" in one.secret_inputs
    hosts = (*programs.of(found, "compute:Instance"), *programs.of(found, "InstanceTemplate"))
    assert [one.name for one in hosts if "metadata" in one.secret_inputs] == [], "what a console shows holds no secret"
    assert "munge_key" not in json.dumps([one.inputs["metadata"] for one in hosts]).replace('keys[\\"munge_key', "")


def test_a_controller_may_only_delete_instances_of_its_stack() -> None:
    found = programs.library("starter")
    roles = {one.name: one.inputs["permissions"] for one in programs.of(found, "IAMCustomRole")}
    assert [permission for permission in roles["control-starts"] if permission.endswith(".delete")] == []
    assert [permission for permission in roles["control-starts"] if ".set" in permission] == []
    assert [permission for permission in roles["control-changes"] if permission.endswith(".delete")] == [], "nodes of a queue alone need it"
    assert "compute.instances.delete" in roles["control-ends"]
    (ends,) = [one.inputs for one in programs.of(found, "projects:IAMMember") if one.name == "control-ends"]
    assert 'startsWith("starter-test-")' in ends["condition"]["expression"]
    (changes,) = [one.inputs for one in programs.of(found, "projects:IAMMember") if one.name == "control-changes"]
    assert changes["condition"]["expression"] == identity.guarded("starter-test-")
    assert "control-changes" in found.all_needs("control-starts"), "a running cluster has its rights at any time"
    assert {one.inputs["member"] for one in programs.of(found, "projects:IAMMember")} == {"serviceAccount:starter-test-control@our-project"}


def test_the_zone_is_the_first_that_offers_all_machines_and_stays() -> None:
    account = programs.Account()
    found = programs.program("starter", account=account)
    assert account.asked, "the blueprint names no zone"
    (disk,) = [one for one in programs.of(found, "Disk") if one.name == "cluster-disk"]
    assert (disk.inputs["zone"], disk.ignores) == (programs.OFFERING[0], frozenset({"name", "type", "zone"}))
    assert {one.inputs["zone"] for one in programs.of(found, "compute:Instance")} == {programs.OFFERING[0]}


def test_a_zone_that_the_blueprint_names_is_not_looked_up() -> None:
    account = programs.Account()
    found = programs.program("starter", account=account, network__zones=["us-central1-f"])
    assert account.asked == []
    (disk,) = [one for one in programs.of(found, "Disk") if one.name == "cluster-disk"]
    assert (disk.inputs["zone"], disk.ignores) == ("us-central1-f", frozenset({"name", "type"}))


def test_a_preview_asks_nobody() -> None:
    account = programs.Account()
    programs.program("starter", account=account, preview=True)
    assert account.asked == []


def test_data_is_protected_as_the_blueprint_says() -> None:
    found = programs.program("starter", storage__home__protect=True, accounting__protect=True)
    guarded = {one.name for one in programs.gcp(found) if one.protect}
    assert guarded == {"home-file-system", "state-disk"}
    assert found.named("home-file-system").inputs["deletionProtectionEnabled"] is True
    assert [one.name for one in programs.gcp(programs.library("starter")) if one.protect] == []


def test_a_network_stays_with_a_file_system_that_outlives_its_stack() -> None:
    found = programs.program("starter", storage__home__on_delete="keep")
    assert {one.name for one in programs.gcp(found) if one.keep} == {"home-file-system", "network"}


@pytest.mark.parametrize("on_delete", ["keep", "snapshot", "delete"])
def test_what_may_stay_has_a_name_that_the_next_stack_does_not_want(on_delete: str) -> None:
    """Also where it does not stay: the blueprint may say so later, and a name can't be changed."""
    disk = {"kind": "block", "mount": "/data", "size": "1 TiB", "protect": False, "on_delete": on_delete}
    found = programs.program("starter", storage__home__on_delete=on_delete, storage__data=disk)
    kept = {one.name for one in programs.gcp(found) if one.keep}
    assert kept == ({"home-file-system", "network"} if on_delete != "delete" else set()) | ({"data-disk"} if on_delete == "keep" else set())
    lasting = {one.name: one for one in programs.gcp(found) if str(one.inputs.get("name", "")).endswith(f"-{OWNER}")}
    assert {"network", "home-file-system", "data-disk", "state-disk"} <= set(lasting)
    assert lasting["data-disk"].inputs["name"] == f"starter-test-data-disk-{OWNER}"
    assert [one.name for one in lasting.values() if "name" not in one.ignores] == [], "an earlier version gave it another name"


def test_other_hosts_mount_what_the_controller_exports() -> None:
    found = programs.program("starter", storage={"data": {"kind": "block", "mount": "/data", "size": "1 TiB", "protect": False, "on_delete": "delete"}})
    told = programs.user_data(found.named("login-0"))
    assert [row[:3] for row in told["mounts"]] == [
        ["address of home-file-system:/share", "/home", "nfs"],
        ["address of shared-file-system:/share", "/shared", "nfs"],
    ]
    # The first boot of a login node waits for no controller: what mounts these goes on until they are there.
    (table,) = [file["content"] for file in told["write_files"] if file["path"] == "/etc/fstab"]
    first, second = table.splitlines()
    assert first.startswith("address of control-0-address:/var/lib/clusterwright/cluster /var/lib/clusterwright/cluster nfs4 ")
    assert second.startswith("address of control-0-address:/data /data nfs4 ")
    controller = found.named("control-0")
    assert [disk["deviceName"] for disk in controller.inputs["attachedDisks"]] == ["cluster", "data", "state"]
    files = {file["path"]: file["content"] for file in programs.user_data(controller)["write_files"]}
    assert files["/etc/exports.d/clusterwright.exports"].count("10.101.0.0/16") == 2
    assert files["/etc/fstab"].splitlines()[1].startswith("/dev/disk/by-id/google-data /data xfs ")


def test_the_hosts_first_program_learns_its_name_and_its_secret() -> None:
    found = programs.library("starter")
    assert programs.order(found.named("control-0")) == {
        "prefix": "starter-test-",
        "secret": "projects/our-project/secrets/starter-test-control-keys",
        "scratch": None,
        "metadata": ["slurm"],
    }
    assert found.named("control-0").inputs["name"] == "starter-test-control-0"
