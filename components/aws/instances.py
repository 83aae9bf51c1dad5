"""Instances that carry a stack's name: those that the stack created, those that the elastic program started, and strays."""

import contextlib
import dataclasses
import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .. import errors
from .names import CLUSTER_TAG, NODE_SET_TAG, NODE_TAG, OWNER_TAG, PART_TAG, STACK_TAG

COMPUTE = "compute"

RUNNING = "running"
STATES = ("pending", RUNNING, "stopping", "stopped")
"""States of instances that still exist; EC2 describes terminated ones for an hour."""
ENDING = "shutting-down"
STATES_BEFORE_THE_END = (*STATES, ENDING)
"""Until it is terminated, an instance uses its interfaces, and with them security groups and addresses."""
REFUSED_SHOWN = 5
TEMPLATE_TAG, TEMPLATE_VERSION_TAG = "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version"
"""Set by EC2 itself; nobody else can write tags with this prefix (EC2 User Guide, "Tag restrictions")."""
BUILDER_TAG = "CreatedBy"
"""Set by Image Builder on instances that build images."""

_NO_IMAGE = ("InvalidAMIID.NotFound", "InvalidAMIID.Unavailable")

WITHOUT_SDK = "the module {} is missing: AWS's SDK comes with `make setup EXTRAS=aws`"


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
    """Version of the launch template; empty: none."""
    builds_image: bool = False
    cluster: str = ""
    owner: str = ""
    """The mark of its stack; empty: an earlier version without marks started it."""
    template: str = ""
    """Id of the launch template; empty: none."""
    address: str = ""
    """The first address in the cluster's network; empty: none yet."""


def look(*, region: str, stack: str) -> tuple[Instance, ...]:
    """List the instances that carry the stack's name.

    Raises:
        TargetUnanswered: EC2 does not answer, or refuses.
    """
    return Ec2(region).look(stack=stack)


class Ec2:
    """The instances of a region. Creating it takes a third of a second, since boto3 reads the description of the service; several threads may share it.

    Args:
        client: boto3's EC2 client; None: one with credentials and endpoint from the environment.
    Raises:
        TargetUnanswered: boto3 is missing, or knows no such region.
    """

    def __init__(self, region: str, *, client: Any = None):
        if client is not None:
            self._client = client
            return
        try:
            import boto3
            import botocore.config
        except ImportError as missing:
            raise errors.TargetUnanswered(WITHOUT_SDK.format(missing.name)) from missing
        settings = botocore.config.Config(retries={"mode": "standard", "max_attempts": 6}, connect_timeout=10, read_timeout=60)
        with _answering():
            # A session of its own: boto3's default session is not thread-safe (boto3's guide, "Multithreading").
            self._client = boto3.session.Session().client("ec2", region_name=region, config=settings)

    def look(self, *, stack: str, node_set: str | None = None, states: Sequence[str] = STATES) -> tuple[Instance, ...]:
        """List the instances that carry the stack's name.

        Args:
            node_set: only those of one node set.
            states: only those that are in one of these.
        Raises:
            TargetUnanswered: EC2 does not answer, or refuses.
        """
        wanted = {f"tag:{STACK_TAG}": [stack], "instance-state-name": [*states], **({f"tag:{NODE_SET_TAG}": [node_set]} if node_set else {})}
        filters = [{"Name": name, "Values": values} for name, values in wanted.items()]
        with _answering():
            pages = self._client.get_paginator("describe_instances").paginate(Filters=filters, PaginationConfig={"PageSize": 1000})
            return tuple(_instance(one) for page in pages for reservation in page["Reservations"] for one in reservation["Instances"])

    def end(self, identities: Sequence[str]) -> None:
        """Begin to terminate instances; a refusal of some does not affect the others.

        Raises:
            TargetUnanswered: EC2 does not answer, or refuses some.
        """
        from ..elastic.fleets.aws import termination

        if refused := termination.terminate(self._client, identities):
            shown = ", ".join([*refused][:REFUSED_SHOWN]) + (f" and {len(refused) - REFUSED_SHOWN} more" if len(refused) > REFUSED_SHOWN else "")
            raise errors.TargetUnanswered(f"EC2 does not terminate {shown}: {next(iter(refused.values()))}")

    def templates_naming(self, image: str) -> Mapping[str, str]:
        """Return the launch templates whose latest or default version starts instances from an image: name → mark of the owning stack, empty: none.

        Raises:
            TargetUnanswered: EC2 does not answer, or refuses.
        """
        wanted = {"Versions": ["$Latest", "$Default"], "Filters": [{"Name": "image-id", "Values": [image]}]}
        with _answering():
            pages = self._client.get_paginator("describe_launch_template_versions").paginate(**wanted)
            named = {one["LaunchTemplateId"] for page in pages for one in page["LaunchTemplateVersions"]}
            if not named:
                return {}
            found = self._client.describe_launch_templates(LaunchTemplateIds=sorted(named))["LaunchTemplates"]
        return {one["LaunchTemplateName"]: {tag["Key"]: tag["Value"] for tag in one.get("Tags", ())}.get(OWNER_TAG, "") for one in found}

    def end_image(self, image: str) -> None:
        """Deregister an image and delete its snapshots. Instances that were started from it keep running; a missing image is no error.

        Raises:
            TargetUnanswered: EC2 does not answer, or refuses.
        """
        import botocore.exceptions

        with _answering():
            try:
                self._client.deregister_image(ImageId=image, DeleteAssociatedSnapshots=True)
            except botocore.exceptions.ClientError as error:
                if error.response["Error"]["Code"] not in _NO_IMAGE:
                    raise


def is_ours(instance: Instance, *, owner: str, templates: Collection[str]) -> bool:
    """Return whether an instance with the stack's name belongs to this stack, and not to another stack of the same name.

    Nodes that an earlier version started carry no mark: EC2's own tag names their launch template, which belongs to one stack.

    Args:
        owner: the stack's mark; empty: none yet, and the name decides.
        templates: ids of the stack's launch templates.
    """
    if not owner:
        return True
    return instance.owner == owner if instance.owner else instance.template in templates


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    import botocore.exceptions

    try:
        yield
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        raise errors.TargetUnanswered(str(error)) from error


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
        cluster=tags.get(CLUSTER_TAG, ""),
        owner=tags.get(OWNER_TAG, ""),
        template=tags.get(TEMPLATE_TAG, ""),
        address=found.get("PrivateIpAddress", ""),
    )
