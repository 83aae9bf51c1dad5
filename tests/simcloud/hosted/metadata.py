"""The instance metadata service, version 2, from the store.

Source: EC2 user guide, "Use the Instance Metadata Service" and "Instance metadata categories".
"""

import base64
import datetime as dt
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from components.local.machine import host

from ..aws import facts, temporary
from ..aws.cloud import Cloud
from ..core.listening import Answer, Request
from ..core.store import Thing
from . import wanted

TTL_MOST_S = 21600
VERSIONS = ("latest", "2021-03-23", "2018-09-24", "2016-09-02", "2009-04-04")
NOTICE_FORM = "%Y-%m-%dT%H:%M:%SZ"

Tree = Mapping[str, Any]
"""Folder → what is in it; a text is a leaf."""


def answer(cloud: Cloud, request: Request, source: str) -> Answer:
    """Answer a request that came from an address of the VPC; the caller holds the store's lock."""
    thing = wanted.guest_at(cloud, source)
    if thing is None:
        return _said(404, "no instance has this address")
    options = thing["api"]["MetadataOptions"]
    if options.get("HttpEndpoint") == "disabled" or "x-forwarded-for" in request.headers:
        return _said(403, "")
    version, _, path = request.path.lstrip("/").partition("/")
    if request.method == "PUT" and path == "api/token":
        return _token(cloud, thing, request)
    if request.method != "GET" or version not in VERSIONS:
        return _said(404, "")
    given = request.headers.get("x-aws-ec2-metadata-token")
    if (given is None and options.get("HttpTokens") == "required") or (given is not None and not _is_valid(cloud, thing, given)):
        return _said(401, "")
    return _found(_tree(cloud, thing), path)


def _token(cloud: Cloud, thing: Thing, request: Request) -> Answer:
    try:
        ttl_s = int(request.headers.get("x-aws-ec2-metadata-token-ttl-seconds", ""))
    except ValueError:
        return _said(400, "")
    if not 1 <= ttl_s <= TTL_MOST_S:
        return _said(400, "")
    ends = str(int(time.time()) + ttl_s)
    return Answer(200, f"{ends}-{_signed(cloud, thing, ends)}".encode(), {"Content-Type": "text/plain", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds": str(ttl_s)})


def _is_valid(cloud: Cloud, thing: Thing, token: str) -> bool:
    ends, _, signature = token.partition("-")
    return ends.isdigit() and int(ends) >= time.time() and hmac.compare_digest(signature, _signed(cloud, thing, ends))


def _signed(cloud: Cloud, thing: Thing, text: str) -> str:
    return hmac.new(temporary.seed(cloud), f"token {thing.id} {text}".encode(), hashlib.sha256).hexdigest()[:32]


def _found(tree: Tree, path: str) -> Answer:
    """Give a leaf's text, or what a folder holds: with or without a slash behind, as the real service does."""
    here: Any = tree
    for part in [part for part in path.split("/") if part]:
        if not isinstance(here, Mapping) or part not in here:
            return _said(404, "")
        here = here[part]
    if isinstance(here, Mapping):
        return _said(200, "\n".join(f"{name}/" if isinstance(value, Mapping) else name for name, value in here.items()))
    return Answer(200, here if isinstance(here, bytes) else str(here).encode(), {"Content-Type": "text/plain"})


def _tree(cloud: Cloud, thing: Thing) -> Tree:
    data = _user_data(thing)
    tree: dict[str, Any] = {"meta-data": _meta_data(cloud, thing), "dynamic": {"instance-identity": {"document": json.dumps(_identity(cloud, thing))}}}
    return {**tree, "user-data": data} if data else tree


def _user_data(thing: Thing) -> bytes:
    """Give the user data as the instance reads it: a program's is kept as the program gave it, that of RunInstances in Base64."""
    if thing.door == "provider" and not thing.get("userDataBase64"):
        return str(thing.get("userData") or "").encode()
    return base64.b64decode(thing.get("userDataBase64") or thing.get("userData") or "")


def _meta_data(cloud: Cloud, thing: Thing) -> Tree:
    api, address = thing["api"], wanted.address(cloud, thing)
    home = cloud.need("ec2.Subnet", thing.interfaces[0].subnet)
    mac = host.hardware_address(address)
    name, groups = f"ip-{address.replace('.', '-')}.ec2.internal", "\n".join(thing.interfaces[0].groups)
    interface = {
        "device-number": "0", "interface-id": thing.interfaces[0].id, "local-hostname": name, "local-ipv4s": address, "mac": mac, "owner-id": facts.ACCOUNT, "security-group-ids": groups,
        "subnet-id": home.id, "subnet-ipv4-cidr-block": home["cidrBlock"], "vpc-id": thing["vpcId"], "vpc-ipv4-cidr-block": cloud.need("ec2.Vpc", thing["vpcId"])["cidrBlock"],
    }  # fmt: skip
    tree: dict[str, Any] = {
        "ami-id": api["ImageId"], "ami-launch-index": "0", "hostname": name, "instance-action": "none", "instance-id": thing.id,
        "instance-life-cycle": api.get("InstanceLifecycle", "on-demand"), "instance-type": api["InstanceType"], "local-hostname": name, "local-ipv4": address, "mac": mac,
        "network": {"interfaces": {"macs": {mac: interface}}}, "reservation-id": f"r-{thing.id[2:]}", "security-groups": groups,
        "placement": {"availability-zone": home["availabilityZone"], "availability-zone-id": home["availabilityZoneId"], "region": thing.region},
        "services": {"domain": "amazonaws.com", "partition": "aws"},
    }  # fmt: skip
    if thing.get("publicIp"):
        tree["public-ipv4"] = thing["publicIp"]
    if role := temporary.role_of(cloud, thing):
        credentials = temporary.credentials(cloud, thing, role)
        tree["iam"] = {
            "info": json.dumps({"Code": "Success", "InstanceProfileArn": api["IamInstanceProfile"]["Arn"]}),
            "security-credentials": {role["name"]: json.dumps(credentials)},
        }
    if api["MetadataOptions"].get("InstanceMetadataTags") == "enabled":
        tree["tags"] = {"instance": dict(thing.tags)}
    if ends := thing.get("interruptedAt"):
        moment = dt.datetime.fromtimestamp(ends, dt.UTC).strftime(NOTICE_FORM)
        tree["spot"] = {"instance-action": json.dumps({"action": "terminate", "time": moment}), "termination-time": moment}
    return tree


def _identity(cloud: Cloud, thing: Thing) -> Mapping[str, Any]:
    api = thing["api"]
    return {
        "accountId": facts.ACCOUNT, "architecture": api["Architecture"], "availabilityZone": api["Placement"]["AvailabilityZone"], "imageId": api["ImageId"], "instanceId": thing.id,
        "instanceType": api["InstanceType"], "pendingTime": dt.datetime.fromtimestamp(thing.made_s, dt.UTC).strftime(NOTICE_FORM), "privateIp": wanted.address(cloud, thing),
        "region": thing.region, "version": "2017-09-30",
    }  # fmt: skip


def _said(status: int, text: str) -> Answer:
    return Answer(status, text.encode(), {"Content-Type": "text/plain"})
