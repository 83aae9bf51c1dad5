"""What a program registered, as the plan of Terraform that scanners read.

Pulumi's SDK for AWS is made from Terraform's provider, so that kinds and properties map one to one; what they are called there is in two tables. A kind that the tables
don't have is refused: what nobody scans must not look clean.

Source of the names: registry.terraform.io, hashicorp/aws, "Resources".
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.components.registered import Registered

ANSWERED = "arn:aws:service:us-east-1:123456789012:"
"""What stands before an id in the ARNs of the stand-in account (`programs.Account`)."""
KINDS = {
    "aws:backup/plan:Plan": "aws_backup_plan",
    "aws:backup/selection:Selection": "aws_backup_selection",
    "aws:backup/vault:Vault": "aws_backup_vault",
    "aws:cloudwatch/logGroup:LogGroup": "aws_cloudwatch_log_group",
    "aws:ebs/volume:Volume": "aws_ebs_volume",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": "aws_default_security_group",
    "aws:ec2/eip:Eip": "aws_eip",
    "aws:ec2/flowLog:FlowLog": "aws_flow_log",
    "aws:ec2/instance:Instance": "aws_instance",
    "aws:ec2/internetGateway:InternetGateway": "aws_internet_gateway",
    "aws:ec2/launchTemplate:LaunchTemplate": "aws_launch_template",
    "aws:ec2/natGateway:NatGateway": "aws_nat_gateway",
    "aws:ec2/networkInterface:NetworkInterface": "aws_network_interface",
    "aws:ec2/placementGroup:PlacementGroup": "aws_placement_group",
    "aws:ec2/routeTable:RouteTable": "aws_route_table",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "aws_route_table_association",
    "aws:ec2/securityGroup:SecurityGroup": "aws_security_group",
    "aws:ec2/subnet:Subnet": "aws_subnet",
    "aws:ec2/volumeAttachment:VolumeAttachment": "aws_volume_attachment",
    "aws:ec2/vpc:Vpc": "aws_vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "aws_vpc_endpoint",
    "aws:efs/fileSystem:FileSystem": "aws_efs_file_system",
    "aws:efs/mountTarget:MountTarget": "aws_efs_mount_target",
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": "aws_fsx_data_repository_association",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "aws_fsx_lustre_file_system",
    "aws:iam/instanceProfile:InstanceProfile": "aws_iam_instance_profile",
    "aws:iam/role:Role": "aws_iam_role",
    "aws:iam/rolePolicy:RolePolicy": "aws_iam_role_policy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "aws_iam_role_policy_attachment",
    "aws:imagebuilder/component:Component": "aws_imagebuilder_component",
    "aws:imagebuilder/image:Image": "aws_imagebuilder_image",
    "aws:imagebuilder/imageRecipe:ImageRecipe": "aws_imagebuilder_image_recipe",
    "aws:imagebuilder/infrastructureConfiguration:InfrastructureConfiguration": "aws_imagebuilder_infrastructure_configuration",
    "aws:lb/listener:Listener": "aws_lb_listener",
    "aws:lb/loadBalancer:LoadBalancer": "aws_lb",
    "aws:lb/targetGroup:TargetGroup": "aws_lb_target_group",
    "aws:lb/targetGroupAttachment:TargetGroupAttachment": "aws_lb_target_group_attachment",
    "aws:rds/instance:Instance": "aws_db_instance",
    "aws:rds/parameterGroup:ParameterGroup": "aws_db_parameter_group",
    "aws:rds/subnetGroup:SubnetGroup": "aws_db_subnet_group",
    "aws:s3/bucket:Bucket": "aws_s3_bucket",
    "aws:s3/bucketObjectv2:BucketObjectv2": "aws_s3_object",
    "aws:s3/bucketPolicy:BucketPolicy": "aws_s3_bucket_policy",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": "aws_s3_bucket_public_access_block",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": "aws_s3_bucket_server_side_encryption_configuration",
    "aws:s3/bucketVersioning:BucketVersioning": "aws_s3_bucket_versioning",
    "aws:secretsmanager/secret:Secret": "aws_secretsmanager_secret",
    "aws:secretsmanager/secretVersion:SecretVersion": "aws_secretsmanager_secret_version",
}
"""Kinds of Pulumi → of Terraform."""
_SINGULAR = {
    "aws_backup_plan": {"rules": "rule"},
    "aws_db_parameter_group": {"parameters": "parameter"},
    "aws_imagebuilder_image_recipe": {"components": "component", "block_device_mappings": "block_device_mapping"},
    "aws_lb_listener": {"default_actions": "default_action"},
    "aws_route_table": {"routes": "route"},
    "aws_s3_bucket_server_side_encryption_configuration": {"rules": "rule"},
}
"""Lists of blocks, for which Terraform repeats a name in the singular and Pulumi has one in the plural."""
_PLAIN_MAPS = frozenset({"tags", "ami_tags", "resource_tags", "final_backup_tags"})
_NOT_FOR_TERRAFORM = frozenset({("aws_instance", "force_destroy")})
"""Of Pulumi's own making, or newer than what scanners know."""


_RULES = ("ingress", "egress")
_GROUPS = frozenset({"aws_security_group", "aws_default_security_group"})
_EMPTY_RULE: Mapping[str, Any] = {"cidr_blocks": [], "ipv6_cidr_blocks": [], "prefix_list_ids": [], "security_groups": [], "self": False}
"""Rules of a group are sets of whole objects: a plan has every attribute of each, and any order of them."""


def plan(resources: Iterable[Registered], *, own_rules_last: bool = False) -> dict[str, Any]:
    """Write what was registered as `terraform show -json` writes a plan: values, and what takes its value from what else.

    Args:
        own_rules_last: write the rules of security groups in the other order, and those that allow the group itself last: a scanner that stops at one of these sees the others first.
    """
    registered = [one for one in resources if one.type.startswith("aws:")]
    unknown = sorted({one.type for one in registered} - KINDS.keys())
    if unknown:
        raise KeyError(f"say in {__name__} what these kinds are called in Terraform: {', '.join(unknown)}")
    given = [(one, *_resource(one, registered)) for one in registered]
    given = [(one, _ordered(values, own_rules_last=own_rules_last) if KINDS[one.type] in _GROUPS else values, known) for one, values, known in given]
    planned = [{"address": address(one), "mode": "managed", "type": KINDS[one.type], "name": name(one), "values": values} for one, values, _ in given]
    said = [{"address": address(one), "mode": "managed", "type": KINDS[one.type], "name": name(one), "expressions": known} for one, _, known in given]
    changes = [
        {"address": address(one), "type": KINDS[one.type], "name": name(one), "change": {"actions": ["create"], "before": None, "after": values}}
        for one, values, _ in given
    ]
    return {
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "planned_values": {"root_module": {"resources": planned}},
        "resource_changes": changes,
        "configuration": {"root_module": {"resources": said}},
    }


def address(resource: Registered) -> str:
    return f"{KINDS[resource.type]}.{name(resource)}"


def name(resource: Registered) -> str:
    return re.sub("[^A-Za-z0-9_-]", "_", resource.name)


def _ordered(values: Mapping[str, Any], *, own_rules_last: bool) -> dict[str, Any]:
    rules = {direction: [{**_EMPTY_RULE, **rule} for rule in values.get(direction) or ()] for direction in _RULES}
    if own_rules_last:
        rules = {
            direction: [rule for is_own in (False, True) for rule in reversed(several) if bool(rule["self"]) is is_own] for direction, several in rules.items()
        }
    return {**values, **rules}


def _resource(resource: Registered, everything: Iterable[Registered]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the values that a plan knows, and where the others come from."""
    kind = KINDS[resource.type]
    # Kinds of one name can be in several services; what is referred to by its name is among what must be there before.
    by_value: dict[str, str] = {}
    for other in everything:
        if other.name in resource.needs and "name" in other.inputs:
            by_value[other.inputs["name"]] = f"{address(other)}.name"
    for other in everything:
        ident = f"{other.type.rpartition(':')[2]}/{other.name}"
        by_value |= {ident: f"{address(other)}.id", f"{ANSWERED}{ident}": f"{address(other)}.arn"}
    return _block(resource.inputs, kind, by_value)


def _block(values: Mapping[str, Any], kind: str, by_value: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    known: dict[str, Any] = {}
    taken: dict[str, Any] = {}
    for key, value in values.items():
        called = _SINGULAR.get(kind, {}).get(_snake(key), _snake(key))
        if (kind, called) in _NOT_FOR_TERRAFORM:
            continue
        if called in _PLAIN_MAPS:
            known[called] = dict(value)
        elif called == "source" and isinstance(value, Mapping):
            known[called] = "an archive"
        elif isinstance(value, Mapping):
            inner, references = _block(value, kind, by_value)
            known[called], taken[called] = [inner], [references]
        elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            blocks = [_block(one, kind, by_value) for one in value]
            known[called], taken[called] = [inner for inner, _ in blocks], [references for _, references in blocks]
        elif named := _references(value, by_value):
            # Known after the other is there: a plan has no value.
            taken[called] = {"references": named}
        else:
            known[called] = value
    return known, taken


def _references(value: Any, by_value: Mapping[str, str]) -> list[str]:
    several = value if isinstance(value, list) else [value]
    found = [by_value[one] for one in several if isinstance(one, str) and one in by_value]
    # Terraform names what is taken, and the resource that it is taken from.
    return [written for one in found for written in (one, one.rpartition(".")[0])]


def _snake(name: str) -> str:
    return re.sub("(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
