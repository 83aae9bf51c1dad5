"""What AWS refuses, or what fails at first boot, unless another resource exists already: each such pair is a dependency of the program, so that no order of creation loses.

The engine creates resources in parallel unless one depends on another. A value that one resource takes from another is a dependency by itself; the pairs below share no value.
Hosts and their file systems are no pair: a host retries its mounts until all file systems answer (role cloud_host).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.components.aws import programs
from tests.components.registered import Program, Registered

OFFICE = ["198.51.100.0/24"]
PROGRAMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{blueprint: (blueprint, {}) for blueprint in programs.BLUEPRINTS},
    "balancer": ("starter", {"access__allowed_cidrs": OFFICE}),
    "addresses": ("starter", {"access__allowed_cidrs": OFFICE, "access__load_balancer": False}),
    "endpoints": ("starter", {"network__private_endpoints": True, "access__allowed_cidrs": OFFICE, "control__highly_available": True}),
    "database": ("starter", {"accounting__database": "managed", "network__zones": ["us-east-1a", "us-east-1b"]}),
    "stores": ("starter", {"storage__sets": {"kind": "object", "mount": "/sets"}, "storage__home__backup_days": 14}),
}


@dataclasses.dataclass(frozen=True)
class Pair:
    """Resources of some kind that need resources of another kind without taking a value from them."""

    name: str
    later: Callable[[Registered], bool]
    earlier: Callable[[Registered], bool]
    source: str


def _is(*kinds: str) -> Callable[[Registered], bool]:
    return lambda one: one.type.startswith("aws:") and one.type.rpartition(":")[2] in kinds


def _boots(one: Registered) -> bool:
    """A host that downloads something in its first minutes: keys, packages, its roles. Controllers start the nodes of launch templates after their own."""
    return one.type in ("aws:ec2/instance:Instance", "aws:imagebuilder/image:Image")


PAIRS = (
    Pair(
        "an internet-facing load balancer, after the internet gateway",
        lambda one: _is("LoadBalancer")(one) and not one.inputs["internal"],
        _is("InternetGateway"),
        "Elastic Load Balancing API Reference, CreateLoadBalancer: InvalidSubnet, the VPC has no internet gateway",
    ),
    Pair("a NAT gateway, after the internet gateway", _is("NatGateway"), _is("InternetGateway"), "EC2 API Reference, error codes: Gateway.NotAttached"),
    Pair(
        "a public address of an instance, after the internet gateway",
        lambda one: _is("Eip")(one) and "instance" in one.inputs,
        _is("InternetGateway"),
        "EC2 API Reference, error codes: Gateway.NotAttached",
    ),
    Pair("a host, after the routes of all subnets", _boots, _is("RouteTableAssociation"), "first boot fetches keys and packages"),
    Pair("a host, after the NAT gateway", _boots, _is("NatGateway"), "first boot fetches keys and packages"),
    Pair("a host, after private endpoints", _boots, _is("VpcEndpoint"), "their names resolve to addresses inside as soon as they exist"),
    Pair(
        "flow logs, after the right to write them",
        _is("FlowLog"),
        lambda one: _is("RolePolicy")(one) and one.name == "flow-logs",
        'VPC User Guide, "Troubleshoot VPC Flow Logs": Access error',
    ),
    Pair(
        "daily backups, after the right to make them",
        _is("Selection"),
        lambda one: _is("RolePolicyAttachment")(one) and one.name == "backups",
        "AWS Backup Developer Guide: the selection's role must be able to back up",
    ),
)


def missing(found: Program) -> Iterator[tuple[str, str, str]]:
    """List pairs without a dependency: the pair, the later resource, the earlier one."""
    by_urn = {one.urn: one for one in found.resources}
    for pair in PAIRS:
        earlier = {one.urn for one in found.resources if pair.earlier(one)}
        for one in filter(pair.later, found.resources):
            yield from ((pair.name, one.name, by_urn[urn].name) for urn in sorted(earlier - _all_needs(one, by_urn)))


def _all_needs(one: Registered, by_urn: Mapping[str, Registered]) -> set[str]:
    found: set[str] = set()
    waiting = [one.urn]
    while waiting:
        new = by_urn[waiting.pop()].needs_urns - found
        found |= new
        waiting += new
    return found


@functools.cache
def registered(name: str) -> Program:
    blueprint, overrides = PROGRAMS[name]
    return programs.program(blueprint, **overrides) if overrides else programs.library(blueprint)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_created_before_a_resource_that_it_needs_without_a_value(name: str) -> None:
    assert list(missing(registered(name))) == []


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_dependency_that_is_left_out_is_missed(pair: Pair) -> None:
    """Take all dependencies from the later resources of a pair: each pair occurs in some program, and its absence is found."""
    found = set()
    for name in PROGRAMS:
        program = registered(name)
        without = [dataclasses.replace(one, needs_urns=frozenset()) if pair.later(one) else one for one in program.resources]
        found |= {broken for broken, _, _ in missing(Program(without, {}, frozenset()))}
    assert pair.name in found
