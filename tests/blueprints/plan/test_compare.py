"""One blueprint on several targets: each side is what that target's plan is, and what differs is said once."""

import itertools
import json
import pathlib
import subprocess
import sys

import pytest

from blueprints import finding, library, load, project
from blueprints.codes import Code
from blueprints.facts import Facts
from blueprints.plan import compare, estimate, quotas

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
ALL = ("aws", "gcp", "metal", "local")


def compared(name: str, *targets: str) -> tuple[compare.Side, ...]:
    return compare.compare(name, targets=targets or ALL, stack="test", facts=FACTS)


def written(folder: pathlib.Path, text: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", library.names())
def test_each_side_is_the_plan_of_its_target(name: str) -> None:
    sides = compared(name)
    assert [side.target for side in sides] == [*ALL]
    for side in sides:
        if side.cluster is None:
            with pytest.raises(finding.Invalid) as invalid:
                load.examine(name, target=side.target, stack="test", facts=FACTS)
            assert invalid.value.findings == side.findings
            assert finding.is_fatal(side.findings)
        else:
            planned = load.examine(name, target=side.target, stack="test", facts=FACTS)
            assert (side.cluster, side.findings) == (planned.spec, planned.findings)
            assert side.costs == estimate.estimate(planned.spec)
            assert side.needs == quotas.needed(planned.spec)
            assert [offer.node_set for offer in side.offers] == [node_set.hosts.name for node_set in planned.spec.node_sets]


def test_a_gpu_hour_is_the_machines_price_over_its_gpus() -> None:
    (aws,) = compared("llm-pretraining", "aws")
    (offer,) = aws.offers
    assert aws.costs is not None
    part = aws.costs.part("compute", offer.node_set)
    assert part is not None
    assert part.unit_usd_per_hour is not None
    assert offer.usd_per_gpu_hour == pytest.approx(part.unit_usd_per_hour / offer.gpus_per_node)
    all_in = aws.usd_per_gpu_hour
    assert all_in == pytest.approx(aws.costs.hourly_max / aws.gpus_max)
    assert all_in is not None
    assert all_in > part.unit_usd_per_hour / offer.gpus_per_node
    assert aws.gpu_memory_gib == pytest.approx(aws.gpus_max * (offer.gpu_memory_gib or 0))


def test_a_missing_price_makes_no_cheap_gpu_hour() -> None:
    for side in compared("gb200-nvl72", "aws", "gcp"):
        assert side.costs is not None
        assert not side.costs.complete
        assert side.usd_per_gpu_hour is None


def test_what_is_owned_has_no_price() -> None:
    for side in compared("llm-pretraining", "metal", "local"):
        assert {offer.usd_per_gpu_hour for offer in side.offers} == {None}
        assert side.usd_per_gpu_hour is None


def test_machines_of_one_pool_stand_in_for_each_other(tmp_path: pathlib.Path) -> None:
    text = "name: mine\npools: {train: {machines: [p5.48xlarge, p4d.24xlarge], nodes: {min: 0, max: 4}, fabric: none}}\n"
    (side,) = compared(written(tmp_path, text), "aws")
    assert [offer.machine for offer in side.offers] == ["p5.48xlarge", "p4d.24xlarge"]
    assert side.gpus_max == 4 * 8, "the pool has four nodes at most, of whichever machine"
    assert side.gpu_memory_gib == side.gpu_memory_gb == 4 * 8 * 80
    assert side.costs is not None
    assert side.usd_per_gpu_hour == pytest.approx(side.costs.hourly_max / (4 * 8))


def test_memory_that_clouds_report_differently_compares(tmp_path: pathlib.Path) -> None:
    text = "name: mine\npools: {train: {accelerator: l4, gpus_per_node: 1, nodes: 2, fabric: none}}\n"
    aws, gcp = compared(written(tmp_path, text), "aws", "gcp")
    assert [side.gpu_memory_gib for side in (aws, gcp)] == [2 * 22.35, 2 * 24]
    assert [side.gpu_memory_gb for side in (aws, gcp)] == [48, 48]
    assert [side.offers[0].gpu_memory_gb for side in (aws, gcp)] == [24, 24]
    (local,) = compared("starter", "local")
    assert local.gpu_memory_gb is None


def test_a_target_where_it_cannot_exist_says_why_and_the_others_stand(tmp_path: pathlib.Path) -> None:
    sides = compared(written(tmp_path, "name: mine\npools: {train: {machine: p5.48xlarge, nodes: 2}}\n"), "aws", "gcp")
    assert [side.cluster is not None for side in sides] == [True, False]
    assert sides[1].offers == ()
    ((first, _), *_rest) = compare.differences(sides)["gcp"]
    assert first.level is finding.Level.ERROR
    assert "p5.48xlarge" in first.what


def test_what_is_wrong_everywhere_is_shown_as_by_check(tmp_path: pathlib.Path) -> None:
    with pytest.raises(finding.Invalid) as invalid:
        compared(written(tmp_path, "name: mine\npools: {train: {node: 2}}\n"))
    assert {(found.code, found.where.line) for found in invalid.value.findings if found.where} == {(Code.KEY_UNKNOWN, 2)}


def test_differences_leave_out_what_holds_everywhere_and_what_figures_show() -> None:
    sides = compared("llm-pretraining")
    everywhere = set.intersection(*(set(side.findings) for side in sides))
    for side in sides:
        shown = compare.differences(sides)[side.target]
        assert not {found for found, _ in shown} & everywhere
        assert not {found.code for found, _ in shown} & compare.SAID_ELSEWHERE
        assert len({found.code for found, _ in shown}) == len(shown)
        kept = [found for found in side.findings if found not in everywhere and found.code not in compare.SAID_ELSEWHERE]
        assert sum(1 + others for _, others in shown) == len(kept)


def test_only_a_built_target_stands_up() -> None:
    assert {side.target: side.is_built for side in compared("starter")} == {"aws": True, "gcp": True, "metal": False, "local": True}


@pytest.mark.parametrize("name", ["starter", "spot-sweep"])
def test_a_comparison_is_plain_json_whose_keys_are_documented(name: str) -> None:
    record = json.loads(json.dumps(compare.as_record(name, compared(name))))
    assert [entry["target"] for entry in record["targets"]] == [*ALL]
    _, _, described = (project.project_root() / "docs" / "json.md").read_text().partition("## `clusterwright compare --json`")
    for entry in record["targets"]:
        keys = {*entry, *itertools.chain.from_iterable([*entry["offers"], *entry["storage"]])}
        assert {key for key in keys if f"`{key}`" not in described} == set()


def test_comparing_imports_no_engine_and_no_cloud() -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import stacks.cli.compare, stacks.cli.advise, stacks.cli.schema; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program, str(project.project_root())], capture_output=True, text=True, check=True)
    loaded = {module.partition(".")[0] for module in answer.stdout.split()}
    assert not loaded & {"pulumi", "ansible", "ansible_runner", "grpc", "boto3", "botocore", "google", "kubernetes"}
