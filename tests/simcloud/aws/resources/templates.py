"""Launch templates, kept in the API's own form, so that CreateFleet launches what a program declared.

EC2 checks the form when a template is made and references when it is used; the rules do the same.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from ...core.failure import Refused, refuse_all
from ...core.store import Thing
from ...core.typed import UNKNOWN
from .. import facts, shapes
from ..cloud import Cloud, same
from ..rules import Rules, Want, of

USER_DATA_MOST = 16384  # EC2 user guide, "Run commands at launch": 16 KB before base64
OWN = ("name", "namePrefix", "description", "defaultVersion", "updateDefaultVersion", "tags", "region")
NAMES = {
    "vpcSecurityGroupIds": "SecurityGroupIds", "securityGroupNames": "SecurityGroups", "networkInterfaces[].securityGroups": "Groups",
    "networkInterfaces[].ipv4AddressCount": "SecondaryPrivateIpAddressCount", "networkInterfaces[].ipv4Addresses": "PrivateIpAddresses", "ramDiskId": "RamDiskId",
}  # fmt: skip


@of("ec2.LaunchTemplate")
class LaunchTemplate(Rules):
    def problems(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        return shapes.problems(facts.shape("ec2.RequestLaunchTemplateData"), launch_data(inputs), "LaunchTemplateData")

    def check(self, cloud: Cloud, want: Want) -> None:
        refuse_all(shapes.problems(facts.shape("ec2.LaunchTemplateName"), want["name"], "name"), code="InvalidLaunchTemplateName.MalformedException")
        check_user_data(want.get("userData"))
        version = want.get("defaultVersion")
        if version is not None and not 1 <= version <= (want.former["latestVersion"] if want.former else 1):
            raise Refused("InvalidLaunchTemplateId.VersionNotFound", f"there is no version {version}")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        data, versions = launch_data(want.values), dict(want.former["versions"]) if want.former else {}
        latest = max(map(int, versions), default=0)
        if not latest or not same(versions[str(latest)]["data"], data):
            latest += 1
            versions[str(latest)] = {"data": data, "description": want.get("description"), "made_s": cloud.store.clock.now_s()}
        chosen = latest if want.get("updateDefaultVersion") else want.get("defaultVersion") or (want.former["defaultVersion"] if want.former else 1)
        return {"versions": versions, "latestVersion": latest, "defaultVersion": chosen}


def launch_data(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give a program's template in the form of RequestLaunchTemplateData."""
    values = {name: value for name, value in inputs.items() if name not in OWN and not name.startswith("__") and value is not None}
    if isinstance(values.get("tagSpecifications"), list):
        values["tagSpecifications"] = [{**one, "tags": tag_list(one.get("tags"))} for one in values["tagSpecifications"] if one != UNKNOWN]
    if isinstance(values.get("networkInterfaces"), list):
        values["networkInterfaces"] = [_addresses_as_objects(one) for one in values["networkInterfaces"] if one != UNKNOWN]
    formed: dict[str, Any] = shapes.formed(facts.shape("ec2.RequestLaunchTemplateData"), values, NAMES)
    return formed


def tag_list(tags: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Give tags in the API's form."""
    return [{"key": key, "value": value} for key, value in tags.items()] if isinstance(tags, Mapping) else []


def versioned(cloud: Cloud, specification: Mapping[str, Any], region: str) -> tuple[Thing, str, Mapping[str, Any]]:
    """Find a template and the data of one of its versions.

    Args:
        specification: LaunchTemplateId or LaunchTemplateName, and Version (`$Latest`, `$Default`, a number).
    """
    ident, name = specification.get("LaunchTemplateId"), specification.get("LaunchTemplateName")
    if bool(ident) is bool(name):
        raise Refused("InvalidParameterCombination", "Exactly one of LaunchTemplateId and LaunchTemplateName must be given")
    found = cloud.find("ec2.LaunchTemplate", str(ident or name), region=region)
    if found is None:
        code = "InvalidLaunchTemplateId.NotFound" if ident else "InvalidLaunchTemplateName.NotFoundException"
        raise Refused(code, f"The specified launch template, with template {'ID' if ident else 'name'} {ident or name}, does not exist.")
    version = str(specification.get("Version") or "$Default")
    number = {"$Latest": str(found["latestVersion"]), "$Default": str(found["defaultVersion"])}.get(version, version)
    if number not in found["versions"]:
        raise Refused("InvalidLaunchTemplateId.VersionNotFound", f"Could not find the specified version {version} for the launch template with ID {found.id}.")
    return found, number, found["versions"][number]["data"]


def check_user_data(text: str | None) -> None:
    """Refuse user data that is not base64 or too long."""
    if text is None:
        return
    try:
        plain = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Refused("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from None
    if len(plain) > USER_DATA_MOST:
        raise Refused("InvalidParameterValue", f"User data is limited to {USER_DATA_MOST} bytes; this is {len(plain)}")


def _addresses_as_objects(interface: Mapping[str, Any]) -> Mapping[str, Any]:
    changed = dict(interface)
    for name, member in (
        ("ipv4Addresses", "privateIpAddress"),
        ("ipv6Addresses", "ipv6Address"),
        ("ipv4Prefixes", "ipv4Prefix"),
        ("ipv6Prefixes", "ipv6Prefix"),
    ):
        if isinstance(changed.get(name), list):
            changed[name] = [{member: address} for address in changed[name]]
    return changed
