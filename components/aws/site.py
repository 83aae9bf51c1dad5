"""The stack's mark: a word that no other stack has, kept in its state and put on everything that it makes.

Names of cluster and stack don't tell two checkouts apart that have a stack of the same name in one account; their marks do. The program registers the site first, so that nothing is made
before the mark is recorded.
"""

import dataclasses
import secrets
from typing import ClassVar

from ..provider.kind import UNKNOWN, Kind, Values, Work

MARK_BYTES = 8


@dataclasses.dataclass(frozen=True, slots=True)
class SiteInputs:
    stack: str
    cluster: str


class Site(Kind[SiteInputs]):
    """Makes nothing in the account.

    A stack that was made before there were marks gets one with its next `up`, which tags what it has in place; see `instances.is_ours` for its nodes.
    """

    token = "clusterwright:aws:Site"
    inputs = SiteInputs
    fixed: ClassVar[frozenset[str]] = frozenset({"stack"})

    def identity(self, inputs: SiteInputs) -> str:
        return inputs.stack

    def expected(self, inputs: SiteInputs) -> Values:
        return {"owner": UNKNOWN}

    def read(self, inputs: SiteInputs, outputs: Values) -> Values | None:
        """A mark exists in the state alone."""
        return {"owner": outputs.get("owner", "")}

    def create(self, inputs: SiteInputs, work: Work) -> Values:
        return self.update(inputs, {}, work)

    def update(self, inputs: SiteInputs, outputs: Values, work: Work) -> Values:
        return {"owner": outputs.get("owner") or secrets.token_hex(MARK_BYTES)}

    def delete(self, inputs: SiteInputs, outputs: Values, work: Work) -> None:
        """It leaves with the state."""
