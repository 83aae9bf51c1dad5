"""Decisions: pure functions that compare the desired and the actual state, and return steps and the new memory."""

from .answers import launched
from .resume import Request, Wanted, resume
from .suspend import suspend
from .sync import sync

__all__ = ["Request", "Wanted", "launched", "resume", "suspend", "sync"]
