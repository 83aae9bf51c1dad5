"""The compute nodes of a stack that is about to go: the engine doesn't know them, and nothing that they use can go before them."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import boto3
import botocore.config
import botocore.exceptions

from ..interrupted import NotAsked
from .names import CLUSTER_TAG, NODE_SET_TAG, PART_TAG, STACK_TAG

_INSTANCE = "aws:ec2/instance:Instance"
_COMPUTE, _CONTROL = "compute", "control"
_THERE = ("pending", "running", "shutting-down", "stopping", "stopped")
"""Until it is terminated an instance has its interfaces, and with them security groups and addresses."""
_ENDING = "shutting-down"
_END_AT_ONCE = 1000  # Amazon EC2 API Reference, TerminateInstances
_ENDED_WITHIN_S = 1200
"""Machines with eight GPUs take minutes to shut down."""
_LOOK_EVERY_S = 5.0


class Nodes:
    """The nodes that a stack's own program started.

    Args:
        resources: the stack's, as they are recorded.
    """

    def __init__(self, resources: Iterable[Mapping[str, Any]], *, pause: Callable[[float], None] = time.sleep):
        ours = [one for one in resources if STACK_TAG in _tags(one)]
        self.controllers = tuple(one["urn"] for one in ours if one["type"] == _INSTANCE and _tags(one)[PART_TAG] == _CONTROL)
        """URNs of what starts nodes: it has to go before them."""
        # Whatever is left of the stack tells whose nodes they are, and where.
        self._whose = {(_tags(one)[STACK_TAG], _tags(one)[CLUSTER_TAG]) for one in ours}
        self._region = next((region for one in ours if (region := _region(one))), "")
        self._pause = pause

    def there(self) -> tuple[str, ...]:
        """List the instances that are still there.

        Raises:
            NotAsked: EC2 does not answer.
        """
        return tuple(one["InstanceId"] for one in self._described())

    def end(self) -> None:
        """End all of them, and wait until they are gone.

        Raises:
            NotAsked: EC2 does not answer, or they don't go.
        """
        for _ in range(int(_ENDED_WITHIN_S / _LOOK_EVERY_S)):
            left = self._described()
            if not left:
                return
            lasting = [one["InstanceId"] for one in left if one["State"]["Name"] != _ENDING]
            for start in range(0, len(lasting), _END_AT_ONCE):
                self._terminate(lasting[start : start + _END_AT_ONCE])
            self._pause(_LOOK_EVERY_S)
        raise NotAsked(f"these instances did not end within {_ENDED_WITHIN_S} s: {', '.join(self.there())}")

    def _terminate(self, instances: Sequence[str]) -> None:
        _asked(lambda: self._ec2.terminate_instances(InstanceIds=[*instances]))

    def _described(self) -> list[Mapping[str, Any]]:
        if len(self._whose) != 1 or not self._region:
            return []
        ((stack, cluster),) = self._whose
        tags = {STACK_TAG: stack, CLUSTER_TAG: cluster, PART_TAG: _COMPUTE}
        wanted = {f"tag:{name}": [value] for name, value in tags.items()} | {"tag-key": [NODE_SET_TAG], "instance-state-name": [*_THERE]}
        filters = [{"Name": name, "Values": values} for name, values in wanted.items()]
        pages = _asked(lambda: list(self._ec2.get_paginator("describe_instances").paginate(Filters=filters)))
        return [one for page in pages for reservation in page["Reservations"] for one in reservation["Instances"]]

    @property
    def _ec2(self) -> Any:
        return boto3.client("ec2", region_name=self._region, config=botocore.config.Config(retries={"mode": "standard", "max_attempts": 6}))


def _tags(resource: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = (resource.get("inputs") or {}).get("tags") or {}
    return found


def _region(resource: Mapping[str, Any]) -> str:
    """Give the region that a resource's ARN has; empty for what is everywhere."""
    arn: str = (resource.get("outputs") or {}).get("arn") or ""
    return arn.split(":")[3] if arn else ""


def _asked(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        raise NotAsked(f"EC2 does not answer: {error}") from error
