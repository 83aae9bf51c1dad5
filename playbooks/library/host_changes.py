"""Keep the record of a host true while packages are installed on it that it must restart for."""

import fnmatch
import os
from collections.abc import Sequence
from typing import Any

from ansible.module_utils import host_places, installed_record
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_changes
short_description: Keep the record of a host true while packages are installed on it
description:
  - Called before and after an installation on a host that has a record already. What changed between the two calls joins the record
    (C(/var/lib/clusterwright/record/installed.json)); what somebody changed earlier stays drift.
  - A mark says from the first call on that the host has to restart. The second call removes it when no package changed. A restart removes it, too.
  - A run that ends between the two calls is made good by the next one, since what was there before is kept on the disk until the second call.
options:
  moment:
    description: C(before) the installation or C(after) it.
    type: str
    choices: [before, after]
    required: true
  patterns:
    description: Names of packages, as patterns, whose recorded versions C(before) gives where somebody replaced or removed them.
    type: list
    elements: str
    default: []
"""
RETURN = r"""
packages:
  description: Packages that were installed, removed or got another version, after the installation.
  returned: always
  type: list
  elements: str
restart:
  description: Whether the host has to restart for what was installed, now or by an earlier run.
  returned: always
  type: bool
replaced:
  description: Packages with their recorded versions (C(name=version)), where somebody installed others or removed them.
  returned: always
  type: list
  elements: str
"""

CHANGING = f"{host_places.RECORD_FOLDER}/changing.json"
MARK = "/run/clusterwright/pending/restart"
"""Gone after a restart, as everything below /run."""


def main() -> None:
    patterns = {"type": "list", "elements": "str", "default": []}
    moment = {"type": "str", "choices": ["before", "after"], "required": True}
    module = AnsibleModule(argument_spec={"moment": moment, "patterns": patterns}, supports_check_mode=True)
    packages: list[str] = []
    others: list[str] = []
    if not module.check_mode:
        if module.params["moment"] == "before":
            others = begin(module.params["patterns"])
        else:
            packages = end()
    module.exit_json(changed=False, packages=packages, restart=os.path.exists(MARK), replaced=others)


def begin(patterns: Sequence[str] = ()) -> list[str]:
    """Keep what is there, unless a run that was interrupted kept it; give the recorded packages that somebody had replaced or removed by then."""
    before = installed_record.begin(CHANGING, was_marked=os.path.exists(MARK))
    os.makedirs(os.path.dirname(MARK), exist_ok=True)
    with open(MARK, "w", encoding="utf-8"):
        pass
    return replaced(host_places.read_json(host_places.INSTALLED) or {"packages": {}}, before, patterns)


def replaced(recorded: dict[str, Any], before: dict[str, Any], patterns: Sequence[str]) -> list[str]:
    """Give the packages that differ from the record, with the recorded version. Pure."""
    return [
        f"{name}={_version(recorded, name)}"
        for name in sorted(recorded["packages"])
        if _version(before, name) != _version(recorded, name) and any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]


def end() -> list[str]:
    """Record what changed, and name the packages."""
    before = host_places.read_json(CHANGING)
    if before is None:
        return []
    now = installed_record.end(before)
    changed = sorted(name for name in {*before["packages"], *now["packages"]} if _version(before, name) != _version(now, name))
    if not changed and not before["was_marked"]:
        os.unlink(MARK)
    os.unlink(CHANGING)
    return changed


def _version(seen: dict[str, Any], package: str) -> str:
    version: str = seen["packages"].get(package, {}).get("version", "")
    return version


if __name__ == "__main__":
    main()
