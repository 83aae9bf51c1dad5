"""The stack's mark: a unique word in its state and in the tags of every resource that it creates.

Two checkouts can have a stack of the same name in one account; only the mark differs. The program registers the site first, so that nothing is created
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
    """Creates nothing in the account.

    A stack from an earlier version without marks gets one with its next `up`, which tags its resources in place; see `instances.is_ours` for its nodes.
    """

    token = "clusterwright:aws:Site"
    inputs = SiteInputs
    fixed: ClassVar[frozenset[str]] = frozenset({"stack"})

    def identity(self, inputs: SiteInputs) -> str:
        return inputs.stack

    def expected(self, inputs: SiteInputs) -> Values:
        return {"owner": UNKNOWN}

    def read(self, inputs: SiteInputs, outputs: Values) -> Values | None:
        """Return the recorded outputs: a mark exists only in the state."""
        return {"owner": outputs.get("owner", "")}

    def create(self, inputs: SiteInputs, work: Work) -> Values:
        return self.update(inputs, {}, work)

    def update(self, inputs: SiteInputs, outputs: Values, work: Work) -> Values:
        return {"owner": outputs.get("owner") or secrets.token_hex(MARK_BYTES)}

    def delete(self, inputs: SiteInputs, outputs: Values, work: Work) -> None:
        """Do nothing: the mark is deleted with the state."""
