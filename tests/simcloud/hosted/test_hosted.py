"""What guests are told and what is put in place for them, without guests: metadata, names, file systems, and what of the cloud has a body."""

import base64
import socket
import struct
from collections.abc import Mapping
from typing import Any

import pytest

from tests.simcloud.aws.landscape import Account
from tests.simcloud.core.listening import Answer, Request
from tests.simcloud.core.store import Thing
from tests.simcloud.hosted import image, metadata, resolver, shares
from tests.simcloud.hosted.hosts import configuration
from tests.simcloud.hosted.wanted import address, wanted

TTL = "x-aws-ec2-metadata-token-ttl-seconds"
TOKEN = "x-aws-ec2-metadata-token"


@pytest.fixture
def instance(account: Account) -> Thing:
    data = base64.b64encode(b"#cloud-config\n").decode()
    options = {"httpTokens": "required", "instanceMetadataTags": "enabled"}
    return account.make(
        "ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", vpcSecurityGroupIds=["{group}"], iamInstanceProfile="node", userDataBase64=data,
        metadataOptions=options, tags={"clusterwright:node": "cpu-0"},
    )  # fmt: skip


def ask(account: Account, thing: Thing, path: str, *, method: str = "GET", source: str = "", **headers: str) -> Answer:
    request = Request(method, path, {name.replace("_", "-"): value for name, value in headers.items()}, b"")
    return metadata.answer(account.cloud, request, source or address(account.cloud, thing))


def token(account: Account, thing: Thing) -> Mapping[str, str]:
    answer = metadata.answer(account.cloud, Request("PUT", "/latest/api/token", {TTL: "60"}, b""), address(account.cloud, thing))
    assert answer.status == 200
    return {TOKEN.replace("-", "_"): answer.body.decode()}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("user-data", "#cloud-config\n"),
        ("meta-data/tags/instance/clusterwright:node", "cpu-0"),
        ("meta-data/placement/availability-zone", "us-east-1a"),
        ("meta-data/iam/security-credentials/", "node"),
        ("meta-data/placement/", "availability-zone\navailability-zone-id\nregion"),
    ],
)
def test_an_instance_learns_what_it_is(account: Account, instance: Thing, path: str, said: str) -> None:
    answer = ask(account, instance, f"/latest/{path}", **token(account, instance))
    assert (answer.status, answer.body.decode()) == (200, said)


def test_without_a_token_nothing_is_told(account: Account, instance: Thing) -> None:
    other = account.make("ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", metadataOptions={"httpTokens": "required"})
    assert ask(account, instance, "/latest/user-data").status == 401
    assert ask(account, other, "/latest/meta-data/instance-id", **token(account, instance)).status == 401, "a token is one instance's"
    assert metadata.answer(account.cloud, Request("PUT", "/latest/api/token", {TTL: "0"}, b""), address(account.cloud, instance)).status == 400
    assert ask(account, instance, "/latest/api/token", method="PUT", x_forwarded_for="10.0.0.1").status == 403
    assert ask(account, instance, "/latest/user-data", source="10.0.0.99", **token(account, instance)).status == 404


def test_tags_are_told_only_where_that_is_enabled(account: Account) -> None:
    silent = account.make("ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", tags={"x": "y"})
    assert ask(account, silent, "/latest/meta-data/tags/instance/x").status == 404


def question(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def lookup(name: str, source: str) -> str | None:
    return {"ec2.us-east-1.amazonaws.com": "10.0.0.1", "fs-1.efs.us-east-1.amazonaws.com": ""}.get(name)


def test_names_are_answered_by_the_resolver() -> None:
    answer = resolver.answered(question("EC2.us-east-1.amazonaws.com"), "10.0.0.4", lookup)
    assert answer is not None
    assert answer[:2] == b"\0\7"
    assert socket.inet_ntoa(answer[-4:]) == "10.0.0.1"
    for asked in (question("ec2.us-east-1.amazonaws.com", kind=28), question("fs-1.efs.us-east-1.amazonaws.com")):
        empty = resolver.answered(asked, "10.0.0.4", lookup)
        assert empty is not None
        assert struct.unpack("!HHHH", empty[:8])[1:] == (0x8180, 1, 0), "the name exists and has no such address"
    assert resolver.answered(b"\0", "10.0.0.4", lookup) is None
    assert resolver.address_of_instance("ip-10-0-0-4.ec2.internal") == "10.0.0.4"


def elastic(account: Account, subnet: str, groups: list[str]) -> str:
    made = account.make("efs.FileSystem", encrypted=True).id
    account.make("efs.MountTarget", fileSystemId=made, subnetId=subnet, securityGroups=groups)
    return f"{made}.efs.us-east-1.amazonaws.com:/"


def opened(account: Account, vpc: str, **rule: Any) -> str:
    ingress = {"fromPort": 2049, "toPort": 2049, "protocol": "tcp", **rule}
    return account.make("ec2.SecurityGroup", name=f"nfs-{vpc.strip('{}')}-{len(str(rule))}", vpcId=vpc, ingress=[ingress]).id


def test_a_file_system_is_reached_from_its_zone_by_who_is_let_in(account: Account, instance: Thing) -> None:
    by_group = opened(account, "{vpc}", securityGroups=[account.names["group"]])
    by_address = opened(account, "{vpc}", cidrBlocks=["10.0.0.0/16"])
    for group in (by_group, by_address):
        source = elastic(account, "{a}", [group])
        assert shares.export(account.cloud, instance, source) == shares.Export(file_system=source.partition(".")[0], path="/")


@pytest.mark.parametrize(
    ("subnet", "vpc", "cidr", "why"),
    [
        ("{b}", "{vpc}", "10.0.0.0/8", "no mount target in zone us-east-1a"),
        ("{other}", "{other-vpc}", "10.0.0.0/8", "no mount target in network"),
        ("{a}", "{vpc}", "10.9.0.0/16", "lets .* in at port 2049"),
    ],
)
def test_a_file_system_without_a_way_to_it_is_refused(account: Account, instance: Thing, subnet: str, vpc: str, cidr: str, why: str) -> None:
    source = elastic(account, subnet, [opened(account, vpc, cidrBlocks=[cidr])])
    with pytest.raises(shares.Unreachable, match=why):
        shares.export(account.cloud, instance, source)


@pytest.mark.parametrize("source", ["fs-0123456789abcdef0.efs.us-east-1.amazonaws.com:/", "10.0.0.200:/srv", "nonsense"])
def test_what_is_no_file_system_is_refused(account: Account, instance: Thing, source: str) -> None:
    with pytest.raises(shares.Unreachable):
        shares.export(account.cloud, instance, source)


def test_no_path_leads_out_of_a_file_system(account: Account, instance: Thing) -> None:
    source = elastic(account, "{a}", [opened(account, "{vpc}", cidrBlocks=["10.0.0.0/16"])])
    with pytest.raises(shares.Unreachable, match="no path"):
        shares.export(account.cloud, instance, f"{source}a/../../b")


def test_a_disk_that_a_host_exports_is_mounted_from_it(account: Account, instance: Thing) -> None:
    group = opened(account, "{vpc}", securityGroups=[account.names["group"]])
    server = account.make("ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", vpcSecurityGroupIds=[group])
    found = shares.export(account.cloud, instance, f"{address(account.cloud, server)}:/srv/data")
    assert found == shares.Export(host=server.id, path="/srv/data")


def test_only_what_lives_has_a_body(account: Account, instance: Thing) -> None:
    kept = account.make("ec2.NetworkInterface", subnetId="{a}")
    control = account.make("ec2.Instance", ami="{image}", instanceType="m5.large", primaryNetworkInterface={"networkInterfaceId": kept.id})
    volume = account.make("ebs.Volume", availabilityZone="us-east-1a", size=10)
    account.make("ec2.VolumeAttachment", deviceName="/dev/sdf", instanceId=control.id, volumeId=volume.id)
    balancer = account.make("lb.LoadBalancer", name="login", loadBalancerType="network", subnets=["{a}"])
    targets = account.make("lb.TargetGroup", name="login", port=22, protocol="TCP", vpcId="{vpc}")
    account.make("lb.Listener", loadBalancerArn=balancer.id, port=22, protocol="TCP", defaultActions=[{"type": "forward", "targetGroupArn": targets.id}])
    account.make("lb.TargetGroupAttachment", targetGroupArn=targets.id, targetId=instance.id)
    public = account.make("ec2.Eip", instance=instance.id)

    now = wanted(account.cloud)
    assert now.guests.keys() == {instance.id, control.id}
    assert now.guests[control.id].address == kept.interfaces[0].address, "an interface that was there before keeps its address"
    assert (now.disks[volume.id].instance, now.disks[volume.id].number) == (control.id, 1)
    assert f"server {instance.id} {now.guests[instance.id].address}:22" in configuration(now.fronts["login"])
    assert now.public == {public["publicIp"]: now.guests[instance.id].address}

    account.cloud.delete(instance)
    later = wanted(account.cloud)
    assert later.guests.keys() == {control.id}
    assert not later.fronts["login"].has_targets
    assert later.public == {}


@pytest.mark.parametrize(("machine", "gpus"), [("m7i.large", 0), ("g6.xlarge", 1), ("g6f.large", 1), ("p5.48xlarge", 8)])
def test_a_host_sees_the_gpus_of_its_instance_type(account: Account, machine: str, gpus: int) -> None:
    made = account.make("ec2.Instance", ami="{image}", instanceType=machine, subnetId="{a}")
    assert wanted(account.cloud).guests[made.id].gpus == gpus


COMPONENT = """
phases:
  - name: build
    steps:
      - {name: Fetch, action: S3Download, inputs: [{source: "s3://x/y", destination: /y}]}
      - name: Install
        action: ExecuteBash
        inputs: {commands: ["set -e\\ncat > /opt/variables.json <<'END'\\n{\\"cloud\\": \\"aws\\"}\\nEND\\nansible-playbook"]}
"""


def built(account: Account, data: str) -> str:
    """Have Image Builder build from a component, and give the image."""
    component = account.make("imagebuilder.Component", name="own", platform="Linux", version="1.0.0", data=data)
    recipe = account.make("imagebuilder.ImageRecipe", name="own", version="1.0.0", parentImage="{image}", components=[{"componentArn": component.id}])
    builder = account.make("imagebuilder.InfrastructureConfiguration", name="own", instanceProfileName="node")
    made = account.make("imagebuilder.Image", imageRecipeArn=recipe.id, infrastructureConfigurationArn=builder.id)
    return str(made["outputResources"][0]["amis"][0]["image"])


def test_an_image_is_known_by_what_its_component_tells_the_playbook(account: Account) -> None:
    assert image.variables(account.cloud, built(account, COMPONENT)) == {"cloud": "aws"}


def test_the_layer_of_an_image_has_no_part_that_goes_with_a_kernel() -> None:
    software = {
        "profile": "some",
        "os": "ubuntu-24.04",
        "suite": "noble",
        "slurm": "23.11",
        "versions": [["kernel", "6.8.0-1"], ["driver", "580"], ["cuda", "13.0.2"]],
    }
    given = image.inputs({"cloud": "aws", "software": software})
    assert (given.profile, given.suite, given.cloud) == ("some", "noble", "aws")
    assert given.software == {**software, "versions": [["cuda", "13.0.2"]]}


def test_an_image_of_anything_else_is_unknown(account: Account) -> None:
    with pytest.raises(image.Unknown, match="no image that Image Builder made"):
        image.variables(account.cloud, account.names["image"])
    with pytest.raises(image.Unknown, match="do not run this project's"):
        image.variables(account.cloud, built(account, "phases: []"))
