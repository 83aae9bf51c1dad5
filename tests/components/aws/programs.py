"""Whole programs on AWS against Pulumi's mocks: what a blueprint of the library registers there."""

import base64
import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any

import yaml
from pulumi.runtime import mocks

from blueprints import load
from blueprints.spec import ClusterSpec
from components import this_machine
from components.cluster import Cluster
from tests.blueprints import hand_made
from tests.components import registered
from tests.components.registered import Program, Registered

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
OFFERING = ("us-east-1b", "us-east-1c")
"""Zones of the stand-in account that offer every machine; in the first one there are none."""
BLUEPRINTS = ("gb200-nvl72", "llm-pretraining", "research-shared", "scale-7500", "single-gpu", "spot-sweep", "starter")
"""The library's Slurm blueprints that can be on AWS."""


class Account(registered.Provider):
    """Gives AWS resources what only the cloud would tell: ids, ARNs, addresses."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if not args.typ.startswith("aws:"):
            return super().new_resource(args) if args.custom and args.typ in registered.KINDS else (args.name, dict(args.inputs))
        ident = f"{args.typ.rpartition(':')[2]}/{args.name}"
        told: dict[str, Any] = {"arn": f"arn:aws:service:us-east-1:123456789012:{ident}"}
        match args.typ:
            case "aws:ec2/subnet:Subnet":
                told |= {"availabilityZone": args.inputs.get("availabilityZone", ZONES[0])}
            case "aws:ec2/instance:Instance":
                told |= {"privateIp": f"private address of {args.name}"}
            case "aws:ec2/networkInterface:NetworkInterface":
                told |= {"privateIp": f"address of {args.name}"}
            case "aws:ec2/eip:Eip":
                told |= {"publicIp": f"public address of {args.name}"}
            case "aws:ec2/launchTemplate:LaunchTemplate":
                told |= {"latestVersion": 3.0}
            case "aws:ec2/vpcEndpoint:VpcEndpoint":
                told |= {"prefixListId": "pl-s3"}
            case "aws:efs/fileSystem:FileSystem":
                told |= {"dnsName": f"{args.name}.efs"}
            case "aws:efs/mountTarget:MountTarget":
                told |= {"availabilityZoneName": "zone of the mount target"}
            case "aws:fsx/lustreFileSystem:LustreFileSystem":
                told |= {"dnsName": f"{args.name}.fsx", "mountName": "abcdefgh"}
            case "aws:lb/loadBalancer:LoadBalancer":
                told |= {"dnsName": "login.elb"}
            case "aws:rds/instance:Instance":
                told |= {"address": "accounting.rds"}
            case "aws:imagebuilder/image:Image":
                told |= {"outputResources": [{"amis": [{"image": f"ami of {args.name}"}]}]}
        return ident, {**args.inputs, **told}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        self.asked.append(args.token)
        match args.token:
            case "aws:index/getAvailabilityZones:getAvailabilityZones":
                return {"names": list(ZONES), "zoneIds": [], "groupNames": [], "id": "us-east-1", "region": "us-east-1"}, []
            case "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings":
                machines = args.args["filters"][0]["values"]
                pairs = [(machine, zone) for machine in machines for zone in OFFERING]
                return {
                    "instanceTypes": [machine for machine, _ in pairs],
                    "locations": [zone for _, zone in pairs],
                    "locationTypes": [],
                    "id": "offerings",
                    "region": "us-east-1",
                }, []
            case "aws:kms/getKey:getKey":
                return {"arn": f"arn:aws:kms:us-east-1:123456789012:key/of-{args.args['keyId']}"}, []
        raise AssertionError(f"the program called {args.token}")


def resolved(blueprint: str, overrides: Mapping[str, Any] | None = None) -> ClusterSpec:
    return load.examine(blueprint, target="aws", stack=registered.STACK, facts=this_machine.facts(), overrides=overrides).spec


@functools.cache
def library(blueprint: str) -> Program:
    """Run a blueprint of the library; run once for all tests that only look."""
    return program(blueprint)


def program(blueprint: str, *, preview: bool = False, account: Account | None = None, spec: ClusterSpec | None = None, **overrides: Any) -> Program:
    """Run a blueprint, with values put over its own by dotted path (`pools__train__nodes=4`)."""
    cluster = spec or resolved(blueprint, {path.replace("__", "."): value for path, value in overrides.items()})

    def deploy() -> None:
        Cluster(cluster.name, cluster, stack=registered.STACK)

    return registered.run(deploy, provider=account or Account(), preview=preview)


def aws(found: Program) -> list[Registered]:
    return [one for one in found.resources if one.type.startswith("aws:")]


def of(found: Program, kind: str) -> list[Registered]:
    """Give the resources of one kind by its short name (`Subnet`)."""
    return [one for one in aws(found) if one.type.rpartition(":")[2] == kind]


def one(found: Program, kind: str, name: str) -> Registered:
    (only,) = [resource for resource in of(found, kind) if resource.name == name]
    return only


def ident(resource: Registered) -> str:
    """Give the id that the account gave it."""
    return f"{resource.type.rpartition(':')[2]}/{resource.name}"


def user_data(resource: Registered) -> dict[str, Any]:
    """Read the user data of an instance or a launch template."""
    text = base64.b64decode(resource.inputs.get("userData") or resource.inputs["userDataBase64"]).decode()
    assert text.startswith("#cloud-config\n")
    written: dict[str, Any] = yaml.safe_load(text)
    return written


def order(resource: Registered) -> dict[str, Any]:
    """Give what the first program of a host is told."""
    ((_, _, _, told),) = user_data(resource)["bootcmd"]
    read: dict[str, Any] = json.loads(told)
    return read


def statements(policy: str) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads(policy)["Statement"]
    return written


def renamed(spec: ClusterSpec, *, cluster: str, pool: str) -> ClusterSpec:
    """Give the cluster and its only pool other names."""
    (node_set,) = spec.node_sets
    group = dataclasses.replace(node_set.hosts, name=pool, prefix=pool)
    return hand_made.replaced(spec, name=cluster, node_sets=(dataclasses.replace(node_set, pool=pool, hosts=group),))
