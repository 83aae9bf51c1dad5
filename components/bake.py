"""What an image of a software profile is baked from, on any target: the files of the image playbook, its variables, and the script that a builder runs on a fresh system. Pure.

A name that contains the hash of all this makes a changed role another image, and nothing else.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from blueprints.project import project_root

from .finish import content

PLAYBOOK = "image.yml"
OLDER = "older"
"""Output of a group of hosts: those that were created from an earlier image, and keep it."""
FOLDER = "/opt/clusterwright"
"""Where a builder unpacks the archive; gone when the image is done."""
ARCHIVE = f"{FOLDER}/bundle.zip"
"""Where a builder puts the archive."""
ANSIBLE = "ansible-core"
REQUIREMENTS = "requirements.txt"
"""The archive's file with the versions and hashes of Ansible and all that it needs."""
_CONSTRAINTS = "constraints.txt"
_PARENTS = "    # via "


def archive_name() -> str:
    """Name the archive by the content of its files."""
    return f"bundle-{fingerprint(content.fingerprint(PLAYBOOK), requirements())}.zip"


def requirements() -> str:
    """Write what pip installs on a builder: Ansible and its dependencies from the project's constraints, each with the hashes of its files."""
    entries = dict(_entries((project_root() / _CONSTRAINTS).read_text()))
    needed = {ANSIBLE}
    while more := {name for name, (_, parents) in entries.items() if parents & needed} - needed:
        needed |= more
    return "".join(entries[name][0] for name in sorted(needed))


def _entries(text: str) -> Iterator[tuple[str, tuple[str, set[str]]]]:
    """Read constraints: name → its lines, and the names of the packages that need it."""
    for block in re.split(r"(?m)^(?=[a-z0-9])", text):
        if found := re.match(r"([a-z0-9][a-z0-9._-]*)==", block):
            lines, _, parents = block.partition(_PARENTS)
            yield found[1], (lines, {parent.partition(" ")[0] for parent in parents.split("\n", 1)[0].split(", ")})


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
            f"{FOLDER}/venv/bin/pip install --quiet --require-hashes --only-binary :all: --requirement {FOLDER}/{REQUIREMENTS}",
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
