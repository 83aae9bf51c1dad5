"""Passwords that BMCs refused: none is tried twice, because BMCs lock users out after a few tries, and checks run every hour.

The file says for each host which password was refused and when, as a salted hash that is slow to compute.
"""

import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.bmc.model import Access, Cause, Unanswered
from components.files import atomic_files

FILE = "bmc-refusals.json"
SALT_BYTES = 16
COST, BLOCK_SIZE, PARALLEL = 2**14, 8, 1  # scrypt(3): 16 MiB and tens of milliseconds for each guess


class Refusals:
    """What is remembered of one user's password."""

    def __init__(self, folder: Path, access: Access):
        self._file = folder / FILE
        known = _read(self._file)
        self._salt = str(known.get("salt") or secrets.token_hex(SALT_BYTES))
        self._refused: dict[str, list[str]] = dict(known.get("refused") or {})
        text = f"{access.user}\0{access.password}".encode()
        self._digest = hashlib.scrypt(text, salt=self._salt.encode(), n=COST, r=BLOCK_SIZE, p=PARALLEL).hex()

    def check(self, host: str) -> None:
        """Refuse to try a password again.

        Raises:
            Unanswered: this host's BMC refused it before.
        """
        digest, moment = self._refused.get(host, ("", ""))
        if digest == self._digest:
            raise Unanswered(Cause.PASSWORD, f"it refused this user and password at {moment}, and is not asked again with them; --try-again does")

    def note(self, answers: Mapping[str, object]) -> None:
        """Remember which hosts refused the password, and forget those that took it."""
        moment = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        before = dict(self._refused)
        for host, answer in answers.items():
            if not isinstance(answer, Unanswered):
                self._refused.pop(host, None)
            elif answer.cause is Cause.PASSWORD and self._refused.get(host, [""])[0] != self._digest:
                self._refused[host] = [self._digest, moment]
        if self._refused != before:
            atomic_files.write_text(self._file, json.dumps({"salt": self._salt, "refused": self._refused}, indent=1), mode=0o600)


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
