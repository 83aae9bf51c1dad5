"""When hosts of a stack were last repaired: what acceptance found before that no longer holds."""

import datetime as dt
import json
from collections.abc import Collection, Mapping

from components.files import atomic_files

from .. import project

FILE = "repaired.json"


def read(stack: str) -> Mapping[str, str]:
    """Give host → when it was last repaired (ISO 8601). A file that can't be read is taken for none: it only says when to look again."""
    try:
        found = json.loads((project.private_folder(stack) / FILE).read_text(encoding="utf-8"))
        return {str(host): dt.datetime.fromisoformat(moment).isoformat() for host, moment in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def add(stack: str, hosts: Collection[str]) -> None:
    """Record that hosts are repaired now."""
    if hosts:
        moment = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        repaired = {**read(stack), **dict.fromkeys(hosts, moment)}
        atomic_files.write_text(project.private_folder(stack) / FILE, json.dumps(repaired, indent=1, sort_keys=True) + "\n", mode=0o600)
