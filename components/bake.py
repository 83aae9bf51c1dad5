"""What an image of a software profile is baked from, on any target: the files of the image playbook, its variables, and the script that a builder runs on a fresh system. Pure.

A name that contains the hash of all this makes a changed role another image, and nothing else.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprints.project import project_root

from .finish import content

PLAYBOOK = "image.yml"
FOLDER = "/opt/clusterwright"
"""Where a builder unpacks the archive; gone when the image is done."""
ARCHIVE = f"{FOLDER}/bundle.zip"
"""Where a builder puts the archive."""
ANSIBLE = "ansible-core>=2.19.14,<2.20"


def archive_name() -> str:
    """Name the archive of the playbook's files by their content."""
    return f"bundle-{content.fingerprint(PLAYBOOK)}.zip"


def archive_files() -> dict[str, Path]:
    """List the archive's files, by their names in it: those that the playbook reads, without what Python and editors leave beside them."""
    return {os.path.relpath(path, project_root()): path for path in content.files(PLAYBOOK)}


def variables(software: Mapping[str, Any], *, cloud: str) -> dict[str, Any]:
    """Return the variables of the playbook.

    Args:
        software: the record of the software profile.
        cloud: the cloud whose instances start from the image; empty: hosts of this machine start from it.
    """
    return {"cloud": cloud, "software": dict(software)}


def script(software: Mapping[str, Any], *, cloud: str) -> str:
    """Write the shell script that bakes the machine on which it runs, from the archive beside it, and then removes both."""
    given = json.dumps(variables(software, cloud=cloud), sort_keys=True)
    return "\n".join(
        [
            "set -eu",
            "export DEBIAN_FRONTEND=noninteractive",
            # A fresh system updates itself in its first minutes: let the update that runs finish, and start no other.
            "systemctl stop apt-daily.timer apt-daily-upgrade.timer apt-daily.service apt-daily-upgrade.service",
            "apt-get -o DPkg::Lock::Timeout=600 update",
            "apt-get -o DPkg::Lock::Timeout=600 install -y python3-venv",
            f"python3 -m zipfile -e {ARCHIVE} {FOLDER}",
            f"python3 -m venv {FOLDER}/venv",
            f"{FOLDER}/venv/bin/pip install --quiet '{ANSIBLE}'",
            f"cat > {FOLDER}/variables.json <<'END'\n{given}\nEND",
            f"printf '[image]\\nlocalhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3\\n' > {FOLDER}/inventory",
            f"ANSIBLE_CONFIG={FOLDER}/playbooks/ansible.cfg {FOLDER}/venv/bin/ansible-playbook -i {FOLDER}/inventory"
            f" -e @{FOLDER}/variables.json {FOLDER}/playbooks/{PLAYBOOK}",
            f"rm -rf {FOLDER} /etc/ssh/ssh_host_*",
        ]
    )


def fingerprint(*made_from: object) -> str:
    """Hash what an image is made from, for its name."""
    return hashlib.sha256(" ".join(map(str, made_from)).encode()).hexdigest()[:12]
