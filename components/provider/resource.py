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

    def output_if_known(self, name: str, *, otherwise: Any) -> pulumi.Output[Any]:
        """Give an output that older versions did not record. In a preview the engine takes what is not recorded for unknown, which would show a change of whoever reads it."""
        found = self.output(name)

        async def value() -> Any:
            known = await found.future(with_unknowns=True)
            return otherwise if known is None or pulumi.output.contains_unknowns(known) else known

        return pulumi.Output.from_input(value())


def plain(record: Any) -> dict[str, Any]:
    """Turn a frozen dataclass of the spec into the plain values that cross to the provider."""
    return dataclasses.asdict(record)
