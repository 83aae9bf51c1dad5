"""Slurm, Kubernetes or both: answers that someone who runs such clusters would give, and rules that hold for all answers."""

import copy
import dataclasses
import itertools
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprints import advise, finding, library, load, read
from blueprints.catalog import files
from blueprints.facts import Facts

QUESTIONS = tuple(advise.questions())
TOWARDS_KUBERNETES = ("slurm", "both", "kubernetes")


def answered(*answers: str | int) -> dict[str, str | int]:
    return dict(zip(QUESTIONS, answers, strict=True))


@pytest.mark.parametrize(
    ("answers", "choice", "blueprint"),
    [
        # workload, GPUs, people, groups, at a failure, skills, percent of inference
        (("pretraining", 128, 10, 1, "restart", "slurm", 0), "slurm", "llm-pretraining"),
        (("pretraining", 128, 10, 1, "restart", "none", 0), "slurm", "llm-pretraining"),
        (("pretraining", 128, 10, 1, "restart", "both", 0), "slurm", "llm-pretraining"),
        (("pretraining", 128, 10, 1, "restart", "kubernetes", 0), "kubernetes", "llm-pretraining-kubernetes"),
        (("pretraining", 60_000, 30, 1, "restart", "kubernetes", 0), "slurm", "scale-7500"),
        (("pretraining", 60_000, 30, 1, "restart", "slurm", 0), "slurm", "scale-7500"),
        (("pretraining", 1024, 30, 1, "restart", "slurm", 10), "slurm", "llm-pretraining"),
        (("pretraining", 1024, 30, 1, "restart", "slurm", 30), "both", "train-and-serve"),
        (("pretraining", 1024, 30, 1, "restart", "both", 30), "both", "train-and-serve"),
        (("inference", 64, 10, 1, "always-on", "kubernetes", 100), "kubernetes", "train-and-serve"),
        (("inference", 64, 10, 1, "always-on", "slurm", 100), "kubernetes", "train-and-serve"),
        (("inference", 4, 3, 1, "always-on", "none", 100), "kubernetes", "train-and-serve"),
        (("mixed", 256, 30, 3, "always-on", "both", 40), "both", "train-and-serve"),
        (("mixed", 8, 3, 1, "restart", "both", 30), "kubernetes", "train-and-serve"),
        (("mixed", 128, 40, 5, "restart", "slurm", 0), "slurm", "research-shared"),
        (("sweep", 64, 5, 1, "restart", "none", 0), "slurm", "spot-sweep"),
        (("sweep", 256, 10, 1, "by-hand", "kubernetes", 0), "kubernetes", "llm-pretraining-kubernetes"),
        (("teaching", 16, 60, 4, "by-hand", "none", 0), "slurm", "research-shared"),
        (("fine-tuning", 32, 30, 5, "restart", "slurm", 0), "slurm", "research-shared"),
        (("fine-tuning", 32, 5, 1, "restart", "none", 0), "slurm", "starter"),
        (("fine-tuning", 8, 5, 1, "restart", "kubernetes", 0), "kubernetes", "llm-pretraining-kubernetes"),
        (("fine-tuning", 1, 1, 1, "by-hand", "none", 0), "slurm", "single-gpu"),
    ],
)
def test_answers(answers: tuple[str | int, ...], choice: str, blueprint: str) -> None:
    advice = advise.advise(answered(*answers))
    assert (advice.choice, advice.start.blueprint) == (choice, blueprint)


ANSWERS = st.fixed_dictionaries(
    {
        name: st.sampled_from([*question.answers]) if question.answers else st.integers(question.least, min(question.most, 50_000))
        for name, question in advise.questions().items()
    }
)
ALL = settings(max_examples=300, deadline=None, derandomize=True)


@ALL
@given(ANSWERS, st.integers(0, 100))
def test_more_inference_never_moves_towards_slurm(answers: dict[str, str | int], other: int) -> None:
    less, more = sorted((int(answers["inference_share"]), other))
    places = [TOWARDS_KUBERNETES.index(advise.advise({**answers, "inference_share": share}).choice) for share in (less, more)]
    assert places == sorted(places)


@ALL
@given(ANSWERS)
def test_knowing_a_scheduler_never_moves_away_from_it(answers: dict[str, str | int]) -> None:
    places = [TOWARDS_KUBERNETES.index(advise.advise({**answers, "skills": skills}).choice) for skills in ("slurm", "kubernetes")]
    assert places == sorted(places)
    if advise.advise({**answers, "skills": "none"}).choice == "both":
        assert advise.advise({**answers, "skills": "both"}).choice == "both"


@ALL
@given(ANSWERS)
def test_services_that_nobody_may_miss_never_move_towards_slurm(answers: dict[str, str | int]) -> None:
    places = [TOWARDS_KUBERNETES.index(advise.advise({**answers, "fault_tolerance": wanted}).choice) for wanted in ("by-hand", "always-on")]
    assert places == sorted(places)


@ALL
@given(ANSWERS)
def test_the_answer_is_the_sum_of_its_reasons(answers: dict[str, str | int]) -> None:
    advice = advise.advise(answers)
    for choice, points in advice.scores.items():
        reasons = [*advice.reasons(choice, speak_for=True), *advice.reasons(choice, speak_for=False)]
        assert points == sum(rule.points[choice] for rule in reasons)
    assert advice.scores[advice.choice] == max(advice.scores.values())
    preferred = [advice.preferences(one, over=other) for one, other in ((advice.choice, advice.next_best), (advice.next_best, advice.choice))]
    assert advice.lead == sum(more for more, _ in preferred[0]) - sum(more for more, _ in preferred[1]) >= 0
    assert advice.next_best != advice.choice


@ALL
@given(ANSWERS)
def test_each_change_that_is_named_changes_the_answer_and_one_less_does_not(answers: dict[str, str | int]) -> None:
    advice = advise.advise(answers)
    for change in advice.changes:
        assert advise.advise({**answers, change.question: change.answer}).choice == change.choice != advice.choice
        if change.is_least is not None:
            nearer = int(change.answer) + (-1 if change.is_least else 1)
            assert advise.advise({**answers, change.question: nearer}).choice == advice.choice


def test_rules_speak_of_questions_answers_and_choices_that_exist() -> None:
    for rule in advise.rules():
        assert rule.because
        assert rule.points
        assert set(rule.points) <= set(advise.choices())
        for name, wanted in rule.when.items():
            question = advise.questions()[name]
            assert wanted in question.answers if question.answers else set(wanted) <= {"from", "to"}


def test_every_rule_changes_some_answer() -> None:
    """A rule without which every answer stays the same says nothing."""
    words = [[*question.answers] for question in advise.questions().values()]
    groups = ((5, 1), (50, 1), (50, 5))
    grid = itertools.product(words[0], (8, 32, 128, 1024, 8192, 50_000), groups, words[4], words[5], (0, 10, 30, 60, 90))
    advices = [
        advise.advise(answered(workload, gpus, *group, faults, skills, share))
        for workload, gpus, group, faults, skills, share in itertools.islice(grid, 0, None, 7)
    ]
    for rule in advise.rules():
        assert any(without(rule, advice) != advice.choice for advice in advices if rule in advice.rules), rule.because


def without(rule: advise.Rule, advice: advise.Advice) -> str:
    """Give the answer if a rule that counted had not."""
    return max(advice.scores, key=lambda choice: advice.scores[choice] - rule.points.get(choice, 0))


def test_what_goes_without_saying_is_not_asked() -> None:
    assert advise.implied({"workload": "inference"})["inference_share"] == 100
    assert advise.implied({"workload": "inference", "inference_share": 20})["inference_share"] == 20
    assert "inference_share" not in advise.implied({"workload": "mixed"})


@pytest.mark.parametrize(("name", "text"), [("workload", "train"), ("gpus", "0"), ("gpus", "many"), ("gpus", "٣"), ("inference_share", "101")])
def test_what_is_no_answer_is_refused_with_what_would_be_one(name: str, text: str) -> None:
    question = advise.questions()[name]
    with pytest.raises(ValueError, match="pretraining, fine-tuning" if question.answers else f"from {question.least} to {question.most}"):
        question.read(text)


def test_advice_leads_to_blueprints_that_exist() -> None:
    advices = [advise.advise(answered(workload, gpus, 30, 2, "restart", skills, share)) for workload, gpus, skills, share in _spread()]
    named = {advice.start.blueprint for advice in advices} | {start.blueprint for advice in advices for start in advice.also}
    assert named <= set(library.names())


def _spread() -> list[tuple[str, int, str, int]]:
    words = advise.questions()
    return [
        (workload, gpus, skills, share)
        for workload in words["workload"].answers
        for gpus in (1, 8, 128, 10_000)
        for skills in words["skills"].answers
        for share in (0, 50)
    ]


def test_an_advice_is_plain_and_frozen() -> None:
    advice = advise.advise(answered("sweep", 64, 5, 1, "restart", "none", 0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        advice.choice = "both"  # type: ignore[misc]


TAKEN_OUT = object()
EDITS: dict[tuple[str, str], dict[tuple[str, ...], Any]] = {
    ("single-gpu", "write `scheduler: kubernetes`, and take out `access`, the pool's `partition`, and the targets' `control` and `access`"): {
        ("scheduler",): "kubernetes",
        ("access",): TAKEN_OUT,
        ("pools", "gpu", "partition"): TAKEN_OUT,
        ("targets", "aws", "control"): TAKEN_OUT,
        ("targets", "gcp", "control"): TAKEN_OUT,
        ("targets", "aws", "access"): TAKEN_OUT,
        ("targets", "gcp", "access"): TAKEN_OUT,
    },
    ("train-and-serve", "write `scheduler: kubernetes`, and take out `access` and the pool `train`"): {
        ("scheduler",): "kubernetes",
        ("access",): TAKEN_OUT,
        ("pools", "train"): TAKEN_OUT,
    },
    ("train-and-serve", "write `scheduler: kubernetes`, for the cluster and for the pool `train`, and take out `access` and this pool's `partition`"): {
        ("scheduler",): "kubernetes",
        ("access",): TAKEN_OUT,
        ("pools", "train", "scheduler"): "kubernetes",
        ("pools", "train", "partition"): TAKEN_OUT,
    },
}
"""What each change that is advised means for the blueprint's file."""


def test_every_change_that_is_advised_is_tried() -> None:
    advised = {(start["blueprint"], start["change"]) for start in files.mapping("advice")["starts"] if "change" in start}
    assert set(EDITS) == advised


@pytest.mark.parametrize("target", ["aws", "gcp"])
@pytest.mark.parametrize(("blueprint", "change"), EDITS)
def test_a_blueprint_with_the_advised_change_stands_without_a_warning(blueprint: str, change: str, target: str) -> None:
    values = copy.deepcopy(read.read(library.find(blueprint)).values)
    for (*around, key), value in EDITS[blueprint, change].items():
        section = values
        for step in around:
            section = section[step]
        if value is TAKEN_OUT:
            del section[key]
        else:
            section[key] = value
    changed = read.from_bytes(yaml.safe_dump(values, sort_keys=False).encode(), file="changed.yaml")
    facts = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
    loaded = load.from_document(changed, target=target, stack="changed", facts=facts)
    assert [one for one in loaded.findings if one.level is not finding.Level.NOTE] == []
    assert loaded.spec.schedulers == ("kubernetes",)
