"""`ansible-playbook` with the archives of modules that earlier runs made (`module_cache`): `python -m components.finish.ansible_program FOLDER WORDS...`.

Without a folder (an empty word) it is `ansible-playbook`.
"""

import sys
from pathlib import Path

from ansible import constants
from ansible.cli import playbook

ARCHIVES = "ansiballz_cache"
"""Where Ansible looks for archives, in the temporary folder of a run. Source: ansible-core 2.19, executor/module_common.py."""


def main() -> None:
    """Run a playbook; never returns."""
    if folder := sys.argv.pop(1):
        Path(constants.DEFAULT_LOCAL_TMP, ARCHIVES).symlink_to(folder)  # Ansible removes the link with its temporary folder
    sys.exit(playbook.main())


if __name__ == "__main__":
    main()
