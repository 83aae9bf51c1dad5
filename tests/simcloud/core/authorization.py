"""Whether a role's policies allow what it attempts: allowed by a statement, denied by none, and everything that no statement speaks of is denied. Pure.

Source: IAM user guide, "Policy evaluation logic" and "IAM JSON policy elements: Condition operators". Policy variables, boundaries and session policies have no rule here.
"""

import dataclasses
import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .failure import NotSimulated

Values = Sequence[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """One action on one resource.

    Args:
        action: `ec2:RunInstances`.
        resource: an ARN, or `*` where the action has no resources.
        context: condition key → its values.
    """

    action: str
    resource: str
    context: Mapping[str, Values] = dataclasses.field(default_factory=dict)


def is_allowed(documents: Iterable[Any], attempt: Attempt) -> bool:
    """Evaluate policy documents, each a text or an object."""
    applying = [statement["Effect"] for document in documents for statement in _statements(document) if _applies(statement, attempt)]
    return "Allow" in applying and "Deny" not in applying


def _statements(document: Any) -> list[Mapping[str, Any]]:
    written = json.loads(document) if isinstance(document, str) else document
    return _list(written["Statement"])


def _applies(statement: Mapping[str, Any], attempt: Attempt) -> bool:
    return (
        _names(statement, "Action", attempt.action.lower(), lambda text: text.lower())
        and _names(statement, "Resource", attempt.resource, lambda text: text)
        and all(_holds(operator, asked, attempt.context) for operator, asked in statement.get("Condition", {}).items())
    )


def _names(statement: Mapping[str, Any], element: str, value: str, form: Callable[[str], str]) -> bool:
    if f"Not{element}" in statement:
        return not any(_is_like(value, form(pattern)) for pattern in _list(statement[f"Not{element}"]))
    return any(_is_like(value, form(pattern)) for pattern in _list(statement[element]))


def _holds(operator: str, asked: Mapping[str, Any], context: Mapping[str, Values]) -> bool:
    known = {name.lower(): values for name, values in context.items()}
    return all(_condition(operator, _list(wanted), known.get(name.lower())) for name, wanted in asked.items())


def _condition(operator: str, wanted: Values, given: Values | None) -> bool:
    for_all, bare = operator.startswith("ForAllValues:"), operator.removeprefix("ForAllValues:").removeprefix("ForAnyValue:")
    if given is None:
        # Nothing to compare: true for IfExists, for "all values of none" and for what asks that something be different.
        return bare.endswith("IfExists") or for_all or bare.startswith("StringNot")
    bare = bare.removesuffix("IfExists")
    if bare not in OPERATORS:
        raise NotSimulated(f"the condition operator {operator}")
    if any("${" in value for value in wanted):
        raise NotSimulated(f"policy variables: {', '.join(wanted)}")
    matches = [any(OPERATORS[bare](value, pattern) for pattern in wanted) for value in given]
    if bare == "StringNotEquals":
        return not any(OPERATORS["StringEquals"](value, pattern) for value in given for pattern in wanted)
    return all(matches) if for_all else any(matches)


def _is_like(value: str, pattern: str) -> bool:
    # fnmatch knows sets of letters, too, which a policy does not.
    return re.fullmatch(fnmatch.translate(pattern.replace("[", "[[]")), value) is not None


OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda value, wanted: value == wanted,
    "StringNotEquals": lambda value, wanted: value != wanted,
    "StringLike": _is_like,
    "ArnLike": _is_like,
    "ArnEquals": _is_like,
    "Bool": lambda value, wanted: value.lower() == wanted.lower(),
}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
