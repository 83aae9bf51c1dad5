"""The table of targets: every name in it leads to code that does what the contract asks for, and what it doesn't offer is refused with what it does."""

import dataclasses
import inspect

import pulumi
import pytest

from blueprints import catalog, load
from blueprints.facts import Facts
from components import adoption, contract, discovery, live, registry, removal
from components.cluster import Cluster
from components.provider.kind import Kind
from tests.components import registered

MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
CONTRACTS = [
    *((name, target.foundation, contract.Target) for name, target in registry.TARGETS.items()),
    *((name, place, contract.SlurmOffering) for name, target in registry.TARGETS.items() for place in target.slurm.values()),
    *((name, target.discovery, discovery.Discovery) for name, target in registry.TARGETS.items()),
    *((name, target.removal, removal.Removal) for name, target in registry.TARGETS.items()),
    *((name, target.adopt, adoption.Account) for name, target in registry.TARGETS.items() if target.adopt),
]


# The SDK warns of its own deprecated resources when it is first imported.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("target", "place", "asked"), CONTRACTS, ids=lambda one: one if isinstance(one, str) else "")
def test_what_the_registry_names_takes_what_the_contract_gives(target: str, place: str, asked: type) -> None:
    found = registry.load(place)
    assert found.__module__.startswith(f"components.{target}.")
    for name, wanted in inspect.getmembers(asked, inspect.isfunction):
        if not name.startswith("_"):
            given = inspect.signature(getattr(found, name)).parameters
            assert [*given] == [*inspect.signature(wanted).parameters], f"{place}.{name}"


@pytest.mark.parametrize("target", registry.live_targets())
def test_what_asks_the_place_of_a_cluster_takes_what_the_contract_gives(target: str) -> None:
    found = registry.live(target)
    assert found is not None
    assert inspect.getmodule(found).__name__.startswith(f"components.{target}.")  # type: ignore[union-attr]
    assert [*inspect.signature(found).parameters] == [*inspect.signature(live.Live.__call__).parameters][1:]


def test_a_class_without_a_method_of_the_contract_is_noticed() -> None:
    class Half:
        def sweep(self, stack: str) -> bool:
            return False

    wanted = inspect.signature(removal.Removal.sweep).parameters
    assert [*inspect.signature(Half.sweep).parameters] != [*wanted]
    assert not hasattr(Half, "check")


def test_kinds_of_resources_carry_the_name_of_their_target() -> None:
    for name, target in registry.TARGETS.items():
        for place in target.kinds:
            kind = registry.load(place)
            assert issubclass(kind, Kind)
            assert kind.token.startswith(f"clusterwright:{name}:")


def test_a_target_offers_what_the_catalogue_calls_built() -> None:
    for name, target in registry.TARGETS.items():
        built = {scheduler for scheduler, offerings in (("slurm", target.slurm), ("kubernetes", target.kubernetes)) if offerings}
        assert {*catalog.target(name).built_schedulers} == built


@pytest.mark.parametrize("target", registry.TARGETS)
def test_a_scheduler_that_the_target_does_not_offer_is_refused_with_what_it_does(target: str) -> None:
    spec = load.examine("starter", target=target, stack=registered.STACK, facts=MACHINE).spec
    assert spec.slurm is not None
    other = dataclasses.replace(spec, slurm=dataclasses.replace(spec.slurm, run_by="cluster_director", control=None))
    refused: list[str] = []

    def deploy() -> None:
        try:
            Cluster(other.name, other, stack=registered.STACK)
        except pulumi.RunError as error:
            refused.append(str(error))

    assert [one.type for one in registered.run(deploy).resources] == ["clusterwright:index:Cluster"], "nothing is registered before"
    [page] = refused
    assert page.startswith(f"this version can't provision Cluster Director on {target}")
    assert "it provisions Slurm on hosts" in page
