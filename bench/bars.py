"""What was promised, and what was measured."""

import sys
from typing import Any


def bar(what: str, value: float, limit: float, unit: str, how: str) -> dict[str, Any]:
    """Record one bar, and show it at once."""
    print(f"{what}: {value} {unit} (bar {limit})", file=sys.stderr, flush=True)
    return {"what": what, "value": value, "bar": limit, "unit": unit, "met": value <= limit, "how": how}
