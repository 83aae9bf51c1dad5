"""What all Describe operations share: filters and pages."""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.failure import Refused

Values = Mapping[str, Any]
PAGE_MOST = 1000
FILTERS_MOST, FILTER_VALUES_MOST = 50, 200  # EC2 user guide, "List and filter using the CLI and API"


def paged(asked: Values, name: str, shown: Sequence[Any], filters: Mapping[str, Callable[[Any], Any]], *, listed: bool = False) -> Values:
    """Give the one page of what passes the filters, under its name in the answer."""
    part, token = page(asked, [one for one in shown if passes(asked.get("Filters", asked.get("Filter", ())), one, filters)], listed=listed)
    return {name: part, "NextToken": token}


def page(asked: Values, shown: Sequence[Any], *, listed: bool) -> tuple[list[Any], str | None]:
    """Cut out one page; the token is the place of the next."""
    most = asked.get("MaxResults")
    if most is not None and listed:
        raise Refused("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
    try:
        start = int(asked.get("NextToken") or 0)
    except ValueError:
        raise Refused("InvalidNextToken", "The token is not valid") from None
    size = min(most or PAGE_MOST, PAGE_MOST) if not listed else len(shown)
    part = list(shown[start : start + size])
    return part, str(start + size) if start + size < len(shown) else None


def passes(filters: Sequence[Values], shown: Values, known: Mapping[str, Callable[[Any], Any]]) -> bool:
    """Say whether a thing as shown passes all filters; a filter that the operation does not have is refused."""
    _refuse_too_many(filters)
    for one in filters:
        name, wanted = one.get("Name", ""), one.get("Values", ())
        tags = {tag["Key"]: tag["Value"] for tag in shown.get("Tags", ())}
        if name.startswith("tag:"):
            value = tags.get(name.removeprefix("tag:"))
        elif name == "tag-key":
            value = list(tags)
        elif name in known:
            value = known[name](shown)
        else:
            raise Refused("InvalidParameterValue", f"The filter '{name}' is invalid")
        values = value if isinstance(value, list) else [value]
        if not any(one is not None and fnmatch.fnmatchcase(one, pattern) for one in values for pattern in wanted):
            return False
    return True


def _refuse_too_many(filters: Sequence[Values]) -> None:
    if len(filters) > FILTERS_MOST or any(len(one.get("Values", ())) > FILTER_VALUES_MOST for one in filters):
        raise Refused("FilterLimitExceeded", "The request uses too many filters or too many filter values.")
