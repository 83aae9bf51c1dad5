"""What is done to a subnet that is there: its range grows, and Google's services are reached from it or not."""

import dataclasses
import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.store import Thing
from .. import errors, operations, rights, shared_vpc, verbs
from ..rules import Call, Want, handles, rules

if TYPE_CHECKING:
    from ..cloud import Cloud

KIND = "compute.subnetworks"


@handles("compute.subnetworks.expandIpCidrRange")
def expand(cloud: "Cloud", call: Call) -> Any:
    """Give a subnet a wider range that holds the one it has; it never shrinks."""
    thing, values = _target(cloud, call), verbs.form(call)
    wider = values.get("ipCidrRange", "")
    changed = {**thing.properties, "ipCidrRange": wider}
    rules(KIND).check(cloud, Want(KIND, thing.id, changed, call, thing))
    if not ipaddress.ip_network(thing["ipCidrRange"]).subnet_of(ipaddress.ip_network(wider)) or wider == thing["ipCidrRange"]:  # type: ignore[arg-type]
        raise errors.invalid("ipCidrRange", wider, "New range must be a superset of the existing range and larger than it.")
    return _changed(cloud, call, thing, changed)


@handles("compute.subnetworks.setPrivateIpGoogleAccess")
def set_private_access(cloud: "Cloud", call: Call) -> Any:
    thing, values = _target(cloud, call), verbs.form(call)
    return _changed(cloud, call, thing, {**thing.properties, "privateIpGoogleAccess": bool(values.get("privateIpGoogleAccess"))})


@handles("compute.subnetworks.testIamPermissions")
def test_permissions(cloud: "Cloud", call: Call) -> Any:
    thing, asked = _target(cloud, call), verbs.form(call).get("permissions", [])
    held = [one for one in asked if rights.may(cloud, call.caller, one, thing.id) and shared_vpc.may_use(cloud, call.caller or rights.OWNER, thing.id)]
    return {"permissions": held} if held else {}


def _target(cloud: "Cloud", call: Call) -> Thing:
    return cloud.need(call.path.rpartition("/")[0], KIND)


def _changed(cloud: "Cloud", call: Call, thing: Thing, properties: Mapping[str, Any]) -> Any:
    cloud.put(dataclasses.replace(thing, properties=verbs.locked(KIND, properties)))
    return operations.begin(cloud, call, thing.id, call.method.verb, target_id=thing["id"])
