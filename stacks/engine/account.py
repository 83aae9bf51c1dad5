"""Ask the account where a cluster is provisioned, for `lookup`, `down` and the page about credentials; nothing in it is changed."""

from collections.abc import Callable
from typing import Any

from blueprints import catalog
from components import registry

from ..errors import EXIT_USAGE, Problem


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
        AccountUnavailable: its SDK isn't installed, there are no valid credentials, or the API doesn't answer.
    """
    if not registry.has_account(target):
        able = ", ".join(name for name in catalog.target_names() if registry.has_account(name))
        has = "this version can't ask its account" if catalog.target(target).hosts == "cloud" else "there is no account to ask"
        raise Problem(f"nothing can be looked up on the target {target}", why=has, remedy=f"choose one of: {able} (`--target`)", status=EXIT_USAGE)
    return question(registry.account(target, "session").Session(region))
