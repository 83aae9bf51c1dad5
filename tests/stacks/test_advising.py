"""The commands that describe and advise: what they print, and what they refuse."""

import json
import pathlib

import pytest

from blueprints import advise
from stacks.cli import advise as command
from stacks.cli import main

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
    assert record["format"] == command.FORMAT
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
        main.main(["advise", *SWEEP[:4]])
    assert ended.value.code == 2
    assert "missing: --people, --tenants, --fault-tolerance, --skills, --inference-share" in capsys.readouterr().err


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
    assert lines[2].split() == ["can", "exist", "no", "yes"]
    assert any(line.split()[:2] == ["machine", "p5.48xlarge"] for line in lines)
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
    assert "can't be written" in capsys.readouterr().err
