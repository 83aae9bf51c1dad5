"""Advice on the scheduler, for people and for programs. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from blueprints import advise, message_text
from blueprints.advise import Advice, Answers, Rule

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def lines(advice: Advice) -> Iterator[str]:
    """Write the answer line by line."""
    title = advise.choices()
    others = [f"{title[choice]} {points}" for choice, points in sorted(advice.scores.items(), key=lambda entry: -entry[1]) if choice != advice.choice]
    yield f"{title[advice.choice]}: {_counted(advice.scores[advice.choice])} ({', '.join(others)})"
    if planned := advise.planned_only(advice.choice):
        yield f"This version plans {message_text.listed(title[scheduler] for scheduler in planned)}, and can't provision it yet on any target"
    for heading, speak_for in (("For it", True), ("Against it", False)):
        yield from _reasons(heading, [(rule.points[advice.choice], rule) for rule in advice.reasons(advice.choice, speak_for=speak_for)])
    behind = f"{_counted(advice.lead)} behind" if advice.lead else "with as many points, and more parts"
    yield ""
    yield f"Next best: {title[advice.next_best]}, {behind}"
    yield from _reasons("What favours it", advice.preferences(advice.next_best, over=advice.choice))
    if advice.changes:
        yield ""
        yield "Another answer would change it"
        for change in advice.changes:
            end = {True: " or more", False: " or less", None: ""}[change.is_least]
            yield f"  {option(change.question)} {change.answer}{end}: {title[change.choice]}"
    yield ""
    yield f"Start from {advice.start.blueprint}: {_lowered(advice.start.because)}{f'; {advice.start.change}' if advice.start.change else ''}"
    for start in advice.also:
        yield f"See also {start.blueprint}, {start.because}"


def reservations(answers: Answers, assumed: Answers) -> Iterator[str]:
    """Name assumed answers, and answers that contradict each other."""
    for sentence in advise.contradictions(answers):
        yield ""
        yield f"Two answers contradict each other: {_lowered(sentence)}"
    if assumed:
        yield ""
        yield f"Assumed: {', '.join(f'{option(name)} {answer}' for name, answer in assumed.items())}"


def as_record(answers: Answers, advice: Advice, assumed: Answers) -> dict[str, Any]:
    """Turn the answer into plain JSON values.

    Args:
        assumed: answers that are defaults.
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


def option(name: str) -> str:
    """Give the option of a question."""
    return f"--{name.replace('_', '-')}"


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
