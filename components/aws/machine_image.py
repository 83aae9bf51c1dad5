"""The machine image that Image Builder built, as the engine knows it: not at all, until it has to go.

Deleting an image of Image Builder deletes neither the AMI nor its snapshots (Image Builder API Reference, DeleteImage), which are paid for as long as they are there, and each change of a role builds
another. What starts hosts takes the AMI's id from this resource, so that it goes after them; and a new image's comes before the old one's goes.
"""

import dataclasses
from typing import ClassVar

from .. import discovery
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
    """Creating it makes nothing; deleting it deregisters the AMI with its snapshots, unless somebody else's launch template starts instances of it."""

    token = "clusterwright:aws:MachineImage"
    inputs = MachineImageInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"region", "image"})
    gone_first: ClassVar[bool] = False

    def identity(self, inputs: MachineImageInputs) -> str:
        return inputs.image

    def read(self, inputs: MachineImageInputs, outputs: Values) -> Values | None:
        """What was built is Image Builder's resource to observe."""
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
                    f"{inputs.image} can't go while {', '.join(ours)} would start nodes from it\n  do:  run `up` again, which gives these another image"
                )
            if templates:
                work.tell(f"{inputs.image} and its snapshots stay, and are paid for: {', '.join(sorted(templates))}, not of this stack, starts instances of it")
                return
            ec2.end_image(inputs.image)
        except discovery.Unanswered as error:
            raise Refused(f"{inputs.image} can't be deregistered: {error}") from error
