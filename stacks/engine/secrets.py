"""Secrets of a stack that can't be decrypted any more: recognize that, and go on without them.

Nothing but the passphrase (or the key service) decrypts them, and nothing needs the old ones: what was generated can be generated again, and what exists can be deleted without them.
"""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from components.files import atomic_files

from ..errors import Problem
from ..project import stack_file
from . import commands, state

PASSPHRASE, PASSPHRASE_FILE = "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"
PASSPHRASE_BYTES = 32
SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Marks a value that is not plain (Pulumi's `sdk/go/common/resource/sig`)."""
SECRET = "1b47061264138c4ac30d75fd1eb44270"
STACK = "pulumi:pulumi:Stack"
OF_PROVIDER = re.compile(r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?", re.MULTILINE)
"""Lines of a stack's settings that say who decrypts."""
ENCRYPTED = re.compile(r"^\s+[\"']?secure[\"']?:", re.MULTILINE)


def forget(stack: str) -> bool:
    """Take the secrets that can't be decrypted out of the stack's record, so that the next operation generates them again; say whether there were any.

    Raises:
        Refusal: nothing was changed: the record can't be read, somebody else changes the stack, or the settings hold encrypted values.
    """
    if not state.exists(stack):
        _forget_settings(stack)  # those of a deleted stack: a new one could not be created with them
        return False
    try:
        commands.outputs(stack)
    except commands.Undecipherable:
        pass
    else:
        print(f"the secrets of stack {stack} can be decrypted; they are kept")
        return False
    record = commands.record(stack)
    _forget_settings(stack)
    state.replace_record(stack, without_secrets(record), instead_of=record)
    print(f"stack {stack} goes on without its secrets: all keys and passwords that it generated are generated again")
    return True


def _forget_settings(stack: str) -> None:
    """Remove from the stack's settings what only the lost passphrase fits, so that the engine begins with the present one."""
    settings = stack_file(stack)
    text = settings.read_text() if settings.exists() else ""
    if ENCRYPTED.search(text):
        raise Problem(
            f"the settings of stack {stack} hold encrypted values that can't be decrypted",
            why=f"{settings} has values with `secure:`, and only you know what they were",
            remedy="remove these keys from the file, run this command again, then set them with `pulumi config set --secret`",
        )
    _make_passphrase()
    without = OF_PROVIDER.sub("", text)
    if without.strip():
        atomic_files.write_text(settings, without)
    else:
        settings.unlink(missing_ok=True)


def without_secrets(record: Mapping[str, Any]) -> dict[str, Any]:
    """Give the record with an empty value of the right type in place of each secret. Pure.

    A secret that is empty counts as lost when the stack is refreshed, and is created again.
    """
    deployment = {name: value for name, value in record["deployment"].items() if name != "secrets_providers"}
    from components.provider import kinds  # all that the provider can do takes its time to load

    maps = {kind.token: frozenset(_map_fields(kind.inputs)) for kind in kinds.kinds().values()}
    for name in ("resources", "pending_operations"):
        deployment[name] = [_emptied(one, kind=_type_of(one), maps=maps) for one in deployment.get(name) or ()]
    return {**record, "deployment": deployment}


def _type_of(entry: Mapping[str, Any]) -> str:
    found: str = entry.get("resource", entry)["type"]
    return found


def _map_fields(inputs: type) -> list[str]:
    return [name for name, hint in get_type_hints(inputs).items() if get_origin(hint) is dict]


def _emptied(value: Any, *, kind: str, maps: Mapping[str, frozenset[str]], name: str = "") -> Any:
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return {} if kind == STACK or name in maps.get(kind, ()) else ""
        return {key: _emptied(one, kind=kind, maps=maps, name=key) for key, one in value.items()}
    if isinstance(value, list):
        return [_emptied(one, kind=kind, maps=maps, name=name) for one in value]
    return value


def _make_passphrase() -> None:
    """Generate a passphrase where the shell names a file for it that is missing or empty."""
    if PASSPHRASE in os.environ:
        return
    file = Path(os.environ.get(PASSPHRASE_FILE, ""))
    if not file.name:
        raise Problem(
            "no passphrase is chosen for new secrets",
            why=f"neither {PASSPHRASE} nor {PASSPHRASE_FILE} is set",
            remedy=f"export {PASSPHRASE_FILE}=~/.clusterwright-passphrase\nthen the same command again, which writes a new one there",
        )
    if not file.exists() or not file.read_text().strip():
        atomic_files.write_text(file, secrets.token_urlsafe(PASSPHRASE_BYTES) + "\n", mode=0o600)
