"""What hosts that share an address tell keepalived."""

import hashlib
import importlib
from typing import Any

import pytest

shared: Any = importlib.import_module("shared_addresses")


def test_peers_are_the_others() -> None:
    assert shared.peer_addresses({"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}, "b") == ["10.0.0.1", "10.0.0.3"]
    assert shared.peers(["a", "b"], "a") == ["b"]


def test_the_password_is_short_and_says_nothing_of_its_key() -> None:
    assert shared.vrrp_password("key", " address") == hashlib.sha256(b"key address").hexdigest()[:8]


@pytest.mark.parametrize(("address", "number"), [("10.0.0.0", 1), ("10.0.0.1", 1), ("10.0.0.255", 255)])
def test_a_virtual_router_has_a_number_from_1_on(address: str, number: int) -> None:
    assert shared.vrrp_router(address) == number


@pytest.mark.parametrize(
    ("shown", "name"), [({"stdout": '[{"ifname": "eth0"}, {"ifname": "eth1"}]'}, "eth0"), ({"stdout": "[]"}, ""), ({"stdout": ""}, ""), ({}, "")]
)
def test_the_first_interface_counts(shown: dict[str, str], name: str) -> None:
    assert shared.first_interface(shown) == name


def test_an_endpoint_has_an_address_and_a_port() -> None:
    assert (shared.endpoint_address("10.80.0.14:6443"), shared.endpoint_port("10.80.0.14:6443")) == ("10.80.0.14", "6443")
