"""Write the cluster's users for libnss-extrausers and make their homes."""

import os
import tempfile
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: cluster_users
short_description: Write the cluster's users for libnss-extrausers and make their homes
description:
  - Users are the blueprint's; who is no longer there is removed from passwd, group and shadow, the home stays.
  - Those that may become root are members of one more group, which every image's sudoers names (role base_os).
options:
  folder:
    description: Where passwd, group and shadow lie.
    type: path
    required: true
  home:
    description: Folder of the homes.
    type: path
    required: true
  shell:
    description: Login shell.
    type: path
    required: true
  users:
    description: Users with C(name), C(uid), C(ssh_keys) and C(admin).
    type: list
    elements: dict
    required: true
  admin_group:
    description: Group of the users that may become root, with C(name) and C(gid).
    type: dict
    required: true
  extra_keys:
    description: Further public key by user name.
    type: dict
    default: {}
"""
RETURN = r"""
removed:
  description: Users that were known before and no longer are.
  returned: always
  type: list
  elements: str
"""

BLOCK_BEGIN = "# BEGIN clusterwright: keys of the blueprint; your own go outside of this block"
BLOCK_END = "# END clusterwright"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "folder": {"type": "path", "required": True},
            "home": {"type": "path", "required": True},
            "shell": {"type": "path", "required": True},
            "users": {"type": "list", "elements": "dict", "required": True},
            "admin_group": {"type": "dict", "required": True},
            "extra_keys": {"type": "dict", "default": {}, "no_log": False},
        },
        supports_check_mode=True,
    )
    parameters = module.params
    users = sorted(parameters["users"], key=lambda user: int(user["uid"]))
    before = _names(os.path.join(parameters["folder"], "passwd"))
    changed_paths: list[str] = []
    for name, text, mode in _tables(users, home=parameters["home"], shell=parameters["shell"], admin_group=parameters["admin_group"]):
        path = os.path.join(parameters["folder"], name)
        if _read(path) != text:
            changed_paths.append(path)
            if not module.check_mode:
                _replace(path, text, mode)
    for user in users:
        extra = parameters["extra_keys"].get(user["name"])
        keys = [*user["ssh_keys"], *([extra] if extra else [])]
        changed_paths += _ensure_home(module, os.path.join(parameters["home"], user["name"]), int(user["uid"]), keys)
    removed = sorted(before - {user["name"] for user in users})
    module.exit_json(changed=bool(changed_paths), changed_paths=changed_paths, removed=removed)


def _tables(users: list[dict[str, Any]], *, home: str, shell: str, admin_group: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Give file name, text and mode of each table; the group of a user has the user's name and number."""
    passwd = "".join(f"{user['name']}:x:{user['uid']}:{user['uid']}::{home}/{user['name']}:{shell}\n" for user in users)
    admins = ",".join(sorted(user["name"] for user in users if user["admin"]))
    group = "".join(f"{user['name']}:x:{user['uid']}:\n" for user in users) + f"{admin_group['name']}:x:{admin_group['gid']}:{admins}\n"
    # `*` is no password; `!` would lock the account, keys included.
    shadow = "".join(f"{user['name']}:*:20000:0:99999:7:::\n" for user in users)
    return [("shadow", shadow, 0o640), ("group", group, 0o644), ("passwd", passwd, 0o644)]


def _names(path: str) -> set[str]:
    return {line.split(":", 1)[0] for line in (_read(path) or "").splitlines()}


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def _replace(path: str, text: str, mode: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".clusterwright-", dir=os.path.dirname(path))
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
        os.fchmod(stream.fileno(), mode)
    os.replace(temporary, path)


def _ensure_home(module: AnsibleModule, home: str, uid: int, keys: list[str]) -> list[str]:
    changed: list[str] = []
    if not os.path.isdir(home):
        changed.append(home)
        if module.check_mode:
            return changed
        os.makedirs(home, mode=0o700, exist_ok=True)  # several hosts may see one folder
        os.chown(home, uid, uid)
        _as_user(uid, lambda: _copy_skeleton(home))
    path = os.path.join(home, ".ssh", "authorized_keys")
    wanted: list[str] = []

    def compare() -> int:
        return 0 if (_read(path) or "") == _with_block(_read(path) or "", keys) else 1

    if _as_user(uid, compare) != 0:
        wanted.append(path)
        if not module.check_mode and _as_user(uid, lambda: _write_keys(path, keys)) != 0:
            module.fail_json(msg=f"{path} could not be written as user {uid}; look at the owner of {home}")
    return changed + wanted


def _as_user(uid: int, action: Any) -> int:
    """Run in a child that is that user: root must not follow links that a user laid in the own home."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.umask(0o077)
            status = int(action() or 0)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _copy_skeleton(home: str) -> None:
    for name in sorted(os.listdir("/etc/skel")):
        text = _read(os.path.join("/etc/skel", name)) or ""
        with open(os.path.join(home, name), "w", encoding="utf-8") as stream:
            stream.write(text)


def _write_keys(path: str, keys: list[str]) -> int:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _replace(path, _with_block(_read(path) or "", keys), 0o600)
    return 0


def _with_block(text: str, keys: list[str]) -> str:
    """Replace our block of keys in the text, or append it."""
    lines = text.splitlines()
    if BLOCK_BEGIN in lines and BLOCK_END in lines:
        begin, end = lines.index(BLOCK_BEGIN), lines.index(BLOCK_END)
        lines = lines[:begin] + lines[end + 1 :]
    return "".join(f"{line}\n" for line in [*lines, BLOCK_BEGIN, *keys, BLOCK_END])


if __name__ == "__main__":
    main()
