"""The commands that describe and advise: what they print, and what they refuse."""

import json
import pathlib
import re

import pytest

from blueprints import advise
from stacks.cli import advise as command
from stacks.cli import main
from stacks.render import advice

SWEEP = ["--workload", "sweep", "--gpus", "64", "--people", "5", "--tenants", "1", "--fault-tolerance", "restart", "--skills", "none", "--inference-share", "0"]


def test_the_answer_has_its_reasons_its_alternative_and_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["advise", *SWEEP]) == 0
    page = capsys.readouterr().out
    assert page.startswith("Slurm: 4 points (Kubernetes -1, ")
    for words in ("For it\n", "Next best: Kubernetes, 5 points behind\n", "  --skills kubernetes: Kubernetes\n", "Start from spot-sweep: "):
        assert words in page


def test_the_answer_as_json_repeats_the_answers_that_it_rests_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["advise", "--json", *SWEEP]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["format"] == advice.FORMAT
    assert record["answers"] == {
        "workload": "sweep",
        "gpus": 64,
        "people": 5,
        "tenants": 1,
        "fault_tolerance": "restart",
        "skills": "none",
        "inference_share": 0,
    }
    assert record["choice"] == "slurm"
    assert record["scores"]["slurm"] == sum(rule["points"].get("slurm", 0) for rule in record["rules"])


def test_without_a_terminal_the_missing_options_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["advise", *SWEEP[2:4]])
    assert ended.value.code == 2
    assert "--workload must be given; everything else has a default" in capsys.readouterr().err


def test_without_a_terminal_what_was_not_said_is_assumed_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["advise", *SWEEP[:4], "--skills", "slurm"]) == 0
    assert "Assumed: --people 5, --tenants 1, --fault-tolerance restart, --inference-share 0" in capsys.readouterr().out
    assert main.main(["advise", "--json", "--workload", "mixed", "--gpus", "64"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["answers"]["inference_share"], record["answers"]["fault_tolerance"]) == (30, "always-on"), "as the workload suggests"
    assert record["assumed"] == ["people", "tenants", "fault_tolerance", "skills", "inference_share"]
    assert main.main(["advise", *SWEEP]) == 0
    assert "Assumed" not in capsys.readouterr().out


def test_an_answer_that_is_only_planned_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main.main(["advise", "--workload", "inference", "--gpus", "64"]) == 0
    assert "can't provision it yet" not in capsys.readouterr().out
    monkeypatch.setattr(advise, "planned_only", lambda choice: ("kubernetes",) if choice == "kubernetes" else ())
    assert main.main(["advise", "--workload", "inference", "--gpus", "64"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "This version plans Kubernetes, and can't provision it yet on any target"
    assert main.main(["advise", *SWEEP]) == 0
    assert "can't provision it yet" not in capsys.readouterr().out


def test_answers_that_contradict_each_other_get_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["advise", "--workload", "pretraining", "--gpus", "64", "--inference-share", "90"]) == 0
    assert "Two answers contradict each other: a cluster that mostly serves users doesn't pretrain" in capsys.readouterr().out
    assert main.main(["advise", *SWEEP]) == 0
    assert "contradict" not in capsys.readouterr().out


def test_enter_takes_what_is_usual_where_there_is_something(capsys: pytest.CaptureFixture[str]) -> None:
    typed = iter(["mixed", "", "64", "", "", "", "", ""])
    answers = command.asked({}, ask=lambda _: next(typed))
    assert answers == {"workload": "mixed", "gpus": 64, **advise.defaults({"workload": "mixed"})}
    assert "is not a number" in capsys.readouterr().out, "of the number of GPUs nothing is usual"


@pytest.mark.parametrize("words", [["--gpus", "0"], ["--gpus", "many"], ["--workload", "training"], ["--inference-share", "101"]])
def test_what_is_no_answer_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["advise", *words])
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_questions_are_asked_until_they_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    typed = iter(["train", "inference", "64", "0", "5", "1", "always-on", " none "])
    shown: list[str] = []

    def ask(text: str) -> str:
        shown.append(text)
        return next(typed)

    answers = command.asked({}, ask=ask)
    assert answers == {
        "workload": "inference",
        "inference_share": 100,
        "gpus": 64,
        "people": 5,
        "tenants": 1,
        "fault_tolerance": "always-on",
        "skills": "none",
    }
    assert next(typed, None) is None
    refused = capsys.readouterr().out.splitlines()
    assert len(refused) == 2
    assert "'train' is not one of pretraining" in refused[0]
    assert all(question.ask in "".join(shown) for name, question in advise.questions().items() if name != "inference_share")


def test_a_comparison_has_a_column_for_each_target_and_a_reason_where_there_is_none(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = tmp_path / "mine.yaml"
    blueprint.write_text("name: mine\npools: {train: {machine: p5.48xlarge, nodes: 2}}\n")
    assert main.main(["compare", str(blueprint), "--targets", "gcp,aws"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["gcp", "aws"]
    exists = lines[2].split("  ")
    assert exists[-1] == "yes"
    assert "no: " in lines[2]
    assert "p5.48xlarge" in lines[2], "why not, in the same line"
    assert next(line for line in lines if line.split()[:1] == ["nodes"]).split() == ["nodes", "-", "2"], "a target where it can't stand keeps its column"
    assert any(line.split()[:3] == ["machine", "-", "p5.48xlarge"] for line in lines)
    assert any(line.split()[:2] == ["gcp", "error:"] and "[CW" in line for line in lines)
    assert "\x1b" not in "".join(lines)


def test_a_comparison_in_which_nothing_stands_fails(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    blueprint = tmp_path / "mine.yaml"
    blueprint.write_text("name: mine\npools: {train: {machine: p5.48xlarge, nodes: 2}}\n")
    assert main.main(["compare", str(blueprint), "--targets", "gcp"]) == 2
    assert "p5.48xlarge" in capsys.readouterr().err


def test_a_comparison_as_json_keeps_the_order_of_the_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["compare", "starter", "--targets", "metal,aws,metal", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [entry["target"] for entry in record["targets"]] == ["metal", "aws"]
    assert record["blueprint"] == "starter"


def test_a_comparison_says_what_its_sums_lack_and_what_its_average_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["compare", "gb200-nvl72", "--targets", "aws,metal"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    (hourly,) = [line for line in lines if line.startswith("USD an hour")]
    assert re.fullmatch(r"USD an hour +unknown \(known parts: ~[0-9.]+\) +owned", hourly)
    (missing,) = [line for line in lines if "no price is known of" in line]
    assert missing.split()[0] == "aws"
    assert "train" in missing
    assert not any(line.startswith("all in") for line in lines), "nothing to be an average of"
    assert main.main(["compare", "llm-pretraining", "--targets", "aws"]) == 0
    assert "all in  an average: what everything costs with every pool at its largest, divided by all GPUs" in capsys.readouterr().out


def test_keys_that_are_left_out_are_one_line_of_a_target_in_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["compare", "research-shared", "--targets", "aws,local"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if "[CW620]" in line]
    assert [line.split()[0] for line in lines] == ["aws", "local"]
    assert all("`storage.quotas`" in line and "more like it" not in line for line in lines)


def test_an_unknown_target_is_refused_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["compare", "starter", "--targets", "aws,azure"])
    assert "unknown: 'azure'; there are aws, gcp, metal, local" in capsys.readouterr().err


def test_the_schema_and_the_page_are_written_where_one_says(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "blueprint.schema.json"
    assert main.main(["schema", "--output", str(schema)]) == 0
    assert main.main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(schema.read_text())
    assert main.main(["schema", "--reference"]) == 0
    assert capsys.readouterr().out.startswith("# The language of blueprints\n")
    assert main.main(["schema", "--output", str(tmp_path / "missing" / "file")]) == 1
    assert "can't be written\n  why: No such file or directory\n" in capsys.readouterr().err
