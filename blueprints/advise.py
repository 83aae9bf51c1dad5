"""Slurm, Kubernetes or both: an answer from a few questions, by rules with points and reasons that are data (catalog/advice.yaml)."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from .catalog import files, targets

Answer = str | int
Answers = Mapping[str, Answer]
"""One for each question, by its name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    name: str
    ask: str
    answers: Mapping[str, str]
    """What can be answered, and what it means; empty where a number is."""
    least: int
    most: int
    near: int | None
    """How many times larger a number may be and still be worth a word; None: any."""
    implies: Mapping[str, Answers]
    """Answers to other questions that go without saying, by the answer to this one."""
    assumes: Mapping[str, Answers]
    """Defaults of other questions, by the answer to this one."""
    default: Answer | None
    """The default answer; None: an answer is required."""

    def read(self, text: str) -> Answer:
        """Turn what a user writes into an answer.

        Raises:
            ValueError: it is none; the text says which there are.
        """
        if self.answers:
            if text not in self.answers:
                raise ValueError(f"{text!r} is not one of {', '.join(self.answers)}")
            return text
        if not (text.isascii() and text.isdigit() and self.least <= int(text) <= self.most):
            raise ValueError(f"{text!r} is not a number from {self.least} to {self.most}")
        return int(text)


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    when: Mapping[str, Any]
    points: Mapping[str, int]
    because: str

    def holds(self, answers: Answers) -> bool:
        return _holds(self.when, answers)


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """A blueprint to start from."""

    blueprint: str
    because: str
    change: str = ""
    """What to change in it at once; empty for nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """Another answer to one question that would give another advice."""

    question: str
    answer: Answer
    is_least: bool | None
    """Of a number: True, and all above; False, and all below. None for words."""
    choice: str


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    choice: str
    scores: Mapping[str, int]
    rules: tuple[Rule, ...]
    """All that counted."""
    next_best: str
    start: Start
    also: tuple[Start, ...]
    changes: tuple[Change, ...]

    @property
    def lead(self) -> int:
        """Points between the answer and the next best."""
        return self.scores[self.choice] - self.scores[self.next_best]

    def reasons(self, choice: str, *, speak_for: bool) -> tuple[Rule, ...]:
        """Give the rules that speak for a choice, or against it; the weightiest first."""
        sign = 1 if speak_for else -1
        found = [rule for rule in self.rules if rule.points.get(choice, 0) * sign > 0]
        return tuple(sorted(found, key=lambda rule: -abs(rule.points[choice])))

    def preferences(self, choice: str, *, over: str) -> tuple[tuple[int, Rule], ...]:
        """Give the rules that speak more for one choice than for another, each with how many points more; the weightiest first."""
        weighed = [(rule.points.get(choice, 0) - rule.points.get(over, 0), rule) for rule in self.rules]
        return tuple(sorted(((more, rule) for more, rule in weighed if more > 0), key=lambda entry: -entry[0]))


@functools.cache
def choices() -> Mapping[str, str]:
    """Give the possible answers, with their titles; the simplest first."""
    found: Mapping[str, str] = _advice()["choices"]
    return found


@functools.cache
def questions() -> Mapping[str, Question]:
    return {
        name: Question(
            name=name,
            ask=entry["ask"],
            answers=entry.get("answers", {}),
            least=entry.get("least", 0),
            most=entry.get("most", 0),
            near=entry.get("near"),
            implies=entry.get("implies", {}),
            assumes=entry.get("assumes", {}),
            default=entry.get("default"),
        )
        for name, entry in _advice()["questions"].items()
    }


@functools.cache
def rules() -> tuple[Rule, ...]:
    return tuple(Rule(**entry) for entry in _advice()["rules"])


def implied(answers: Answers) -> dict[str, Answer]:
    """Give the answers with those that go without saying; what is answered already stays."""
    said: dict[str, Answer] = {}
    for name, answer in answers.items():
        said |= questions()[name].implies.get(str(answer), {})
    return {**said, **answers}


def defaults(answers: Answers) -> dict[str, Answer]:
    """Give what is assumed of questions that are not answered, as far as they have a default."""
    usual = {name: question.default for name, question in questions().items() if question.default is not None}
    for name, answer in answers.items():
        usual |= questions()[name].assumes.get(str(answer), {})
    return {name: answer for name, answer in usual.items() if name not in answers}


def contradictions(answers: Answers) -> tuple[str, ...]:
    """Say which answers don't go together."""
    return tuple(entry["because"] for entry in _advice()["contradictions"] if _holds(entry["when"], answers))


def planned_only(choice: str) -> tuple[str, ...]:
    """Name the schedulers of an answer that this version can't provision on any target, and only plans."""
    built = {scheduler for name in targets.target_names() for scheduler in targets.target(name).built_schedulers}
    wanted = ("slurm", "kubernetes") if choice == "both" else (choice,)
    return tuple(scheduler for scheduler in wanted if scheduler not in built)


def advise(answers: Answers) -> Advice:
    """Answer with the reasons.

    Args:
        answers: one for every question.
    """
    scores = _scores(answers)
    ranked = _ranked(scores)
    counted = tuple(rule for rule in rules() if rule.holds(answers))
    also = tuple(Start(entry["blueprint"], entry["because"]) for entry in _advice()["also"] if _holds(entry["when"], answers))
    return Advice(ranked[0], scores, counted, ranked[1], _start(ranked[0], answers), also, tuple(_changes(answers, ranked[0])))


def _advice() -> Mapping[str, Any]:
    return files.mapping("advice")


def _holds(when: Mapping[str, Any], answers: Answers) -> bool:
    for name, wanted in when.items():
        given = answers[name]
        if isinstance(wanted, Mapping) and isinstance(given, int):
            if not wanted.get("from", given) <= given <= wanted.get("to", given):
                return False
        elif given != wanted:
            return False
    return True


def _scores(answers: Answers) -> dict[str, int]:
    scores = dict.fromkeys(choices(), 0)
    for rule in rules():
        if rule.holds(answers):
            for choice, points in rule.points.items():
                scores[choice] += points
    return scores


def _ranked(scores: Mapping[str, int]) -> list[str]:
    return sorted(scores, key=lambda choice: -scores[choice])


def _start(choice: str, answers: Answers) -> Start:
    fitting = (entry for entry in _advice()["starts"] if choice in entry["choice"] and _holds(entry["when"], answers))
    entry = next(fitting)
    return Start(entry["blueprint"], entry["because"], entry.get("change", ""))


def _changes(answers: Answers, choice: str) -> Iterator[Change]:
    """Find what would change the answer: of words each, of numbers the nearest above and below."""
    for question in questions().values():
        given = answers[question.name]
        if isinstance(given, str):
            for other in question.answers:
                found = _choice({**answers, question.name: other})
                if found != choice:
                    yield Change(question.name, other, None, found)
        else:
            yield from _changes_of_number(question, given, answers, choice)


def _changes_of_number(question: Question, given: int, answers: Answers, choice: str) -> Iterator[Change]:
    steps = sorted(_steps(question.name))
    above = [step for step in steps if step > given and (question.near is None or step <= given * question.near)]
    below = [step - 1 for step in reversed(steps) if step <= given]
    for values, is_least in ((above, True), (below, False)):
        for value in values:
            found = _choice({**answers, question.name: value})
            if found != choice:
                yield Change(question.name, value, is_least, found)
                break


def _choice(answers: Answers) -> str:
    return _ranked(_scores(answers))[0]


def _steps(name: str) -> set[int]:
    """Give the numbers from which on rules count differently."""
    bounds = [rule.when[name] for rule in rules() if name in rule.when]
    return {bound["from"] for bound in bounds if "from" in bound} | {bound["to"] + 1 for bound in bounds if "to" in bound}
