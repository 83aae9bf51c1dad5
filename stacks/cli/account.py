"""The account where a cluster will stand: asked for `check --live`, `lookup` and `up`, and for nothing else. Nothing in it is changed."""

import importlib
from collections.abc import Callable
from typing import Any

from blueprints import catalog, finding, live
from blueprints.load import Loaded

from .problem import EXIT_USAGE, Problem

_ASKED_BY = {"aws": "components.aws.account"}
"""Target → the package that asks its account; its SDK is imported only then."""


def examined(loaded: Loaded, *, stack: str) -> tuple[live.Answers, tuple[finding.Finding, ...]]:
    """Hold a blueprint against its target's account.

    Raises:
        Problem: there is no account to ask, or it can't be asked.
    """
    asked = live.questions(loaded.spec, stack=stack)
    answers: live.Answers = ask(asked.target, asked.region, lambda session: _module(asked.target, "ask").answers(asked, session=session))
    return answers, live.check(loaded.spec, loaded.document, answers)


def require_credentials(target: str, region: str) -> str:
    """Say whose account will be changed, before anything is: the one page about missing or expired keys.

    Returns:
        the account and who it is asked as; empty where a target has no account.
    Raises:
        Problem: there are no keys, or they aren't valid.
    """
    if target not in _ASKED_BY:
        return ""
    who = ask(target, region, lambda session: session.identity())
    return f"{who.account} as {who.who}"


def ask(target: str, region: str, question: Callable[[Any], Any]) -> Any:
    """Ask the account of a target through a session.

    Raises:
        Problem: there is no account, its SDK isn't installed, there are no keys or they aren't valid, or nobody answers.
    """
    if target not in _ASKED_BY:
        able = ", ".join(name for name in catalog.target_names() if name in _ASKED_BY)
        has = "this version can't ask its account" if catalog.target(target).hosts == "cloud" else "there is no account to ask"
        raise Problem(f"nothing can be looked up on the target {target}", why=has, remedy=f"choose one of: {able} (`--target`)", status=EXIT_USAGE)
    session = _module(target, "session")
    try:
        return question(session.Session(region))
    except session.Unasked as unasked:
        raise Problem(unasked.what, why=unasked.why, remedy=unasked.remedy) from unasked


def _module(target: str, name: str) -> Any:
    return importlib.import_module(f"{_ASKED_BY[target]}.{name}")
