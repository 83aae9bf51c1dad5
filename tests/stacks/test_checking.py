"""`clusterwright check`, and what every command says of the target and of values that are only tried."""

import json
import pathlib
from typing import Any

import pytest

from blueprints import finding
from blueprints.codes import Code
from stacks.cli import check, main, options
from stacks.render import check_results, finding_list

MACHINE = "name: mine\npools: {train: {machine: p5.48xlarge, nodes: 2}}\n"


@pytest.fixture
def mine(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(MACHINE)
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[str, str]:
    assert main.main([*words]) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def document(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(capsys, *words, "--json", status=status)[0])
    return found


# On one target


def test_other_targets_that_are_described_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "check", "llm-pretraining")
    assert out.splitlines()[-1] == "also described: aws, gcp, metal; check them with `--target` or `--all-targets`"
    out, _ = said(capsys, "check", "llm-pretraining", "--target", "gcp")
    assert out.splitlines()[-1].startswith("also described: aws, metal;")
    assert document(capsys, "check", "llm-pretraining", "--target", "gcp")["also_described"] == ["aws", "metal"]


def test_nothing_is_said_of_targets_that_are_not_described(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = tmp_path / "alone.yaml"
    blueprint.write_text("name: alone\npools: {train: {nodes: 1}}\ntargets: {aws: {}}\n")
    assert "also described" not in said(capsys, "check", str(blueprint))[0]


def test_a_target_that_a_setting_names_is_blamed_on_the_setting(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "Pulumi.other.yaml"
    settings.write_text("config: {clusterwright:target: gcq}\n")
    monkeypatch.setattr(options, "stack_file", lambda stack: settings)
    assert "stacks/Pulumi.other.yaml, setting clusterwright:target: error: " in said(capsys, "check", "starter", "--stack", "other", status=2)[1]


@pytest.fixture
def configured(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file, beside a stack whose settings name a target and set a value of another blueprint."""
    settings = tmp_path / "Pulumi.other.yaml"
    settings.write_text("config: {clusterwright:target: aws, clusterwright:set: {pools.train.nodes: 3}}\n")
    monkeypatch.setattr(options, "stack_file", lambda stack: settings)
    blueprint = tmp_path / "alone.yaml"
    blueprint.write_text("name: alone\npools: {train: {nodes: 1}}\n")
    return str(blueprint)


@pytest.mark.parametrize("words", [["check"], ["plan"], ["values"], ["graph", "--as", "svg"]], ids=lambda words: words[0])
def test_a_stacks_settings_apply_to_a_named_blueprint_only_when_the_stack_is_named(
    configured: str, capsysbinary: pytest.CaptureFixture[bytes], words: list[str]
) -> None:
    def run(*more: str) -> tuple[bytes, bytes]:
        assert main.main([*words, configured, *more]) == 0
        captured = capsysbinary.readouterr()
        return captured.out, captured.err

    plain, silence = run()
    assert b"settings of stack" not in silence
    assert run("--target", "local")[0] == plain, "without a stack the target is the default one"
    line = b"the settings of stack other apply to %s: target, pools.train.nodes\n" % configured.encode()
    changed, said = run("--stack", "other")
    assert line in said
    assert changed != plain


def test_json_has_nothing_of_the_settings_that_do_not_apply(configured: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "plan", configured)["spec"]
    assert (found["target"], found["slurm"]["node_sets"][0]["hosts"]["count"]) == ("local", 1)
    assert main.main(["plan", configured, "--stack", "other", "--target", "local", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["spec"]["slurm"]["node_sets"][0]["hosts"]["count"] == 3
    assert "settings of stack other apply" in captured.err


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("targets.aws.pools.train.nodes=8", "leave out `targets.<target>.`"),
        ("targets={}", "leave out `targets.<target>.`"),
        ("extends=starter", "write `extends` in the blueprint"),
    ],
)
def test_sections_that_are_merged_first_cannot_be_set(word: str, remedy: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "check", "llm-pretraining", "--set", word, status=2)
    assert f"option --set: error: `{word.partition('=')[0]}` can't be set [CW121]" in err
    assert f"  do:  {remedy}" in err


def test_what_is_left_out_is_one_finding_for_people_and_has_its_places_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "check", "llm-pretraining")
    (line,) = [line for line in err.splitlines() if "[CW620]" in line]
    assert "`pools.scratch`" in line
    assert "`monitoring`" in line
    found = [entry for entry in document(capsys, "check", "llm-pretraining")["findings"] if entry["code"] == "CW620"]
    assert len(found) > 1
    assert all(entry["where"]["line"] for entry in found)


def test_one_key_that_is_left_out_stays_as_it_is_and_several_are_listed_once() -> None:
    def left_out(*path: str) -> finding.Finding:
        return finding.Finding(finding.Level.WARNING, Code.FEATURE_NOT_BUILT, finding.Position("a.yaml", 3, path=path), ".".join(path), "why", "do")

    other = finding.Finding(finding.Level.NOTE, Code.ACCESS_CLOSED, None, "other", "why", "do")
    alone = (other, left_out("pools", "a", "mig"))
    assert finding_list.folded(alone) == alone
    several = finding_list.folded((left_out("pools", "a", "mig"), other, left_out("pools", "b", "mig"), left_out("monitoring")))
    assert [one.what for one in several] == ["2 keys have no effect on this target in this version: `pools.mig` and `monitoring`", "other"]
    assert several[0].where == finding.Position("a.yaml")


# On all targets


def test_all_targets_are_checked_and_one_with_an_error_fails(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "check", mine, "--all-targets", status=2)
    assert [line.rpartition(": ")[2] for line in out.splitlines()] == [
        "no errors (target aws)",
        "1 error (target gcp)",
        "1 error (target metal)",
        "no errors (target local)",
    ]
    assert err.count("[CW320]") == 2
    assert "[CW622]" not in err.split()


def test_what_holds_on_several_targets_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "check", "llm-pretraining", "--all-targets")
    assert err.startswith("On aws and gcp\n")
    assert err.count("[CW562]") == 1
    found = document(capsys, "check", "llm-pretraining", "--all-targets")
    assert [entry["targets"] for entry in found["findings"] if entry["code"] == "CW562"] == [["aws", "gcp"]]


def test_a_blueprint_that_stands_everywhere_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check", "starter", "--all-targets")[0].count("no errors") == 4
    assert main.main(["check", "llm-pretraining", "--all-targets", "--strict"]) == check.EXIT_WARNED


def test_findings_of_all_targets_as_json_have_their_targets(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "check", mine, "--all-targets", status=2)
    assert [(entry["target"], entry["errors"]) for entry in found["targets"]] == [("aws", 0), ("gcp", 1), ("metal", 1), ("local", 0)]
    assert {tuple(entry["targets"]) for entry in found["findings"] if entry["level"] == "error"} == {("gcp",), ("metal",)}


def test_a_blueprint_that_no_target_can_read_says_so_once(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "check", str(tmp_path / "missing.yaml"), "--all-targets", status=2)
    assert err.startswith("On every target\n")
    assert err.count("[CW101]") == 1


def test_findings_are_grouped_by_where_they_hold() -> None:
    one, two, three = (finding.Finding(finding.Level.NOTE, f"CW10{number}", None, str(number), "why", "do") for number in range(3))
    assert check_results.grouped({"aws": [one, two, two], "gcp": [three, two], "local": []}) == {("aws", "gcp"): [two], ("aws",): [one], ("gcp",): [three]}


# What would be, if


@pytest.mark.parametrize("command", ["check", "plan", "values", "compare"])
def test_a_value_can_be_tried(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"values": ["pools.train.nodes"], "compare": ["--targets", "local"]}.get(command, [])
    out, _ = said(capsys, command, "starter", *more, "--set", "pools.train.nodes=5", "--json")
    tried = {
        "check": lambda found: found["name"] == "starter",
        "plan": lambda found: found["spec"]["slurm"]["node_sets"][0]["hosts"]["count"] == 5,
        "values": lambda found: found["values"] == [{"path": "pools.train.nodes", "value": 5, "from": "option --set"}],
        "compare": lambda found: found["targets"][0]["offers"][0]["nodes_max"] == 5,
    }
    assert tried[command](json.loads(out))


def test_tried_values_are_written_as_in_a_blueprint_and_judged_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "pools.train.nodes={min: 1, max: 3}", "--set", "network.cidr=10.99.0.0/20", "--set", "access.load_balancer=false"]
    found = document(capsys, "plan", "starter", *words)["spec"]
    assert (found["slurm"]["node_sets"][0]["hosts"]["count"], found["network"]["cidr"], found["login"]["load_balancer"]) == (3, "10.99.0.0/20", False)
    _, err = said(capsys, "check", "starter", "--set", "pools.trian.nodes=3", status=2)
    assert "option --set: error: pools has no `trian` [CW121]" in err
    assert "did you mean `train`?" in err
    assert "option --set: error:" in said(capsys, "check", "starter", "--set", "pools.train.nodes=many", status=2)[1]


@pytest.mark.parametrize(
    ("word", "reason"), [("pools.train.nodes", "sets nothing"), ("=3", "sets nothing"), ("a={", "is no value"), ("a=1\nb: 2", "more than one value")]
)
def test_what_sets_nothing_is_refused(word: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["check", "starter", "--set", word])
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


def test_what_is_tried_takes_the_place_of_the_stack_s_setting_with_all_below_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "Pulumi.other.yaml"
    settings.write_text("config: {clusterwright:set: {pools.train.nodes.min: 1, pools.train.nodes.max: 9, description: kept}}\n")
    monkeypatch.setattr(options, "stack_file", lambda stack: settings)
    found = document(capsys, "plan", "starter", "--stack", "other", "--set", "pools.train.nodes=3")["spec"]
    assert (found["slurm"]["node_sets"][0]["hosts"]["count"], found["description"]) == (3, "kept")


# Standing up


@pytest.mark.parametrize(
    ("overrides", "code"), [({}, "CW562"), ({"network.existing": "vpc-0123456789abcdef0"}, "CW563"), ({"network.zones": ["us-east-1-dfw-2a"]}, "CW559")]
)
def test_up_refuses_what_has_to_be_decided_first_before_it_needs_an_engine(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], overrides: dict[str, object], code: str
) -> None:
    settings = tmp_path / "Pulumi.test.yaml"
    config = {"clusterwright:blueprint": "starter", "clusterwright:target": "aws", "clusterwright:set": overrides}
    settings.write_text(json.dumps({"config": config}))
    monkeypatch.setattr(options, "stack_file", lambda stack: settings)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main.main(["up", "--stack", "test"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"[{code}]" in said.err
    assert "error: " in said.err
