"""Users of the blueprint whose name or number means somebody else on a host."""

from collections.abc import Iterator, Sequence

from ... import finding, spec
from ...codes import Code
from .fault import Fault
from .subject import Subject

_TABLE = "/etc/passwd and /etc/group come first when a host looks up a user, and the cluster's users after them"


def check(cluster: spec.ClusterSpec, subjects: Sequence[Subject]) -> Iterator[Fault]:
    """Find users and groups that a host has itself, with another number or under another name."""
    by_name = {user.name: user for user in cluster.users}
    by_number = {user.uid: user for user in cluster.users}
    for subject in subjects:
        for kind, table in (("user", subject.facts.users), ("group", subject.facts.groups)):
            for name, number in table.items():
                user, other = by_name.get(name), by_number.get(number)
                if user is not None and user.uid != number:
                    what = f"the {kind} {name} has the number {number} there, and {user.uid} in the blueprint"
                    remedy = f"write another name or `uid: {number}` for {name}, or remove the host's own {kind} (`{{login}} sudo {kind}del {name}`)"
                    yield Fault(subject.name, Code.HOST_USER_TAKEN, what, _TABLE, remedy)
                elif user is None and other is not None and other.name not in table:
                    what = f"the number {number} of the {kind} {other.name} belongs to {name} there"
                    why = f"files of {other.name} would be {name}'s on the host, and the other way round"
                    remedy = f"write another `uid` for {other.name}, or give the host's own {kind} another number"
                    yield Fault(subject.name, Code.HOST_USER_TAKEN, what, why, remedy, finding.Level.WARNING)
