"""Make a folder of a service's state ready: adopt what is there, or lay the first state."""

import contextlib
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
  - A folder that is a file system of its own can't be renamed. The copy is made in it, and its parts are renamed, the proof last.
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

WITHIN = ".clusterwright"
"""What lies beside other folders lies here in a file system of its own, where the program that restores the database looks for it, too."""


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
        _lay(path, seed, proof)
    elif not module.check_mode:
        _forget_laying(path)
    uid, gid = pwd.getpwnam(module.params["owner"]).pw_uid, grp.getgrnam(module.params["group"]).gr_gid
    given = 0 if made and module.check_mode else _give(path, uid, gid, dry=module.check_mode)
    module.exit_json(changed=made or given > 0, made=made, given_to_owner=given)


def _lay(path: str, seed: str | None, proof: str | None) -> None:
    if seed is None:
        os.makedirs(path, mode=0o750)
        return
    if proof and _is_mounted(path):
        _lay_within(path, seed, proof)
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


def _is_mounted(path: str) -> bool:
    """Say whether something is mounted there, a folder of the same file system too, which os.path.ismount does not see."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return os.path.realpath(path) in {line.split()[4] for line in mounts}


def _lay_within(path: str, seed: str, proof: str) -> None:
    beside = os.path.join(path, WITHIN, os.path.basename(path))
    staging, laying, aside = f"{beside}.new", f"{beside}.laying", f"{beside}.set-aside"
    shutil.rmtree(staging, ignore_errors=True)
    os.makedirs(os.path.dirname(beside), mode=0o700, exist_ok=True)
    shutil.copytree(seed, staging, symlinks=True)
    for name in _contents(path):
        if os.path.exists(laying):  # a part of the seed: an earlier run was killed below
            _delete(os.path.join(path, name))
        else:
            os.makedirs(aside, mode=0o700, exist_ok=True)
            os.replace(os.path.join(path, name), os.path.join(aside, name))
    with open(laying, "w", encoding="utf-8"):
        pass
    for name in sorted(_contents(staging), key=lambda name: name == proof):
        os.replace(os.path.join(staging, name), os.path.join(path, name))
    os.remove(laying)
    os.rmdir(staging)


def _forget_laying(path: str) -> None:
    """Take away the mark of a run that was killed when its tables were whole: with it, a later run would take tables without their proof for a part of the seed."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.remove(os.path.join(path, WITHIN, os.path.basename(path) + ".laying"))


def _contents(path: str) -> list[str]:
    return [name for name in os.listdir(path) if name not in (WITHIN, "lost+found")]


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


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
