"""What a changed blueprint costs a cluster that stands."""

import dataclasses
import json
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import pytest

from blueprints import catalog, spec
from blueprints.plan import blueprint_keys, changes, field_costs
from blueprints.spec import cost
from blueprints.spec.cost import Effect
from tests.blueprints import hand_made
from tests.blueprints.hand_made import changed

LOCAL = hand_made.local_changes()
OFFERINGS = catalog.offering_names()
LEFT_OUT = "this version leaves it out here"


def record(cluster: spec.ClusterSpec) -> dict[str, Any]:
    """The spec as stack outputs and files keep it."""
    found: dict[str, Any] = json.loads(json.dumps(spec.as_record(cluster)))
    return found


def compared(old: spec.ClusterSpec, new: spec.ClusterSpec) -> dict[str, changes.Change]:
    return {change.path: change for change in changes.compare(record(old), new)}


def dearest(found: Mapping[str, changes.Change]) -> Effect:
    return max((change.effect for change in found.values()), key=lambda effect: effect.severity, default=Effect.NONE)


UNNAMED = (spec.Nic, spec.MigSlices, spec.Taint, spec.Window, spec.SiteInterface, spec.Expectation)
"""Records that stand in lists and have no names."""

# The costs of fields


def fields(kind: Any, pattern: str = "") -> Iterator[str]:
    """Every path that the recorded spec can have, from the types of the spec."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        path = f"{pattern}{field.name}"
        for part in parts(hints[field.name]):
            if part is None:
                yield path
            elif path in changes.COLLECTIONS:
                yield from (f"{path}.+", f"{path}.-")
                yield from fields(part, f"{path}.*.")
            else:
                yield from fields(part, f"{path}.")


def parts(hint: Any) -> list[Any]:
    """The records that a field can hold; None stands for a plain value, or for a list of records that have no names."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    found: list[Any] = []
    for option in options:
        if option is spec.Late:
            continue
        items = typing.get_args(option) if typing.get_origin(option) is tuple else (option,)
        is_record = dataclasses.is_dataclass(items[0])
        found += [items[0]] if is_record else [None]
        if is_record and items[0] in UNNAMED:
            found.append(None)
    return found


def known_fields() -> set[str]:
    """A list of records that have no names is one value: what is below it is no field."""
    found = set(fields(spec.ClusterSpec))
    unnamed = {path for path in found if path.rpartition(".")[2] in ("nics", "mig", "taints", "maintenance", "interfaces", "collectives")}
    return {path for path in found if not any(path.startswith(f"{whole}.") for whole in unnamed)}


def test_the_walk_finds_the_fields() -> None:
    """The next two tests mean nothing otherwise."""
    found = known_fields()
    assert {
        "name",
        "slurm.node_sets.+",
        "slurm.node_sets.*.hosts.machine.gpus",
        "slurm.node_sets.*.hosts.machine.gpus.count",
        "storage.*.exchange.bucket",
        "maintenance",
    } <= found
    assert {
        "kubernetes",
        "kubernetes.control",
        "kubernetes.control.machine.nics",
        "network.subnets.*.cidr",
        "slurm.node_sets.*.fabric.expected.floor_gbs",
    } <= found
    assert not {"slurm.node_sets.*.hosts.machine.nics.card", "maintenance.weekday", "network.subnets.*.cidr.what"} & found


def test_every_field_of_the_spec_has_its_cost() -> None:
    assert known_fields() - field_costs.FIELDS.keys() == set()


def test_only_fields_of_the_spec_have_a_cost() -> None:
    assert field_costs.FIELDS.keys() - known_fields() == set()


def test_a_field_without_a_cost_is_noticed() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Marked:
        name: Annotated[str, cost.TEXT]
        colour: str = ""

    assert set(fields(Marked)) - dict(field_costs._of_record(Marked, "", {})).keys() == {"colour"}


def test_a_place_that_does_not_say_what_its_records_cost_is_noticed() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Place:
        hosts: spec.HostGroup

    with pytest.raises(KeyError, match="count"):
        dict(field_costs._of_record(Place, "", {}))


def test_every_cost_says_why_in_one_line_without_a_full_stop() -> None:
    rules = [*field_costs.FIELDS.values(), *(rule for target in catalog.target_names() for rule in field_costs.overrides(target, OFFERINGS).values())]
    costs = [one for rule in rules for one in (rule.cost, rule.less, rule.later, *(one for _, _, one in rule.given)) if one]
    assert [one.why for one in costs if not one.why or "\n" in one.why or one.why.endswith(".")] == []
    assert {kind for rule in rules for kind in rule.reaches} <= cost.DATA.keys()


def test_what_follows_and_what_it_follows_from_are_fields() -> None:
    found = known_fields()
    for head, followers in changes.HEADS.items():
        assert head in found
        for follower in followers:
            assert any(path.startswith(follower) for path in found), follower


# This machine


@pytest.mark.parametrize("what", LOCAL)
def test_on_this_machine_a_change_costs_what_the_code_does(what: str) -> None:
    """tests/components/local/test_change_costs.py compares the same changes with the resources that the program registers."""
    wanted, effect = LOCAL[what]
    assert dearest(compared(hand_made.local(), wanted)) == effect


def test_what_costs_nothing_on_this_machine_because_it_is_left_out_is_not_built_there() -> None:
    built = catalog.target("local").built["slurm_hosts"].keys
    left_out = {pattern for pattern, rule in field_costs.overrides("local", OFFERINGS).items() if rule.cost.why == LEFT_OUT}
    keys = {".".join(step for step in blueprint_keys.KEYS[pattern].split(".") if step not in "*+-") for pattern in left_out & blueprint_keys.KEYS.keys()}
    assert len(keys) > 5
    assert {key for key in keys if any(f"{key}.".startswith(f"{one}.") for one in built)} == set()


def test_nothing_changed_is_no_change() -> None:
    for cluster in (hand_made.local(), hand_made.aws()):
        assert changes.compare(record(cluster), cluster) == ()
        assert changes.compare(spec.as_record(cluster), cluster) == (), "tuples and lists are the same"


def test_a_pool_that_grows_leaves_others_alone_but_moves_those_behind_it() -> None:
    found = compared(hand_made.local(), LOCAL["the first pool grows and moves the second"][0])
    assert {path: (change.old, change.new, change.effect) for path, change in found.items()} == {
        "slurm.node_sets.train.hosts.count": (2, 4, Effect.IN_PLACE),
        "slurm.node_sets.dev.hosts.first_address": ("10.81.1.2", "10.81.1.4", Effect.ROLLING),
    }


def test_things_are_matched_by_name_and_not_by_place() -> None:
    old = hand_made.aws(users=tuple(spec.User(name, uid, "research", ()) for uid, name in enumerate(("ada", "grace"), 2001)))
    turned = old
    for field in ("node_sets", "storage", "users", "services"):
        turned = hand_made.replaced(turned, **{field: tuple(reversed(getattr(turned, field)))})
    assert turned != old
    assert compared(old, turned) == {}
    without_first = dataclasses.replace(old, users=old.users[1:])
    assert list(compared(old, without_first)) == ["users.ada"]


def test_a_new_network_is_one_change_and_addresses_come_with_it() -> None:
    (change,) = compared(hand_made.local(), LOCAL["the network"][0]).values()
    assert change.path == "network.cidr"
    assert {"network.gateway", "slurm.control.first_address", "slurm.node_sets.dev.hosts.first_address"} <= set(change.follows)


def test_another_profile_is_one_change_with_its_versions() -> None:
    (change,) = compared(hand_made.local(), LOCAL["the software profile"][0]).values()
    assert (change.path, change.old, change.new, change.follows) == ("software.profile", "debian-13", "debian-12", ("software.suite", "software.slurm"))


# Clouds


def file_system(cluster: spec.ClusterSpec, **more: Any) -> spec.ClusterSpec:
    return dataclasses.replace(cluster, storage=(dataclasses.replace(cluster.storage[0], **more), *cluster.storage[1:]))


AWS = hand_made.aws()
FREE = hand_made.aws(storage=tuple(dataclasses.replace(one, protect=False) for one in AWS.storage), database=spec.Database("embedded", protect=False))


@pytest.mark.parametrize(
    ("path", "value", "effect"),
    [
        ("users", (*AWS.users, spec.User("grace", 2002, "research", ())), "in-place"),
        ("slurm.node_sets.0.hosts.count", 32, "in-place"),
        ("slurm.node_sets.0.hosts.count", 8, "replaces-nodes"),
        ("slurm.node_sets.0.minimum", 0, "in-place"),
        ("slurm.node_sets.0.placement", "none", "replaces-nodes"),
        ("slurm.node_sets.0.capacity", spec.Capacity(spec.CapacityKind.RESERVED, "cr-0123"), "replaces-nodes"),
        ("slurm.node_sets.0.fabric", None, "replaces-nodes"),
        ("slurm.node_sets.0.partition", None, "replaces-nodes"),
        ("slurm.node_sets.0.image", "ami-0123456789abcdef0", "none"),
        ("slurm.node_sets.0.hosts.machine.gpus.mig", (spec.MigSlices("1g.10gb", 7),), "rolling"),
        ("slurm.control.machine.name", "m7i.2xlarge", "rolling"),
        ("slurm.control.machine.arch", "arm64", "replaces-nodes"),
        ("software.slurm", "25.05", "replaces-nodes"),
        ("software.tested_on", "p5.48xlarge", "none"),
        ("network.egress", "none", "in-place"),
        ("network.zones", ("us-east-1a", "us-east-1c"), "in-place"),
        ("network.zones", ("us-east-1b", "us-east-1a"), "destroys-data"),
        ("network.cidr", "10.90.0.0/20", "destroys-data"),
        ("network.region", "us-west-2", "destroys-data"),
        ("network.existing", "vpc-0123456789abcdef0", "destroys-data"),
        ("name", "other", "destroys-data"),
        ("login.allowed_cidrs", ("198.51.100.0/24",), "in-place"),
        ("storage.0.size_gib", 16800.0, "in-place"),
        ("storage.0.size_gib", 12000.0, "destroys-data"),
        ("storage.0.throughput_mbs_per_tib", 500, "in-place"),
        ("storage.0.kind", "nfs", "destroys-data"),
        ("storage.0.encrypted", False, "destroys-data"),
        ("storage.0.protect", True, "in-place"),
        ("storage", AWS.storage[:1], "rolling"),
        ("slurm.database.placement", "managed", "destroys-data"),
        ("slurm.run_by", "pcs", "destroys-data"),
    ],
)
def test_on_a_cloud(path: str, value: Any, effect: str) -> None:
    assert dearest(compared(FREE, changed(FREE, path, value))) == effect


@pytest.mark.parametrize(("target", "effect"), [("aws", "in-place"), ("gcp", "destroys-data")])
def test_the_throughput_of_lustre_can_be_changed_where_the_cloud_changes_it(target: str, effect: str) -> None:
    here = dataclasses.replace(FREE, target=target)
    assert dearest(compared(here, changed(here, "storage.0.throughput_mbs_per_tib", 500))) == effect


def test_another_service_for_slurm_is_a_change_of_its_key() -> None:
    of_pcs = changed(changed(FREE, "slurm.run_by", "pcs"), "slurm.product", "AWS PCS")
    (change,) = compared(of_pcs, changed(changed(FREE, "slurm.run_by", "hyperpod"), "slurm.product", "SageMaker HyperPod")).values()
    assert (change.path, change.effect) == ("slurm.run_by", Effect.DESTROYS_DATA)
    assert blueprint_keys.KEYS[change.path] == "control.managed"


def test_without_file_systems_a_new_network_replaces_only_nodes() -> None:
    empty = changed(FREE, "storage", ())
    assert dearest(compared(empty, changed(empty, "network.cidr", "10.90.0.0/20"))) == Effect.REPLACES_NODES
    bucket = changed(FREE, "storage", (dataclasses.replace(FREE.storage[0], kind="object", storage_class="s3"),))
    assert dearest(compared(bucket, changed(bucket, "network.cidr", "10.90.0.0/20"))) == Effect.REPLACES_NODES


def test_only_what_stands_in_one_zone_is_lost_with_it() -> None:
    change = compared(AWS, changed(AWS, "network.zones", ("us-east-1b",)))["network.zones"]
    assert change.protected == ("storage.scratch", "database"), "EFS is in several zones"


def test_another_machine_is_one_change_with_all_that_it_has() -> None:
    p5en = dataclasses.replace(hand_made.P5, name="p5en.48xlarge", gpus=spec.Gpus("h200", 8, simulated=False, memory_gib=141.0), nics=())
    (change,) = compared(AWS, changed(AWS, "slurm.node_sets.0.hosts.machine", p5en)).values()
    assert (change.path, change.old, change.new, change.effect) == (
        "slurm.node_sets.train.hosts.machine.name",
        "p5.48xlarge",
        "p5en.48xlarge",
        Effect.REPLACES_NODES,
    )
    assert "slurm.node_sets.train.hosts.machine.gpus.type" in change.follows


def test_one_pool_s_new_machine_takes_nothing_of_another_pool_with_it() -> None:
    both = changed(changed(AWS, "slurm.node_sets.0.hosts.machine.name", "p5e.48xlarge"), "slurm.node_sets.1.hosts.machine.memory_mib", 1)
    assert set(compared(AWS, both)) == {"slurm.node_sets.train.hosts.machine.name", "slurm.node_sets.sweep.hosts.machine.memory_mib"}


def test_another_target_is_one_change_that_takes_all_data() -> None:
    (change,) = compared(AWS, hand_made.local(name="llm")).values()
    assert (change.path, change.effect) == ("target", Effect.DESTROYS_DATA)
    assert change.protected == ("storage.scratch", "storage.home", "database")


# Protection


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("storage", AWS.storage[1:]),
        ("storage.0.kind", "nfs"),
        ("storage.0.size_gib", 1200.0),
        ("network.cidr", "10.90.0.0/20"),
        ("network.region", "us-west-2"),
    ],
)
def test_what_would_destroy_protected_data_is_refused(path: str, value: Any) -> None:
    wanted = changed(AWS, path, value)
    refused = [change for change in compared(AWS, wanted).values() if change.is_refused]
    assert refused
    assert all(change.effect is Effect.DESTROYS_DATA and "storage.scratch" in change.protected for change in refused)
    assert not any(change.protected for change in compared(FREE, wanted).values()), "what stands is not protected"


def test_protection_taken_away_in_the_same_step_does_not_help() -> None:
    """The engine goes by what is recorded."""
    wanted = changed(changed(AWS, "storage.0.kind", "nfs"), "storage.0.protect", False)
    assert compared(AWS, wanted)["storage.scratch.kind"].is_refused


ANEW = {
    "name": "other",
    "network.cidr": "10.90.0.0/20",
    "network.existing": "vpc-0123456789abcdef0",
    "network.region": "us-west-2",
    "network.zones": ("us-east-1b",),
}


@pytest.mark.parametrize("target", ["aws", "gcp"])
@pytest.mark.parametrize("path", ANEW)
def test_what_a_standing_network_can_not_have_is_refused_on_clouds_whatever_is_protected(path: str, target: str) -> None:
    standing = dataclasses.replace(FREE, target=target)
    found = compared(standing, changed(standing, path, ANEW[path]))
    assert {change.path for change in found.values() if change.anew} == {path}
    assert found[path].is_refused
    assert not any(change.anew for change in compared(hand_made.local(), LOCAL["the name"][0]).values()), "on this machine it is done"


@pytest.mark.parametrize(("old", "new"), [((), ("us-east-1a",)), (("us-east-1a",), ()), (("us-east-1a",), ("us-east-1a", "us-east-1b"))])
def test_a_zone_that_was_left_open_may_be_the_one_that_is_named(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    standing = changed(FREE, "network.zones", old)
    assert not any(change.is_refused for change in compared(standing, changed(FREE, "network.zones", new)).values())


def test_a_change_that_keeps_the_data_is_not_refused() -> None:
    assert not any(change.is_refused for change in compared(AWS, changed(AWS, "storage.0.size_gib", 16800.0)).values())


def test_what_existed_before_is_not_the_stack_s_to_lose() -> None:
    theirs = file_system(AWS, kind="existing", source="fs-0123456789abcdef0")
    assert compared(theirs, changed(theirs, "storage", theirs.storage[1:]))["storage.scratch"].effect is Effect.ROLLING
    assert compared(theirs, changed(theirs, "network.cidr", "10.90.0.0/20"))["network.cidr"].protected == ("storage.home",)


# Records


def test_the_dearest_change_comes_first() -> None:
    wanted = changed(changed(changed(AWS, "slurm.node_sets.0.chosen", "Other"), "slurm.node_sets.0.hosts.count", 8), "storage.0.kind", "nfs")
    assert [change.effect for change in changes.compare(record(AWS), wanted)] == [Effect.DESTROYS_DATA, Effect.REPLACES_NODES, Effect.NONE]


def test_what_was_not_looked_up_is_no_difference_that_costs() -> None:
    known = changed(AWS, "network.subnets.1.zone", "us-east-1b")
    for old, new in ((AWS, known), (known, AWS)):
        (change,) = compared(old, new).values()
        assert (change.path, change.effect) == ("network.subnets.public-a.zone", Effect.NONE)
        assert "not looked up" in change.why


def test_a_record_of_another_form_says_so_and_is_compared_in_what_both_have() -> None:
    old = record(AWS) | {"version": 1}
    for later in ("services", "login"):
        del old[later]
    del old["slurm"]["qos"]
    del old["storage"][0]["durability"]
    assert [change.path for change in changes.compare(old, changed(AWS, "users", ())) if change.path != "version"] == ["users.ada"]
    note = changes.version_note(old)
    assert note is not None
    assert "form 1" in note
    assert f"form {spec.SPEC_VERSION}" in note
    assert changes.version_note(record(AWS)) is None


@pytest.mark.parametrize("broken", [{}, {"name": "x"}, {"name": 1, "target": "aws", "network": {}}, {"name": "x", "target": "aws", "network": []}])
def test_what_is_no_record_of_a_cluster_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(spec.Unreadable):
        changes.compare(broken, AWS)


@pytest.mark.parametrize(("field", "value"), [("slurm.node_sets", [{"hosts": "none"}, 7]), ("storage", {"a": 1}), ("users", None), ("slurm.database", "none")])
def test_a_record_of_another_shape_is_refused_unless_it_is_of_another_form(field: str, value: Any) -> None:
    section, _, inner = field.rpartition(".")
    odd = record(AWS)
    (odd[section] if section else odd)[inner] = value
    with pytest.raises(spec.Unreadable, match=field):
        changes.compare(odd, AWS)
    assert [change.path for change in changes.compare(odd | {"version": 1}, AWS)] == ["version"]


def test_the_record_of_a_change_is_json() -> None:
    (change,) = changes.compare(record(AWS), changed(AWS, "storage.0.kind", "nfs"))
    found = json.loads(json.dumps(changes.as_record(change)))
    assert (found["path"], found["old"], found["new"], found["effect"], found["refused"]) == ("storage.scratch.kind", "lustre", "nfs", "destroys-data", True)
    assert found["protected"] == ["storage.scratch"]
