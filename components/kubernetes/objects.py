"""Objects that the blueprint itself says: namespaces, rights, queues."""

import dataclasses
from typing import Any, ClassVar

from . import group, manifests


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectsInputs:
    group: str
    """What the objects are for (`queues`, `account-research`)."""
    kubeconfig: str
    manifests: tuple[dict[str, Any], ...]


class Objects(group.Group[ObjectsInputs]):
    token = "clusterwright:kubernetes:Objects"
    inputs = ObjectsInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"group"})

    def identity(self, inputs: ObjectsInputs) -> str:
        return inputs.group

    def title(self, inputs: ObjectsInputs) -> str:
        return inputs.group

    def wanted(self, inputs: ObjectsInputs) -> list[dict[str, Any]] | None:
        return manifests.labelled(inputs.manifests, group=inputs.group)
