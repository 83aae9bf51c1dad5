"""Ask for the passphrase of a stack's secrets when neither the environment nor a file gives it: the engine itself asks only on a terminal of its own."""

import getpass
import os
import sys

from .. import project

VARIABLE = "PULUMI_CONFIG_PASSPHRASE"
FILE_VARIABLE = "PULUMI_CONFIG_PASSPHRASE_FILE"
SALT = "encryptionsalt:"
"""A stack's settings have it when a passphrase protects its secrets."""


def ask_if_needed(stack: str) -> None:
    """Ask on the terminal, once; without one, the engine's error names the variables."""
    settings = project.stack_file(stack)
    is_known = VARIABLE in os.environ or FILE_VARIABLE in os.environ
    if is_known or not sys.stdin.isatty() or not settings.exists() or SALT not in settings.read_text(encoding="utf-8"):
        return
    os.environ[VARIABLE] = getpass.getpass(f"Passphrase of stack {stack}: ")
