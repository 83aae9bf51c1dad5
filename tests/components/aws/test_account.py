"""The account is asked as AWS is, by boto3: `check --live`, `lookup` and the page about credentials, on the simulated cloud."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprints import catalog, load
from blueprints.facts import Facts
from blueprints.finding import Invalid
from blueprints.live import account as live_account
from components.aws.account import read
from components.errors import AccountUnavailable
from stacks.cli import main, options
from stacks.engine import account, preflight
from stacks.errors import EXIT_FAILED, EXIT_USAGE
from tests.simcloud.aws import images
from tests.simcloud.aws.client import REGION, SimulatedCloud

EXIT_INVALID = 2
MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
NOT_THERE = {"train": {"machine": "p4de.24xlarge", "nodes": {"min": 0, "max": 2}}}
"""A machine that the region has, and its zone us-east-1a doesn't."""
LOOKING = ("Describe", "Get", "List")
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class Site:
    """What somebody made before: a network with a way out, reserved machines, a file system, a key, an image."""

    def __init__(self, cloud: SimulatedCloud, *, zone: str = "us-east-1b"):
        self.zone = zone
        self.vpc = cloud.make("ec2.Vpc", cidrBlock="10.0.0.0/16", enableDnsHostnames=True).id
        gateway = cloud.make("ec2.InternetGateway", vpcId=self.vpc).id
        self.public = cloud.make("ec2.Subnet", vpcId=self.vpc, cidrBlock="10.0.0.0/24", availabilityZone=zone).id
        self.private = cloud.make("ec2.Subnet", vpcId=self.vpc, cidrBlock="10.0.1.0/24", availabilityZone=zone).id
        self.closed = cloud.make("ec2.Subnet", vpcId=self.vpc, cidrBlock="10.0.2.0/24", availabilityZone=zone).id
        outside = cloud.make("ec2.RouteTable", vpcId=self.vpc, routes=[{"cidrBlock": "0.0.0.0/0", "gatewayId": gateway}]).id
        cloud.make("ec2.RouteTableAssociation", routeTableId=outside, subnetId=self.public)
        nat = cloud.make("ec2.NatGateway", subnetId=self.public, allocationId=cloud.make("ec2.Eip").id).id
        table = cloud.make("ec2.RouteTable", vpcId=self.vpc, routes=[{"cidrBlock": "0.0.0.0/0", "natGatewayId": nat}]).id
        cloud.make("ec2.RouteTableAssociation", routeTableId=table, subnetId=self.private)
        self.reservation = cloud.reserve("p5.48xlarge", zone, 4).id
        self.key = cloud.make("kms.Key").properties["arn"]
        self.files = cloud.make("efs.FileSystem", encrypted=True).id
        cloud.make("efs.MountTarget", fileSystemId=self.files, subnetId=self.private)
        self.lustre = cloud.make("fsx.LustreFileSystem", subnetIds=self.private, deploymentType="SCRATCH_2", storageCapacity=1200)
        self.image = str(next(one["ImageId"] for one in images.public(REGION) if one["Architecture"] == "x86_64"))

    def blueprint(self, **changed: Any) -> dict[str, Any]:
        """Write a blueprint that names all of it, as JSON, which YAML is too."""
        pool = {"machine": "p5.48xlarge", "nodes": 2, "image": self.image, "capacity": {"kind": "reserved", "id": self.reservation}}
        storage = {
            "home": {"kind": "nfs", "mount": "/home", "key": self.key},
            "old": {"kind": "existing", "mount": "/old", "source": self.files},
            "sets": {"kind": "existing", "mount": "/sets", "source": f"{self.lustre['dnsName']}@tcp:/{self.lustre['mountName']}"},
        }
        access = {"login_nodes": 1, "allowed_cidrs": ["192.0.2.0/24"]}
        network = {"region": REGION, "existing": self.vpc, "subnets": [self.private]}
        return {"name": "tiny", "access": access, "network": network, "pools": {"train": pool}, "storage": storage, **changed}


def checked(tmp_path: Path, blueprint: Any, capsys: pytest.CaptureFixture[str], *, status: int = 0) -> dict[str, Any]:
    """Run `check --live --json`."""
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(blueprint, indent=1))
    assert main.main(["check", str(file), "--target", "aws", "--live", "--json"]) == status
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def of_account(said: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Give code, level and path of what the account said."""
    found = [one for one in said["findings"] if one["code"].startswith("CW8")]
    return [(one["code"], one["level"], one["where"] and one["where"]["path"]) for one in found]


def looked_up(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main.main(["lookup", *words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["format"], said["target"], said["region"], said["kind"]) == (1, "aws", REGION, words[0])
    entries: list[dict[str, Any]] = said["entries"]
    return entries


def test_what_is_there_and_fits_is_no_finding_and_nothing_is_changed(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Site(cloud).blueprint()
    before = cloud.things()
    said = checked(tmp_path, blueprint, capsys)
    assert of_account(said) == []
    assert said["account"]["account"] == "123456789012"
    assert said["account"]["who"].endswith(":user/simulated")
    assert cloud.things() == before
    asked = [name.partition(".")[2] for name in cloud.calls() if not name.startswith(("create ", "make "))]
    assert all(name.startswith(LOOKING) for name in asked), asked
    assert "CW602" not in {one["code"] for one in said["findings"]}, "the account said what it may have"


def test_a_network_that_is_made_needs_room_for_it(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Site(cloud).blueprint(network={"region": REGION, "zones": ["us-east-1b"]}, storage={})
    assert of_account(checked(tmp_path, blueprint, capsys)) == []
    cloud.set("quotas", {"L-F678F1CE": 1})
    assert of_account(checked(tmp_path, blueprint, capsys, status=EXIT_INVALID)) == [("CW804", "error", "network")]


def test_the_catalogue_says_of_every_machine_what_the_account_says(cloud: SimulatedCloud) -> None:
    listed = catalog.machines("aws")
    described: dict[str, live_account.OfferedMachine] = account.ask("aws", REGION, lambda session: read.machines(session, listed))
    assert len(described) > 60
    differing = {
        name: (one, ours)
        for name, one in described.items()
        for ours in [listed[name]]
        if (one.vcpus, one.memory_gib, one.gpus, one.cards, one.fabric_nics) != (ours.vcpus, ours.memory_gib, ours.gpus, ours.cards, ours.fabric_nics)
    }
    assert differing == {}


def test_what_the_stack_has_made_already_needs_no_room_again(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.set("quotas", {"L-F678F1CE": 1, "L-0263D0A3": 1})
    own = {"clusterwright:cluster": "tiny", "clusterwright:stack": "local"}
    cloud.make("ec2.Vpc", cidrBlock="10.9.0.0/16", tags=own)
    cloud.make("ec2.Eip", tags=own)
    blueprint = {"name": "tiny", "access": {"allowed_cidrs": ["192.0.2.0/24"]}, "network": {"region": REGION}, "pools": {"a": {"nodes": 1}}}
    assert of_account(checked(tmp_path, blueprint, capsys)) == []
    found = of_account(checked(tmp_path, {**blueprint, "name": "theirs"}, capsys, status=EXIT_INVALID))
    assert {code for code, *_ in found} == {"CW804"}, "another cluster's stack of that name is not this one"


def test_faults_of_the_account_are_found(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site(cloud)
    blueprint = site.blueprint()
    blueprint["network"]["subnets"] = [site.public]
    blueprint["pools"]["train"] |= {"machine": "p5en.48xlarge", "image": "ami-0123456789abcdef0"}
    blueprint["storage"]["home"]["key"] = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000"
    blueprint["storage"]["old"]["source"] = "fs-00000000000000001"
    cloud.set("quotas", {"L-417A185B": 0})
    assert of_account(checked(tmp_path, blueprint, capsys, status=EXIT_INVALID)) == [
        ("CW808", "error", "network.subnets.0"),
        ("CW804", "error", "pools"),
        ("CW803", "error", "pools.train"),
        ("CW811", "error", "pools.train.image"),
        ("CW806", "error", "pools.train.capacity.id"),
        ("CW809", "error", "storage.home.key"),
        ("CW810", "error", "storage.old.source"),
    ]


@pytest.mark.parametrize(
    ("subnet", "network", "expected"),
    [
        ("closed", "vpc", [("CW808", "error", "network.subnets.0")]),
        ("subnet-0123456789abcdef0", "vpc", [("CW808", "error", "network.subnets.0")]),
        ("private", "vpc-0123456789abcdef0", [("CW807", "error", "network.existing"), ("CW808", "error", "network.subnets.0")]),
    ],
)
def test_networks_and_subnets_are_looked_at(
    cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], subnet: str, network: str, expected: list[tuple[str, str, str]]
) -> None:
    site = Site(cloud)
    named = {"region": REGION, "existing": getattr(site, network, network), "subnets": [getattr(site, subnet, subnet)]}
    assert of_account(checked(tmp_path, site.blueprint(network=named, storage={}), capsys, status=EXIT_INVALID)) == expected


@pytest.mark.parametrize(("state", "status"), [("not-opted-in", EXIT_INVALID), ("opted-in", 0)])
def test_a_region_must_be_enabled(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str, status: int) -> None:
    cloud.set("regions", {REGION: state})
    blueprint = {"name": "tiny", "access": {"allowed_cidrs": ["192.0.2.0/24"]}, "network": {"region": REGION}, "pools": {"a": {"nodes": 1}}}
    assert of_account(checked(tmp_path, blueprint, capsys, status=status)) == ([("CW801", "error", "network.region")] if status else [])


def test_a_local_zone_must_be_opted_in_to_and_have_the_machine(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Site(cloud).blueprint(network={"region": REGION, "zones": ["us-east-1-dfw-2a"]}, storage={})
    said = of_account(checked(tmp_path, blueprint, capsys, status=EXIT_INVALID))
    assert ("CW802", "error", "network.zones.0") in said
    assert ("CW803", "error", "pools.train") in said


@pytest.mark.parametrize(
    "operation", ["service-quotas.GetServiceQuota", "ec2.DescribeSubnets", "ec2.DescribeInstanceTypeOfferings", "kms.DescribeKey", "ec2.DescribeRegions"]
)
def test_a_question_that_is_refused_is_an_error_of_its_own(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], operation: str) -> None:
    blueprint = Site(cloud).blueprint()
    cloud.fault(operation, code="AccessDeniedException", message="you are not authorized", times=None)
    said = checked(tmp_path, blueprint, capsys, status=EXIT_INVALID)
    assert of_account(said) == [("CW800", "error", None)]
    (silent,) = [one for one in said["findings"] if one["code"] == "CW800"]
    assert "you are not authorized" in silent["why"]


def test_throttling_is_waited_out(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Site(cloud).blueprint()
    cloud.throttle("ec2.DescribeSubnets", times=2)
    assert of_account(checked(tmp_path, blueprint, capsys)) == []


def test_a_warning_of_the_account_is_accepted_as_others_are(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Site(cloud).blueprint()
    blueprint["pools"]["train"]["nodes"] = {"min": 0, "max": 4}
    cloud.set("quotas", {"L-417A185B": 500})
    assert of_account(checked(tmp_path, blueprint, capsys)) == [("CW804", "warning", "pools")]
    accepted = {**blueprint, "suppress": [{"code": "CW804", "at": "pools", "reason": "more is on its way", "until": "2099-01-01"}]}
    said = checked(tmp_path, accepted, capsys)
    assert of_account(said) == []
    assert "CW641" not in {one["code"] for one in said["findings"]}
    assert [one["code"] for one in said["suppressed"]] == ["CW804"]


def test_people_read_whose_account_it_was(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(Site(cloud).blueprint()))
    assert main.main(["check", str(file), "--target", "aws", "--live"]) == 0
    assert f"account 123456789012 in {REGION}" in capsys.readouterr().out


def test_a_quota_that_was_never_changed_has_the_value_for_all(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Site(cloud).blueprint()
    cloud.fault("service-quotas.GetServiceQuota", code="NoSuchResourceException", times=None)
    assert of_account(checked(tmp_path, blueprint, capsys)) == []
    cloud.fault("service-quotas.GetAWSDefaultServiceQuota", code="NoSuchResourceException", times=None)
    assert of_account(checked(tmp_path, blueprint, capsys, status=EXIT_INVALID)) == [("CW800", "error", None)]


def test_a_bucket_that_nobody_has_links_to_nothing(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = Site(cloud).blueprint()
    cloud.make("s3.Bucket", bucket="sets-of-ours")
    cloud.set("foreign_buckets", ["sets-of-others"])
    for name, bucket in (("ours", "s3://sets-of-ours/2026"), ("theirs", "s3://sets-of-others"), ("typo", "s3://sets-of-nobody/2026")):
        blueprint["storage"][name] = {"kind": "lustre", "size": "1200 GiB", "mount": f"/{name}", "exchange": {"bucket": bucket}}
    assert of_account(checked(tmp_path, blueprint, capsys, status=EXIT_INVALID)) == [("CW813", "error", "storage.typo.exchange.bucket")]
    cloud.fault("s3.HeadBucket", code="AccessDenied", times=None)
    assert of_account(checked(tmp_path, blueprint, capsys)) == [], "who may not look into one knows that it is there"


@pytest.mark.parametrize("source", ["fs-1", "fs-" + "0" * 60])
def test_a_name_that_nothing_can_have_is_refused_before_the_account_is_asked(
    cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    blueprint = Site(cloud).blueprint()
    blueprint["storage"]["old"]["source"] = source
    said = checked(tmp_path, blueprint, capsys, status=EXIT_INVALID)
    assert [(one["code"], one["where"]["path"]) for one in said["findings"] if one["level"] == "error"] == [("CW346", "storage.old.source")]
    assert not cloud.calls()


# Who can't ask


@pytest.mark.parametrize("words", [["lookup", "zones"], ["check", "starter", "--target", "aws", "--live"]])
class TestNoAnswer:
    def page(self, capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
        assert main.main(words) == EXIT_FAILED
        said = capsys.readouterr()
        assert said.out == ""
        assert "Traceback" not in said.err
        first, why, remedy = said.err.splitlines()
        assert first.startswith("error: ")
        assert why.startswith("  why: ")
        assert remedy.startswith("  do:  ")
        return first

    def test_expired(self, cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
        cloud.expire_credentials()
        assert self.page(capsys, words) == "error: the AWS credentials have expired"

    def test_none(self, cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        for name in CREDENTIALS:
            monkeypatch.delenv(name)
        assert self.page(capsys, words) == "error: no AWS credentials found"

    def test_others(self, cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASOMEBODYELSE0000")
        assert self.page(capsys, words) == "error: AWS refuses the credentials"

    def test_no_such_profile(self, cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.setenv("AWS_PROFILE", "nobody")
        assert self.page(capsys, words) == "error: no AWS credentials found"

    def test_nobody_answers(self, cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        assert self.page(capsys, words) == "error: AWS does not answer"

    def test_no_sdk(self, cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
        monkeypatch.setitem(sys.modules, "boto3", None)
        assert self.page(capsys, words) == "error: the AWS account can't be queried"


def test_up_says_whose_account_it_will_change_or_gives_the_page(cloud: SimulatedCloud) -> None:
    assert account.require_credentials("aws", REGION) == "123456789012 as arn:aws:iam::123456789012:user/simulated"
    assert account.require_credentials("local", "") == ""
    cloud.expire_credentials()
    with pytest.raises(AccountUnavailable):
        account.require_credentials("aws", REGION)


@pytest.mark.parametrize(
    "words", [["check", "starter", "--live"], ["check", "starter", "--all-targets", "--live"], ["lookup", "blocks"], ["lookup", "zones", "--machine", "p5"]]
)
def test_what_can_t_be_asked_is_a_matter_of_usage(cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main.main(words) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("error: ")
    assert not cloud.calls()


# Before something is made


def in_a_zone_without_the_machine(cloud: SimulatedCloud) -> dict[str, Any]:
    """Write a blueprint that only the account knows to be wrong."""
    return Site(cloud).blueprint(network={"region": REGION, "zones": ["us-east-1a"]}, storage={"home": {"kind": "nfs", "mount": "/home"}}, pools=NOT_THERE)


@pytest.mark.engine
def test_up_makes_nothing_where_the_account_has_no_place(
    cloud: SimulatedCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blueprint, settings = tmp_path / "mine.yaml", tmp_path / "Pulumi.mine.yaml"
    blueprint.write_text(json.dumps(in_a_zone_without_the_machine(cloud), indent=1))
    settings.write_text(json.dumps({"config": {"clusterwright:target": "aws", "clusterwright:blueprint": str(blueprint)}}))
    monkeypatch.setattr(options, "stack_file", lambda _: settings)
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}")
    before = cloud.things()
    assert main.main(["up", "--stack", "mine"]) == EXIT_INVALID
    page = capsys.readouterr().err
    assert "[CW803]" in page
    assert f"{blueprint.name}:" in page
    assert cloud.things() == before
    assert not (tmp_path / ".pulumi").exists(), "the engine has not begun"


def test_findings_do_not_stop_the_change_of_a_running_cluster(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(in_a_zone_without_the_machine(cloud), indent=1))
    loaded = load.examine(str(file), target="aws", stack="mine", facts=MACHINE, overrides={})
    with pytest.raises(Invalid):
        preflight.validate_live(loaded, "mine", has_resources=False)
    preflight.validate_live(loaded, "mine", has_resources=True)
    assert "warning: p4de.24xlarge is not available to this account in us-east-1a" in capsys.readouterr().err


def test_missing_rights_to_ask_stop_nobody(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(Site(cloud).blueprint(), indent=1))
    loaded = load.examine(str(file), target="aws", stack="mine", facts=MACHINE, overrides={})
    cloud.fault("ec2.DescribeInstanceTypeOfferings", code="UnauthorizedOperation", times=None)
    preflight.validate_live(loaded, "mine", has_resources=False)
    assert "warning: the account did not answer: offers" in capsys.readouterr().err


# What a user may write


def test_reservations_are_listed_ready_to_paste(cloud: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site(cloud)
    later = cloud.reserve("p5.48xlarge", "us-east-1a", 1, kind="capacity-block", starts_in_s=3600, ends_in_s=90_000)
    over = cloud.reserve("p5.48xlarge", "us-east-1a", 1, kind="capacity-block", ends_in_s=60)
    cloud.advance(120)
    found = {one["id"]: one for one in looked_up(capsys, "reservations")}
    assert found.keys() == {site.reservation, later.id}
    assert over.id not in found
    assert (found[later.id]["kind"], found[later.id]["state"]) == ("block", "scheduled")
    assert found[site.reservation]["write"] == f"capacity: {{kind: reserved, id: {site.reservation}}}   # with network: {{zones: [us-east-1b]}}"
    file = tmp_path / "pasted.yaml"
    head = "name: tiny\naccess: {allowed_cidrs: [192.0.2.0/24]}\nnetwork: {region: us-east-1, zones: [us-east-1b]}\npools:\n  train:\n    machine: p5.48xlarge\n    nodes: 4\n"
    file.write_text(f"{head}    {found[site.reservation]['write']}\n")
    assert main.main(["check", str(file), "--target", "aws", "--live"]) == 0


def test_zones_are_listed_with_the_machines_that_they_offer(cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.set("zones", {REGION: {"us-east-1-dfw-2a": "use1-dfw2-az1"}})
    cloud.set("offered", [["p6e-gb200.36xlarge", "us-east-1-dfw-2a"]])
    found = {one["name"]: one for one in looked_up(capsys, "zones")}
    assert "p5.48xlarge" in found["us-east-1b"]["machines"]
    assert found["us-east-1-dfw-2a"]["is_local"] is True
    (only,) = looked_up(capsys, "zones", "--machine", "p6e-gb200.36xlarge")
    assert only["write"] == "network: {region: us-east-1, zones: [us-east-1-dfw-2a]}"


def test_blocks_on_offer_are_listed_and_not_bought(cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.set("blocks", [["p5.48xlarge", "us-east-1a", 4, 48, 7200, "5000.00"], ["p5.48xlarge", "us-east-1a", 2, 48, 7200, "2500.00"]])
    (only,) = looked_up(capsys, "blocks", "--machine", "p5.48xlarge", "--nodes", "4", "--days", "2")
    assert (only["zone"], only["count"], only["fee"]) == ("us-east-1a", 4, "5000.00 USD")
    assert only["id"] in only["buy"]
    assert looked_up(capsys, "blocks", "--machine", "p5.48xlarge", "--nodes", "3", "--days", "2") == []
    assert not cloud.things("ec2.CapacityReservation")


def test_subnets_are_listed_with_their_way_out(cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site(cloud)
    found = {one["id"]: one for one in looked_up(capsys, "subnets")}
    assert {name: found[getattr(site, name)]["way_out"] for name in ("public", "private", "closed")} == {
        "public": "internet",
        "private": "nat",
        "closed": "none",
    }
    assert found[site.private]["write"] == f"network: {{existing: {site.vpc}, subnets: [{site.private}]}}"
    assert found[site.public]["write"] == ""


def test_file_systems_and_images_are_listed(cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site(cloud)
    found = {one["id"]: one for one in looked_up(capsys, "storage")}
    assert found[site.files]["write"] == f'{{kind: existing, source: "{site.files}"}}'
    assert found[site.files]["zones"] == [site.zone]
    assert found[site.lustre.id]["write"] == f'{{kind: existing, source: "{site.lustre["dnsName"]}@tcp:/{site.lustre["mountName"]}"}}'
    assert looked_up(capsys, "images") == []


@pytest.mark.parametrize("kind", ["zones", "reservations", "subnets", "images", "storage"])
def test_people_get_a_table(cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    Site(cloud)
    assert main.main(["lookup", kind]) == 0
    title, *rest = capsys.readouterr().out.splitlines()
    assert REGION in title
    assert rest


def test_what_may_not_be_listed_is_a_page(cloud: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.fault("ec2.DescribeSubnets", code="UnauthorizedOperation", message="You are not authorized", times=None)
    assert main.main(["lookup", "subnets"]) == EXIT_FAILED
    assert "ReadOnlyAccess" in capsys.readouterr().err
