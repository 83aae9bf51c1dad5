"""The stack's mark in a project: it is in the labels of every resource that the stack creates, or in its description where it can have none."""

import dataclasses

from .. import mark


@dataclasses.dataclass(frozen=True, slots=True)
class SiteInputs:
    stack: str
    cluster: str


class Site(mark.Mark[SiteInputs]):
    """The first resource of a stack."""

    token = "clusterwright:gcp:Site"
    inputs = SiteInputs
    output = "owner"
    size_bytes = 8
