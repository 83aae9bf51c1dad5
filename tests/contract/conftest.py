"""The SDK of AWS loads its services when they are first used, and warns of its own old names while it does; tests take warnings for errors."""

from tests.components.aws import conftest

__all__ = ["conftest"]
