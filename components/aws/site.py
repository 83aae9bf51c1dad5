"""The stack's mark in an account: it is in the tags of every resource that the stack creates."""

import dataclasses

from .. import mark


@dataclasses.dataclass(frozen=True, slots=True)
class SiteInputs:
    stack: str
    cluster: str


class Site(mark.Mark[SiteInputs]):
    """A stack from an earlier version without marks tags its resources in place; see `instances.is_ours` for its nodes."""

    token = "clusterwright:aws:Site"
    inputs = SiteInputs
    output = "owner"
    size_bytes = 8
