"""What the program uses of the provider: resources whose inputs are the kinds' own dataclasses."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import pulumi


class OwnResource(pulumi.CustomResource):
    """A resource served by the project's own provider.

    Args:
        token: the kind's token.
        inputs: the kind's inputs by name, each possibly an output of another resource.
        outputs: names of the outputs that the program reads.
    """

    complete: pulumi.Output[bool]

    def __init__(self, token: str, name: str, *, inputs: Mapping[str, Any], outputs: Iterable[str] = (), opts: pulumi.ResourceOptions | None = None):
        super().__init__(token, name, {**inputs, **dict.fromkeys(("complete", *outputs))}, opts)

    def output(self, name: str) -> pulumi.Output[Any]:
        """Give one of the outputs, or of the inputs as recorded."""
        found: pulumi.Output[Any] = self.__dict__[name]
        return found


def plain(record: Any) -> dict[str, Any]:
    """Turn a frozen dataclass of the spec into the plain values that cross to the provider."""
    return dataclasses.asdict(record)
