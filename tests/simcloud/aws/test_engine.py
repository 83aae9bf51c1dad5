"""The real engine on the simulated cloud, with programs that use Pulumi's SDK for AWS."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simcloud.aws import images, programs
from tests.simcloud.aws.client import REGION, SimulatedCloud
from tests.simcloud.aws.deployment import NO_CHANGES, Deployment, deployment
from tests.simcloud.aws.landscape import TRUST

pytestmark = pytest.mark.engine

IMAGE = str(next(images.public(REGION))["ImageId"])
SETTINGS = {"image": IMAGE, "user_data": "#!/bin/sh", "scratch_gib": 4800, "head": "m5.large"}
SMALL = {"trust": json.dumps(TRUST)}


@pytest.fixture
def cluster(tmp_path: Path, cloud: SimulatedCloud) -> Iterator[Deployment]:
    with deployment(tmp_path / "stack", cloud, programs.CLUSTER) as one:
        yield one


@pytest.fixture
def small(tmp_path: Path, cloud: SimulatedCloud) -> Iterator[Deployment]:
    with deployment(tmp_path / "stack", cloud, programs.SMALL) as one:
        one.set(**SMALL)
        yield one


@pytest.mark.soak  # tests/components/aws/test_engine.py has the project's own program live there
def test_a_cluster_lives_from_up_to_destroy(cluster: Deployment, cloud: SimulatedCloud, aws: Any) -> None:
    cluster.set(**SETTINGS)
    cluster.up()
    assert len(cloud.things()) == 24
    assert cloud.untagged("clusterwright:stack", "clusterwright:cluster") == []
    assert cloud.audit() == []
    assert cloud.thing("ec2.Instance")["privateIp"] in cloud.thing("ec2.Instance").addresses
    cluster.up("--refresh", "--expect-no-changes")

    cluster.set(**SETTINGS | {"scratch_gib": 2400, "image": list(images.public(REGION))[1]["ImageId"]})
    found = cluster.changes()
    assert (sorted(found["replace"]), found["update"]) == (["head", "login", "scratch"], ["train"])

    cluster.set(**SETTINGS | {"scratch_gib": 7200, "user_data": "#!/bin/bash", "head": "m5.xlarge"})
    before = {thing.id for thing in cloud.things()}
    cluster.up()
    assert {thing.id for thing in cloud.things()} == before
    head = cloud.thing("ec2.Instance")
    assert head["api"]["InstanceType"] == "m5.xlarge"
    assert head["privateIp"] in head.addresses

    cloud.end(head.id)
    cluster.up("--refresh")
    assert cloud.thing("ec2.Instance").id != head.id, "what is terminated is described for a while, and is gone for the provider all the same"

    template = cloud.thing("ec2.LaunchTemplate")
    assert (template["latestVersion"], template["defaultVersion"]) == (2, 2)
    made = aws("ec2").create_fleet(
        Type="instant",
        LaunchTemplateConfigs=[{"LaunchTemplateSpecification": {"LaunchTemplateId": template.id, "Version": "2"}}],
        TargetCapacitySpecification={"TotalTargetCapacity": 2, "DefaultTargetCapacityType": "on-demand"},
    )
    assert [len(pool["InstanceIds"]) for pool in made["Instances"]] == [2]
    assert "DependencyViolation" in cluster.fails("destroy", "--yes", "--skip-preview")
    aws("ec2").terminate_instances(InstanceIds=made["Instances"][0]["InstanceIds"])
    cluster.destroy()
    assert cloud.things() == []


def test_what_is_wrong_is_refused_before_or_when_it_is_made(small: Deployment, cloud: SimulatedCloud) -> None:
    small.set(**SMALL, tenancy="sometimes")
    assert "'sometimes' is not one of" in small.fails("preview")
    assert cloud.things() == []
    small.set(**SMALL, vpc="vpc-00000000")
    assert "InvalidVpcID.NotFound" in small.fails("up", "--yes", "--skip-preview")
    # Which of those that need nothing else were begun before the refusal came back is the engine's choice.
    assert {thing.kind for thing in cloud.things()} <= {"ec2.Vpc", "iam.Role"}
    cloud.expire_credentials()
    assert "ExpiredToken: The security token included in the request is expired" in small.fails("preview")


def test_drift_is_seen_and_mended(small: Deployment, cloud: SimulatedCloud) -> None:
    small.up()
    cloud.drift(cloud.thing("ec2.Vpc").id, tags={"clusterwright:stack": "theirs"})
    cloud.lose(cloud.thing("ebs.Volume").id)
    refreshed = small.run("refresh", "--preview-only", "--expect-no-changes")
    assert refreshed.returncode == NO_CHANGES
    small.up("--refresh")
    assert cloud.thing("ec2.Vpc").tags == {"clusterwright:stack": "dev"}
    assert cloud.thing("ebs.Volume")["size"] == 10


@pytest.mark.soak
def test_what_a_killed_engine_left_is_seen(small: Deployment, cloud: SimulatedCloud) -> None:
    cloud.fault("create ec2.Vpc", "kill-engine", after=True)
    assert small.run("up", "--yes", "--skip-preview").returncode != 0
    (left,) = cloud.things("ec2.Vpc", tags={"clusterwright:stack": "dev"})
    assert all(one.get("id") != left.id for one in small.resources())

    small.succeed("cancel", "--yes")
    small.succeed("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
    small.succeed("import", "aws:ec2/vpc:Vpc", "net", left.id, "--yes", "--skip-preview", "--generate-code=false", "--protect=false")
    cloud.fault("create ec2.Subnet", "taint", message="the subnet is not ready")
    assert "the subnet is not ready" in small.fails("up", "--yes", "--skip-preview", "--continue-on-error")
    recorded = small.recorded("nodes")
    assert recorded is not None
    assert recorded["id"] == cloud.thing("ec2.Subnet").id
    small.up()
    small.destroy()
    assert [thing for thing in cloud.things() if thing.kind.startswith("ec2.")] == []  # a role may have been made beside the network that was the last call


def test_what_was_made_without_an_answer_is_seen(small: Deployment, cloud: SimulatedCloud) -> None:
    cloud.fault("create iam.Role", "leave", code="RequestTimeout")
    assert "RequestTimeout" in small.fails("up", "--yes", "--skip-preview", "--continue-on-error")
    lost = cloud.thing("iam.Role")
    small.up()
    small.destroy()
    assert cloud.things() == [lost]  # its answer got lost, so nobody knows of it
