"""Kubernetes and bare metal: today's program registers for a blueprint what an earlier version registered, so that a preview of such a stack has nothing to change."""

import functools

import pytest

from tests.components.registered import KINDS

from . import registered
from .registered import Inputs

EACH = pytest.mark.parametrize("name", sorted(registered.TARGETS))
NOT_HERE = frozenset({"clusterwright:local:ElasticPool", "clusterwright:kubernetes:KwokNodes", "clusterwright:kubernetes:Mirror"})
"""Kinds that these blueprints have no key for: an elastic pool is among the recorded states, simulated nodes and a mirror of images are recorded nowhere."""


@functools.cache
def today(name: str) -> Inputs:
    return registered.today(name)


@EACH
def test_the_program_registers_what_it_did(name: str) -> None:
    assert registered.changed(registered.read(name), today(name)) == {}


@EACH
def test_another_input_another_resource_and_one_less_are_changes(name: str) -> None:
    then = registered.read(name)
    site = next(urn for urn in then if urn.endswith("::site"))
    assert registered.changed({**then, site: {**then[site], "stack": "another"}}, today(name)) == {"update site": ["stack"]}
    assert registered.changed({urn: inputs for urn, inputs in then.items() if urn != site}, today(name)) == {"create site": []}
    assert registered.changed({**then, f"{site}-of-before": {}}, today(name)) == {"delete site-of-before": []}


def test_every_kind_of_these_targets_is_recorded() -> None:
    recorded = {urn.split("::")[2].rpartition("$")[2] for name in registered.TARGETS for urn in registered.read(name)}
    expected = {token for token in KINDS if token.split(":")[1] in ("kubernetes", "local", "metal", "finish")}
    assert expected - recorded == NOT_HERE
