"""What every offering owes its users, whatever it provisions."""

import base64
import dataclasses
import gzip
import itertools
import zlib
from collections import Counter
from typing import Any

import pytest

from components import registry
from tests.components.registered import KINDS, STACK, Program, Registered
from tests.recorded import states

from .offering import Offering
from .offerings import OFFERINGS

CLUSTER = "clusterwright:index:Cluster"
SECRET = "value of clusterwright:secret:Secret"
"""What the mocks give as the value of every key and password that the stack makes."""
EACH = pytest.mark.parametrize("offering", OFFERINGS, ids=lambda offering: offering.name)
WITH_BLUEPRINTS = pytest.mark.parametrize(
    ("offering", "blueprint"),
    [pytest.param(one, blueprint, id=f"{one.name}-{blueprint.rpartition('/')[2].removesuffix('.yaml')}") for one in OFFERINGS for blueprint in one.blueprints],
)


def urns(program: Program) -> Counter[str]:
    return Counter(one.urn for one in program.resources)


# Growth


@EACH
def test_thousands_of_nodes_are_as_many_resources_as_75(offering: Offering) -> None:
    few, many = (offering.run(offering.starter, offering.with_nodes(nodes)) for nodes in (75, offering.most_nodes))
    assert urns(many) == urns(few)
    assert {one.urn: one.needs for one in many.resources} == {one.urn: one.needs for one in few.resources}


# URNs and parents


@WITH_BLUEPRINTS
def test_a_preview_registers_what_up_registers(offering: Offering, blueprint: str) -> None:
    found = offering.run(blueprint, {})
    assert urns(offering.run(blueprint, {}, preview=True)) == urns(found)
    assert set(urns(found).values()) == {1}


@pytest.mark.parametrize("name", states.NAMES)
def test_urns_are_those_of_stacks_that_an_earlier_version_provisioned(name: str) -> None:
    """Another URN is another resource: the engine would delete the running one."""
    state = states.State.read(name)
    (offering,) = [one for one in OFFERINGS if one.target == state.target and one.scheduler == "slurm"]
    registered = {urn.replace(f"urn:pulumi:{STACK}::", f"urn:pulumi:{state.stack}::") for urn in urns(offering.run(str(states.blueprint_of(name)), {}))}
    by_engine = ("pulumi:pulumi:Stack", "pulumi:providers:clusterwright")
    assert registered == {one["urn"] for one in state.resources if one["type"] not in by_engine}


@WITH_BLUEPRINTS
def test_every_resource_has_a_parent_below_the_cluster(offering: Offering, blueprint: str) -> None:
    """A resource without a parent would belong to the stack, and the URN of each would change on the day on which it gets one."""
    assert outside(offering.run(blueprint, {})) == []


def outside(program: Program) -> list[str]:
    (cluster,) = program.of(CLUSTER)
    return [one.urn for one in program.resources if one is not cluster and f"::{CLUSTER}$" not in one.urn]


# The stack's mark


@WITH_BLUEPRINTS
def test_everything_that_can_carry_it_has_the_stacks_mark(offering: Offering, blueprint: str) -> None:
    assert unmarked(offering, offering.run(blueprint, {})) == []


def unmarked(offering: Offering, program: Program) -> list[str]:
    mark, carrying = offering.marks(program)
    assert carrying
    return [what for what, carried in carrying if not mark.items() <= carried.items()]


# Secrets


def holds_secret(value: Any) -> bool:
    """Say whether the value of a secret is anywhere in a plain value, also where that is encoded or compressed, as user data is."""
    if isinstance(value, dict):
        return any(holds_secret(one) for one in value.values())
    if isinstance(value, list):
        return any(holds_secret(one) for one in value)
    if isinstance(value, bytes):
        try:
            return holds_secret(gzip.decompress(value).decode(errors="replace"))
        except (OSError, EOFError, zlib.error):
            return holds_secret(value.decode(errors="replace"))
    if not isinstance(value, str):
        return False
    if SECRET in value:
        return True
    try:
        return holds_secret(base64.b64decode(value, validate=True)) if len(value) > len(SECRET) else False
    except ValueError:  # no Base64
        return False


def told_in_clear(program: Program) -> list[str]:
    """Name the resources with the value of a secret in an input that the engine doesn't keep secret."""
    return [one.name for one in program.resources if holds_secret({name: value for name, value in one.inputs.items() if name not in one.secret_inputs})]


@WITH_BLUEPRINTS
def test_no_secret_is_in_user_data_or_any_plain_input(offering: Offering, blueprint: str) -> None:
    assert told_in_clear(offering.run(blueprint, {})) == []


@pytest.mark.parametrize(
    "hidden",
    [SECRET, base64.b64encode(f"a: {SECRET}".encode()).decode(), base64.b64encode(gzip.compress(SECRET.encode(), mtime=0)).decode()],
    ids=["plain", "encoded", "compressed"],
)
def test_a_secret_that_is_encoded_is_found(hidden: str) -> None:
    assert holds_secret({"userData": [{"text": hidden}]})
    assert not holds_secret({"userData": [{"text": base64.b64encode(b"nothing" * 9).decode()}]})


# Deletion


@WITH_BLUEPRINTS
def test_resources_are_deleted_in_an_order_that_works(offering: Offering, blueprint: str) -> None:
    """What needs another is deleted before it. Controllers would start nodes again, and what nodes use can't go while they run."""
    assert out_of_order(offering, offering.run(blueprint, {})) == []


def out_of_order(offering: Offering, program: Program) -> list[tuple[str, str]]:
    """Name the pairs of which the first does not need the second, so that the engine may delete the second first."""
    chains = list(offering.deletion(program))
    assert chains
    needs = {name: program.all_needs(name) for chain in chains for name in chain[:-1]}
    return [(first, then) for chain in chains for first, then in itertools.pairwise(chain) if then not in needs[first]]


# Interrupted runs


@EACH
def test_every_kind_is_found_again_after_a_kill(offering: Offering) -> None:
    """The project's own kinds adopt by themselves what they made."""
    kinds = {one.type for blueprint in offering.blueprints for one in offering.run(blueprint, {}).resources if one.custom}
    assert {kind for kind in kinds if kind not in KINDS and not kind.startswith("pulumi:providers:")} - offering.adopted == set()


# Data


def holding_data(offering: Offering, program: Program) -> list[Registered]:
    found = [one for one in program.resources if one.type in offering.holding_data and one.name not in offering.disposable]
    assert found or not offering.holding_data
    return found


@WITH_BLUEPRINTS
def test_data_is_protected_when_the_blueprint_says_nothing_else(offering: Offering, blueprint: str) -> None:
    storage = offering.run(blueprint, {})
    everything = {"accounting.protect": True} | {f"storage.{name}.protect": True for name in file_systems(offering, storage)}
    found = offering.run(blueprint, everything)
    assert [one.urn for one in holding_data(offering, found) if not one.protect] == []


@WITH_BLUEPRINTS
def test_nothing_is_protected_when_the_blueprint_says_so(offering: Offering, blueprint: str) -> None:
    """Neither is ever what holds no data: a change may replace it."""
    storage = offering.run(blueprint, {})
    nothing = {"accounting.protect": False} | {f"storage.{name}.protect": False for name in file_systems(offering, storage)}
    assert [one.urn for one in offering.run(blueprint, nothing).resources if one.protect] == []


@pytest.mark.parametrize(("offering", "kind"), [(one, kind) for one in OFFERINGS for kind in one.storage], ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("protect", [True, False])
def test_each_kind_of_file_system_is_protected_as_the_blueprint_says(offering: Offering, kind: str, protect: bool) -> None:
    keys = {"kind": kind, "mount": "/more", "protect": protect, **offering.storage[kind]}
    before = urns(offering.run(offering.starter, {}))
    found = offering.run(offering.starter, {"storage.more": keys})
    added = [one for one in holding_data(offering, found) if one.urn not in before]
    assert [one.protect for one in added] == [protect]


def file_systems(offering: Offering, program: Program) -> list[str]:
    """Name the file systems of a blueprint, as finishing is told."""
    return [one["name"] for one in program.named(f"finish-{offering.control}").inputs["spec"]["storage"]]


# The suite itself


def test_every_offering_has_its_row() -> None:
    assert {(one.target, one.run_by) for one in OFFERINGS} == {
        (name, run_by) for name, target in registry.TARGETS.items() for run_by in (*target.slurm, *target.kubernetes)
    }


def altered(program: Program, name: str, **values: Any) -> Program:
    """Give a program whose resources of a name are other ones."""
    return dataclasses.replace(program, resources=[dataclasses.replace(one, **values) if one.name == name else one for one in program.resources])


@EACH
def test_the_checks_find_what_is_wrong(offering: Offering) -> None:
    found = offering.run(offering.starter, {})
    (carrier, *_), (chain, *_) = offering.marks(found)[1], offering.deletion(found)
    name = carrier[0].partition(":")[0]
    keys = next(one for one in found.resources if one.secret_inputs and holds_secret(dict(one.inputs)))
    stray = found.named(chain[1])
    assert name in unmarked(offering, altered(found, name, inputs={"tags": {}}))
    assert keys.name in told_in_clear(altered(found, keys.name, secret_inputs=frozenset()))
    assert chain[:2] in out_of_order(offering, altered(found, chain[0], needs=frozenset()))
    assert outside(altered(found, chain[1], urn=stray.urn.replace(f"{CLUSTER}$", ""))) != []
