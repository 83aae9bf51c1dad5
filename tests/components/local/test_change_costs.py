"""What a change is said to cost on this machine, against what the program registers before and after it."""

import pydantic
import pytest

from blueprints.spec import ClusterSpec
from blueprints.spec.cost import Effect
from components.cluster import Cluster
from components.local.machine import host as hosts
from components.local.recipe import HostPoolInputs, boot, seeds
from tests.blueprints import hand_made
from tests.components import registered
from tests.components.registered import Program

POOL, FOLDER = "clusterwright:local:HostPool", "clusterwright:local:Folder"
FINISHED = ("clusterwright:finish:Group", "clusterwright:accept:Acceptance")
CHANGES = hand_made.local_changes()


def program(cluster: ClusterSpec) -> Program:
    def register() -> None:
        Cluster(cluster.name, cluster, stack="test")

    return registered.run(register)


@pytest.fixture(scope="module")
def standing() -> Program:
    return program(hand_made.local())


def booted(found: Program) -> dict[str, tuple[str, str]]:
    """Hostname → image of its disk, and what it boots with."""
    pools = [pydantic.TypeAdapter(HostPoolInputs).validate_python(registered._without_secrets(pool.inputs)) for pool in found.of(POOL)]
    return {pool.hostname(n): (pool.image, hosts.fingerprint(seeds(pool), boot(pool, n))) for pool in pools for n in range(pool.count)}


def registered_effect(old: Program, new: Program) -> Effect:
    """Say what the engine would do: the same decision as components/local/pool.py takes for each host."""
    if {one.name for one in old.of(FOLDER)} - {one.name for one in new.of(FOLDER)}:
        return Effect.DESTROYS_DATA
    before, after = booted(old), booted(new)
    if any(hostname not in after or after[hostname][0] != image for hostname, (image, _) in before.items()):
        return Effect.REPLACES_NODES
    if any(after[hostname] != seen for hostname, seen in before.items()):
        return Effect.ROLLING
    same = {(one.type, one.name): one.inputs for one in old.resources if one.type not in FINISHED}
    return Effect.NONE if same == {(one.type, one.name): one.inputs for one in new.resources if one.type not in FINISHED} else Effect.IN_PLACE


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_costs_what_it_is_said_to(what: str, standing: Program) -> None:
    """Whether a playbook changes something in place can't be seen here; that no host is touched can."""
    wanted, said = CHANGES[what]
    found = registered_effect(standing, program(wanted))
    assert found == said or (found is Effect.NONE and Effect(said) is Effect.IN_PLACE)
