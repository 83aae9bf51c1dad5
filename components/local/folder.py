"""Shared file systems and data volumes of the local target: folders of this machine, mounted into hosts."""

import dataclasses
from typing import ClassVar

from ..provider.kind import UNKNOWN, Kind, Values, Work
from .machine import claim, folder
from .machine.names import StackNames


@dataclasses.dataclass(frozen=True, slots=True)
class FolderInputs:
    stack: str
    site: str
    """The token of the stack's claim to its name on this machine."""
    name: str
    protect: bool
    """True: a sweep of the stack leaves the folder where it is."""


class Folder(Kind[FolderInputs]):
    token = "clusterwright:local:Folder"
    inputs = FolderInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"name"})

    def identity(self, inputs: FolderInputs) -> str:
        return f"{inputs.stack}/{inputs.name}"

    def expected(self, inputs: FolderInputs) -> Values:
        return {"path": str(StackNames(inputs.stack).folder(inputs.name)), "incarnation": UNKNOWN}

    def read(self, inputs: FolderInputs, outputs: Values) -> Values | None:
        incarnation = folder.incarnation(StackNames(inputs.stack), inputs.name)
        return None if incarnation is None else {**self.expected(inputs), "incarnation": incarnation}

    def create(self, inputs: FolderInputs, work: Work) -> Values:
        names = StackNames(inputs.stack)
        claim.require(names, inputs.site)
        return {**self.expected(inputs), "incarnation": folder.make(names, inputs.name, protect=inputs.protect)}

    def delete(self, inputs: FolderInputs, outputs: Values, work: Work) -> None:
        names = StackNames(inputs.stack)
        claim.require(names, inputs.site, deleting=True)
        folder.remove(names, inputs.name)
