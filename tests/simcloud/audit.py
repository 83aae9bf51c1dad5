"""What the cloud takes and what would not work all the same: the mistakes that the real one keeps silent about.

Each finding names the thing and says what would happen. A good stack has none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from . import launching, schema
from .cloud import Cloud
from .failure import Refused
from .resources import gateways, groups
from .store import Thing

LUSTRE_PORTS = ((988, 988), (1018, 1023))  # FSx for Lustre user guide, "File system access control with Amazon VPC"
NFS_PORT = (2049, 2049)
FABRICS = ("efa", "efa-only")


def findings(cloud: Cloud) -> list[str]:
    """Give what would not work, one sentence each."""
    found = []
    for check in (_templates, _nat_gateways, _balancers, _lustre, _mount_targets, _fabric_groups, _open_to_the_world):
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
    for system in cloud.store.all("fsx.LustreFileSystem"):
        for ports in LUSTRE_PORTS:
            if not _lets_in(cloud, system.get("securityGroupIds", ()), ports):
                yield f"{system.id} can't be mounted: its security groups do not allow port{'s' if ports[0] != ports[1] else ''} {'-'.join(map(str, dict.fromkeys(ports)))}"


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
            if rule.get("cidr") in ("0.0.0.0/0", "::/0") and _covers(rule, (22, 22)):
                yield f"{group.id} ({group['name']}) lets the whole world in at port 22"


def _lets_in(cloud: Cloud, names: Any, ports: tuple[int, int]) -> bool:
    found = [cloud.store.get("ec2.SecurityGroup", name) for name in names]
    return any(_covers(rule, ports) for group in found if group for rule in groups.open_to(cloud, group, direction="ingress"))


def _is_all_own(cloud: Cloud, name: str, direction: str) -> bool:
    group: Thing | None = cloud.store.get("ec2.SecurityGroup", name)
    if group is None:
        return False
    return any(rule["protocol"] in ("-1", "all") and rule.get("group") == group.id for rule in groups.open_to(cloud, group, direction=direction))


def _covers(rule: Mapping[str, Any], ports: tuple[int, int]) -> bool:
    if rule["protocol"] in ("-1", "all"):
        return True
    return rule["protocol"] in ("tcp", "6") and rule["fromPort"] <= ports[0] and ports[1] <= rule["toPort"]
