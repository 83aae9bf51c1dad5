"""Findings: what is wrong, with which subject, why, and what to do about it; and the page that shows them all at once.

What is not a place in a blueprint is in `subject`, and values that are compared are in `values`.
"""

from ..errors import Invalid, Unfit
from .finding import Finding, Level, as_record, in_order, is_fatal
from .page import render
from .position import Position

__all__ = ["Finding", "Invalid", "Level", "Position", "Unfit", "as_record", "in_order", "is_fatal", "render"]
