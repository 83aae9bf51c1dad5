"""Make a folder of a service's state ready: adopt what is there, or lay the first state."""

import grp
import os
import pwd
import shutil

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: adopted_folder
short_description: Make a folder of a service's state ready
description:
  - State lives on a volume that outlives the host's disk. After the disk was replaced, the same user can have another number, so everything in
    the folder is given to its owner again.
  - A folder without state is filled from a seed. The copy is made beside the folder and renamed, so that a half-made one is never adopted.
options:
  path:
    description: The folder.
    type: path
    required: true
  seed:
    description: A folder to copy when there is no state yet; none, an empty folder is state enough.
    type: path
  proof:
    description: A name in the folder that is there when it holds state.
    type: str
  owner:
    description: Who owns everything in it.
    type: str
    required: true
  group:
    description: The group that owns everything in it.
    type: str
    required: true
"""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "seed": {"type": "path"},
            "proof": {"type": "str"},
            "owner": {"type": "str", "required": True},
            "group": {"type": "str", "required": True},
        },
        required_together=[("seed", "proof")],
        supports_check_mode=True,
    )
    path, seed, proof = module.params["path"], module.params["seed"], module.params["proof"]
    made = not os.path.lexists(os.path.join(path, proof) if proof else path)
    if made and not module.check_mode:
        _lay(path, seed)
    uid, gid = pwd.getpwnam(module.params["owner"]).pw_uid, grp.getgrnam(module.params["group"]).gr_gid
    given = 0 if made and module.check_mode else _give(path, uid, gid, dry=module.check_mode)
    module.exit_json(changed=made or given > 0, made=made, given_to_owner=given)


def _lay(path: str, seed: str | None) -> None:
    if seed is None:
        os.makedirs(path, mode=0o750)
        return
    staging = f"{path}.new"
    shutil.rmtree(staging, ignore_errors=True)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copytree(seed, staging, symlinks=True)
    if os.path.isdir(path):
        # Empty or half-made by somebody else: kept, as nothing here may delete what could be a database.
        if os.listdir(path):
            os.replace(path, f"{path}.set-aside")
        else:
            os.rmdir(path)
    os.replace(staging, path)


def _give(path: str, uid: int, gid: int, *, dry: bool) -> int:
    wrong = [name for name in _everything(path) if _owner(name) != (uid, gid)]
    if not dry:
        for name in wrong:
            os.chown(name, uid, gid, follow_symlinks=False)
    return len(wrong)


def _everything(path: str) -> list[str]:
    found = [path]
    for folder, folders, files in os.walk(path):
        found += [os.path.join(folder, name) for name in (*folders, *files)]
    return found


def _owner(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_uid, status.st_gid


if __name__ == "__main__":
    main()
