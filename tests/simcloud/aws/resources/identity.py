"""IAM: roles, policies, instance profiles.

Source: IAM user guide, "IAM and AWS STS quotas".
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Thing
from ..cloud import Cloud
from ..rules import Rules, Want, of

INLINE_MOST, MANAGED_MOST, TRUST_MOST = 10240, 6144, 2048  # letters without white space
POLICIES_MOST = 10  # managed policies of a role


@of("iam.Role")
class Role(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _refuse_long(want["assumeRolePolicy"], TRUST_MOST)
        arns = want.get("managedPolicyArns", ())
        for arn in arns:
            _check_managed(cloud, arn)
        if len(arns) > POLICIES_MOST:
            raise Refused("LimitExceeded", f"Cannot exceed quota for PoliciesPerRole: {POLICIES_MOST}")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {} if want.former else {"uniqueId": f"AROA{cloud.store.new_hex(16).upper()}"}

    def observed(self, cloud: Cloud, thing: Thing) -> Mapping[str, Any]:
        """Show what the role has by now, whoever gave it: the provider reads both at each refresh."""
        inline = [{"name": one["name"], "policy": one["policy"]} for one in cloud.store.all("iam.RolePolicy") if one["role"] == thing.id]
        attached = [one["policyArn"] for one in cloud.store.all("iam.RolePolicyAttachment") if one["role"] == thing.id]
        return {**thing.properties, "inlinePolicies": inline, "managedPolicyArns": sorted({*thing.get("managedPolicyArns", ()), *attached})}


@of("iam.RolePolicy")
class RolePolicy(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        own = [one for one in cloud.store.all("iam.RolePolicy") if one["role"] == want["role"] and one is not want.former]
        _refuse_long("".join(_text(one["policy"]) for one in own) + _text(want["policy"]), INLINE_MOST)


@of("iam.Policy")
class Policy(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _refuse_long(want["policy"], MANAGED_MOST)

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        users = [one["role"] for one in cloud.store.all("iam.RolePolicyAttachment") if one["policyArn"] == thing.id]
        if users:
            raise Refused("DeleteConflict", f"Cannot delete a policy attached to entities: {', '.join(users)}")


@of("iam.RolePolicyAttachment")
class RolePolicyAttachment(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _check_managed(cloud, want["policyArn"])
        if sum(1 for one in cloud.store.all("iam.RolePolicyAttachment") if one["role"] == want["role"]) >= POLICIES_MOST:
            raise Refused("LimitExceeded", f"Cannot exceed quota for PoliciesPerRole: {POLICIES_MOST}")


def _check_managed(cloud: Cloud, arn: str) -> None:
    if re.fullmatch(r"arn:aws:iam::aws:policy/[\w+=,.@/-]+", arn) or cloud.store.get("iam.Policy", arn):
        return
    raise Refused("NoSuchEntity", f"Policy {arn} does not exist or is not attachable.")


def _refuse_long(value: Any, most: int) -> None:
    size = len(re.sub(r"\s", "", _text(value)))
    if size > most:
        raise Refused("LimitExceeded", f"Maximum policy size of {most} bytes exceeded: {size}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
