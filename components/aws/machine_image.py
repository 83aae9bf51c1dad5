"""The machine image (AMI) that Image Builder built, as a resource whose only work is the deletion.

Deleting an image of Image Builder deletes neither the AMI nor its snapshots (Image Builder API Reference, DeleteImage), which cost money until they are deleted, and each change of a role builds
another. Hosts and launch templates take the AMI's id from this resource: the engine deletes it after them, and creates a new one before it deletes the old one.
"""

import dataclasses
from typing import ClassVar

from .. import errors
from ..provider.kind import Kind, Refused, Values, Work
from . import instances


@dataclasses.dataclass(frozen=True, slots=True)
class MachineImageInputs:
    region: str
    image: str
    """The AMI's id."""
    owner: str
    """The stack's mark."""


class MachineImage(Kind[MachineImageInputs]):
    """Creation changes nothing; deletion deregisters the AMI and deletes its snapshots, unless a launch template of others starts instances from it."""

    token = "clusterwright:aws:MachineImage"
    inputs = MachineImageInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"region", "image"})
    gone_first: ClassVar[bool] = False

    def identity(self, inputs: MachineImageInputs) -> str:
        return inputs.image

    def read(self, inputs: MachineImageInputs, outputs: Values) -> Values | None:
        """Observe nothing: the engine observes Image Builder's resource."""
        return {}

    def create(self, inputs: MachineImageInputs, work: Work) -> Values:
        return {}

    def delete(self, inputs: MachineImageInputs, outputs: Values, work: Work) -> None:
        try:
            ec2 = instances.Ec2(inputs.region)
            templates = ec2.templates_naming(inputs.image)
            ours = sorted(name for name, owner in templates.items() if owner == inputs.owner)
            if ours:
                raise Refused(
                    f"{inputs.image} can't be deleted while {', '.join(ours)} would start nodes from it\n  do:  run `up` again, which gives these templates another image"
                )
            if templates:
                work.tell(
                    f"kept {inputs.image} and its snapshots, which AWS bills: {', '.join(sorted(templates))}, outside this stack, starts instances from it"
                )
                return
            ec2.end_image(inputs.image)
        except errors.TargetUnanswered as error:
            raise Refused(f"{inputs.image} can't be deregistered: {error}") from error
