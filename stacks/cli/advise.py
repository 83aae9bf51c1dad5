"""`clusterwright advise`: Slurm, Kubernetes or both, with the reasons, and the blueprint to start from."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from blueprints import advise
from blueprints.advise import Advice, Answer, Answers, Question, Rule

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    for question in advise.questions().values():
        shown = {"choices": [*question.answers]} if question.answers else {"metavar": "NUMBER"}
        parser.add_argument(_option(question.name), dest=question.name, help=question.ask.replace("%", "%%"), **_parsed(question), **shown)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.set_defaults(refuse=parser.error)


def run(given: argparse.Namespace) -> int:
    answers: dict[str, Answer] = {name: answer for name in advise.questions() if (answer := getattr(given, name)) is not None}
    answers = advise.implied(answers)
    missing = [question for name, question in advise.questions().items() if name not in answers]
    if missing and (given.json or not sys.stdin.isatty()):
        given.refuse(f"missing: {', '.join(_option(question.name) for question in missing)}; without a terminal to ask on, all answers are options")
    answers = asked(answers)
    advice = advise.advise(answers)
    print(json.dumps(as_record(answers, advice), indent=2, ensure_ascii=False) if given.json else "\n".join(lines(advice)))
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
                known = advise.implied({**known, name: question.read(ask(_asking(question)).strip())})
            except ValueError as fault:
                print(fault)
    return known


def lines(advice: Advice) -> Iterator[str]:
    """Write the answer line by line."""
    title = advise.choices()
    others = [f"{title[choice]} {points}" for choice, points in sorted(advice.scores.items(), key=lambda entry: -entry[1]) if choice != advice.choice]
    yield f"{title[advice.choice]}: {_counted(advice.scores[advice.choice])} ({', '.join(others)})"
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


def as_record(answers: Answers, advice: Advice) -> dict[str, Any]:
    """Turn the answer into plain JSON values."""
    return {
        "format": FORMAT,
        "answers": dict(answers),
        "choice": advice.choice,
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


def _asking(question: Question) -> str:
    meanings = [f"  {answer:12} {meaning}" for answer, meaning in question.answers.items()] or [f"  a number from {question.least} to {question.most}"]
    return "\n".join([question.ask, *meanings, "> "])


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
