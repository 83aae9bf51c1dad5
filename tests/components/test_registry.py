"""The table of targets: every name in it leads to code that does what the contract asks for, and what it doesn't offer is refused with what it does."""

import concurrent.futures
import dataclasses
import inspect
import pathlib
import sys
import threading
import types
from collections.abc import Callable
from typing import Literal

import pulumi
import pytest

from blueprints import catalog, load
from blueprints.facts import Facts
from components import adoption, contract, discovery, live, rebuild, registry, removal
from components.cloud import account
from components.cluster import Cluster
from components.provider.kind import Kind
from tests.components import registered

MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
CONTRACTS = [
    *((name, target.foundation, contract.Target) for name, target in registry.TARGETS.items()),
    *((name, place, contract.SlurmOffering) for name, target in registry.TARGETS.items() for place in target.slurm.values()),
    *((name, place, contract.KubernetesOffering) for name, target in registry.TARGETS.items() for place in target.kubernetes.values()),
    *((name, target.rebuild, rebuild.Rebuild) for name, target in registry.TARGETS.items()),
    *((name, target.discovery, discovery.Discovery) for name, target in registry.TARGETS.items()),
    *((name, target.removal, removal.Removal) for name, target in registry.TARGETS.items()),
    *((name, target.adopt, adoption.Account) for name, target in registry.TARGETS.items() if target.adopt),
]
ACCOUNTS = [(target, module) for target in registry.TARGETS if registry.has_account(target) for module in account.MODULES]


def lacking(found: object, asked: type) -> list[str]:
    """Name the members of a contract that an object lacks, or that take other parameters; further ones must have defaults."""
    functions = {name: inspect.signature(one) for name, one in inspect.getmembers(asked, inspect.isfunction) if not name.startswith("_")}
    absent = [name for name in (*inspect.get_annotations(asked), *functions) if not hasattr(found, name)]
    return absent + [name for name, wanted in functions.items() if name not in absent and not _takes(getattr(found, name), wanted, found)]


def _takes(given: Callable[..., object], wanted: inspect.Signature, holder: object) -> bool:
    names = [*wanted.parameters][0 if inspect.isclass(holder) else 1 :]
    parameters = inspect.signature(given).parameters
    more = [one for name, one in parameters.items() if name not in names]
    return [name for name in parameters if name in names] == names and all(one.default is not inspect.Parameter.empty for one in more)


# The SDK warns of its own deprecated resources when it is first imported.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("target", "place", "asked"), CONTRACTS, ids=lambda one: one if isinstance(one, str) else "")
def test_what_the_registry_names_takes_what_the_contract_gives(target: str, place: str, asked: type) -> None:
    found = registry.load(place)
    assert found.__module__.startswith(f"components.{target}.")
    assert lacking(found, asked) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("target", "module"), ACCOUNTS)
def test_an_account_is_asked_by_modules_that_offer_what_commands_use(target: str, module: Literal["session", "lookup", "caller", "pipeline"]) -> None:
    assert lacking(registry.account(target, module), account.MODULES[module]) == []


@pytest.mark.parametrize("target", registry.live_targets())
def test_what_asks_the_place_of_a_cluster_takes_what_the_contract_gives(target: str) -> None:
    found = registry.live(target)
    assert found is not None
    assert inspect.getmodule(found).__name__.startswith(f"components.{target}.")  # type: ignore[union-attr]
    assert [*inspect.signature(found).parameters] == [*inspect.signature(live.Live.__call__).parameters][1:]


def test_what_lacks_a_part_of_the_contract_is_noticed() -> None:
    class Whole:
        kept: bool

        def check(self, stack: str) -> None: ...
        def ask(self, stack: str, *, within_s: float) -> None: ...
        def end(self) -> None: ...

    class Half:
        def check(self, stack: str, more: object) -> None: ...
        def ask(self, stack: str, *, within_s: float, more: str = "") -> None: ...

    assert lacking(Half, Whole) == ["kept", "end", "check"]
    assert lacking(types.SimpleNamespace(public_address=lambda service: service), account.Caller) == ["public_address"]


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


def test_setup_installs_the_sdk_of_a_cloud_by_name() -> None:
    assert {target: registry.setup_command(target) for target in ("aws", "local", "nowhere")} == {
        "aws": "make setup EXTRAS=aws",
        "local": "make setup",
        "nowhere": "make setup",
    }


def test_a_module_that_another_thread_imports_is_waited_for(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drift check looks at the cloud and at hosts in two threads."""
    gate = types.ModuleType("gate_of_a_slow_import")
    gate.entered, gate.go = threading.Event(), threading.Event()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, gate.__name__, gate)
    (tmp_path / "slow_import.py").write_text(f"import {gate.__name__} as gate\ngate.entered.set()\ngate.go.wait(60)\nvalue = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(registry.load, "slow_import:value")
        gate.entered.wait(60)
        second = pool.submit(registry.load, "slow_import:value")
        concurrent.futures.wait([second], timeout=0.3)
        gate.go.set()
        assert (first.result(), second.result()) == (1, 1)
    del sys.modules["slow_import"]
