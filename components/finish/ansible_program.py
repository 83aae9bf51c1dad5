"""`ansible-playbook` that does no work twice: `python -m components.finish.ansible_program ARCHIVES UNPACKED WORDS...`.

Two words come before Ansible's own, each empty where there is none:

- ARCHIVES is a folder with archives of modules that earlier runs made (`module_cache`).
- UNPACKED is a folder on hosts. Python compiles what it imports from an archive each time, 0.1 s of a host's processor for each task; what it imports from a folder it compiles once. So root unpacks
  archives there. Their contents are those of this Ansible and these playbooks, whose hash is part of the folder's name.
"""

import gc
import sys
from pathlib import Path

from ansible import constants
from ansible.cli import playbook
from ansible.executor import module_common

from . import without_worker

ARCHIVES = "ansiballz_cache"
"""Where Ansible looks for archives, in the temporary folder of a run. Source: ansible-core 2.19, executor/module_common.py."""
BEFORE = """\
        sys.path.insert(0, modlib_path)

        from ansible.module_utils._internal._ansiballz import _loader
"""
"""Where the program that unpacks a module on a host is about to import it. Source: ansible-core 2.19, _internal/_ansiballz/_wrapper.py."""
UNPACK = """\
        sys.path.insert(0, modlib_path)
        try:
            if os.geteuid() == 0:
                with zipfile.ZipFile(modlib_path) as archive:
                    for name in archive.namelist():
                        file = os.path.join({folder!r}, name)
                        if not os.path.exists(file):
                            os.makedirs(os.path.dirname(file), mode=0o755, exist_ok=True)
                            with open(file + '.' + str(os.getpid()), 'wb') as part:
                                part.write(archive.read(name))
                            os.rename(part.name, file)
                sys.path.insert(0, {folder!r})
        except OSError:
            pass

        from ansible.module_utils._internal._ansiballz import _loader
"""
"""What it does there. Where it can't write, all stays in the archive."""


def main() -> None:
    """Run a playbook; never returns."""
    gc.freeze()  # what was imported stays: neither this process nor the one of each task looks through it again, a twelfth of their time
    archives, unpacked = sys.argv.pop(1), sys.argv.pop(1)
    if archives:
        Path(constants.DEFAULT_LOCAL_TMP, ARCHIVES).symlink_to(archives)  # Ansible removes the link with its temporary folder
    if unpacked:
        module_common._ANSIBALLZ_CODE = with_unpacking(module_common._ANSIBALLZ_CODE, unpacked)  # noqa: SLF001 - Ansible has no setting for it
    without_worker.use()
    sys.exit(playbook.main())


def with_unpacking(program: str, folder: str) -> str:
    """Give the program of a module on a host with the lines that unpack it; as it is where another Ansible has other lines."""
    return program.replace(BEFORE, UNPACK.format(folder=folder))


if __name__ == "__main__":
    main()
