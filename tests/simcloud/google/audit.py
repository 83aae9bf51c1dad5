"""What the project took and what would not work all the same."""

import ipaddress
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..core.failure import Refused
from ..core.store import Thing
from . import facts, launching, links, verbs
from .resources import network
from .rules import Want

if TYPE_CHECKING:
    from .cloud import Cloud

TEMPLATES = ("compute.instanceTemplates", "compute.regionInstanceTemplates")


def findings(cloud: "Cloud") -> list[str]:
    """Give one sentence for each thing that exists and can't do what it is there for."""
    return [*_templates(cloud), *_networks(cloud), *_balancers(cloud), *_policies(cloud)]


def _templates(cloud: "Cloud") -> Iterator[str]:
    """Find templates that start nowhere, by trying them in each zone that has their machine type and their subnets."""
    for kind in TEMPLATES:
        for template in cloud.store.all(kind):
            machine = template["properties"]["machineType"]
            region = next((subnet.region for subnet in _subnets(cloud, template["properties"])), "")
            places = [zone for zone in (facts.machine(machine) or {"zones": []})["zones"] if facts.zones()[zone] == region]
            refusals = [why for zone in places if (why := _refusal(cloud, template, zone))]
            if not places:
                yield f"{template.id}: no zone of {region or 'any region'} has {machine}"
            elif len(refusals) == len(places):
                yield f"{template.id}: it starts in no zone: {refusals[0]}"


def _refusal(cloud: "Cloud", template: Thing, zone: str) -> str:
    path = f"projects/{cloud.project}/zones/{zone}"
    call = cloud.own_call("compute.instances.insert", f"{path}/instances")
    try:
        values = launching.placed(cloud, template["properties"], path)
        want = verbs.wanted(cloud, call, "compute.instances", f"{path}/instances/audit", {**values, "name": "audit"})
        launching.check(cloud, Want(want.kind, want.path, want.values, call))
    except Refused as refused:
        return refused.message
    return ""


def _subnets(cloud: "Cloud", values: object) -> Iterator[Thing]:
    for _, named in links.values_at(values, "networkInterfaces[].subnetwork"):
        if found := cloud.find(named.removeprefix(links.BASE), "compute.subnetworks"):
            yield found


def _networks(cloud: "Cloud") -> Iterator[str]:
    """Find networks whose hosts reach nothing, and subnets that their template's machines would fill at once."""
    translated = {nat_network for router in cloud.store.all("compute.routers") if router.get("nats") for nat_network in [router["network"]]}
    for router in cloud.store.all("compute.routers"):
        if not router.get("nats"):
            yield f"{router.id}: it translates no addresses"
    for instance in cloud.store.all("compute.instances"):
        first = instance["networkInterfaces"][0]
        if not first.get("accessConfigs") and first["network"] not in translated:
            yield f"{instance.id}: it has no external address, and its network has no NAT"
    for subnet in cloud.store.all("compute.subnetworks"):
        size = ipaddress.IPv4Network(subnet["ipCidrRange"]).num_addresses - network.RESERVED_FIRST - network.RESERVED_LAST
        if len(cloud.store.taken(subnet.id)) >= size:
            yield f"{subnet.id}: no address of it is free"
        profile = (cloud.find(subnet["network"].removeprefix(links.BASE), "compute.networks") or subnet).get("networkProfile")
        if not subnet.get("privateIpGoogleAccess") and not profile and subnet["network"] not in translated:
            yield f"{subnet.id}: its hosts reach Google's services neither by private access nor by NAT"


def _balancers(cloud: "Cloud") -> Iterator[str]:
    """Find balancers without members, and without a firewall rule that lets in what checks health."""
    for service in cloud.store.all("compute.regionBackendServices"):
        groups = [cloud.find(one["group"].removeprefix(links.BASE), "compute.instanceGroups") for one in service.get("backends", ())]
        if not any(group and group["_instances"] for group in groups):
            yield f"{service.id}: no instance is behind it"
    for rule in cloud.store.all("compute.forwardingRules"):
        for instance in _behind(cloud, rule):
            for port in rule.get("ports", ()):
                if not _lets_in(cloud, instance, port):
                    yield f"{rule.id}: no firewall rule lets port {port} into {instance.id}"


def _behind(cloud: "Cloud", rule: Thing) -> Iterator[Thing]:
    service = cloud.find(rule.get("backendService", "").removeprefix(links.BASE), "compute.regionBackendServices")
    for backend in service.get("backends", ()) if service else ():
        group = cloud.find(backend["group"].removeprefix(links.BASE), "compute.instanceGroups")
        for named in group["_instances"] if group else ():
            if found := cloud.find(named.removeprefix(links.BASE), "compute.instances"):
                yield found


def _lets_in(cloud: "Cloud", instance: Thing, port: str) -> bool:
    """Say whether any rule allows a TCP port from somewhere; what a rule denies is not weighed."""
    tags, accounts = set(instance["tags"].get("items", ())), {one["email"] for one in instance.get("serviceAccounts", ())}
    for rule in cloud.store.all("compute.firewalls"):
        mine = rule["network"] == instance["networkInterfaces"][0]["network"] and rule["direction"] == "INGRESS" and not rule.get("disabled")
        targeted = not rule.get("targetTags") and not rule.get("targetServiceAccounts")
        targeted = targeted or bool(tags & set(rule.get("targetTags", ()))) or bool(accounts & set(rule.get("targetServiceAccounts", ())))
        if mine and targeted and any(_covers(one, port) for one in rule.get("allowed", ())):
            return True
    return False


def _covers(allowed: object, port: str) -> bool:
    assert isinstance(allowed, dict)
    if allowed["IPProtocol"] not in ("tcp", "6", "all"):
        return False
    spans = [one.partition("-") for one in allowed.get("ports", ())]
    return not spans or any(int(low) <= int(port) <= int(high or low) for low, _, high in spans)


def _policies(cloud: "Cloud") -> Iterator[str]:
    """Find bindings of what is gone, and secrets without a value."""
    for policy in cloud.store.all("iam.policies"):
        gone = Counter(member for binding in policy["bindings"] for member in binding["members"] if member.startswith("deleted:"))
        for member in gone:
            yield f"{policy.id}: it names {member}"
    for secret in cloud.store.all("secretmanager.secrets"):
        if not secret.get("_versions"):
            yield f"{secret.id}: it has no version"
