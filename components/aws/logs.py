"""How long CloudWatch keeps logs. Pure."""

_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
"""Retention that CloudWatch Logs offers (API model of botocore 1.44, PutRetentionPolicy)."""


def retention(days: int) -> int:
    """Return the shortest retention on offer that keeps logs for the given days."""
    return next((offered for offered in _DAYS if offered >= days), _DAYS[-1])
