"""Disks that are encrypted with a key of the account's own: whoever starts the instance must be allowed to use it through EC2, or the instance ends as it starts.

Source: EBS user guide, "Requirements for Amazon EBS encryption", "Permissions for IAM users"; EC2 user guide, "Instance terminates immediately". A key's policy leaves it to the account's policies here,
as that of every key does that was made without one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.authorization import Attempt, Values, is_allowed
from ..core.store import Thing
from . import attempts, facts, instances, rights
from .cloud import Cloud

DEFAULT_KEY = "ebs_key"
"""Setting: the account's default key for EBS, where it is one of its own."""
NEEDED = ("CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo")


def end_unreadable(cloud: Cloud, role: Thing, started: Mapping[str, Any]) -> None:
    """End the instances of an answer of RunInstances or CreateFleet whose disks the role can't have encrypted."""
    documents = [*attempts.documents(cloud, role)]
    for ident in _instances(started):
        thing = cloud.store.get("ec2.Instance", ident)
        if thing and any(not is_allowed(documents, attempt) for attempt in _attempts(cloud, thing)):
            instances.end(cloud, thing, reason="Client error on launch", code="Client.InternalError")


def _attempts(cloud: Cloud, thing: Thing) -> Iterator[Attempt]:
    for named in thing["diskKeys"]:
        key = cloud.find("kms.Key|kms.Alias", named or cloud.store.settings.get(DEFAULT_KEY, ""))
        if key is None:
            continue  # AWS's own, which everybody in the account may use through EC2
        context: dict[str, Values] = {
            "kms:ViaService": [f"ec2.{thing.region}.amazonaws.com"],
            "kms:CallerAccount": [facts.ACCOUNT],
            "kms:GrantIsForAWSResource": ["true"],
        }
        for name in NEEDED:
            yield rights.bare(Attempt(f"kms:{name}", str(key.get("targetKeyArn") or key["arn"]), context))


def _instances(started: Mapping[str, Any]) -> Iterable[str]:
    for one in started.get("Instances", ()):
        yield from one["InstanceIds"] if "InstanceIds" in one else [one["InstanceId"]]
