"""Drift of many kinds on the simulated cloud, each planted as somebody else would cause it, and what a check has to say of it: no more and no less."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import boto3

from tests.simcloud.aws.client import REGION, Seen, SimulatedCloud

ANYBODY = "0.0.0.0/0"
EVERYTHING = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
FOR_ANYBODY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}]})
TRUST_MORE = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::999999999999:root"}, "Action": "sts:AssumeRole"}]}
)


@dataclasses.dataclass(frozen=True, slots=True)
class Plant:
    """One planted drift."""

    name: str
    act: Callable[[SimulatedCloud], None]
    expected: tuple[str, ...]
    """`level code where` of each finding."""


def named(cloud: SimulatedCloud, kind: str, words: str) -> Seen:
    """Find the one thing of a kind whose name, id or tags hold these words."""
    [one] = [thing for thing in cloud.things(kind) if words in f"{thing.id} {thing.properties.get('name')} {thing.tags.get('Name')}"]
    return one


def changed(kind: str, words: str, **properties: Any) -> Callable[[SimulatedCloud], None]:
    return lambda cloud: cloud.drift(named(cloud, kind, words).id, kind=kind, **properties)


def lost(kind: str, words: str = "") -> Callable[[SimulatedCloud], None]:
    return lambda cloud: cloud.lose(named(cloud, kind, words).id, kind=kind)


def rule(**changes: Any) -> dict[str, Any]:
    return {"protocol": "tcp", "fromPort": 23, "toPort": 23, "cidrBlocks": [ANYBODY], "description": "by hand", "self": False, **changes}


def _open_rule(cloud: SimulatedCloud) -> None:
    group = named(cloud, "ec2.SecurityGroup", "balancer")
    [one] = group["ingress"]
    cloud.drift(group.id, ingress=[{**one, "cidrBlocks": [ANYBODY]}])


def _add_rule(cloud: SimulatedCloud) -> None:
    group = named(cloud, "ec2.SecurityGroup", "hosts")
    cloud.drift(group.id, ingress=[*group["ingress"], rule()])


def _other_tags(kind: str, words: str, **changes: str | None) -> Callable[[SimulatedCloud], None]:
    def act(cloud: SimulatedCloud) -> None:
        one = named(cloud, kind, words)
        cloud.drift(one.id, tags={name: value for name, value in {**one.tags, **changes}.items() if value is not None})

    return act


def _part(kind: str, words: str, name: str, **changes: Any) -> Callable[[SimulatedCloud], None]:
    """Change parts of a property that is a record."""

    def act(cloud: SimulatedCloud) -> None:
        one = named(cloud, kind, words)
        properties: dict[str, Any] = {name: {**one[name], **changes}}
        cloud.drift(one.id, kind=kind, **properties)

    return act


def _route(cloud: SimulatedCloud) -> None:
    table = named(cloud, "ec2.RouteTable", "cluster")
    cloud.drift(table.id, routes=[*table["routes"], {"cidrBlock": "198.51.100.0/24", "gatewayId": cloud.thing("ec2.InternetGateway").id}])


def _backup_days(cloud: SimulatedCloud) -> None:
    plan = cloud.thing("backup.Plan")
    [one] = plan["rules"]
    cloud.drift(plan.id, rules=[{**one, "lifecycle": {"deleteAfter": 1}}])


def _attach_policy(cloud: SimulatedCloud) -> None:
    cloud.make("iam.RolePolicyAttachment", role=named(cloud, "iam.Role", "compute").id, policyArn="arn:aws:iam::aws:policy/AdministratorAccess")


def _write_policy(cloud: SimulatedCloud) -> None:
    cloud.make("iam.RolePolicy", role=named(cloud, "iam.Role", "dev-access").id, name="more", policy=EVERYTHING)


def start(cloud: SimulatedCloud, template: str, **tags: str) -> str:
    """Start an instance of a launch template by hand, with tags over the template's, and give its id."""
    answer = boto3.client("ec2", region_name=REGION, endpoint_url=cloud.address).create_fleet(
        Type="instant",
        LaunchTemplateConfigs=[{"LaunchTemplateSpecification": {"LaunchTemplateId": named(cloud, "ec2.LaunchTemplate", template).id, "Version": "1"}}],
        TargetCapacitySpecification={"TotalTargetCapacity": 1, "DefaultTargetCapacityType": "on-demand"},
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": f"clusterwright:{name}", "Value": value} for name, value in tags.items()]}],
    )
    [started] = answer["Instances"]
    [identity] = started["InstanceIds"]
    return str(identity)


def _listener(cloud: SimulatedCloud) -> None:
    action = {"type": "forward", "targetGroupArn": cloud.thing("lb.TargetGroup").id}
    cloud.make("lb.Listener", loadBalancerArn=cloud.thing("lb.LoadBalancer").id, port=2222, protocol="TCP", defaultActions=[action])


def _target(cloud: SimulatedCloud) -> None:
    cloud.make("lb.TargetGroupAttachment", targetGroupArn=cloud.thing("lb.TargetGroup").id, targetId=named(cloud, "ec2.Instance", "control-0").id, port=22)


def share_homes(cloud: SimulatedCloud) -> None:
    cloud.make("efs.FileSystemPolicy", fileSystemId=named(cloud, "efs.FileSystem", "home").id, policy=FOR_ANYBODY)


def _peer(cloud: SimulatedCloud) -> None:
    vpc = cloud.thing("ec2.Vpc").id
    over = ["pcx-00000000000000003", vpc, "vpc-09999999999999999", "999999999999", "deleted"]
    cloud.set("peerings", [["pcx-00000000000000001", vpc, "vpc-09999999999999999", "999999999999", "active"],
                           ["pcx-00000000000000002", "vpc-09999999999999999", vpc, "123456789012", "pending-acceptance"], over])  # fmt: skip


EC2, IAM, VPC = "aws:ec2", "aws:iam", "aws:vpc"
GROUP, INSTANCE, TEMPLATE = f"{EC2}/securityGroup:SecurityGroup", f"{EC2}/instance:Instance", f"{EC2}/launchTemplate:LaunchTemplate"
RIGHTS = (
    Plant("a rule of a security group opened", _open_rule, (f"error CW702 {GROUP} balancer-security-group: ingress[0].cidrBlocks",)),
    Plant("a rule added that no resource names", _add_rule, (f"error CW702 {GROUP} hosts-security-group: ingress",)),
    Plant("a rule in a group that has none", changed("ec2.SecurityGroup", "dev-control", ingress=[rule()]), (f"error CW702 {GROUP} control-security-group: ingress",)),
    Plant("a rule in the network's own group", changed("ec2.DefaultSecurityGroup", "", ingress=[rule()]),
          (f"error CW702 {EC2}/defaultSecurityGroup:DefaultSecurityGroup default-security-group: ingress",)),
    Plant("other groups on an interface", lambda cloud: cloud.drift(cloud.thing("ec2.NetworkInterface").id, securityGroups=[named(cloud, "ec2.SecurityGroup", "login").id]),
          (f"error CW702 {EC2}/networkInterface:NetworkInterface control-0-interface: securityGroups",)),
    Plant("a policy widened", changed("iam.RolePolicy", "compute", policy=EVERYTHING), (f"error CW702 {IAM}/rolePolicy:RolePolicy compute-policy: policy",)),
    Plant("a role trusts another account", changed("iam.Role", "dev-control", assumeRolePolicy=TRUST_MORE), (f"error CW702 {IAM}/role:Role control-role: assumeRolePolicy",)),
    Plant("a role given another policy", _attach_policy, (f"error CW705 {IAM}/role:Role compute-role: policy arn:aws:iam::aws:policy/AdministratorAccess",)),
    Plant("a policy written into a role", _write_policy, (f"error CW705 {IAM}/role:Role access-role: policy more",)),
    Plant("a bucket opened", changed("s3.BucketPolicy", "sets", policy=FOR_ANYBODY), ("error CW702 aws:s3/bucketPolicy:BucketPolicy sets-bucket: policy",)),
    Plant("a bucket may be public", changed("s3.BucketPublicAccessBlock", "sets", blockPublicPolicy=False),
          ("error CW702 aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock sets-bucket: blockPublicPolicy",)),
    Plant("a bucket encrypted otherwise", changed("s3.BucketServerSideEncryptionConfiguration", "", rules=[{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]),
          ("error CW702 aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration sets-bucket: rules*",)),
    Plant("keys replaced", changed("secretsmanager.SecretVersion", "dev-compute", secretString="other"), ("error CW702 aws:secretsmanager/secretVersion:SecretVersion compute-keys: secretString",)),
    Plant("keys shared with others", changed("secretsmanager.Secret", "dev-compute", policy=FOR_ANYBODY), ("error CW702 aws:secretsmanager/secret:Secret compute-keys: policy",)),
    Plant("an endpoint's policy", changed("ec2.VpcEndpoint", "", policy=FOR_ANYBODY), (f"error CW702 {EC2}/vpcEndpoint:VpcEndpoint s3-gateway: policy",)),
    Plant("metadata without tokens", _part("ec2.Instance", "control-0", "metadataOptions", httpTokens="optional"), (f"error CW702 {INSTANCE} control-0: metadataOptions.httpTokens",)),
    Plant("public addresses by default", changed("ec2.Subnet", "dev-cluster-2", mapPublicIpOnLaunch=True), (f"error CW702 {EC2}/subnet:Subnet cluster-2-subnet: mapPublicIpOnLaunch",)),
    Plant("a route added", _route, (f"error CW702 {EC2}/routeTable:RouteTable cluster-routes: routes",)),
)  # fmt: skip

SIZES = (
    Plant("a tag deleted", _other_tags("ec2.Vpc", "", Name=None), (f"note CW702 {EC2}/vpc:Vpc vpc: tags.Name",)),
    Plant("a tag changed", _other_tags("ec2.InternetGateway", "", Name="mine"), (f"note CW702 {EC2}/internetGateway:InternetGateway internet-gateway: tags.Name",)),
    Plant("a tag added", _other_tags("ec2.SecurityGroup", "dev-storage", owner="eve"), (f"note CW702 {GROUP} storage-security-group: tags.owner",)),
    Plant("a new version of a launch template made the default", changed("ec2.LaunchTemplate", "train", userData="IyEvYmluL3No", latestVersion=2, defaultVersion=2),
          (f"error CW702 {TEMPLATE} train-template: userData", f"error CW702 {TEMPLATE} train-template: defaultVersion")),
    Plant("a version made the default and nothing else", changed("ec2.LaunchTemplate", "spare", defaultVersion=2, latestVersion=2), (f"error CW702 {TEMPLATE} spare-template: defaultVersion",)),
    Plant("another machine for nodes", changed("ec2.LaunchTemplate", "pack", instanceType="p5e.48xlarge"), (f"error CW702 {TEMPLATE} pack-template: instanceType",)),
    Plant("another machine for the controller", changed("ec2.Instance", "control-0", instanceType="c5.large"), (f"warning CW702 {INSTANCE} control-0: instanceType",)),
    Plant("a host stopped", changed("ec2.Instance", "login-0", stopped=True), (f"error CW702 {INSTANCE} login-0: instanceState",)),
    Plant("a disk made larger", changed("ebs.Volume", "", size=60), ("warning CW702 aws:ebs/volume:Volume state-volume: size",)),
    Plant("Lustre made larger", changed("fsx.LustreFileSystem", "", storageCapacity=9600),
          ("warning CW702 aws:fsx/lustreFileSystem:LustreFileSystem data-file-system: storageCapacity",)),
    Plant("Lustre without backups", changed("fsx.LustreFileSystem", "", automaticBackupRetentionDays=0),
          ("warning CW702 aws:fsx/lustreFileSystem:LustreFileSystem data-file-system: automaticBackupRetentionDays",)),
    Plant("another throughput of homes", changed("efs.FileSystem", "home", throughputMode="bursting"), ("warning CW702 aws:efs/fileSystem:FileSystem home-file-system: throughputMode",)),
    Plant("old files moved to slower disks", changed("efs.FileSystem", "shared", lifecyclePolicies=[{"transitionToIa": "AFTER_7_DAYS"}]),
          ("warning CW702 aws:efs/fileSystem:FileSystem shared-file-system: lifecyclePolicies",)),
    Plant("the database's protection off", changed("rds.Instance", "", deletionProtection=False),
          ("error CW702 aws:rds/instance:Instance accounting-database: deletionProtection",)),
    Plant("the database public", changed("rds.Instance", "", publiclyAccessible=True),
          ("error CW702 aws:rds/instance:Instance accounting-database: publiclyAccessible",)),
    Plant("the database's backups cut", changed("rds.Instance", "", backupRetentionPeriod=1),
          ("error CW702 aws:rds/instance:Instance accounting-database: backupRetentionPeriod",)),
    Plant("backups kept for a day", _backup_days, ("error CW702 aws:backup/plan:Plan backups-7-days: rules[0].lifecycle.deleteAfter",)),
    Plant("the balancer in one zone", changed("lb.LoadBalancer", "", enableCrossZoneLoadBalancing=False),
          ("warning CW702 aws:lb/loadBalancer:LoadBalancer login-balancer: enableCrossZoneLoadBalancing",)),
    Plant("health looked at elsewhere", changed("lb.TargetGroup", "", deregistrationDelay=5),
          ("warning CW702 aws:lb/targetGroup:TargetGroup login-targets: deregistrationDelay",)),
    Plant("logs kept for a day", changed("cloudwatch.LogGroup", "flows", retentionInDays=1), ("warning CW702 aws:cloudwatch/logGroup:LogGroup flow-logs: retentionInDays",)),
)  # fmt: skip

LOSSES = (
    Plant("a placement group gone", lost("ec2.PlacementGroup", "compute-pack"), (f"error CW701 {EC2}/placementGroup:PlacementGroup pack-placement",)),
    Plant("the address translation gone", lost("ec2.NatGateway"), (f"error CW701 {EC2}/natGateway:NatGateway nat-gateway",)),
    Plant("flow logs off", lost("ec2.FlowLog"), (f"error CW701 {EC2}/flowLog:FlowLog flow-log",)),
    Plant("a disk detached", lost("ec2.VolumeAttachment"), (f"error CW701 {EC2}/volumeAttachment:VolumeAttachment state-attachment",)),
    Plant("a login node out of the balancer", lost("lb.TargetGroupAttachment"), ("error CW701 aws:lb/targetGroupAttachment:TargetGroupAttachment login-0-target",)),
    Plant("a file system out of reach", lambda cloud: cloud.lose(_mount_target(cloud, "shared"), kind="efs.MountTarget"), ("error CW701 aws:efs/mountTarget:MountTarget shared-mount-target",)),
    Plant("backups of nothing", lost("backup.Selection"), ("error CW701 aws:backup/selection:Selection backups-7-days",)),
    Plant("a policy taken away", lambda cloud: cloud.lose(_attachment(cloud, "Backup"), kind="iam.RolePolicyAttachment"),
          (f"error CW701 {IAM}/rolePolicyAttachment:RolePolicyAttachment backups",)),
)  # fmt: skip


def _mount_target(cloud: SimulatedCloud, name: str) -> str:
    system = named(cloud, "efs.FileSystem", name).id
    [one] = [thing for thing in cloud.things("efs.MountTarget") if thing["fileSystemId"] == system]
    return one.id


def _attachment(cloud: SimulatedCloud, policy: str) -> str:
    [one] = [thing for thing in cloud.things("iam.RolePolicyAttachment") if policy in thing["policyArn"]]
    return one.id


ATTACHMENTS = (
    Plant("a listener added to the balancer", _listener, ("error CW708 aws:lb/loadBalancer:LoadBalancer login-balancer: listener arn:*",)),
    Plant("a stranger behind the balancer", _target, ("error CW708 aws:lb/targetGroup:TargetGroup login-targets: target i-*",)),
    Plant("a file system shared with others", share_homes, ("error CW708 aws:efs/fileSystem:FileSystem home-file-system: file system policy",)),
    Plant("the network peered with others", _peer,
          (f"error CW708 {EC2}/vpc:Vpc vpc: peering pcx-00000000000000001", f"error CW708 {EC2}/vpc:Vpc vpc: peering pcx-00000000000000002")),
)  # fmt: skip

BATCHES = {"rights": RIGHTS, "sizes": SIZES, "losses": LOSSES, "attachments": ATTACHMENTS}
