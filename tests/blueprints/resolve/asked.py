"""Blueprints of a few keys, resolved for a target, and what was found on the way."""

import dataclasses
from collections.abc import Collection
from typing import Any

import yaml

from blueprints import language, read, resolve, spec
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.language import merge

FACTS = Facts(sockets=1, cores_per_socket=4, threads_per_core=2, memory_mib=64_000)
CLOUDS = ("aws", "gcp")
USUAL = (Code.SCHEDULER_NOT_BUILT, Code.REGION_CHOSEN, Code.MACHINE_SMALLEST, Code.HOSTS_UNNAMED)
"""Notes that nearly every blueprint here gets."""

TRAIN = {"accelerator": "h100", "gpus_per_node": 8, "nodes": 16}


def attempt(pools: dict[str, Any] | None = None, *, target: str = "aws", stack: str = "test", facts: Facts = FACTS, **more: Any) -> resolve.Attempt:
    """Resolve a blueprint with these pools (one of a single node without GPUs, if none) and further keys."""
    text = yaml.safe_dump({"name": "tiny", "pools": pools or {"cpu": {"nodes": 1}}, **more}, sort_keys=False)
    source = merge.refine(read.from_bytes(text.encode(), file="tiny.yaml"), target)
    return resolve.attempt(language.parse(source), target=target, stack=stack, facts=facts, where=source.where)


def cluster(pools: dict[str, Any] | None = None, **more: Any) -> spec.ClusterSpec:
    return attempt(pools, **more).spec


def found(attempted: resolve.Attempt, *, without: Collection[Code] = USUAL) -> set[tuple[str, str]]:
    """Give level and code of what was found."""
    return {(str(one.level), one.code) for one in attempted.findings if one.code not in without}


def node_sets(pool: dict[str, Any], **more: Any) -> tuple[spec.NodeSet, ...]:
    """Resolve one pool, named `train`."""
    return cluster({"train": pool}, **more).node_sets


def node_set(pool: dict[str, Any], **more: Any) -> spec.NodeSet:
    (only,) = node_sets(pool, **more)
    return only


def where(attempted: resolve.Attempt, code: Code) -> tuple[str, ...]:
    """Give the texts at the places of a finding."""
    places = [one.where for one in attempted.findings if one.code == code]
    return tuple(place.text[place.column - 1 : place.column - 1 + place.width] for place in places if place)


def without_addresses(network: spec.Network) -> spec.Network:
    return dataclasses.replace(network, subnets=())
