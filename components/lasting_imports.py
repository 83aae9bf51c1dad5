"""Import modules of a program that runs for seconds: what they define stays until its end."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_search_for_garbage() -> Iterator[None]:
    """Don't look for garbage among what is imported, now or later: looking again and again is a fifth of the time that the imports take."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
