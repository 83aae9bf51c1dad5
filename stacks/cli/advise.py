"""`clusterwright advise`: Slurm, Kubernetes or both, with the reasons, and the blueprint to start from."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blueprints import advise, display
from blueprints.advise import Advice, Answer, Answers, Question, Rule

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    for question in advise.questions().values():
        shown = {"choices": [*question.answers]} if question.answers else {"metavar": "NUMBER"}
        usual = "" if question.default is None else f" (without an answer: {question.default}, or what the workload suggests)"
        parser.add_argument(_option(question.name), dest=question.name, help=f"{question.ask}{usual}".replace("%", "%%"), **_parsed(question), **shown)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(refuse=parser.error)


def run(given: argparse.Namespace) -> int:
    answers: dict[str, Answer] = {name: answer for name in advise.questions() if (answer := getattr(given, name)) is not None}
    answers = advise.implied(answers)
    assumed: dict[str, Answer] = {}
    if given.json or not sys.stdin.isatty():
        assumed = advise.defaults(answers)
        missing = [name for name in advise.questions() if name not in answers and name not in assumed]
        if missing:
            given.refuse(f"without a terminal to ask on, {display.listed(_option(name) for name in missing)} must be given; everything else has a default")
        answers = {**answers, **assumed}
    else:
        answers = asked(answers)
    advice = advise.advise(answers)
    if given.json:
        print(json.dumps(as_record(answers, advice, assumed), indent=2, ensure_ascii=False))
    else:
        print("\n".join([*lines(advice), *_reservations(answers, assumed)]))
    return 0


def asked(answers: Answers, *, ask: Callable[[str], str] = input) -> dict[str, Answer]:
    """Ask for what is not answered yet, again while the answer is none.

    Args:
        ask: shows a text and gives what was typed.
    """
    known = dict(answers)
    for name, question in advise.questions().items():
        while name not in known:
            try:
                usual = advise.defaults(known).get(name)
                typed = ask(_asking(question, usual)).strip()
                known = advise.implied({**known, name: usual if not typed and usual is not None else question.read(typed)})
            except ValueError as fault:
                print(fault)
    return known


def lines(advice: Advice) -> Iterator[str]:
    """Write the answer line by line."""
    title = advise.choices()
    others = [f"{title[choice]} {points}" for choice, points in sorted(advice.scores.items(), key=lambda entry: -entry[1]) if choice != advice.choice]
    yield f"{title[advice.choice]}: {_counted(advice.scores[advice.choice])} ({', '.join(others)})"
    if planned := advise.planned_only(advice.choice):
        yield f"This version plans {display.listed(title[scheduler] for scheduler in planned)}, and doesn't stand it up yet on any target"
    for heading, speak_for in (("For it", True), ("Against it", False)):
        yield from _reasons(heading, [(rule.points[advice.choice], rule) for rule in advice.reasons(advice.choice, speak_for=speak_for)])
    behind = f"{_counted(advice.lead)} behind" if advice.lead else "with as many points, and more parts"
    yield ""
    yield f"Next best: {title[advice.next_best]}, {behind}"
    yield from _reasons("What speaks more for that", advice.preferences(advice.next_best, over=advice.choice))
    if advice.changes:
        yield ""
        yield "Another answer would change it"
        for change in advice.changes:
            end = {True: " or more", False: " or less", None: ""}[change.is_least]
            yield f"  {_option(change.question)} {change.answer}{end}: {title[change.choice]}"
    yield ""
    yield f"Start from {advice.start.blueprint}: {_lowered(advice.start.because)}{f'; {advice.start.change}' if advice.start.change else ''}"
    for start in advice.also:
        yield f"See also {start.blueprint}, {start.because}"


def _reservations(answers: Answers, assumed: Answers) -> Iterator[str]:
    """Say what the answer rests on and nobody said, and what doesn't go together."""
    for sentence in advise.contradictions(answers):
        yield ""
        yield f"Two answers contradict each other: {_lowered(sentence)}"
    if assumed:
        yield ""
        yield f"Assumed, since it was not said: {', '.join(f'{_option(name)} {answer}' for name, answer in assumed.items())}"


def as_record(answers: Answers, advice: Advice, assumed: Answers) -> dict[str, Any]:
    """Turn the answer into plain JSON values.

    Args:
        assumed: the answers that nobody gave.
    """
    return {
        "format": FORMAT,
        "answers": dict(answers),
        "assumed": [*assumed],
        "contradictions": [*advise.contradictions(answers)],
        "choice": advice.choice,
        "planned_only": [*advise.planned_only(advice.choice)],
        "scores": dict(advice.scores),
        "next_best": advice.next_best,
        "rules": [{"when": dict(rule.when), "points": dict(rule.points), "because": rule.because} for rule in advice.rules],
        "start": {"blueprint": advice.start.blueprint, "because": advice.start.because, "change": advice.start.change},
        "also": [{"blueprint": start.blueprint, "because": start.because} for start in advice.also],
        "changes": [
            {
                "question": change.question,
                "answer": change.answer,
                "bound": {True: "least", False: "most", None: None}[change.is_least],
                "choice": change.choice,
            }
            for change in advice.changes
        ],
    }


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _parsed(question: Question) -> dict[str, Any]:
    def read(text: str) -> Answer:
        try:
            return question.read(text)
        except ValueError as fault:
            raise argparse.ArgumentTypeError(str(fault)) from fault

    return {} if question.answers else {"type": read}


def _asking(question: Question, usual: Answer | None) -> str:
    meanings = [f"  {answer:12} {meaning}" for answer, meaning in question.answers.items()] or [f"  a number from {question.least} to {question.most}"]
    return "\n".join([question.ask, *meanings, "> " if usual is None else f"[{usual}] > "])


def _reasons(heading: str, weighed: Iterable[tuple[int, Rule]]) -> Iterator[str]:
    counted = [f"  {points:+d}  {rule.because}" for points, rule in weighed]
    if counted:
        yield ""
        yield heading
        yield from counted


def _counted(points: int) -> str:
    return f"{points} point{'' if abs(points) == 1 else 's'}"


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
