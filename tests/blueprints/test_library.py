"""Every blueprint of the library resolves on every target to its stored spec, or is refused for the reason that is known.

A changed spec is looked at and then stored anew: `python -m tests.blueprints.test_library`.
"""

import datetime as dt
import itertools
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import pytest

from blueprints import catalog, finding, language, library, load, spec
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.language import merge
from tests.blueprints import hand_made

SPECS = pathlib.Path(__file__).parent / "specs"
FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=2, memory_mib=24_000)
TODAY = dt.date(2026, 11, 21)
"""A day on which the library's suppressions hold."""

MAIN = {
    "gb200-nvl72": "metal",
    "llm-pretraining": "aws",
    "llm-pretraining-kubernetes": "aws",
    "metal-h100": "metal",
    "research-shared": "aws",
    "scale-7500": "aws",
    "single-gpu": "aws",
    "spot-sweep": "aws",
    "starter": "local",
    "starter-kubernetes": "local",
    "train-and-serve": "aws",
}
"""Where each blueprint is most at home: there it gives no warning, unless of something that is not built yet."""

REFUSED: Mapping[tuple[str, str], tuple[Code, ...]] = {
    # It names a bare-metal machine.
    ("metal-h100", "aws"): (Code.MACHINE_UNKNOWN,),
    ("metal-h100", "gcp"): (Code.MACHINE_UNKNOWN,),
    # 7,505 containers are more than this machine's memory holds.
    ("scale-7500", "local"): (Code.REHEARSAL_TOO_LARGE,),
    # The bare-metal machines of the catalogue are those for training; none has L4 GPUs.
    ("single-gpu", "metal"): (Code.MACHINE_MISSING,),
    ("spot-sweep", "metal"): (Code.MACHINE_MISSING,),
}
"""The errors of a blueprint on a target where it can't exist. All others resolve."""

WARNED: Mapping[tuple[str, str], tuple[Code, ...]] = {
    # Nobody sells these racks without a block or reservation, whose identifier only its owner has. On AWS they are in a local zone.
    ("gb200-nvl72", "aws"): (Code.CAPACITY_ID_MISSING, Code.ZONE_LOCAL),
    ("gb200-nvl72", "gcp"): (Code.CAPACITY_ID_MISSING,),
    # No service runs a database there, so that it is on the first of the two controllers.
    ("scale-7500", "metal"): (Code.DATABASE_ALONE,),
    # Its notebooks are Kubernetes', whose operator divides GPUs.
    ("train-and-serve", "local"): (Code.MIG_NOT_DIVIDED,),
    ("train-and-serve", "metal"): (Code.MIG_NOT_DIVIDED,),
    # Its hosts are examples.
    ("metal-h100", "metal"): (Code.HOST_KEY_MISSING,),
}
"""The warnings of a blueprint on a target, beside those of what this version leaves out there."""

EVERYWHERE = tuple(itertools.product(library.names(), catalog.target_names()))
STORED = tuple(place for place in EVERYWHERE if place not in REFUSED)


def examined(name: str, target: str) -> load.Loaded:
    source = load.open_document(library.find(name))
    return load.from_document(source, target=target, stack="local", facts=FACTS, today=TODAY)


def resolved(name: str, target: str) -> spec.ClusterSpec:
    return examined(name, target).spec


def stored_form(cluster: spec.ClusterSpec) -> str:
    """Write one line for each part of the spec, and for each entry of a list in it, so that a difference shows where it belongs."""
    return _lines(json.loads(json.dumps(spec.as_record(cluster))), " ") + "\n"


def _lines(record: dict[str, Any], indent: str) -> str:
    parts = []
    for key, value in record.items():
        entries = f",\n {indent}".join(json.dumps(entry, ensure_ascii=False) for entry in value) if isinstance(value, list) else ""
        written = f"[\n {indent}{entries}\n{indent}]" if entries else json.dumps(value, ensure_ascii=False)
        parts.append(f'"{key}": {_lines(value, indent + " ") if key in ("slurm", "kubernetes") and isinstance(value, dict) else written}')
    return f"{{\n{indent}" + f",\n{indent}".join(parts) + f"\n{indent[:-1]}}}"


def codes(findings: tuple[finding.Finding, ...], level: finding.Level) -> tuple[str, ...]:
    return tuple(sorted({found.code for found in findings if found.level is level}))


@pytest.mark.parametrize(("name", "target"), STORED)
def test_a_blueprint_resolves_to_its_stored_spec(name: str, target: str) -> None:
    text = (SPECS / f"{name}.{target}.json").read_text()
    cluster = resolved(name, target)
    assert json.loads(text) == json.loads(json.dumps(spec.as_record(cluster)))
    assert text == stored_form(cluster)


@pytest.mark.parametrize(("name", "target"), REFUSED)
def test_where_it_can_not_exist_it_says_why(name: str, target: str) -> None:
    with pytest.raises(finding.Invalid) as invalid:
        examined(name, target)
    errors = [found for found in invalid.value.findings if found.level is finding.Level.ERROR]
    assert tuple(found.code for found in errors) == REFUSED[name, target]
    assert all(found.where and found.where.line for found in errors)


@pytest.mark.parametrize(("name", "target"), STORED)
def test_it_gives_these_warnings_and_no_others(name: str, target: str) -> None:
    found = codes(examined(name, target).findings, finding.Level.WARNING)
    assert tuple(code for code in found if code is not Code.FEATURE_NOT_BUILT) == WARNED.get((name, target), ())


@pytest.mark.parametrize("name", library.names())
def test_where_it_is_at_home_it_gives_no_warning(name: str) -> None:
    loaded = examined(name, MAIN[name])
    only_its_owner_has = {Code.HOST_KEY_MISSING}
    assert set(codes(loaded.findings, finding.Level.WARNING)) <= {Code.FEATURE_NOT_BUILT, *only_its_owner_has}
    assert {found.code for found in loaded.suppressed} <= {entry.code for entry in loaded.blueprint.suppress}


def test_the_starter_has_nothing_to_say_on_this_machine() -> None:
    assert examined("starter", "local").findings == ()


@pytest.mark.parametrize("target", ["aws", "gcp", "metal"])
def test_the_starters_data_goes_with_its_stack_everywhere(target: str) -> None:
    loaded = examined("starter", target)
    assert {(entry.protect, entry.on_delete) for entry in loaded.spec.storage} == {(False, "delete")}
    assert not hand_made.slurm(loaded.spec).database.protect
    said = [found for found in loaded.findings if found.code == Code.DATA_DELETABLE]
    assert [found.level for found in said] == [finding.Level.NOTE] * 2


def test_every_stored_spec_belongs_to_a_blueprint_and_a_target() -> None:
    assert {path.name for path in SPECS.iterdir()} == {f"{name}.{target}.json" for name, target in STORED}


@pytest.mark.parametrize("name", library.names())
def test_a_blueprint_says_for_whom_it_is_and_what_to_change_first(name: str) -> None:
    lines = library.find(name).read_text().splitlines()
    comment = list(itertools.takewhile(lambda line: line.startswith("# "), lines))
    assert comment[0].startswith("# For ")
    assert len(comment) >= 3
    assert any(line.startswith("# Change first: ") for line in comment)
    blueprint = language.parse(merge.settle(load.open_document(library.find(name)), MAIN[name]))
    assert blueprint.name == name
    assert blueprint.audience
    assert blueprint.description


@pytest.mark.parametrize("target", ["aws", "gcp", "metal", "local"])
def test_training_is_the_same_on_kubernetes_and_on_slurm(target: str) -> None:
    slurm, kubernetes = resolved("llm-pretraining", target), resolved("llm-pretraining-kubernetes", target)
    ours, theirs = slurm.node_sets[0], kubernetes.node_sets[0]
    assert (ours.hosts.machine, ours.fabric) == (theirs.hosts.machine, theirs.fabric)
    # Each node of a rehearsal has a kubelet of its own, so that there are fewer.
    assert theirs.hosts.count == (2 if target == "local" else ours.hosts.count)
    assert ours.capacity == theirs.capacity
    assert ours.placement == theirs.placement
    assert slurm.storage[1] == kubernetes.storage[1]
    assert (ours.scheduler, theirs.scheduler) == ("slurm", "kubernetes")
    assert kubernetes.access.count == kubernetes.controllers == 0


@pytest.mark.parametrize("target", ["aws", "gcp"])
def test_the_sweep_has_one_kind_of_gpu_in_machines_of_which_each_is_preferred_to_the_next(target: str) -> None:
    node_sets = resolved("spot-sweep", target).node_sets
    assert {node_set.hosts.machine.gpus for node_set in node_sets} == {node_sets[0].hosts.machine.gpus}
    assert [node_set.weight for node_set in node_sets] == [1, 2, 3, 4]
    assert {node_set.capacity.kind for node_set in node_sets} == {"spot"}
    assert all(node_set.always == 0 for node_set in node_sets)


@pytest.mark.parametrize("target", ["aws", "gcp", "metal"])
def test_the_largest_has_16_pools_and_7500_nodes(target: str) -> None:
    node_sets = resolved("scale-7500", target).node_sets
    assert len({node_set.pool for node_set in node_sets}) == 16
    assert sum(node_set.hosts.count for node_set in node_sets) == 7500
    assert sum(node_set.hosts.count * node_set.hosts.machine.gpus.count for node_set in node_sets if node_set.hosts.machine.gpus) == 60_000


@pytest.mark.parametrize("target", ["aws", "gcp", "metal"])
def test_racks_are_whole(target: str) -> None:
    (train,) = resolved("gb200-nvl72", target).node_sets
    assert train.hosts.machine.arch == "arm64"
    assert train.hosts.machine.domain_nodes == 18
    assert train.hosts.count % 18 == 0


def test_two_gpus_share_a_nic_of_200_gbps_on_bare_metal() -> None:
    (train,) = resolved("metal-h100", "metal").node_sets
    assert train.fabric is not None
    assert train.fabric.required
    assert (train.fabric.nics, train.fabric.gbps_per_gpu) == (4, 100)


def test_an_unknown_blueprint_is_answered_with_the_near_one_and_the_list() -> None:
    with pytest.raises(finding.Invalid) as invalid:
        library.find("startr")
    (only,) = invalid.value.findings
    assert only.code == Code.BLUEPRINT_UNKNOWN
    assert "did you mean `starter`?" in only.remedy
    assert ", ".join(library.names()) in only.remedy


def test_a_path_is_taken_as_it_is(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("mine.yaml").write_text("name: mine\npools: {cpu: {nodes: 1}}\n")
    for given in ("mine.yaml", "./mine.yaml", str(tmp_path / "mine.yaml")):
        assert load.load(given, target="local", stack="local", facts=FACTS).name == "mine"
    assert load.load("starter", target="local", stack="local", facts=FACTS).name == "starter"


def store() -> None:
    """Write the specs anew, and take away those that nothing resolves to any more."""
    for path in SPECS.iterdir():
        path.unlink()
    for name, target in STORED:
        (SPECS / f"{name}.{target}.json").write_text(stored_form(resolved(name, target)))


if __name__ == "__main__":
    store()
