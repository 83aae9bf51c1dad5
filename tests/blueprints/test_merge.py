"""Several sources, one blueprint: what is put over what, where each value comes from, and which files may be read."""

import pathlib
from typing import Any

import pytest

from blueprints import document, finding, load, read
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.language import merge, overrides

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
BASE = """\
name: base
pools:
  train: {accelerator: h100, gpus_per_node: 8, nodes: 4, capacity: {kind: reserved, id: cr-1}, partition: {default: true}}
  dev: {nodes: 2, machine: m7i.large, labels: {team: a}}
storage: {home: {kind: nfs, mount: /home}}
users: {ada: {uid: 2001, account: research, ssh_keys: []}}
accounts: {research: {}}
"""


def parsed(text: str, file: str = "child.yaml") -> document.Document:
    return read.from_bytes(text.encode(), file=file)


def extended(child: str) -> document.Document:
    return merge.extend(parsed(BASE, "base.yaml"), parsed(child))


@pytest.mark.parametrize(
    ("child", "path", "expected"),
    [
        ("name: other", ("name",), "other"),
        ("pools: {train: {nodes: 8}}", ("pools", "train", "nodes"), 8),
        ("pools: {train: {nodes: 8}}", ("pools", "train", "accelerator"), "h100"),
        ("pools: {train: {nodes: {min: 0, max: 8}}}", ("pools", "train", "nodes"), {"min": 0, "max": 8}),
        ("pools: {train: {capacity: {kind: block}}}", ("pools", "train", "capacity"), {"kind": "block"}),
        ("pools: {train: {capacity: spot}}", ("pools", "train", "capacity"), "spot"),
        ("pools: {dev: {machines: }}", ("pools", "dev"), {"nodes": 2, "machine": "m7i.large", "labels": {"team": "a"}, "machines": None}),
        ("pools: {dev: {machines: [a, b]}}", ("pools", "dev"), {"nodes": 2, "labels": {"team": "a"}, "machines": ["a", "b"]}),
        ("pools: {dev: {machine: a, machines: [b]}}", ("pools", "dev"), {"nodes": 2, "labels": {"team": "a"}, "machine": "a", "machines": ["b"]}),
        ("pools: {dev: {labels: {job: b}}}", ("pools", "dev", "labels"), {"team": "a", "job": "b"}),
        ("pools: {dev: }", ("pools", "dev"), None),
        ("users: {ada: {ssh_keys: [x]}}", ("users", "ada", "ssh_keys"), ["x"]),
        ("pools: {dev: {partition: }}", ("pools", "dev", "partition"), None),
        ("storage: 5", ("storage",), 5),
    ],
)
def test_later_values_are_put_over_earlier_ones(child: str, path: document.Path, expected: Any) -> None:
    assert extended(child).at(*path) == expected


def test_an_entry_left_empty_is_taken_out_with_its_places() -> None:
    merged = extended("pools: {dev: }")
    assert list(merged.values["pools"]) == ["train"]
    assert [path for path in merged.places if path[:2] == ("pools", "dev")] == []


def test_an_entry_left_empty_that_no_earlier_one_has_stays_a_fault() -> None:
    assert extended("pools: {new: }").values["pools"]["new"] is None


def test_every_value_knows_where_it_comes_from() -> None:
    child = parsed("pools:\n  train:\n    nodes: 8\ntargets:\n  aws:\n    pools: {train: {machine: p5.48xlarge}}\n")
    merged = merge.refine(merge.extend(parsed(BASE, "base.yaml"), child), "aws")
    assert merged.origin("pools", "train", "accelerator") == "base.yaml:3"
    assert merged.origin("pools", "train", "nodes") == "child.yaml:3"
    assert merged.origin("pools", "train", "machine") == "targets.aws, child.yaml:6"
    at = merged.where("pools", "train", "accelerator")
    assert (at.file, at.line, at.text) == ("base.yaml", 3, BASE.splitlines()[2])


def test_every_place_of_a_merged_document_has_a_value_and_the_reverse() -> None:
    merged = extended("pools: {train: {nodes: {min: 1, max: 2}, partition: {max_time: 60}}, dev: , new: {nodes: 1, taints: [{key: a}]}}\nqos: {long: {}}\n")
    assert {path for path in merged.places if path} == set(paths_of(merged.values))


def paths_of(value: Any, at: document.Path = ()) -> list[document.Path]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[document.Path] = []
    for step, entry in entries:
        found += [(*at, step), *paths_of(entry, (*at, step))]
    return found


def test_another_target_changes_nothing_here() -> None:
    source = parsed(BASE + "targets: {gcp: {pools: {train: {nodes: 9}}}}\n")
    assert merge.refine(source, "aws") == source


@pytest.mark.parametrize("key", ["name: a", "extends: b", "targets: {}", "suppress: []"])
def test_what_a_blueprint_is_as_a_whole_differs_on_no_target(key: str) -> None:
    source = parsed(f"{BASE}targets: {{aws: {{{key}}}}}\n")
    merged = merge.refine(source, "aws")
    assert [(found.code, found.where.line if found.where else 0) for found in merged.findings] == [(Code.TARGET_KEY, 8)]
    assert merged.at("name") == "base"


@pytest.mark.parametrize(
    ("settings", "path", "expected"),
    [
        ({"pools.train.nodes": 8}, ("pools", "train", "nodes"), 8),
        ({"pools.dev": None}, ("pools", "dev"), None),
        ({"pools.dev": {"labels": {"job": "b"}}}, ("pools", "dev", "labels"), {"team": "a", "job": "b"}),
        ({"pools.train.partition": {"max_time": "60"}}, ("pools", "train", "partition"), {"default": True, "max_time": "60"}),
        ({"pools.train.capacity": {"kind": "spot"}}, ("pools", "train", "capacity"), {"kind": "spot"}),
        ({"pools.dev.machines": ["a", "b"]}, ("pools", "dev"), {"nodes": 2, "labels": {"team": "a"}, "machines": ["a", "b"]}),
        ({"network.region": "us-east-1"}, ("network",), {"region": "us-east-1"}),
        ({"pools.new": {"nodes": 1}, "pools.new.nodes": 2}, ("pools", "new", "nodes"), 2),
    ],
)
def test_settings_follow_the_same_rules(settings: dict[str, Any], path: document.Path, expected: Any) -> None:
    settled = overrides.apply(parsed(BASE), settings)
    assert settled.findings == ()
    assert settled.at(*path) == expected
    if expected is not None:
        assert settled.origin("pools", "dev") == "child.yaml:4"


def test_a_part_that_a_setting_gives_is_shown_as_the_setting() -> None:
    settled = overrides.apply(parsed(BASE), {"pools.train.partition": {"max_time": "60"}})
    assert settled.where("pools", "train", "partition", "max_time").text == 'pools.train.partition: {"max_time": "60"}'
    assert settled.where("pools", "train", "partition", "default").line == 3


def write(folder: pathlib.Path, **files: str) -> pathlib.Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / f"{next(iter(files))}.yaml"


def codes(path: pathlib.Path, target: str = "local") -> list[tuple[str, str]]:
    try:
        loaded = load.from_document(load.open_document(path), target=target, stack="test", facts=FACTS)
    except finding.Invalid as invalid:
        errors = [found for found in invalid.findings if found.level is finding.Level.ERROR]
        return [(found.code, pathlib.Path(found.where.file).name if found.where else "") for found in errors]
    return [(found.code, "") for found in loaded.findings if found.level is finding.Level.ERROR]


def test_a_chain_of_files_is_one_blueprint(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, top="extends: middle.yaml\nname: top\n", middle="extends: starter\npools: {train: {nodes: 3}}\n")
    loaded = load.examine(str(path), target="local", stack="test", facts=FACTS)
    assert loaded.spec.name == "top"
    assert [node_set.hosts.count for node_set in loaded.spec.node_sets] == [3]
    assert [user.name for user in loaded.spec.users] == ["ada"]


def test_a_fault_of_the_blueprint_below_is_shown_in_its_own_file(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, top="extends: below.yaml\nname: top\n", below="name: below\npools: {a: {nodes: 0}}\n")
    assert codes(path) == [(Code.NUMBER_OUT_OF_RANGE, "below.yaml")]


def test_a_fault_for_another_target_is_found_on_this_one(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, top="name: top\npools: {a: {nodes: 1}}\ntargets: {gcp: {pools: {a: {nodse: 1}}}, aws: {network: {region: 5}}}\n")
    assert codes(path) == [(Code.KEY_UNKNOWN, "top.yaml"), (Code.TYPE_WRONG, "top.yaml")]
    assert codes(path, "gcp") == [(Code.KEY_UNKNOWN, "top.yaml"), (Code.TYPE_WRONG, "top.yaml")]


def test_a_fault_of_the_rest_is_told_once(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, top="name: top\npools: {a: {nodse: 1, nodes: 1}}\ntargets: {gcp: {pools: {a: {nodes: 1}}}, aws: {}}\n")
    assert codes(path) == [(Code.KEY_UNKNOWN, "top.yaml")]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("missing.yaml", Code.EXTENDS_UNKNOWN),
        ("startr", Code.EXTENDS_UNKNOWN),
        ("../elsewhere.yaml", Code.EXTENDS_FORM),
        ("/etc/passwd.yaml", Code.EXTENDS_FORM),
        ("link.yaml", Code.EXTENDS_FORM),
        ("top.yaml", Code.EXTENDS_CIRCLE),
        ("circle.yaml", Code.EXTENDS_CIRCLE),
        ("loop.yaml", Code.EXTENDS_FORM),
        ('"a\\0.yaml"', Code.EXTENDS_FORM),
        (f"{'x' * 300}.yaml", Code.EXTENDS_FORM),
    ],
)
def test_a_blueprint_extends_its_neighbours_and_the_library_only(tmp_path: pathlib.Path, name: str, code: str) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (tmp_path / "elsewhere.yaml").write_text("name: secret\n")
    (folder / "link.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    (folder / "loop.yaml").symlink_to(folder / "loop.yaml")
    path = write(folder, top=f"extends: {name}\nname: top\n", circle="extends: top.yaml\n")
    with pytest.raises(finding.Invalid) as invalid:
        load.open_document(path)
    assert [found.code for found in invalid.value.findings] == [code]
    assert "secret" not in str(invalid.value)


def test_a_blueprint_counts_more_than_the_target_parts_of_what_it_extends(tmp_path: pathlib.Path) -> None:
    below = "name: below\nnetwork: {region: eu-west-1}\npools: {a: {nodes: 1}, b: {nodes: 1}}\n"
    path = write(
        tmp_path,
        top="extends: below.yaml\nname: top\nnetwork: {region: us-west-2}\ntargets: {aws: {pools: {b: }}}\n",
        below=below + "targets: {aws: {network: {region: us-east-1, egress: none}, pools: {a: {nodes: 5}}}}\n",
    )
    settled = merge.settle(load.open_document(path), "aws")
    assert settled.at("network") == {"region": "us-west-2", "egress": "none"}
    assert settled.at("pools") == {"a": {"nodes": 5}}
    assert settled.origin("pools", "a", "nodes").startswith("targets.aws, ")
    assert merge.settle(load.open_document(path), "gcp").at("pools", "a", "nodes") == 1


def test_a_fault_in_the_target_part_of_what_is_extended_is_shown_there(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, top="extends: below.yaml\nname: top\n", below="name: below\npools: {a: {nodes: 1}}\ntargets: {gcp: {pools: {a: {nodse: 2}}}}\n")
    assert codes(path) == [(Code.KEY_UNKNOWN, "below.yaml")]


@pytest.mark.parametrize(
    ("name", "is_told"),
    [("trian", True), ("trai", True), ("traiin", True), ("train2", False), ("gpu", False), ("tarin-b", False), ("brain", False)],
)
def test_a_pool_that_is_new_by_a_slip_is_told(tmp_path: pathlib.Path, name: str, is_told: bool) -> None:
    path = write(tmp_path, top=f"extends: below.yaml\nname: top\npools: {{{name}: {{nodes: 2}}}}\n", below="name: below\npools: {train: {nodes: 1}}\n")
    found = load.from_document(load.open_document(path), target="local", stack="test", facts=FACTS).findings
    assert [one.where.line if one.where else 0 for one in found if one.code == Code.NAME_SLIP] == [3] * is_told


def test_a_row_of_blueprints_has_an_end(tmp_path: pathlib.Path) -> None:
    last = load.LONGEST_CHAIN
    for number in range(1, last):
        (tmp_path / f"b{number}.yaml").write_text(f"extends: b{number + 1}.yaml\n")
    (tmp_path / f"b{last}.yaml").write_text("name: last\npools: {a: {nodes: 1}}\n")
    assert codes(tmp_path / "b1.yaml") == []
    (tmp_path / "b0.yaml").write_text("extends: b1.yaml\n")
    with pytest.raises(finding.Invalid) as invalid:
        load.open_document(tmp_path / "b0.yaml")
    assert [found.code for found in invalid.value.findings] == [Code.EXTENDS_CIRCLE]


def test_a_blueprint_says_itself_what_it_is(tmp_path: pathlib.Path) -> None:
    """What the extended one says of itself would describe another cluster."""
    below = "name: below\ndescription: Eight nodes\naudience: Groups that share\npools: {a: {nodes: 8}}\n"
    path = write(tmp_path, top="extends: below.yaml\nname: top\npools: {a: {nodes: 1}}\n", below=below)
    merged = load.examine(str(path), target="local", stack="t", facts=FACTS)
    assert (merged.blueprint.description, merged.blueprint.audience) == ("", "")
    assert merged.spec.description != "Eight nodes"
    own = write(tmp_path, top="extends: below.yaml\nname: top\ndescription: One node\n", below=below)
    assert load.examine(str(own), target="local", stack="t", facts=FACTS).spec.description == "One node"
