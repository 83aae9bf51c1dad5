"""Users of the blueprint whose name or number means somebody else on a host."""

from collections.abc import Iterator, Sequence

from ... import finding, spec
from ...codes import Code
from .fault import Fault
from .subject import Subject

_TABLE = "/etc/passwd and /etc/group come first when a host looks up a user, and the cluster's users after them"


def check(cluster: spec.ClusterSpec, subjects: Sequence[Subject]) -> Iterator[Fault]:
    """Find users and groups that a host has itself, with another number or under another name."""
    for subject in subjects:
        facts = subject.facts
        for kind, table in (("user", facts.users), ("group", facts.groups)):
            owners = {number: name for name, number in reversed([*table.items()])}
            for user in cluster.users:
                there, owner = table.get(user.name), owners.get(user.uid)
                if there is not None and there != user.uid:
                    what = f"the {kind} {user.name} has the number {there} there, and {user.uid} in the blueprint"
                    remedy = f"write another name or `uid: {there}` for {user.name}, or remove the host's own {kind} (`{{login}} sudo {kind}del {user.name}`)"
                    yield Fault(subject.name, Code.HOST_USER_TAKEN, what, _TABLE, remedy)
                elif owner is not None and there is None:
                    what = f"the number {user.uid} of the {kind} {user.name} belongs to {owner} there"
                    why = f"files of {user.name} would be {owner}'s on the host, and the other way round"
                    remedy = f"write another `uid` for {user.name}, or give the host's own {kind} another number"
                    yield Fault(subject.name, Code.HOST_USER_TAKEN, what, why, remedy, finding.Level.WARNING)
