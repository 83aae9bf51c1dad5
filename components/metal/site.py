"""The stack's mark on the servers that it adopts: it is in each server's `/etc/clusterwright/owner.json`. Each group releases its own servers."""

import dataclasses

from .. import mark


@dataclasses.dataclass(frozen=True, slots=True)
class SiteInputs:
    stack: str
    owner: str
    """The project folder that runs the stack, for those who read the mark on a server."""


class Site(mark.Mark[SiteInputs]):
    token = "clusterwright:metal:Site"
    inputs = SiteInputs
    output = "token"
    size_bytes = 16
