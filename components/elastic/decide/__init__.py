"""What to do, from what should be and what is: pure functions, which give steps and what is to be remembered."""

from .answers import launched
from .resume import Request, Wanted, resume
from .suspend import suspend
from .sync import sync

__all__ = ["Request", "Wanted", "launched", "resume", "suspend", "sync"]
