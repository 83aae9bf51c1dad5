"""What a guest tells of itself: attributes that a test writes into an instance as its guest would (`drift` of `_guestAttributes`, namespace/key → value).

The setting `guest_attributes_forbidden` is an organization policy against reading them.
"""

from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ..rules import Call, handles

if TYPE_CHECKING:
    from ..cloud import Cloud

POLICY = "constraints/compute.disableGuestAttributesAccess"
"""GoogleCloudPlatform/iap-desktop, GuestOsInventory and GoogleApiExceptionExtensions: answered with 412. The words are ours."""


@handles("compute.instances.getGuestAttributes")
def guest_attributes(cloud: "Cloud", call: Call) -> Any:
    """Give the attributes below a query path. Source: Compute Engine documentation, "Set and query guest attributes"."""
    thing = cloud.need(call.path.removesuffix("/getGuestAttributes"), "compute.instances")
    if cloud.setting("guest_attributes_forbidden"):
        raise Refused("conditionNotMet", f"Constraint {POLICY} violated for project {cloud.project}.", status=412)
    items = (thing.get("metadata") or {}).get("items", ())
    if {"key": "enable-guest-attributes", "value": "TRUE"} not in [{"key": one["key"], "value": one["value"]} for one in items]:
        raise Refused("conditionNotMet", "Guest attributes are not enabled for this instance.", status=412)
    wanted = call.parameters.get("queryPath", "")
    found = [
        (name.rpartition("/"), value)
        for name, value in (thing.get("_guestAttributes") or {}).items()
        if name == wanted or name.startswith(wanted.rstrip("/") + "/")
    ]
    if not found:
        raise Refused("notFound", f"The resource '{thing.id}/guestAttributes/{wanted}' of type 'Guest Attribute' was not found.", status=404)
    values = [{"namespace": namespace, "key": key, "value": value} for (namespace, _, key), value in found]
    return {"kind": "compute#guestAttributes", "queryPath": wanted, "queryValue": {"items": values}}
