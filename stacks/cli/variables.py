"""Variables of the environment that a command hands to the engine and its plugins."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def set_for(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables, and put back what was there."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
