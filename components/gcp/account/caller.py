"""The public address of whoever runs a command."""

from ...cloud.public_address import ask as public_address

__all__ = ["public_address"]
