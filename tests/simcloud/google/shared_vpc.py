"""Shared VPC: a host project of others, whose networks a project may use where an administrator let its members, and in which it changes nothing.

Test doors say it as the setting `shared_vpc`: {project: the host project, users: members with roles/compute.networkUser on it}. Until then the host project is as open as the own one, so that a test
can make networks there. Source: cloud.google.com/vpc/docs/provisioning-shared-vpc and cloud.google.com/vpc/docs/shared-vpc, "IAM roles" (2026-11).
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core.failure import Refused
from . import links
from .rules import Call, handles

if TYPE_CHECKING:
    from .cloud import Cloud

SETTING = "shared_vpc"
USE = "compute.subnetworks.use"
READS = ("get", "list", "aggregatedList", "listUsable", "testIamPermissions", "wait")
"""What the role Compute Network User lets its members look at."""


def check(cloud: "Cloud", call: Call, member: str) -> None:
    """Refuse a change in the host project, and the use of its networks by others than its users."""
    host = _host(cloud)
    if not host:
        return
    if call.method.id.startswith("compute.") and call.path.startswith(f"projects/{host}/") and (call.method.verb not in READS or not _is_user(cloud, member)):
        permission = f"{call.method.kind}.{call.method.verb}"
        raise Refused("forbidden", f"Required '{permission}' permission for '{call.path}'", status=403)
    check_use(cloud, call.body, member)


def check_use(cloud: "Cloud", values: Mapping[str, Any], member: str) -> None:
    """Refuse what names a network or subnet of the host project, from others than its users."""
    host = _host(cloud)
    if host and f"projects/{host}/" in json.dumps(values, default=str) and not _is_user(cloud, member):
        raise Refused("forbidden", f"Required '{USE}' permission for 'projects/{host}'", status=403)


def may_use(cloud: "Cloud", member: str, path: str) -> bool:
    """Say whether a member may use a subnet: one of the host project as its user, one of the own project as its owner."""
    return _is_user(cloud, member) if path.startswith(f"projects/{_host(cloud)}/") else True


@handles("compute.projects.getXpnHost")
def host_of(cloud: "Cloud", call: Call) -> Any:
    """Name the host project; an empty answer: there is none."""
    return {"kind": "compute#project", "name": _host(cloud)} if _host(cloud) else {}


@handles("compute.subnetworks.listUsable")
def usable(cloud: "Cloud", call: Call) -> Any:
    """List the subnets of a project that a service project may use."""
    found = list(cloud.all("compute.subnetworks", under=f"projects/{call.project}/"))
    items = [{"subnetwork": links.link(one.id), "network": one["network"], "ipCidrRange": one["ipCidrRange"], "stackType": "IPV4_ONLY"} for one in found]
    return {"kind": "compute#usableSubnetworksAggregatedList", "items": items}


def hosts(cloud: "Cloud") -> tuple[str, ...]:
    """Name the host project, if there is one."""
    return (_host(cloud),) if _host(cloud) else ()


def _host(cloud: "Cloud") -> str:
    return str((cloud.setting(SETTING) or {}).get("project", ""))


def _is_user(cloud: "Cloud", member: str) -> bool:
    return member in (cloud.setting(SETTING) or {}).get("users", ())
