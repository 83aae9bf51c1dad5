"""Which instances carry a stack's name, by looking only: those that the stack made, those that the elastic program started, and those that are nobody's."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from .names import NODE_SET_TAG, NODE_TAG, PART_TAG, STACK_TAG

STATES = ("pending", "running", "stopping", "stopped")
"""Of instances that still are; terminated ones are described for an hour."""
TEMPLATE_VERSION_TAG = "aws:ec2launchtemplate:version"
"""Put there by EC2 itself."""
BUILDER_TAG = "CreatedBy"
"""Put there by Image Builder, on instances that build images."""


class Unanswered(Exception):
    """EC2 could not be asked; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """One instance as EC2 describes it."""

    id: str
    machine: str
    state: str
    part: str
    node_set: str
    node: str
    launched: dt.datetime
    groups: frozenset[str]
    """Security groups of all its interfaces."""
    profile: str
    """ARN of its instance profile; empty: it has none."""
    template_version: str
    """Of the launch template; empty: it was started without one."""
    builds_image: bool = False


def look(*, region: str, stack: str) -> tuple[Instance, ...]:
    """List the instances that carry the stack's name.

    Raises:
        Unanswered: EC2 does not answer, or refuses.
    """
    import boto3
    import botocore.config
    import botocore.exceptions

    settings = botocore.config.Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60)
    filters = [{"Name": f"tag:{STACK_TAG}", "Values": [stack]}, {"Name": "instance-state-name", "Values": [*STATES]}]
    try:
        client = boto3.client("ec2", region_name=region, config=settings)
        pages = client.get_paginator("describe_instances").paginate(Filters=filters, PaginationConfig={"PageSize": 1000})
        return tuple(_instance(one) for page in pages for reservation in page["Reservations"] for one in reservation["Instances"])
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        raise Unanswered(str(error)) from error


def _instance(found: Mapping[str, Any]) -> Instance:
    tags = {tag["Key"]: tag["Value"] for tag in found.get("Tags", ())}
    interfaces = found.get("NetworkInterfaces") or [{"Groups": found.get("SecurityGroups", ())}]
    return Instance(
        id=found["InstanceId"],
        machine=found["InstanceType"],
        state=found["State"]["Name"],
        part=tags.get(PART_TAG, ""),
        node_set=tags.get(NODE_SET_TAG, ""),
        node=tags.get(NODE_TAG, ""),
        launched=found["LaunchTime"],
        groups=frozenset(group["GroupId"] for interface in interfaces for group in interface.get("Groups", ())),
        profile=found.get("IamInstanceProfile", {}).get("Arn", ""),
        template_version=tags.get(TEMPLATE_VERSION_TAG, ""),
        builds_image=BUILDER_TAG in tags,
    )
