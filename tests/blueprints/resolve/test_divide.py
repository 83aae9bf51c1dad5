"""Dividing a network: every subnet as large as it must be, aligned, apart from the others, and with room to grow."""

import ipaddress
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprints.addresses import Block, divide, prefix_holding

SIXTEEN = ipaddress.IPv4Network("10.0.0.0/16")
SIZES = st.integers(4, 14).map(lambda exponent: 1 << exponent)
BLOCKS = st.lists(st.builds(Block, SIZES, st.booleans()), max_size=24)


@pytest.mark.parametrize(
    ("blocks", "prefixes"),
    [
        ([Block(16, grows=True)], [17]),  # never more than half, so that something can come beside it
        ([Block(16, grows=True), Block(16, grows=False), Block(16, grows=False)], [17, 28, 28]),
        ([Block(16, grows=True), Block(16, grows=True)], [17, 17]),
        ([Block(16, grows=True), Block(16, grows=True), Block(16, grows=False)], [18, 18, 28]),
        ([Block(16, grows=True)] * 9, [20] * 9),
        ([Block(1 << 16, grows=True)], [16]),
        ([Block(1 << 15, grows=True), Block(16, grows=True)], [17, 17]),
        ([Block(1 << 15, grows=True), Block(16, grows=True), Block(1 << 13, grows=False)], [17, 18, 19]),
        ([], []),
        ([Block(1 << 16, grows=True), Block(16, grows=False)], []),  # more than there is
    ],
)
def test_sizes(blocks: list[Block], prefixes: list[int]) -> None:
    assert [subnet.prefixlen for subnet in divide(SIXTEEN, blocks)] == prefixes


@settings(max_examples=300, deadline=None, derandomize=True)
@given(BLOCKS)
def test_whatever_fits_is_divided_without_overlaps(blocks: list[Block]) -> None:
    subnets = divide(SIXTEEN, blocks)
    fits = sum(block.least for block in blocks) <= SIXTEEN.num_addresses
    assert len(subnets) == (len(blocks) if fits else 0)
    for block, subnet in zip(blocks, subnets, strict=False):
        assert subnet.subnet_of(SIXTEEN)
        assert subnet.num_addresses == block.least or (block.grows and subnet.num_addresses > block.least)
    for one, other in itertools.combinations(subnets, 2):
        assert not one.overlaps(other)


@pytest.mark.parametrize(("sizes", "prefix"), [([16], 28), ([16, 16], 27), ([16, 32], 26), ([1 << 16], 16), ([1 << 16, 16], 15), ([1], 32)])
def test_the_prefix_that_holds_them(sizes: list[int], prefix: int) -> None:
    assert prefix_holding(sizes) == prefix
