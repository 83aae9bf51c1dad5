"""The AWS API as boto3 sees it."""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import botocore.client
import botocore.exceptions
import pytest

from tests.simcloud.aws import images
from tests.simcloud.aws.client import REGION, SimulatedCloud

Clients = Callable[..., Any]
DEBIAN = "/aws/service/debian/release/12/latest/amd64"


class Ground:
    """A network and a launch template in the cloud."""

    def __init__(self, cloud: SimulatedCloud, *, machine: str = "p5.48xlarge", cards: int = 32, prefix: str = "10.0.0.0/24"):
        self.image = str(next(images.public(REGION))["ImageId"])
        self.vpc = cloud.make("ec2.Vpc", cidrBlock="10.0.0.0/16").id
        self.subnet = cloud.make("ec2.Subnet", vpcId=self.vpc, cidrBlock=prefix, availabilityZone="us-east-1a").id
        self.second = cloud.make("ec2.Subnet", vpcId=self.vpc, cidrBlock="10.0.32.0/24", availabilityZone="us-east-1b").id
        self.group = cloud.make("ec2.SecurityGroup", name="nodes", vpcId=self.vpc).id
        interfaces = [{"networkCardIndex": 0, "deviceIndex": 0, "securityGroups": [self.group]}]
        interfaces += [{"networkCardIndex": card, "deviceIndex": 1, "interfaceType": "efa-only", "securityGroups": [self.group]} for card in range(cards)]
        tags = [{"resourceType": "instance", "tags": {"clusterwright:stack": "dev"}}]
        made = cloud.make("ec2.LaunchTemplate", name="train", imageId=self.image, instanceType=machine, networkInterfaces=interfaces, tagSpecifications=tags)
        self.template = made.id


def fleet(ground: Ground, number: int, **changed: Any) -> dict[str, Any]:
    """Give CreateFleet's parameters for a fleet of all or nothing."""
    specification = {"LaunchTemplateId": ground.template, "Version": "$Latest"}
    return {
        "Type": "instant",
        "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": specification, "Overrides": [{"SubnetId": ground.subnet}]}],
        "TargetCapacitySpecification": {"TotalTargetCapacity": number, "DefaultTargetCapacityType": "on-demand"},
        "OnDemandOptions": {"SingleInstanceType": True, "SingleAvailabilityZone": True, "MinTargetCapacity": number},
        **changed,
    }


def code_of(call: Callable[..., Any], **parameters: Any) -> str:
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        call(**parameters)
    return str(refused.value.response["Error"]["Code"])


def started(answer: Mapping[str, Any]) -> list[str]:
    return [ident for pool in answer["Instances"] for ident in pool["InstanceIds"]]


def test_a_fleet_starts_from_the_template_and_is_seen_until_it_ends(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    cloud.set("pending_s", 50)
    named = [{"ResourceType": "instance", "Tags": [{"Key": "clusterwright:node", "Value": "train-1"}]}]
    made = started(ec2.create_fleet(**fleet(ground, 3, TagSpecifications=named)))
    assert len(made) == 3
    (reservation,) = ec2.describe_instances(InstanceIds=made[:1])["Reservations"]
    (instance,) = reservation["Instances"]
    assert instance["State"]["Name"] == "pending"
    assert instance["InstanceType"] == "p5.48xlarge"
    assert instance["PrivateIpAddress"] == "10.0.0.4"
    assert [one["InterfaceType"] for one in instance["NetworkInterfaces"]] == ["interface", *["efa-only"] * 32]
    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert tags["clusterwright:stack"] == "dev"
    assert tags["clusterwright:node"] == "train-1"
    assert tags["aws:ec2launchtemplate:id"] == ground.template
    assert tags["aws:ec2launchtemplate:version"] == "1"
    assert ec2.describe_subnets(SubnetIds=[ground.subnet])["Subnets"][0]["AvailableIpAddressCount"] == 256 - 5 - 3

    cloud.advance(60)
    running = ec2.describe_instances(Filters=[{"Name": "tag:clusterwright:stack", "Values": ["dev"]}, {"Name": "instance-state-name", "Values": ["running"]}])
    assert len(running["Reservations"]) == 3
    assert "simulated" in ec2.get_console_output(InstanceId=made[0])["Output"]

    (change, *_) = ec2.terminate_instances(InstanceIds=made)["TerminatingInstances"]
    assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == ("running", "shutting-down")
    cloud.advance(60)
    assert ec2.describe_instances(InstanceIds=made[:1])["Reservations"][0]["Instances"][0]["State"]["Name"] == "terminated"
    assert ec2.describe_subnets(SubnetIds=[ground.subnet])["Subnets"][0]["AvailableIpAddressCount"] == 256 - 5
    assert cloud.things("ec2.Instance") == []
    cloud.advance(3600)
    assert code_of(ec2.describe_instances, InstanceIds=made[:1]) == "InvalidInstanceID.NotFound"


def test_a_fleet_of_all_or_nothing_is_nothing_when_capacity_lacks(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    cloud.set("capacity", {"p5.48xlarge/us-east-1a": 5})
    assert len(started(ec2.create_fleet(**fleet(ground, 4)))) == 4
    none = ec2.create_fleet(**fleet(ground, 2))
    assert started(none) == []
    assert [error["ErrorCode"] for error in none["Errors"]] == ["InsufficientInstanceCapacity"]
    some = ec2.create_fleet(**fleet(ground, 2, OnDemandOptions={}))
    assert len(started(some)) == 1
    assert [error["ErrorCode"] for error in some["Errors"]] == ["InsufficientInstanceCapacity"]
    assert code_of(ec2.run_instances, LaunchTemplate={"LaunchTemplateId": ground.template}, MinCount=1, MaxCount=1) == "MissingInput"

    both = fleet(ground, 2)
    both["LaunchTemplateConfigs"][0]["Overrides"].append({"SubnetId": ground.second})
    answer = ec2.create_fleet(**both)
    assert len(started(answer)) == 2
    assert {one["Placement"]["AvailabilityZone"] for one in described(ec2, started(answer))} == {"us-east-1b"}


def test_a_protected_instance_keeps_those_of_its_zone_alive(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    here = started(ec2.create_fleet(**fleet(ground, 2)))
    elsewhere = fleet(ground, 2)
    elsewhere["LaunchTemplateConfigs"][0]["Overrides"] = [{"SubnetId": ground.second}]
    there = started(ec2.create_fleet(**elsewhere))
    cloud.drift(here[0], protected=True)
    assert code_of(ec2.terminate_instances, InstanceIds=[*there, *here]) == "OperationNotPermitted"
    assert {one.id for one in cloud.things("ec2.Instance")} == set(here)


def described(ec2: Any, idents: list[str]) -> list[dict[str, Any]]:
    return [one for reservation in ec2.describe_instances(InstanceIds=idents)["Reservations"] for one in reservation["Instances"]]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"LaunchTemplateConfigs": [{"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-0", "Version": "1"}}]}, "InvalidLaunchTemplateId.NotFound"),
        (
            {"LaunchTemplateConfigs": [{"LaunchTemplateSpecification": {"LaunchTemplateName": "train", "Version": "9"}}]},
            "InvalidLaunchTemplateId.VersionNotFound",
        ),
        ({"TargetCapacitySpecification": {"TotalTargetCapacity": 400}, "OnDemandOptions": {}}, "InsufficientFreeAddressesInSubnet"),
        (
            {"TargetCapacitySpecification": {"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "capacity-block"}, "OnDemandOptions": {}},
            "InvalidParameterCombination",
        ),
    ],
)
def test_what_a_fleet_cannot_start_is_in_its_errors(cloud: SimulatedCloud, aws: Clients, change: dict[str, Any], code: str) -> None:
    answer = aws("ec2").create_fleet(**fleet(Ground(cloud), 2, **change))
    assert started(answer) == []
    assert [error["ErrorCode"] for error in answer["Errors"]] == [code]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Type": "maintain"}, "NotSimulated"),
        ({"OnDemandOptions": {"MinTargetCapacity": 2}}, "InvalidParameter"),
        ({"OnDemandOptions": {"MinTargetCapacity": 3, "SingleInstanceType": True}}, "InvalidParameter"),
        ({"SpotOptions": {"AllocationStrategy": "cheapest"}}, "InvalidParameterValue"),
        ({"TagSpecifications": [{"ResourceType": "vpc", "Tags": [{"Key": "a", "Value": "b"}]}]}, "InvalidParameterValue"),
    ],
)
def test_a_fleet_request_that_is_wrong_is_refused(cloud: SimulatedCloud, aws: Clients, change: dict[str, Any], code: str) -> None:
    assert code_of(aws("ec2").create_fleet, **fleet(Ground(cloud), 2, **change)) == code


def test_single_instances_are_held_to_the_same_rules(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    right = {"ImageId": ground.image, "InstanceType": "m5.large", "SubnetId": ground.subnet, "SecurityGroupIds": [ground.group], "MinCount": 1, "MaxCount": 2}
    wrong: dict[str, dict[str, Any]] = {
        "InvalidAMIID.NotFound": {"ImageId": "ami-0"},
        "InvalidParameterValue": {"InstanceType": "m5.huge"},
        "InvalidSubnetID.NotFound": {"SubnetId": "subnet-0"},
        "InvalidGroup.NotFound": {"SecurityGroupIds": ["sg-0"]},
        "InvalidKeyPair.NotFound": {"KeyName": "nobody"},
        "InvalidParameterCombination": {"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": ground.subnet}]},
        "UnsupportedOperation": {
            "SubnetId": "",
            "SecurityGroupIds": [],
            "NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": ground.subnet, "InterfaceType": "efa"}],
        },
        "DryRunOperation": {"DryRun": True},
    }
    for code, change in wrong.items():
        parameters = {name: value for name, value in {**right, **change}.items() if value not in ("", [])}
        assert code_of(ec2.run_instances, **parameters) == code
    assert len(ec2.run_instances(**right)["Instances"]) == 2
    cloud.set("quotas", {"L-1216C47A": 5})
    assert code_of(ec2.run_instances, **{**right, "MinCount": 2}) == "VcpuLimitExceeded"
    token = {**right, "MinCount": 1, "MaxCount": 1, "ClientToken": "twice"}
    cloud.set("quotas", {})
    first, second = ec2.run_instances(**token), ec2.run_instances(**token)
    assert first["Instances"][0]["InstanceId"] == second["Instances"][0]["InstanceId"]
    assert code_of(ec2.run_instances, **{**token, "MaxCount": 2}) == "IdempotentParameterMismatch"


def test_reservations_and_blocks_are_for_what_they_were_bought(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    plain, block = (
        cloud.reserve("p5.48xlarge", "us-east-1a", 2).id,
        cloud.reserve("p5.48xlarge", "us-east-1a", 2, kind="capacity-block", starts_in_s=600, ends_in_s=7200).id,
    )
    smaller = cloud.reserve("p4d.24xlarge", "us-east-1a", 2).id
    single = [{"DeviceIndex": 0, "SubnetId": ground.subnet}]

    def run(reservation: str, market: str | None = None, number: int = 1) -> Any:
        target = {"CapacityReservationTarget": {"CapacityReservationId": reservation}}
        more = {"InstanceMarketOptions": {"MarketType": market}} if market else {}
        return ec2.run_instances(
            ImageId=ground.image,
            InstanceType="p5.48xlarge",
            NetworkInterfaces=single,
            MinCount=number,
            MaxCount=number,
            CapacityReservationSpecification=target,
            **more,
        )

    refused = {
        (smaller, None, 1): "InvalidParameterCombination", (plain, "spot", 1): "InvalidParameterCombination", (plain, "capacity-block", 1): "InvalidParameterCombination",
        (block, None, 1): "InvalidParameterCombination", (block, "capacity-block", 1): "InvalidCapacityReservationState", (plain, None, 3): "ReservationCapacityExceeded",
        ("cr-0", None, 1): "InvalidCapacityReservationId.NotFound",
    }  # fmt: skip
    for (reservation, market, number), code in refused.items():
        assert code_of(run, reservation=reservation, market=market, number=number) == code
    assert run(plain, number=2)["Instances"][0]["CapacityReservationId"] == plain
    (shown,) = ec2.describe_capacity_reservations(CapacityReservationIds=[plain])["CapacityReservations"]
    assert (shown["State"], shown["AvailableInstanceCount"], shown["TotalInstanceCount"]) == ("active", 0, 2)

    cloud.advance(700)
    inside = run(block, "capacity-block")["Instances"][0]["InstanceId"]
    cloud.advance(7200 - 1800 - 1000)  # the clock runs on by itself, too
    assert described(ec2, [inside])[0]["State"]["Name"] == "running"
    cloud.advance(300)
    assert described(ec2, [inside])[0]["StateReason"]["Code"] == "Server.ScheduledStop"
    cloud.advance(1800)
    assert ec2.describe_capacity_reservations(CapacityReservationIds=[block])["CapacityReservations"][0]["State"] == "expired"


def test_a_spot_instance_is_warned_and_ends(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    spot = {"TargetCapacitySpecification": {"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "spot"}, "OnDemandOptions": {}}
    (ident,) = started(ec2.create_fleet(**fleet(ground, 1, **spot)))
    assert described(ec2, [ident])[0]["InstanceLifecycle"] == "spot"
    cloud.interrupt(ident)
    (request,) = ec2.describe_spot_instance_requests(Filters=[{"Name": "instance-id", "Values": [ident]}])["SpotInstanceRequests"]
    assert request["Status"]["Code"] == "marked-for-termination"
    cloud.advance(130)
    assert described(ec2, [ident])[0]["StateReason"]["Code"] == "Server.SpotInstanceTermination"


def test_the_service_lags_behind_when_told_to(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    cloud.set("describe_lag_s", 30)
    cloud.set("address_lag_s", 60)
    made = started(ec2.create_fleet(**fleet(ground, 1)))
    assert code_of(ec2.describe_instances, InstanceIds=made) == "InvalidInstanceID.NotFound"
    cloud.advance(40)
    assert "PrivateIpAddress" not in described(ec2, made)[0]
    cloud.advance(40)
    assert described(ec2, made)[0]["PrivateIpAddress"] == "10.0.0.4"
    cloud.impair(made[0], events=[{"Code": "instance-retirement", "Description": "worn out"}])
    (status,) = ec2.describe_instance_status(InstanceIds=made)["InstanceStatuses"]
    assert (status["InstanceStatus"]["Status"], status["Events"][0]["Code"]) == ("impaired", "instance-retirement")
    cloud.end(made[0])
    assert described(ec2, made)[0]["StateReason"]["Code"] == "Server.InternalError"


def test_statuses_are_told_page_by_page_and_know_no_tags(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud, machine="m5.large", cards=0), aws("ec2")
    cloud.set("pending_s", 600)
    made = started(ec2.create_fleet(**fleet(ground, 8)))
    ec2.terminate_instances(InstanceIds=made[:1])
    cloud.advance(60)
    assert ec2.describe_instance_status()["InstanceStatuses"] == [], "none runs yet"
    pages = list(ec2.get_paginator("describe_instance_status").paginate(IncludeAllInstances=True, PaginationConfig={"PageSize": 5}))
    assert [len(page["InstanceStatuses"]) for page in pages] == [5, 3]
    states = {one["InstanceId"]: one["InstanceState"]["Name"] for page in pages for one in page["InstanceStatuses"]}
    assert states == {made[0]: "terminated", **dict.fromkeys(made[1:], "pending")}
    assert code_of(ec2.describe_instance_status, Filters=[{"Name": "tag:clusterwright:stack", "Values": ["dev"]}]) == "InvalidParameterValue"
    assert code_of(ec2.describe_instance_status, InstanceIds=made * 13) == "InvalidParameterValue"
    many = [f"i-{number}" for number in range(201)]
    assert code_of(ec2.describe_instances, Filters=[{"Name": "instance-id", "Values": many}]) == "FilterLimitExceeded"
    assert ec2.describe_instances(Filters=[{"Name": "instance-id", "Values": many[1:]}])["Reservations"] == []


def test_nobody_gets_in_without_the_keys(cloud: SimulatedCloud, aws: Clients) -> None:
    assert aws("sts").get_caller_identity()["Account"] == "123456789012"
    key = cloud.environment["AWS_ACCESS_KEY_ID"]
    unknown = aws("ec2", aws_access_key_id="AKIANOBODY", aws_secret_access_key="x")
    assert code_of(unknown.describe_vpcs) == "AuthFailure"
    forged = aws("ec2", aws_access_key_id=key, aws_secret_access_key="x")
    assert code_of(forged.describe_vpcs) == "SignatureDoesNotMatch"
    unsigned = aws("ec2", config=botocore.client.Config(signature_version=botocore.UNSIGNED))
    assert code_of(unsigned.describe_vpcs) == "MissingAuthenticationToken"
    cloud.expire_credentials()
    assert code_of(aws("ec2").describe_vpcs) == "RequestExpired"
    assert code_of(aws("ssm").get_parameter, Name=DEBIAN) == "ExpiredToken"
    cloud.expire_credentials(False)
    assert len(aws("ec2").describe_vpcs()["Vpcs"]) == 0


def test_calls_fail_and_are_counted_as_told(cloud: SimulatedCloud, aws: Clients) -> None:
    once = botocore.client.Config(retries={"total_max_attempts": 1})
    ec2 = aws("ec2", config=once)
    cloud.fault("ec2.DescribeVpcs", code="UnauthorizedOperation", skip=1, times=2)
    assert ec2.describe_vpcs()["Vpcs"] == []
    assert [code_of(ec2.describe_vpcs) for _ in range(2)] == ["UnauthorizedOperation"] * 2
    cloud.throttle("ec2.*", times=None)
    assert code_of(ec2.describe_subnets) == "RequestLimitExceeded"
    cloud.clear_faults()
    assert ec2.describe_vpcs()["Vpcs"] == []
    assert cloud.count("ec2.DescribeVpcs") == 4
    assert cloud.calls()["ec2.DescribeSubnets"] == 1
    cloud.fault("ec2.DescribeInstanceTypes", code="InternalError", where={"InstanceTypes": ["p5.48xlarge"]})
    ec2.describe_instance_types(InstanceTypes=["m5.large"])
    assert code_of(ec2.describe_instance_types, InstanceTypes=["p5.48xlarge"]) == "InternalError"


def test_a_killed_server_goes_on_with_what_there_was(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    made = started(ec2.create_fleet(**fleet(ground, 2)))
    cloud.advance(100)
    before = {thing.id: thing for thing in cloud.things()}
    cloud.kill()
    with pytest.raises(botocore.exceptions.EndpointConnectionError):
        aws("ec2", config=botocore.client.Config(retries={"total_max_attempts": 1})).describe_vpcs()
    cloud.start()
    assert {thing.id: thing for thing in cloud.things()} == before
    assert {one["State"]["Name"] for one in described(ec2, made)} == {"running"}
    assert set(started(ec2.create_fleet(**fleet(ground, 1)))).isdisjoint(made)

    cloud.fault("ec2.TerminateInstances", "die", after=True)
    with pytest.raises(botocore.exceptions.HTTPClientError):
        aws("ec2", config=botocore.client.Config(retries={"total_max_attempts": 1})).terminate_instances(InstanceIds=made)
    cloud.wait_for_death()
    cloud.start()
    assert len(cloud.things("ec2.Instance")) == 1


def test_lists_are_filtered_and_come_in_pages(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud, machine="m5.large", cards=0), aws("ec2")
    made = started(ec2.create_fleet(**fleet(ground, 7)))
    pages = list(ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5}))
    assert [len(page["Reservations"]) for page in pages] == [5, 2]
    assert code_of(ec2.describe_instances, InstanceIds=made, MaxResults=5) == "InvalidParameterCombination"
    assert code_of(ec2.describe_instances, Filters=[{"Name": "colour", "Values": ["red"]}]) == "InvalidParameterValue"
    ec2.create_tags(Resources=made[:2], Tags=[{"Key": "state", "Value": "lost"}])
    assert len(ec2.describe_instances(Filters=[{"Name": "tag:state", "Values": ["lo*"]}])["Reservations"]) == 2
    assert code_of(ec2.create_tags, Resources=made[:1], Tags=[{"Key": "aws:x", "Value": "y"}]) == "InvalidParameterValue"
    ec2.delete_tags(Resources=made[:1], Tags=[{"Key": "state"}])
    assert {tag["ResourceId"] for tag in ec2.describe_tags(Filters=[{"Name": "key", "Values": ["state"]}])["Tags"]} == {made[1]}


def test_facts_about_the_account_are_answered(cloud: SimulatedCloud, aws: Clients) -> None:
    ground, ec2 = Ground(cloud), aws("ec2")
    assert aws("ssm").get_parameter(Name=DEBIAN)["Parameter"]["Value"] == ground.image
    assert code_of(aws("ssm").get_parameter, Name="/nothing") == "ParameterNotFound"
    (image,) = ec2.describe_images(ImageIds=[ground.image])["Images"]
    assert image["Architecture"] == "x86_64"
    (quota,) = [one for one in aws("service-quotas").list_service_quotas(ServiceCode="vpc")["Quotas"] if one["QuotaCode"] == "L-F678F1CE"]
    assert quota["Value"] == 5
    assert code_of(aws("service-quotas").get_service_quota, ServiceCode="ec2", QuotaCode="L-0") == "NoSuchResourceException"
    (kind,) = ec2.describe_instance_types(InstanceTypes=["p5.48xlarge"])["InstanceTypes"]
    assert (kind["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"], kind["VCpuInfo"]["DefaultVCpus"]) == (32, 192)
    assert code_of(ec2.describe_instance_types, InstanceTypes=["p5.47xlarge"]) == "InvalidParameterValue"
    offers = ec2.describe_instance_type_offerings(LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": ["p5en.48xlarge"]}])
    assert "us-east-1a" in {offer["Location"] for offer in offers["InstanceTypeOfferings"]}
    ordinary = {zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"]}
    cloud.set("zones", {REGION: {"us-east-1-dfw-2a": "use1-dfw2-az1"}})
    cloud.set("offered", [["p6e-gb200.36xlarge", "us-east-1-dfw-2a"]])
    (local,) = ec2.describe_availability_zones(Filters=[{"Name": "opt-in-status", "Values": ["opted-in"]}])["AvailabilityZones"]
    assert (local["ZoneName"], local["ZoneType"]) == ("us-east-1-dfw-2a", "local-zone")
    assert "us-east-1a" in ordinary
    assert local["ZoneName"] not in ordinary
    cloud.make("ec2.Subnet", vpcId=ground.vpc, cidrBlock="10.0.64.0/24", availabilityZone="us-east-1-dfw-2a")
    found = ec2.describe_instance_type_offerings(LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": ["p6e-gb200.36xlarge"]}])
    assert [offer["Location"] for offer in found["InstanceTypeOfferings"]] == ["us-east-1-dfw-2a"]
    (version,) = ec2.describe_launch_template_versions(LaunchTemplateName="train", Versions=["$Latest"])["LaunchTemplateVersions"]
    assert len(version["LaunchTemplateData"]["NetworkInterfaces"]) == 33
    assert version["CreateTime"].tzinfo == dt.UTC or version["CreateTime"].utcoffset() == dt.timedelta()


def test_what_has_no_rule_is_said_and_never_passed(cloud: SimulatedCloud, aws: Clients) -> None:
    assert code_of(aws("ec2").describe_hosts) == "NotSimulated"
    assert code_of(aws("sqs").list_queues) == "NotSimulated"


def test_a_secret_is_given_as_it_is_now(cloud: SimulatedCloud, aws: Clients) -> None:
    secret = cloud.make("secretsmanager.Secret", name="munge")
    assert code_of(aws("secretsmanager").get_secret_value, SecretId=secret.id) == "ResourceNotFoundException"
    for text in ("first", "second"):
        cloud.make("secretsmanager.SecretVersion", secretId=secret.id, secretString=text)
    for name in (secret.id, "munge"):
        assert aws("secretsmanager").get_secret_value(SecretId=name, VersionStage="AWSCURRENT")["SecretString"] == "second"
