"""Set who may write at the top of shared file systems."""

import os
import stat

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: shared_folders
short_description: Set who may write at the top of shared file systems
description:
  - Sets owner and mode of the top folder, and of nothing below it.
  - A folder without C(writable_by) becomes writable for all users while it is new (root's, mode 0755, empty). Afterwards it stays as it is.
  - A folder that belongs to somebody else than root is never changed; with C(writable_by) that is an error.
  - What is not mounted, and what a program serves (FUSE) as buckets are, is left alone.
options:
  folders:
    description: File systems with C(mount) and, if the blueprint says so, C(writable_by).
    type: list
    elements: dict
    required: true
  homes:
    description: Folder of the homes, which has no default.
    type: path
    required: true
  admin_gid:
    description: Number of the administrators' group.
    type: int
    required: true
"""
RETURN = r"""
changed_paths:
  description: Folders that got another owner or mode.
  returned: always
  type: list
  elements: str
"""

ROOT = 0
NEW = (ROOT, ROOT, 0o755)
"""Owner, group and mode of a file system's top folder before anybody used it."""
ALWAYS_THERE = frozenset({"lost+found", ".snapshot", ".lustre"})
"""What file systems make themselves."""

State = tuple[int, int, int]


class Refused(Exception):
    """The folder can't be what the blueprint says."""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "folders": {"type": "list", "elements": "dict", "required": True},
            "homes": {"type": "path", "required": True},
            "admin_gid": {"type": "int", "required": True},
        },
        supports_check_mode=True,
    )
    changed: list[str] = []
    refused: list[str] = []
    mounted, served = _mounted()
    for folder in module.params["folders"]:
        path = folder["mount"]
        writers = folder.get("writable_by") or ("" if path == module.params["homes"] else None)
        if writers == "" or path not in mounted or path in served:
            continue
        try:
            wanted = decide(_state(path), is_empty=not set(os.listdir(path)) - ALWAYS_THERE, writers=writers, admin_gid=module.params["admin_gid"], path=path)
        except Refused as words:
            refused.append(str(words))
            continue
        if wanted is not None:
            changed.append(path)
            if not module.check_mode:
                _set(path, wanted)
    if refused:
        module.fail_json(msg="; ".join(refused), changed_paths=changed)
    module.exit_json(changed=bool(changed), changed_paths=changed)


def decide(present: State, *, is_empty: bool, writers: str | None, admin_gid: int, path: str) -> State | None:
    """Say which owner, group and mode a folder gets; None: it stays as it is.

    Args:
        writers: what the blueprint says; None where it says nothing.
    Raises:
        Refused: the blueprint says something, and the folder belongs to somebody else than root.
    """
    states = {"users": (ROOT, ROOT, 0o1777), "administrators": (ROOT, admin_gid, 0o3775), "root": NEW}
    if writers is None:
        return states["users"] if present == NEW and is_empty else None
    if present == states[writers]:
        return None
    owner, group, _ = present
    if owner != ROOT or group not in (ROOT, admin_gid):
        raise Refused(
            f"{path} belongs to user {owner} and group {group}, so that it stays as it is, although the blueprint says `writable_by: {writers}`: "
            f"`chown root:root {path}` on this host lets the next `up` change it, or remove `writable_by`"
        )
    return states[writers]


def _state(path: str) -> State:
    found = os.stat(path)
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def _set(path: str, wanted: State) -> None:
    owner, group, mode = wanted
    os.chown(path, owner, group)
    os.chmod(path, mode)


def _mounted() -> tuple[set[str], set[str]]:
    """Give the places where something is mounted, and those of them that a program serves. os.path.ismount doesn't see a folder of the same file system."""
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        kinds = {fields[1]: fields[2] for fields in map(str.split, mounts)}
    return set(kinds), {path for path, kind in kinds.items() if kind.startswith("fuse")}


if __name__ == "__main__":
    main()
