"""The stack's mark on the servers that it adopts: a random word in its state and in each server's `/etc/clusterwright/owner.json`.

Two checkouts can have a stack of the same name; only the mark differs. The program registers the site first, so that no server is adopted before the mark is recorded, and it is deleted last.
"""

import dataclasses
import secrets
from typing import ClassVar

from ..provider.kind import UNKNOWN, Kind, Values, Work

TOKEN_BYTES = 16


@dataclasses.dataclass(frozen=True, slots=True)
class SiteInputs:
    stack: str
    owner: str
    """The project folder that runs the stack, for those who read the mark on a server."""


class Site(Kind[SiteInputs]):
    token = "clusterwright:metal:Site"
    inputs = SiteInputs
    fixed: ClassVar[frozenset[str]] = frozenset({"stack"})

    def identity(self, inputs: SiteInputs) -> str:
        return inputs.stack

    def expected(self, inputs: SiteInputs) -> Values:
        return {"token": UNKNOWN}

    def read(self, inputs: SiteInputs, outputs: Values) -> Values | None:
        """Return the recorded outputs: the mark is the state's, and the servers only repeat it."""
        return {"token": outputs.get("token", "")}

    def create(self, inputs: SiteInputs, work: Work) -> Values:
        return self.update(inputs, {}, work)

    def update(self, inputs: SiteInputs, outputs: Values, work: Work) -> Values:
        return {"token": outputs.get("token") or secrets.token_hex(TOKEN_BYTES)}

    def delete(self, inputs: SiteInputs, outputs: Values, work: Work) -> None:
        """Do nothing: each group releases its own servers, and the mark is deleted with the state."""
