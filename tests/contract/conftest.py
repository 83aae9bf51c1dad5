"""The SDKs of clouds load their services when they are first used, and warn of their own old names while they do; tests take warnings for errors."""

from tests.components.aws import conftest as aws
from tests.components.gcp import conftest as gcp

__all__ = ["aws", "gcp"]
