"""Read in one step what the playbooks want to know of a host before they change it."""

import base64
import hashlib
import json
import os
import subprocess
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_facts
short_description: Read what the playbooks want to know of a host
description: Image marker, control group version, clock, checksum of the MUNGE key and states of units, in one round trip. Changes nothing.
options:
  units:
    description: Units whose state is wanted.
    type: list
    elements: str
    default: []
  exist:
    description: Paths to look for.
    type: list
    elements: str
    default: []
  asked_s:
    description: When the one who asks asked, seconds since 1970 by their clock.
    type: float
"""
RETURN = r"""
exist:
  description: Those of the paths where something is.
  returned: always
  type: list
  elements: str
image:
  description: The image marker as written by the bake, empty on a host that was not baked.
  returned: always
  type: dict
cgroup:
  description: C(v1), C(v2) or C(none); none when the host sees control groups but no controllers.
  returned: always
  type: str
clock_ahead_s:
  description: How far the host's clock was ahead of O(asked_s) when the question arrived. Later tasks may wait as long as they like.
  returned: when O(asked_s) is given
  type: float
munge_key_sha256:
  description: SHA-256 of the installed MUNGE key in base64 (Jinja can hash text only), empty without a key.
  returned: always
  type: str
munge_key_is_newer:
  description: Whether the MUNGE key was installed after the daemon started, which read another one or none.
  returned: always
  type: bool
units:
  description: ActiveState of each unit asked for.
  returned: always
  type: dict
"""

IMAGE_MARKER = "/etc/clusterwright/image.json"
MUNGE_KEY, MUNGE_STARTED = "/etc/munge/munge.key", "/run/munge/munged.pid"
CGROUP_ROOT = "/sys/fs/cgroup"


def main() -> None:
    now_s = time.time()
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "default": []},
            "exist": {"type": "list", "elements": "str", "default": []},
            "asked_s": {"type": "float"},
        },
        supports_check_mode=True,
    )
    asked_s = module.params["asked_s"]
    module.exit_json(
        changed=False,
        image=_image(),
        cgroup=_cgroup(),
        clock_ahead_s=None if asked_s is None else round(now_s - asked_s, 1),
        munge_key_sha256=_key_checksum(),
        munge_key_is_newer=is_newer(MUNGE_KEY, MUNGE_STARTED),
        exist=[path for path in module.params["exist"] if os.path.lexists(path)],
        units=_units(module.params["units"]),
    )


def _image() -> dict[str, Any]:
    try:
        with open(IMAGE_MARKER, encoding="utf-8") as stream:
            return dict(json.load(stream))
    except (FileNotFoundError, ValueError):
        return {}


def _cgroup() -> str:
    try:
        with open(f"{CGROUP_ROOT}/cgroup.controllers", encoding="utf-8") as stream:
            return "v2" if {"cpuset", "memory"} <= set(stream.read().split()) else "none"
    except FileNotFoundError:
        return "v1" if os.path.isdir(f"{CGROUP_ROOT}/devices") else "none"


def _key_checksum() -> str:
    try:
        with open(MUNGE_KEY, "rb") as stream:
            return hashlib.sha256(base64.b64encode(stream.read())).hexdigest()
    except FileNotFoundError:
        return ""


def is_newer(path: str, than: str) -> bool:
    """Say whether a file was written after another one; False where one of them is missing."""
    try:
        return os.stat(path).st_mtime_ns > os.stat(than).st_mtime_ns
    except FileNotFoundError:
        return False


def _units(names: list[str]) -> dict[str, str]:
    if not names:
        return {}
    shown = subprocess.run(["systemctl", "is-active", *names], capture_output=True, text=True, check=False, timeout=30).stdout.split()
    return dict(zip(names, shown, strict=False))


if __name__ == "__main__":
    main()
