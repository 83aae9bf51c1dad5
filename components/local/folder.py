"""Shared file systems and data volumes of the local target: folders of this machine, mounted into hosts."""

import dataclasses
from typing import ClassVar

from ..provider.kind import Kind, Values, Work
from .machine import disk
from .machine.names import StackNames


@dataclasses.dataclass(frozen=True, slots=True)
class FolderInputs:
    stack: str
    name: str


class Folder(Kind[FolderInputs]):
    token = "clusterwright:local:Folder"
    inputs = FolderInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"stack", "name"})

    def identity(self, inputs: FolderInputs) -> str:
        return f"{inputs.stack}/{inputs.name}"

    def expected(self, inputs: FolderInputs) -> Values:
        return {"path": str(StackNames(inputs.stack).folder(inputs.name))}

    def read(self, inputs: FolderInputs, outputs: Values) -> Values | None:
        return self.expected(inputs) if StackNames(inputs.stack).folder(inputs.name).is_dir() else None

    def create(self, inputs: FolderInputs, work: Work) -> Values:
        StackNames(inputs.stack).folder(inputs.name).mkdir(parents=True, exist_ok=True)
        return self.expected(inputs)

    def delete(self, inputs: FolderInputs, outputs: Values, work: Work) -> None:
        disk.remove_tree(StackNames(inputs.stack).folder(inputs.name))
