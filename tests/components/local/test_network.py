"""A stack's firewall rules and names."""

import ipaddress
import itertools

import pytest

from components.local.machine.names import StackNames
from components.local.machine.network import Rule, rules

CIDR = "10.80.0.0/20"
INTERFACE_NAME_LIMIT = 15  # IFNAMSIZ - 1, <linux/if.h>


def test_the_bridge_may_forward_both_ways_before_anything_else_is_asked() -> None:
    forward = [rule for rule in rules(StackNames("test"), CIDR) if rule.chain == "FORWARD"]
    assert [(rule.arguments, rule.first) for rule in forward] == [(("-i", "cw-test", "-j", "ACCEPT"), True), (("-o", "cw-test", "-j", "ACCEPT"), True)]


def test_only_what_leaves_the_stack_s_own_addresses_is_masqueraded() -> None:
    (masquerade,) = [rule for rule in rules(StackNames("test"), CIDR) if rule.table == "nat"]
    assert masquerade == Rule("nat", "POSTROUTING", ("-s", CIDR, "!", "-d", CIDR, "-j", "MASQUERADE"), first=False)


def test_stacks_share_no_rule() -> None:
    mine, others = (set(rules(StackNames(name), cidr)) for name, cidr in (("one", CIDR), ("two", "10.96.0.0/20")))
    assert not mine & others


@pytest.mark.parametrize("stack", ["local", "a", "verylong", "much-longer-than-that", "Mixed_Case.1", "12345678"])
def test_names_in_the_kernel_fit_and_are_plain(stack: str) -> None:
    names = StackNames(stack)
    interface = names.host("train-0").interface("10.80.15.255")
    for name in (names.bridge, interface):
        assert len(name) <= INTERFACE_NAME_LIMIT
        assert name.isascii()
        assert not set(name) & set(" /:%")


@pytest.mark.parametrize("stack", ["", "..", "../other", "-x", ".hidden", "a/b", "a b", "ünïcode", "line\n", "x" * 101])
def test_a_name_that_reaches_beyond_its_own_folder_is_none(stack: str) -> None:
    with pytest.raises(ValueError, match="can't be a stack's name"):
        StackNames(stack)


def test_names_of_different_stacks_differ() -> None:
    stacks = ["local", "locale", "local-1", "local_1", "LOCAL", "local-development-1", "local-development-2"]
    for one, other in itertools.combinations(map(StackNames, stacks), 2):
        assert (one.bridge, one.slice, one.state, one.label) != (other.bridge, other.slice, other.state, other.label)
        assert one.bridge != other.bridge


def test_every_address_of_a_stack_has_an_interface_of_its_own() -> None:
    host = StackNames("local").host("train-0")
    addresses = [str(address) for address in ipaddress.ip_network("10.80.0.0/20")]
    assert len({host.interface(address) for address in addresses}) == len(addresses)
