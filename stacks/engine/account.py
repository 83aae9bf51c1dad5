"""Ask the account where a cluster is provisioned, for `check --live`, `lookup` and `up`; nothing in it is changed."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Collection
from typing import Any

from blueprints import catalog, finding, live, suppression
from blueprints.codes import Code
from blueprints.load import Loaded
from components import registry

from ..errors import EXIT_USAGE, Problem


@dataclasses.dataclass(frozen=True, slots=True)
class Validated:
    """A blueprint that was validated against its target's account."""

    answers: live.Answers
    findings: tuple[finding.Finding, ...]
    """Those of the file and those of the account."""
    suppressed: tuple[finding.Finding, ...]
    """Those that the blueprint accepts."""


def validate(loaded: Loaded, *, stack: str) -> Validated:
    """Validate a blueprint against its target's account.

    Raises:
        Problem: there is no account to ask, or it can't be asked.
    """
    asked = live.questions(loaded.spec, stack=stack)
    answers: live.Answers = ask(asked.target, asked.region, lambda session: registry.account(asked.target, "ask").answers(asked, session=session))
    of_account = live.check(loaded.spec, loaded.document, answers)
    kept, accepted = suppression.apply(of_account, loaded.blueprint.suppress, loaded.document, today=dt.datetime.now(tz=dt.UTC).date())
    codes = {found.code for found in accepted}
    # Where the account said what it may have, a guess about new accounts says nothing more.
    guessed = (Code.QUOTA_NEEDED,) if answers.knows("quotas") else ()
    of_file = (found for found in loaded.findings if found.code not in guessed and not _is_about(found, loaded, codes))
    about_file = (Code.SUPPRESSION_UNUSED,)  # these the file's own findings may use
    findings = finding.in_order((*of_file, *(found for found in kept if found.code not in about_file)))
    return Validated(answers, findings, (*loaded.suppressed, *accepted))


def _is_about(found: finding.Finding, loaded: Loaded, codes: Collection[str]) -> bool:
    """Say whether a finding calls a suppression unused that accepted something of the account."""
    path = found.where.path if found.where and found.code == Code.SUPPRESSION_UNUSED else None
    return path is not None and len(path) > 1 and isinstance(path[1], int) and loaded.blueprint.suppress[path[1]].code in codes


def require_credentials(target: str, region: str) -> str:
    """Say whose account will be changed, before anything is: the one page about missing or expired keys.

    Returns:
        the account and who it is asked as; empty where a target has no account.
    Raises:
        AccountUnavailable: there are no keys, or they aren't valid.
    """
    if not registry.has_account(target):
        return ""
    who = ask(target, region, lambda session: session.identity())
    return f"{who.account} as {who.who}"


def ask(target: str, region: str, question: Callable[[Any], Any]) -> Any:
    """Ask the account of a target through a session.

    Raises:
        Problem: the target has no account.
        AccountUnavailable: its SDK isn't installed, there are no valid credentials, or nobody answers.
    """
    if not registry.has_account(target):
        able = ", ".join(name for name in catalog.target_names() if registry.has_account(name))
        has = "this version can't ask its account" if catalog.target(target).hosts == "cloud" else "there is no account to ask"
        raise Problem(f"nothing can be looked up on the target {target}", why=has, remedy=f"choose one of: {able} (`--target`)", status=EXIT_USAGE)
    return question(registry.account(target, "session").Session(region))
