"""What the cloud takes and what would not work all the same: the mistakes that the real one keeps silent about.

Each finding names the thing and says what would happen. A good stack has none.
"""

import json
from collections.abc import Iterator
from typing import Any

from ..core.failure import Refused
from ..core.store import Thing
from . import launching, schema
from .cloud import Cloud
from .resources import gateways, groups
from .resources.storage import LUSTRE_PORTS

NFS_PORT = (2049, 2049)
FABRICS = ("efa", "efa-only")


def findings(cloud: Cloud) -> list[str]:
    """Give what would not work, one sentence each."""
    found = []
    for check in (_templates, _nat_gateways, _balancers, _lustre, _mount_targets, _fabric_groups, _open_to_the_world, _backups, _logs):
        found += list(check(cloud))
    return found


def _templates(cloud: Cloud) -> Iterator[str]:
    """Launch each template once on paper: references and layouts are checked only when one is used."""
    for template in cloud.store.all("ec2.LaunchTemplate"):
        data = template["versions"][str(template["defaultVersion"])]["data"]
        request: dict[str, Any] = {"LaunchTemplate": {"LaunchTemplateId": template.id}}
        interfaces = data.get("NetworkInterfaces", ())
        if not interfaces or not all(one.get("SubnetId") or one.get("NetworkInterfaceId") for one in interfaces):
            continue  # whoever launches it gives the subnet
        try:
            launching.prepare(cloud, request, template.region)
        except Refused as stop:
            yield f"{template.id} ({template['name']}) can't be launched: {stop}"


def _nat_gateways(cloud: Cloud) -> Iterator[str]:
    for nat in cloud.store.all("ec2.NatGateway"):
        if nat["connectivityType"] == "public" and not gateways.has_route_out(cloud, cloud.need("ec2.Subnet", nat["subnetId"])):
            yield f"{nat.id} reaches nothing: its subnet {nat['subnetId']} has no route to an internet gateway"
    for kind, path in (("ec2.RouteTable", "routes[].natGatewayId"), ("ec2.Route", "natGatewayId")):
        for table in cloud.store.all(kind):
            for target in schema.values_at(table.properties, path):
                if cloud.store.get("ec2.NatGateway", target) is None:
                    yield f"{table.id} has a route into a black hole: {target} does not exist"


def _balancers(cloud: Cloud) -> Iterator[str]:
    for balancer in cloud.store.all("lb.LoadBalancer"):
        for subnet in balancer["subnets"]:
            if not balancer["internal"] and not gateways.has_route_out(cloud, cloud.need("ec2.Subnet", subnet)):
                yield f"{balancer['name']} can't be reached from the internet: its subnet {subnet} has no route to an internet gateway"
        for listener in cloud.store.all("lb.Listener"):
            if (
                listener["loadBalancerArn"] == balancer.id
                and balancer.get("securityGroups")
                and not _lets_in(cloud, balancer["securityGroups"], (listener["port"], listener["port"]))
            ):
                yield f"{balancer['name']} lets nobody in at port {listener['port']}: none of its security groups allows it"


def _lustre(cloud: Cloud) -> Iterator[str]:
    """FSx for Lustre User Guide, "File system access control with Amazon VPC": servers and clients connect to each other, and servers among themselves."""
    for system in cloud.store.all("fsx.LustreFileSystem"):
        own, home = list(system.get("securityGroupIds", ())), cloud.need("ec2.Subnet", system["subnetIds"])["cidrBlock"]
        for ports in LUSTRE_PORTS:
            shown = f"port{'s' if ports[0] != ports[1] else ''} {'-'.join(map(str, dict.fromkeys(ports)))}"
            if not _lets_in(cloud, own, ports):
                yield f"{system.id} can't be mounted: its security groups do not allow {shown}"
            elif not all(groups.lets(cloud, own, ports, direction=direction, peers=own, network=home) for direction in groups.DIRECTIONS):
                yield f"{system.id} serves nothing: its servers can't reach each other at {shown}"
            for client in _sources(cloud, own, ports):
                if not groups.lets(cloud, [client], ports, direction="ingress", peers=own, network=home):
                    yield f"{system.id} loses its clients of {client}: that security group does not let its servers in at {shown}"


def _sources(cloud: Cloud, names: list[str], ports: tuple[int, int]) -> list[str]:
    """Give the other groups from which these let in at some ports."""
    found = [cloud.store.get("ec2.SecurityGroup", name) for name in names]
    rules = [rule for group in found if group for rule in groups.open_to(cloud, group, direction="ingress") if groups.covers(rule, ports)]
    return sorted({rule["group"] for rule in rules if rule.get("group")} - set(names))


def _mount_targets(cloud: Cloud) -> Iterator[str]:
    for target in cloud.store.all("efs.MountTarget"):
        if not _lets_in(cloud, target.get("securityGroups", ()), NFS_PORT):
            yield f"{target.id} can't be mounted: its security groups do not allow port {NFS_PORT[0]}"


def _fabric_groups(cloud: Cloud) -> Iterator[str]:
    """EC2 user guide, "Get started with EFA": all traffic to and from the group itself must be allowed, or EFA moves nothing."""
    for template in cloud.store.all("ec2.LaunchTemplate"):
        data = template["versions"][str(template["defaultVersion"])]["data"]
        for one in data.get("NetworkInterfaces", ()):
            if one.get("InterfaceType") in FABRICS:
                missing = [direction for direction in ("ingress", "egress") if not any(_is_all_own(cloud, group, direction) for group in one.get("Groups", ()))]
                if missing:
                    yield f"{template.id}: EFA moves nothing on card {one.get('NetworkCardIndex', 0)}: no group of it allows all traffic of its own ({', '.join(missing)})"
                    break


def _open_to_the_world(cloud: Cloud) -> Iterator[str]:
    for group in cloud.store.all("ec2.SecurityGroup"):
        for rule in groups.open_to(cloud, group, direction="ingress"):
            if rule.get("cidr") in ("0.0.0.0/0", "::/0") and groups.covers(rule, (22, 22)):
                yield f"{group.id} ({group['name']}) lets the whole world in at port 22"


def _backups(cloud: Cloud) -> Iterator[str]:
    """AWS Backup takes its role without saying on whose behalf: which condition keys it sends, its guide doesn't tell."""
    for selection in cloud.store.all("backup.Selection"):
        role = cloud.need("iam.Role", selection["iamRoleArn"])
        statements = [one for one in json.loads(role["assumeRolePolicy"])["Statement"] if one["Principal"].get("Service") == "backup.amazonaws.com"]
        if not any(all(operator.endswith("IfExists") for operator in one.get("Condition", {})) for one in statements):
            yield f"{selection['name']} backs up nothing: {role['name']} does not let AWS Backup take it"


def _logs(cloud: Cloud) -> Iterator[str]:
    for group in cloud.store.all("cloudwatch.LogGroup"):
        if not group.get("retentionInDays"):
            yield f"{group.id} never expires" + (", and goes with nothing: a service made it" if group.door == "stray" else "")


def _lets_in(cloud: Cloud, names: Any, ports: tuple[int, int]) -> bool:
    found = [cloud.store.get("ec2.SecurityGroup", name) for name in names]
    return any(groups.covers(rule, ports) for group in found if group for rule in groups.open_to(cloud, group, direction="ingress"))


def _is_all_own(cloud: Cloud, name: str, direction: str) -> bool:
    group: Thing | None = cloud.store.get("ec2.SecurityGroup", name)
    if group is None:
        return False
    return any(rule["protocol"] in ("-1", "all") and rule.get("group") == group.id for rule in groups.open_to(cloud, group, direction=direction))
