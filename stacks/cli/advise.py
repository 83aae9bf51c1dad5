"""`clusterwright advise`: Slurm, Kubernetes or both, with the reasons, and the blueprint to start from."""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from blueprints import advise, message_text
from blueprints.advise import Answer, Answers, Question

from ..render import advice


def arguments(parser: argparse.ArgumentParser) -> None:
    for question in advise.questions().values():
        shown = {"choices": [*question.answers]} if question.answers else {"metavar": "NUMBER"}
        usual = "" if question.default is None else f" (without an answer: {question.default}, or what the workload suggests)"
        parser.add_argument(advice.option(question.name), dest=question.name, help=f"{question.ask}{usual}".replace("%", "%%"), **_parsed(question), **shown)
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
            given.refuse(
                f"without a terminal to ask on, {message_text.listed(advice.option(name) for name in missing)} must be given; everything else has a default"
            )
        answers = {**answers, **assumed}
    else:
        answers = asked(answers)
    found = advise.advise(answers)
    if given.json:
        print(json.dumps(advice.as_record(answers, found, assumed), indent=2, ensure_ascii=False))
    else:
        print("\n".join([*advice.lines(found), *advice.reservations(answers, assumed)]))
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
