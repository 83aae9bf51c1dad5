"""What hosts that share an address tell keepalived, and the interface by which they reach others. Pure."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "peer_addresses": peer_addresses,
            "peers": peers,
            "vrrp_password": vrrp_password,
            "vrrp_router": vrrp_router,
            "first_interface": first_interface,
            "endpoint_address": endpoint_address,
            "endpoint_port": endpoint_port,
        }


def peer_addresses(addresses: Mapping[str, str], own: str) -> list[str]:
    """Give the addresses of the other hosts.

    Args:
        addresses: host → address.
        own: the host itself.
    """
    return [address for host, address in addresses.items() if host != own]


def peers(hosts: Sequence[str], own: str) -> list[str]:
    """Give the other hosts."""
    return [host for host in hosts if host != own]


def vrrp_password(key: str, purpose: str) -> str:
    """Give the password that hosts show each other (VRRP: simple text, at most 8 characters). The key that it is derived from can't be computed from it."""
    return hashlib.sha256(f"{key}{purpose}".encode()).hexdigest()[:8]


def vrrp_router(address: str) -> int:
    """Give the number of the virtual router, 1 to 255: the last part of the shared address, which is the same on all hosts."""
    return max(int(address.split(".")[3]), 1)


def first_interface(shown: Mapping[str, Any]) -> str:
    """Give the interface that `ip -json address` or `route` shows first; empty where it shows none or did not run."""
    return next((str(one["ifname"]) for one in json.loads(shown.get("stdout") or "[]")), "")


def endpoint_address(endpoint: str) -> str:
    """Give the address of an API server (`10.80.0.14:6443`)."""
    return endpoint.rpartition(":")[0]


def endpoint_port(endpoint: str) -> str:
    """Give its port."""
    return endpoint.rpartition(":")[2]
