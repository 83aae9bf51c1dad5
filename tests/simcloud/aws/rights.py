"""What the Service Authorization Reference says of an action: the types of resources it takes, and what conditions may ask of each. Extracted to `data/authorization.json`."""

import dataclasses
import functools
import json
import re
from collections.abc import Mapping

from ..core.authorization import Attempt
from .facts import DATA

GLOBAL = re.compile(r"aws:(Requested|Principal|Source|SecureTransport|UserAgent|userid|username|Current|Epoch|Token|MultiFactor|Via|Called).*", re.IGNORECASE)
"""Keys that every request has, or that follow from who asks and how (IAM user guide, "AWS global condition context keys"); tags are not among them."""


def bare(attempt: Attempt) -> Attempt:
    """Leave out what no condition could ask of this action on this type of resource."""
    known = keys(attempt.action, type_of(attempt.resource))
    return dataclasses.replace(attempt, context={name: values for name, values in attempt.context.items() if has(known, name)})


def keys(action: str, kind: str) -> frozenset[str]:
    """Give the condition keys of an action on a type of resource, as the reference writes them; those that are for all of the action are among them."""
    found = actions().get(action, {})
    return frozenset([*found.get(kind, ()), *found.get("", ())])


def takes(action: str, kind: str) -> bool:
    """Say whether an action can be allowed on a type of resource; one without any takes `*` alone."""
    found = actions()[action]
    return kind in found if found.keys() - {""} else kind == "*"


def has(known: frozenset[str], name: str) -> bool:
    """Say whether a key is among those: `aws:RequestTag/${TagKey}` is all keys that begin so."""
    if GLOBAL.fullmatch(name):
        return True
    return any(name.lower() == one.lower() or ("/" in one and "/" in name and one.partition("/")[0].lower() == name.partition("/")[0].lower()) for one in known)


def type_of(arn: str) -> str:
    """Give the type of a resource by its ARN, in the reference's words."""
    if arn == "*":
        return arn
    service, _, _, name = arn.split(":", 5)[2:]
    match service:
        case "s3":
            return "object" if "/" in name else "bucket"
        case "secretsmanager":
            return "Secret"
        case "logs":
            return "log-stream" if ":log-stream:" in name else "log-group"
    return name.partition("/")[0]


@functools.cache
def actions() -> Mapping[str, Mapping[str, list[str]]]:
    """Give action → type of resource → condition keys; under the empty name, those of the action whatever it is done to."""
    found: Mapping[str, Mapping[str, list[str]]] = json.loads((DATA / "authorization.json").read_text())["actions"]
    return found
