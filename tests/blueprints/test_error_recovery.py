"""What is found about a blueprint of which something is refused: all that is still certain, at the right places, and nothing that is not."""

import pytest

from blueprints import finding, language, load, read
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


def findings(text: str, *, target: str = "aws") -> tuple[finding.Finding, ...]:
    try:
        return load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target=target, stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        return invalid.findings


def codes(text: str, *, target: str = "aws") -> set[tuple[str, int]]:
    return {(one.code, one.where.line if one.where else 0) for one in findings(text, target=target)}


def mended(text: str) -> language.Blueprint:
    blueprint = language.parse_most(read.from_bytes(text.encode(), file="t.yaml")).blueprint
    assert blueprint is not None
    return blueprint


def test_only_the_faulty_value_is_left_out() -> None:
    blueprint = mended("""\
name: tiny
access: {allowed_cidrs: [nonsense, 192.0.2.0/24], login_nodes: 99, load_balancer: false}
network: {region: eu-west-1, egress: maybe}
pools:
  train: {nodes: none, accelerator: h100, gpus_per_node: 8, fabric: []}
storage:
  fast: {mount: /fast}
users:
  ada: {uid: many, account: vision, admin: true}
""")
    assert blueprint.access == language.Access(allowed_cidrs=("192.0.2.0/24",), login_nodes=32, load_balancer=False)
    assert blueprint.network == language.Network(region="eu-west-1")
    assert blueprint.pools["train"] == language.Pool(nodes=1, accelerator="h100", gpus_per_node=8)
    assert blueprint.storage["fast"].mount == "/fast"
    assert (blueprint.users["ada"].account, blueprint.users["ada"].admin) == ("vision", True)


def test_what_was_meant_takes_the_place_of_what_was_written() -> None:
    blueprint = mended("""\
name: tiny
region: eu-west-1
control: {ha: yes}
pools:
  p_5: {count: 2-4, instance_type: p5.48xlarge, scratch: /scratch, partition: {max_time: 24h}, taints: ["a=b:NoExecute"]}
storage:
  fast: {kind: fsx, mount: fast, size: 1200, throughput: 250}
""")
    assert blueprint.network.region == "eu-west-1"
    assert blueprint.control.highly_available
    pool = blueprint.pools["p_5"]
    assert (pool.range, pool.machine, pool.scratch) == (language.NodeRange(min=2, max=4), "p5.48xlarge", language.Scratch(mount="/scratch"))
    assert pool.partition.max_time == "1-00:00:00"
    assert pool.taints == (language.Taint(key="a", value="b", effect="NoExecute"),)
    fast = blueprint.storage["fast"]
    assert (fast.kind, fast.mount, fast.size, fast.throughput) == ("lustre", "/fast", "1200 GiB", "250 MB/s/TiB")


def test_sections_that_lack_what_nothing_can_stand_in_for_are_left_out_one_by_one() -> None:
    windows = "[5, {weekday: sunday}, {weekday: monday, start: 02:00, hours: 4}, {hours: 4}, {weekday: friday, start: 02:00, hours: 4}]"
    blueprint = mended(f"name: tiny\npools: {{a: {{nodes: 1}}}}\nmaintenance: {windows}\n")
    assert [window.weekday for window in blueprint.maintenance] == ["monday", "friday"]


# A fault, and what must not be said because of what it leaves open: each of these stood on a page once.
@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("name: a\npools: {p: {nodes: 1}}\naccess: {allowed_cidrs: [192.0.2.0/24], login_nodes: 99}\n", Code.ACCESS_CLOSED),
        ("name: a\npools: {p: {nodes: 1}}\nnetwork: {region: eu-west-1, egress: maybe}\n", Code.REGION_CHOSEN),
        ("name: a\npools: {p: {nodes: 1, colour: red}, q: {nodes: 200, machine: p5.48xlarge}}\n", Code.QUOTA_NEEDED),
        ("name: a\npools: {p: {nodes: 1, accelerator: 3, gpus_per_node: 8}}\n", Code.GPU_COUNT_MISSING),
        ("name: a\npools: {p: {nodes: 1, accelerator: [h100], gpus_per_node: 8}}\n", Code.GPU_COUNT_MISSING),
        ("name: a\npools: {p: {nodes: 1}}\nusers: {ada: {uid: 2001, account: root}}\nstorage: {home: {kind: nfs, mount: [/home]}}\n", Code.HOME_MISSING),
        ("name: a\npools: {p: {nodes: 1, taints: [{key: a}]}}\nscheduler: [kubernetes]\n", Code.KUBERNETES_ONLY),
        ("name: a\npools: {p: {nodes: 1, machine: p6e-gb200.36xlarge}}\nsoftware: [ubuntu-24.04-aws-arm64]\n", Code.ARCHITECTURES_MIXED),
        ("name: a\npools: {p: {nodes: 1}}\nscheduler: both\n  \ncontrol: {size: 5}\nqos: {normal: {}}\n", Code.QOS_UNKNOWN),
        ("name: a\npools: {p: {nodes: 1, node: 2}}\nsuppress: [{code: CW602, at: pools, reason: known, until: 2099-01-01}]\n", Code.SUPPRESSION_UNUSED),
    ],
)
def test_nothing_false_is_said_because_of_a_fault(text: str, false: Code) -> None:
    found = findings(text)
    assert finding.is_fatal(found)
    assert false not in {one.code for one in found}


# What a bad neighbour once hid.
@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("name: a\npools:\n  p: {nodes: 0, machine: p5.49xlarge}\n", (Code.MACHINE_UNKNOWN, 3)),
        ("name: a\npools:\n  p: {nodes: 0, accelerator: h101, gpus_per_node: eight}\n", (Code.ACCELERATOR_UNKNOWN, 3)),
        ("name: a\npools: {p: {nodes: 1}}\nnetwork: {region: us-esat-1, egress: maybe}\n", (Code.REGION_UNKNOWN, 3)),
        ("name: a\npools: {p: {nodes: 1}}\nusers:\n  ada: {uid: 5, account: nobody}\n", (Code.ACCOUNT_UNKNOWN, 4)),
        ("name: a\npools:\n  p: {nodes: 1, partition: {accounts: [a b, nobody], priority: 0}}\n", (Code.ACCOUNT_UNKNOWN, 3)),
        ("name: a\npools:\n  login:\n    nodes: 1\n    machine: p5.49xlarge\n", (Code.MACHINE_UNKNOWN, 5)),
        ("name: a\npools:\n  - name: p\n    nodes: 1\n    machine: p5.49xlarge\n", (Code.MACHINE_UNKNOWN, 5)),
        ("name: a\npools:\n  p:\n    nodes: 1\n    acelerator: h101\n    gpus_per_node: 8\n", (Code.ACCELERATOR_UNKNOWN, 5)),
        ("name: a\npools: {p: {nodes: 1}}\nstorage:\n  a: {kind: nfs, mount: /x}\n  b: {mount: /x}\n", (Code.MOUNT_DUPLICATE, 5)),
        ("name: a\npools: {p: {nodes: 1}}\naccess:\n  login_nodes: 99\n  allowed_cidrs:\n    - x\n    - 0.0.0.0/0\n", (Code.ACCESS_OPEN, 7)),
    ],
)
def test_what_is_wrong_beside_a_fault_is_found_in_the_same_run(text: str, hidden: tuple[Code, int]) -> None:
    assert hidden in codes(text)


def test_a_mistyped_key_is_not_told_to_be_missing() -> None:
    assert codes("name: a\npools:\n  p: {node: 2}\n") == {(Code.KEY_UNKNOWN, 3)}
    assert codes("name: a\npools:\n  p: {min_nodes: 0, max_nodes: 2}\n") == {(Code.KEY_UNKNOWN, 3)}


def test_what_stands_under_a_mistyped_key_is_looked_at() -> None:
    assert codes("name: a\npools:\n  p:\n    node: none\n") == {(Code.KEY_UNKNOWN, 4), (Code.TYPE_WRONG, 4)}


def test_a_name_that_is_refused_is_the_one_that_other_findings_tell() -> None:
    (_, unknown) = findings("name: a\npools: {p_5: {nodes: 1, machine: p5.49xlarge}}\n")
    assert unknown.where is not None
    assert unknown.where.path == ("pools", "p_5", "machine")


def test_places_in_a_list_are_those_of_the_file() -> None:
    found = findings("name: a\npools: {p: {nodes: 1}}\naccess: {allowed_cidrs: [x, y, 192.0.2.0/24, 0.0.0.0/0]}\n")
    assert [one.where.path for one in found if one.where and one.code == Code.ACCESS_OPEN] == [("access", "allowed_cidrs", 3)]


def test_notes_wait_until_there_are_no_errors() -> None:
    whole = "name: a\npools: {p: {nodes: 1, machine: p5.48xlarge}}\n"
    assert finding.Level.NOTE in {one.level for one in findings(whole)}
    assert finding.Level.NOTE not in {one.level for one in findings(f"{whole}colour: red\n")}


def test_a_thousand_faults_are_answered() -> None:
    pools = "".join(f"  p_{number}: {{nodes: none, gpus: many, machines: [a b, c d], mig: {{x: 1}}}}\n" for number in range(250))
    found = findings(f"name: tiny\npools:\n{pools}")
    assert len(found) > 100
    assert finding.is_fatal(found)
