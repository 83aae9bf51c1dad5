"""The password of BMCs: from the environment, a private file, or an encrypted setting of the stack. It is kept nowhere else."""

import os
import stat
from pathlib import Path

from blueprints import spec

from ..engine import commands
from ..errors import EXIT_USAGE, Problem

VARIABLE = "CLUSTERWRIGHT_BMC_PASSWORD"
"""Before the file and the setting: for schedulers of checks that have secrets of their own."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read(asked: spec.SiteBmc, stack: str) -> str:
    """Give the password.

    Raises:
        Problem: there is none, or others can read its file.
        EngineFailed: the setting can't be decrypted.
    """
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    if asked.password_file:
        return _from_file(Path(asked.password_file).expanduser())
    if asked.secret:
        return commands.answer("config", "get", asked.secret, "--stack", stack).rstrip("\n")
    raise Problem(
        "there is no password for the BMCs",
        why="`inventory.bmc` names neither a file nor a setting",
        remedy=f"write `password_file` or `secret` there, or set {VARIABLE}",
        status=EXIT_USAGE,
    )


def _from_file(path: Path) -> str:
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = f"{path}: {error.strerror or error}" if isinstance(error, OSError) else f"{path} is no text"
        remedy = f"install -m 600 /dev/null {path}\nand write the password into it"
        raise Problem("the password of the BMCs can't be read", why=why, remedy=remedy) from error
    if mode & OTHERS:
        raise Problem(f"others may read {path}", why=f"its mode is {stat.S_IMODE(mode):04o}, and it holds the password of the BMCs", remedy=f"chmod 600 {path}")
    if not (password := text.rstrip("\r\n")):
        raise Problem("the password of the BMCs is empty", why=f"{path} holds no text", remedy="write the password into it")
    return password
