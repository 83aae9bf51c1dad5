"""The login nodes in the balancer's instance group.

Compute Engine removes a deleted instance from its group. A rebuilt instance has the same name, so that a group that lists its members by name sees no change, and nobody adds the new one
(terraform-provider-google, issues 4705, 9930 and 18800). This resource knows the instances' numbers, which change.
"""

import dataclasses
from collections.abc import Mapping

from .. import errors
from ..provider.kind import Kind, Refused, Values, Work
from . import rest

ADDED_WITHIN_S = 120


@dataclasses.dataclass(frozen=True, slots=True)
class GroupMembersInputs:
    project: str
    zone: str
    group: str
    instances: Mapping[str, str]
    """Name of the instance → its number, which no later instance has."""


class GroupMembers(Kind[GroupMembersInputs]):
    """Creation and update add the instances that are missing; instances leave the group when they are deleted."""

    token = "clusterwright:gcp:GroupMembers"
    inputs = GroupMembersInputs

    def identity(self, inputs: GroupMembersInputs) -> str:
        return f"{inputs.project}/{inputs.zone}/{inputs.group}"

    def expected(self, inputs: GroupMembersInputs) -> Values:
        return {"members": sorted(inputs.instances)}

    def read(self, inputs: GroupMembersInputs, outputs: Values) -> Values | None:
        return {"members": sorted(_members(rest.Compute(inputs.project), inputs) & set(inputs.instances))}

    def create(self, inputs: GroupMembersInputs, work: Work) -> Values:
        compute = rest.Compute(inputs.project)
        try:
            if missing := sorted(set(inputs.instances) - _members(compute, inputs)):
                work.say(f"adding {', '.join(missing)} to the group")
                added = [{"instance": f"projects/{inputs.project}/zones/{inputs.zone}/instances/{name}"} for name in missing]
                operation = compute.start("POST", f"{_path(inputs)}/addInstances", {"instances": added})
                work.wait_until(lambda: compute.is_done(operation), awaiting=f"{inputs.group} to have its instances", within_s=ADDED_WITHIN_S)
        except errors.TargetUnanswered as error:
            raise Refused(f"login nodes can't be added to the group {inputs.group}: {error}\n  do:  run the same command again") from error
        return self.expected(inputs)

    def delete(self, inputs: GroupMembersInputs, outputs: Values, work: Work) -> None:
        """Do nothing: the group and its members are deleted after it."""


def _path(inputs: GroupMembersInputs) -> str:
    return f"zones/{inputs.zone}/instanceGroups/{inputs.group}"


def _members(compute: rest.Compute, inputs: GroupMembersInputs) -> set[str]:
    """Name the members; none where the group is missing, which is then a finding of its own."""
    try:
        return {str(one["instance"]).rpartition("/")[2] for one in compute.items(f"{_path(inputs)}/listInstances", method="POST")}
    except rest.Failed as error:
        if error.status != rest.GONE:
            raise
        return set()
