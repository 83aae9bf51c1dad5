"""Ask Pulumi's engine, without a lock and without a change: the stack's record, the world, and what the program would change."""

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from blueprints.project import project_root

QUIET = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
LAST_LINES = 12


class Unanswered(Exception):
    """The engine could not answer; the text is what it said."""


def record(stack: str) -> Mapping[str, Any]:
    """Give the stack's record, secrets included.

    Raises:
        Unanswered: no such stack, a wrong passphrase, a backend that doesn't answer.
    """
    return _json("stack", "export", "--show-secrets", "--stack", stack)


def world(stack: str) -> Mapping[str, Any]:
    """Give the document of a refresh that is only previewed."""
    return _json("refresh", "--preview-only", "--json", "--non-interactive", "--stack", stack)


def program(stack: str) -> Mapping[str, Any]:
    """Give the document of a preview: what the program asks for against what is recorded."""
    return _json("preview", "--json", "--non-interactive", "--stack", stack)


def _json(*words: str) -> Mapping[str, Any]:
    ended = subprocess.run(
        ["pulumi", *words], cwd=project_root(), env={**os.environ, **QUIET}, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if ended.returncode:
        raise Unanswered(_said(ended.stderr, ended.stdout) or f"`pulumi {words[0]}` ended with status {ended.returncode} and said nothing")
    try:
        document: Mapping[str, Any] = json.loads(ended.stdout)
    except ValueError as error:
        raise Unanswered(f"`pulumi {words[0]}` gave no JSON: {error}") from error
    return document


def _said(*texts: str) -> str:
    """Give what the engine said about its failure: its messages, whether as text or inside of its document."""
    for text in texts:
        try:
            diagnostics = json.loads(text).get("diagnostics", [])
            lines = [one.get("message", "").strip() for one in diagnostics if one.get("severity") == "error"]
        except (ValueError, AttributeError):
            lines = text.strip().splitlines()
        if any(lines):
            return "\n".join(line for line in lines if line)[-2000:]
    return ""
