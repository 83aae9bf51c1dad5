"""The public address of whoever runs a command."""

import ipaddress
import urllib.request

from .. import errors

ADDRESS = "https://checkip.amazonaws.com"
"""It answers everyone, without credentials (AWS CLI User Guide, "Create an Amazon EC2 security group": add the address that it gives)."""
_TIMEOUT_S = 10
_LONGEST = 64


def ask(service: str = ADDRESS) -> str:
    """Return the public IPv4 address from which this machine reaches the Internet.

    Raises:
        errors.AddressUnknown: the service gives no address.
    """
    try:
        with urllib.request.urlopen(service, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - a constant, https
            text = answer.read(_LONGEST).decode("ascii", "replace").strip()
        return str(ipaddress.IPv4Address(text))
    except (OSError, ValueError) as error:
        raise errors.AddressUnknown(
            "this machine's public address is unknown",
            why=f"{service} gave no IPv4 address: {error}",
            remedy="find it in another way, and write `--set 'access.allowed_cidrs=[203.0.113.7/32]'` with it instead of `--allow-me`",
        ) from error
