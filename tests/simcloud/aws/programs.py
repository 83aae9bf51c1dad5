"""Programs for the tests of the simulated cloud."""

CLUSTER = """
import base64
import json
import pathlib

import pulumi
import pulumi_aws as aws

settings = json.loads(pathlib.Path("settings.json").read_text())
tags = {"clusterwright:stack": "dev", "clusterwright:cluster": "try"}
trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
rights = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["ec2:CreateFleet", "ec2:DescribeInstances"], "Resource": "*"}]}

vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", enable_dns_hostnames=True, tags={**tags, "Name": "net"})
gateway = aws.ec2.InternetGateway("way-out", vpc_id=vpc.id, tags=tags)
public = aws.ec2.Subnet("public", vpc_id=vpc.id, cidr_block="10.0.0.0/24", availability_zone="us-east-1a", map_public_ip_on_launch=True, tags=tags)
private = aws.ec2.Subnet("private", vpc_id=vpc.id, cidr_block="10.0.16.0/20", availability_zone="us-east-1a", tags=tags)
table = aws.ec2.RouteTable("public", vpc_id=vpc.id, tags=tags)
aws.ec2.Route("public", route_table_id=table.id, destination_cidr_block="0.0.0.0/0", gateway_id=gateway.id)
aws.ec2.RouteTableAssociation("public", route_table_id=table.id, subnet_id=public.id)
address = aws.ec2.Eip("nat", domain="vpc", tags=tags)
nat = aws.ec2.NatGateway("nat", allocation_id=address.id, subnet_id=public.id, tags=tags, opts=pulumi.ResourceOptions(depends_on=[gateway]))
inner = aws.ec2.RouteTable("private", vpc_id=vpc.id, routes=[{"cidr_block": "0.0.0.0/0", "nat_gateway_id": nat.id}], tags=tags)
aws.ec2.RouteTableAssociation("private", route_table_id=inner.id, subnet_id=private.id)

group = aws.ec2.SecurityGroup("nodes", vpc_id=vpc.id, description="nodes", tags=tags)
among_themselves = [
    rule(f"self-{kind}", security_group_id=group.id, referenced_security_group_id=group.id, ip_protocol="-1", tags=tags)
    for kind, rule in (("in", aws.vpc.SecurityGroupIngressRule), ("out", aws.vpc.SecurityGroupEgressRule))
]

role = aws.iam.Role("node", assume_role_policy=json.dumps(trust), tags=tags)
aws.iam.RolePolicy("node", role=role.id, policy=json.dumps(rights))
profile = aws.iam.InstanceProfile("node", role=role.name, tags=tags)

def nic(card, device, kind):
    return {"network_card_index": card, "device_index": device, "interface_type": kind, "subnet_id": private.id, "security_groups": [group.id]}

template = aws.ec2.LaunchTemplate(
    "train", name="try-train", image_id=settings["image"], instance_type="p5.48xlarge", update_default_version=True,
    network_interfaces=[nic(0, 0, "interface"), nic(0, 1, "efa-only"), *(nic(card, 1, "efa-only") for card in range(1, 32))],
    iam_instance_profile={"name": profile.name}, metadata_options={"http_tokens": "required", "instance_metadata_tags": "enabled"},
    user_data=base64.b64encode(settings["user_data"].encode()).decode(),
    tag_specifications=[{"resource_type": "instance", "tags": tags}], tags=tags,
)
scratch = aws.fsx.LustreFileSystem(
    "scratch", subnet_ids=private.id, security_group_ids=[group.id], deployment_type="PERSISTENT_2", storage_capacity=settings["scratch_gib"],
    per_unit_storage_throughput=250, metadata_configuration={"mode": "AUTOMATIC"}, tags=tags,
    opts=pulumi.ResourceOptions(depends_on=among_themselves),
)
balancer = aws.lb.LoadBalancer("login", load_balancer_type="network", subnets=[public.id], security_groups=[group.id], tags=tags)
targets = aws.lb.TargetGroup("login", port=22, protocol="TCP", vpc_id=vpc.id, tags=tags)
aws.lb.Listener("login", load_balancer_arn=balancer.arn, port=22, protocol="TCP", default_actions=[{"type": "forward", "target_group_arn": targets.arn}], tags=tags)
head = aws.ec2.Instance(
    "head", ami=settings["image"], instance_type=settings["head"], subnet_id=private.id, vpc_security_group_ids=[group.id], iam_instance_profile=profile.name,
    root_block_device={"volume_size": 50, "volume_type": "gp3", "encrypted": True}, metadata_options={"http_tokens": "required"}, tags={**tags, "Name": "head"},
)
aws.lb.TargetGroupAttachment("login", target_group_arn=targets.arn, target_id=head.id)
pulumi.export("template", template.id)
pulumi.export("version", template.latest_version)
pulumi.export("mount", scratch.mount_name)
pulumi.export("head", head.private_ip)
"""

SMALL = """
import json
import pathlib

import pulumi
import pulumi_aws as aws

settings = json.loads(pathlib.Path("settings.json").read_text())
tags = {"clusterwright:stack": "dev"}
vpc = aws.ec2.Vpc("net", cidr_block=settings.get("block", "10.0.0.0/16"), instance_tenancy=settings.get("tenancy", "default"), tags=tags)
subnet = aws.ec2.Subnet("nodes", vpc_id=settings.get("vpc", vpc.id), cidr_block="10.0.1.0/24", availability_zone=settings.get("zone"), tags=tags)
volume = aws.ebs.Volume("state", availability_zone=subnet.availability_zone, size=settings.get("size", 10), encrypted=True, tags=tags)
role = aws.iam.Role("node", assume_role_policy=settings["trust"], tags=tags)
pulumi.export("zone", subnet.availability_zone)
pulumi.export("account", aws.get_caller_identity().account_id)
"""
