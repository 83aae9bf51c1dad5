"""Ansible's modules as they are sent to hosts, kept from run to run.

Ansible puts each module into an archive with all that it imports. It parses all of that to find it (0.2 s for a module), and forgets the archive with the run's temporary folder.
"""

import contextlib
import hashlib
import os
import sys
import time
from pathlib import Path

from ..files import cache

OWN_CODE = ("library", "module_utils")
"""Folders of playbooks, and of roles, whose files are in archives."""
KEPT_S = 30 * 24 * 3600
"""A folder that no run used for as long is removed: another version made it."""


def folder(playbooks: Path) -> Path | None:
    """Give the folder of archives of these playbooks' modules and this Ansible's, for this user alone; None where there can be none, so that each run makes its own."""
    modules = cache.root() / "modules"
    chosen = modules / _key(playbooks)
    try:
        chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = chosen.lstat()
        if about.st_uid != os.geteuid() or about.st_mode & 0o077 or not os.access(chosen, os.W_OK):
            return None  # Ansible trusts what it reads there
        os.utime(chosen)
    except OSError:
        return None
    _remove_unused(modules)
    return chosen


def _key(playbooks: Path) -> str:
    """Hash what archives are made of: the project's own modules by content, wherever they lie; Ansible's by version and place."""
    import ansible

    total = hashlib.sha256(f"{ansible.__version__} {ansible.__file__} {sys.version}".encode())
    for place in (playbooks, *sorted((playbooks / "roles").glob("*"))):
        for file in sorted(file for name in OWN_CODE for file in (place / name).rglob("*.py")):
            total.update(f"\0{file.relative_to(playbooks)}\0".encode() + file.read_bytes())
    return total.hexdigest()[:20]


def _remove_unused(modules: Path) -> None:
    for one in modules.iterdir():
        with contextlib.suppress(OSError):  # another run removes it, too
            if time.time() - one.stat().st_mtime > KEPT_S:
                for file in one.iterdir():
                    file.unlink()
                one.rmdir()
