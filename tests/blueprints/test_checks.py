"""Checks in tables: what no single broken file shows well."""

import dataclasses
import itertools
import typing

import pydantic
import pytest

from blueprints import catalog, checks, finding, language, load, read, spec
from blueprints.checks import maintenance
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


def window(weekday: str, start: str, hours: int, week: str = "every") -> spec.Window:
    return spec.Window(weekday, start, hours, week)


def found(text: str, *, target: str = "local", code: Code) -> list[finding.Finding]:
    try:
        findings = load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target=target, stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        findings = invalid.findings
    return [one for one in findings if one.code == code]


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (window("monday", "02:00", 4), window("monday", "06:00", 4), False),
        (window("monday", "02:00", 4), window("monday", "05:59", 4), True),
        (window("sunday", "23:00", 2), window("monday", "00:59", 1), True),
        (window("sunday", "23:00", 2), window("monday", "01:00", 1), False),
        (window("saturday", "12:00", 48), window("monday", "11:59", 1), True),
        (window("monday", "02:00", 4), window("monday", "02:00", 4, "third"), True),
        (window("monday", "02:00", 4, "first"), window("monday", "02:00", 4, "second"), False),
        (window("monday", "02:00", 4, "fourth"), window("monday", "02:00", 4, "last"), True),
        (window("monday", "02:00", 4, "third"), window("monday", "02:00", 4, "last"), False),
        (window("monday", "23:00", 4, "first"), window("tuesday", "01:00", 4, "first"), True),  # Monday the 1st
        (window("monday", "23:00", 4, "first"), window("tuesday", "01:00", 4, "second"), True),  # Monday the 7th
        (window("monday", "23:00", 4, "first"), window("tuesday", "01:00", 4, "third"), False),
        (window("monday", "23:00", 4, "last"), window("tuesday", "01:00", 4, "first"), True),  # over the end of a month
        (window("monday", "23:00", 4, "second"), window("tuesday", "01:00", 4, "first"), False),
    ],
)
def test_windows_meet_when_some_month_opens_both_at_one_time(one: spec.Window, other: spec.Window, meet: bool) -> None:
    for windows in itertools.permutations([one, other]):
        text = "\n".join(f'  - {{weekday: {each.weekday}, start: "{each.start}", hours: {each.hours}, week: {each.week}}}' for each in windows)
        blueprint = f"name: tiny\npools: {{train: {{nodes: 1, partition: {{max_time: 60}}}}}}\nmaintenance:\n{text}\n"
        assert bool(found(blueprint, code=Code.WINDOWS_OVERLAP)) is meet


@pytest.mark.parametrize(
    ("windows", "longest"),
    [
        ([window("monday", "02:00", 4)], "6-20:00:00"),
        ([window("monday", "02:00", 4), window("thursday", "02:00", 4)], "3-20:00:00"),
        ([window("saturday", "12:00", 48), window("monday", "12:00", 48), window("wednesday", "12:00", 48)], "1-00:00:00"),
        ([window("tuesday", "02:00", 4, "last")], "34-20:00:00"),
        ([window("tuesday", "02:00", 4, "first"), window("tuesday", "02:00", 4, "third")], "20-20:00:00"),
        ([window("tuesday", "02:00", 4, "second"), window("tuesday", "02:00", 4, "fourth")], "20-20:00:00"),
        ([window("monday", "00:00", 24, "first"), window("friday", "00:00", 24, "first")], "27-00:00:00"),
        ([window("monday", "02:00", 4), window("friday", "00:00", 24, "first")], "6-20:00:00"),
    ],
)
def test_the_longest_time_between_windows_is_that_of_the_calendar(windows: list[spec.Window], longest: str) -> None:
    source = read.from_bytes(b"name: tiny\npools: {train: {nodes: 2}}\n", file="t.yaml")
    loaded = load.from_document(source, target="local", stack="t", facts=FACTS)
    (only,) = maintenance.check(dataclasses.replace(loaded.spec, maintenance=tuple(windows)), loaded.blueprint, source)
    assert f"between maintenance windows, {longest}" in only.what


def test_a_window_that_meets_many_is_told_once() -> None:
    windows = '  - {weekday: monday, start: "02:00", hours: 2}\n' * 20
    text = f"name: tiny\npools: {{train: {{nodes: 1, partition: {{max_time: 60}}}}}}\nmaintenance:\n{windows}"
    assert [one.where and one.where.line for one in found(text, code=Code.WINDOWS_OVERLAP)] == [*range(5, 24)]


def test_what_is_called_the_language_in_the_catalogue_is_in_the_language() -> None:
    for name in catalog.target_names():
        for built in catalog.target(name).built.values():
            keys = (*built.keys, *built.values, *built.ignored)
            assert len(set(keys)) == len(keys)
            assert [key for key in keys if key not in all_keys(language.Blueprint)] == []
            assert built.keys


def all_keys(section: type[pydantic.BaseModel], prefix: str = "") -> set[str]:
    keys = {f"{prefix}{name}" for name in section.model_fields}
    for name, field in section.model_fields.items():
        for inner in sections(field.annotation):
            keys |= all_keys(inner, f"{prefix}{name}.")
    return keys


def sections(annotation: object) -> list[type[pydantic.BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [annotation]
    arguments = [*typing.get_args(annotation), getattr(annotation, "__origin__", None)]
    inner = [sections(argument) for argument in arguments if argument is not None and argument is not typing.get_origin(annotation)]
    return list(itertools.chain.from_iterable(inner))


def test_what_is_not_built_is_told_once_for_all_places() -> None:
    pools = "".join(f"  p{number}: {{nodes: 1, scratch: {{}}, accelerator: h100, gpus_per_node: 8, fabric: none}}\n" for number in range(16))
    (only,) = found(f"name: tiny\npools:\n{pools}", code=Code.FEATURE_NOT_BUILT)
    assert only.what == "`pools.scratch` has no effect on this machine in this version (here and in 15 more places)"
    assert only.where is not None
    assert only.where.line == 3


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("access: {login_nodes: 2}", "describes login nodes"),
        ("access: {rest_api: true}", "describes login nodes"),
        ("access: {login_nodes: 0, allowed_cidrs: [203.0.113.7/32]}", "describes login nodes"),
        ("access: {login_nodes: 0}", ""),
        ("access: {login_nodes: 0, rest_api: false}", ""),
        ("control: {state: home}\nstorage: {home: {kind: existing, mount: /home, source: '10.0.0.5:/home'}}", "`control.state`"),
        ("accounts: {research: {limits: {jobs: 3}}}", "`accounts.research.limits.jobs`"),
        ("accounts: {research: {limits: {nodes: 1, gpus: 8}}}", ""),
        ("qos: {fast: {gpus_per_user: 3}}", "`qos.fast.gpus_per_user`"),
        ("qos: {fast: {jobs_per_user: 3}}", "`qos.fast.jobs_per_user`"),
        ("qos: {fast: {priority: 3, max_time: '60'}}", ""),
    ],
)
@pytest.mark.parametrize("scheduler", ["kubernetes", "slurm"])
def test_keys_of_slurm_alone_are_named_where_kubernetes_schedules_all_pools(scheduler: str, text: str, wanted: str) -> None:
    said = found(f"name: tiny\nscheduler: {scheduler}\n{text}\npools: {{train: {{nodes: 1}}}}\n", code=Code.SLURM_ONLY)
    assert len(said) == bool(wanted and scheduler == "kubernetes")
    for one in said:
        assert wanted in one.what
        assert one.where is not None
        assert one.where.line == 3


SLICED = "{scheduler: %s, nodes: 1, mig: {1g.10gb: 7}, accelerator: h100, gpus_per_node: 8, fabric: none}"


@pytest.mark.parametrize(
    ("schedulers", "pool_of", "codes"),
    [
        ("slurm", "slurm", set()),
        ("both", "slurm", set()),
        ("both", "kubernetes", {Code.MIG_NOT_DIVIDED}),
        ("kubernetes", "kubernetes", {Code.FEATURE_NOT_BUILT}),
    ],
)
def test_where_nothing_divides_gpus_one_finding_says_so(schedulers: str, pool_of: str, codes: set[Code]) -> None:
    other = "slurm" if pool_of == "kubernetes" else "kubernetes"
    more = f"  b: {{scheduler: {other}, nodes: 1}}\n" if schedulers == "both" else ""
    text = f"name: tiny\nscheduler: {schedulers}\npools:\n  a: {SLICED % pool_of}\n{more}"
    said = {one.code for code in (Code.MIG_NOT_DIVIDED, Code.FEATURE_NOT_BUILT) for one in found(text, code=code)}
    assert said == codes


@pytest.mark.parametrize(
    ("target", "health", "left_out"),
    [
        ("aws", "{}", []),
        ("aws", "{check: none}", []),
        ("aws", "{check: basic, on_failure: replace}", []),
        ("aws", "{check: full, on_failure: replace}", []),
        ("aws", "{on_failure: reboot}", []),
        ("aws", "{on_failure: drain}", []),
        ("gcp", "{on_failure: drain}", []),
        ("gcp", "{on_failure: repair}", []),
        ("metal", "{on_failure: replace}", ["pools.health.on_failure: replace"]),
        ("local", "{on_failure: drain}", []),
        ("local", "{check: none}", []),
        ("local", "{check: full, on_failure: reboot}", []),
        ("local", "{on_failure: replace}", ["pools.health.on_failure: replace"]),
    ],
)
def test_of_health_what_is_done_is_built_and_nothing_more(target: str, health: str, left_out: list[str]) -> None:
    text = f"name: tiny\npools: {{train: {{nodes: 1, health: {health}}}}}\n"
    said = [one.what for one in found(text, target=target, code=Code.FEATURE_NOT_BUILT)]
    assert said == [f"`{key}` has no effect on {catalog.target(target).title} in this version" for key in left_out]


@pytest.mark.parametrize(
    ("health", "left_out"),
    [
        ("{on_failure: drain}", []),
        ("{on_failure: reboot}", []),
        ("{on_failure: repair}", ["pools.health.on_failure: repair"]),
        ("{check: full, brake: 2}", ["pools.health.check: full"]),
    ],
)
def test_nodes_of_kubernetes_reboot_and_repair_nothing(health: str, left_out: list[str]) -> None:
    text = f"name: tiny\nscheduler: kubernetes\npools: {{train: {{nodes: 1, health: {health}}}}}\n"
    assert sorted(one.what.split("`")[1] for one in found(text, code=Code.FEATURE_NOT_BUILT)) == left_out


def test_what_another_scheduler_of_the_target_does_is_not_said_to_have_no_effect_there() -> None:
    text = "name: tiny\nscheduler: kubernetes\npools: {train: {nodes: 1, health: {check: full}}}\n"
    (only,) = found(text, target="metal", code=Code.FEATURE_NOT_BUILT)
    assert only.what == "`pools.health.check: full` has no effect with Kubernetes on bare metal in this version"


@pytest.mark.parametrize(("target", "is_refused"), [("aws", True), ("gcp", False), ("metal", True), ("local", True)])
def test_only_a_cloud_that_repairs_reported_hosts_is_told_of_them(target: str, is_refused: bool) -> None:
    text = "name: tiny\npools: {train: {nodes: 1, health: {on_failure: report}}}\n"
    said = [one.remedy for one in found(text, target=target, code=Code.FEATURE_REFUSED)]
    assert said == [f"write `targets.{target}.pools.train.health.on_failure: repair`"] * is_refused


def test_no_profile_is_advised_where_none_that_can_be_installed_supports_the_nodes() -> None:
    train = "{accelerator: gb200, gpus_per_node: 4, nodes: 18, capacity: {kind: block, id: cr-0123456789abcdef0}, partition: {max_time: 60}}"
    text = f"name: tiny\nnetwork: {{region: us-east-1, zones: [us-east-1-dfw-2a]}}\npools: {{train: {train}}}\n"
    (unbuilt,) = found(text, target="aws", code=Code.SOFTWARE_NOT_BUILT)
    assert "targets.aws.software" not in unbuilt.remedy


def test_a_planned_target_tells_nothing_of_single_features() -> None:
    text = "name: tiny\npools: {train: {nodes: 1}}\nmonitoring: {metrics: true}\n"
    assert len(found(text, code=Code.FEATURE_NOT_BUILT)) == 1
    planned = text.replace("nodes", "machine: m7g.large, nodes") + "software: ubuntu-24.04-aws-arm64\n"
    assert found(planned, target="aws", code=Code.FEATURE_NOT_BUILT) == [], "its software profile is planned, too"
    assert found(f"{text}scheduler: kubernetes\n", target="aws", code=Code.FEATURE_NOT_BUILT) == [], "its scheduler is planned, too"
    assert len(found(text, target="aws", code=Code.FEATURE_NOT_BUILT)) == 1


def test_quotas_that_are_asked_for_name_number_code_and_what_new_accounts_have() -> None:
    text = "name: tiny\npools: {train: {machine: p5.48xlarge, nodes: 2}}\n"
    (only,) = found(text, target="aws", code=Code.QUOTA_NEEDED)
    assert "384 vcpus of Running On-Demand P instances (L-417A185B; new accounts have 0)" in only.what


def test_a_block_of_slices_of_the_smaller_a100_is_held_against_its_own_profiles() -> None:
    text = "name: tiny\npools: {dev: {machine: %s, nodes: 1, mig: {1g.5gb: 7}}}\n"
    assert found(text % "p4d.24xlarge", target="aws", code=Code.MIG_UNKNOWN) == []
    (only,) = found(text % "p4de.24xlarge", target="aws", code=Code.MIG_UNKNOWN)
    assert only.remedy.endswith("profiles: 1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb")


def test_checks_of_a_spec_by_itself_need_no_file() -> None:
    source = read.from_bytes(b"name: tiny\npools: {train: {nodes: 2}}\n", file="t.yaml")
    loaded = load.from_document(source, target="local", stack="t", facts=FACTS)
    cluster = dataclasses.replace(loaded.spec, maintenance=(window("sunday", "02:00", 4),))
    assert [one.code for one in checks.check(cluster, loaded.blueprint, source)] == [Code.JOBS_OUTLAST_WINDOWS]
    assert [one.code for one in maintenance.check(cluster, loaded.blueprint, source)] == [Code.JOBS_OUTLAST_WINDOWS]
