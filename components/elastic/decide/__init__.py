"""Decisions: pure functions that compare the desired and the actual state, and return steps and the new memory."""

from .answers import launched
from .resume import Request, Wanted, resume
from .suspend import suspend
from .sync import sync
from .topology import arrange

__all__ = ["Request", "Wanted", "arrange", "launched", "resume", "suspend", "sync"]
