"""Write several small files, folders and links of one host in a single step."""

import hashlib
import os
import stat
import tempfile
from typing import Any

from ansible.module_utils import host_places
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: files
short_description: Write several small files, folders and links in one step
description:
  - One task on one host costs a round trip and a Python start there, whatever it does; a role that renders six files pays once with this module.
  - Files are replaced by rename, so that a reader sees the old text or the new one and never half of it.
  - What was asked for is recorded on the host (C(/var/lib/clusterwright/record/written.json)), texts that are not secret included; drift checks
    compare with it. The record is never a reason to say that something changed.
options:
  entries:
    description: What to have, in order. An entry has C(content) (a file), C(link) (a symbolic link to that), C(folder) (true) or C(absent) (true).
    type: list
    elements: dict
    required: true
  secret:
    description: Keep texts out of the difference shown.
    type: bool
    default: false
  pending:
    description:
      - Name of a mark that is set before anything is changed and stays until whoever takes the change over removes it (C(absent)). A run that ends
        between the change and the restart is so made good by the next one. The mark is gone after a reboot, when every service starts again.
    type: str
"""
RETURN = r"""
changed_paths:
  description: The paths that were not as described.
  returned: always
  type: list
  elements: str
pending:
  description: Whether a change, of this run or an earlier one, waits for being taken over.
  returned: when O(pending) is given
  type: bool
"""

PENDING_FOLDER = "/run/clusterwright/pending"

ENTRY = {
    "path": {"type": "path", "required": True},
    "content": {"type": "str", "no_log": False},
    "link": {"type": "str"},
    "folder": {"type": "bool", "default": False},
    "absent": {"type": "bool", "default": False},
    "mode": {"type": "str"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "entries": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": ENTRY,
                "mutually_exclusive": [("content", "link")],
            },
            "secret": {"type": "bool", "default": False},
            "pending": {"type": "str"},
        },
        supports_check_mode=True,
    )
    changed: list[str] = []
    differences: list[dict[str, str]] = []
    mark = os.path.join(PENDING_FOLDER, module.params["pending"]) if module.params["pending"] else None
    for entry in module.params["entries"]:
        if mark and not module.check_mode and _would_change(entry):
            _touch(mark)
        difference = _ensure(module, entry)
        if difference is not None:
            changed.append(entry["path"])
            differences.append(difference)
    if module.params["secret"]:
        differences = []
    if not module.check_mode:
        _record(module.params["entries"], secret=module.params["secret"])
    module.exit_json(changed=bool(changed), changed_paths=changed, diff=differences, pending=mark is not None and (bool(changed) or os.path.exists(mark)))


def _record(entries: list[dict[str, Any]], *, secret: bool) -> None:
    """Keep what was asked for. Marks and other places that live until the next boot are nobody's drift."""
    lasting = {entry["path"]: recorded_entry(entry, secret=secret) for entry in entries if not entry["path"].startswith("/run/")}
    if lasting:
        host_places.write_json(host_places.WRITTEN, (host_places.read_json(host_places.WRITTEN) or {}) | lasting)


def recorded_entry(entry: dict[str, Any], *, secret: bool) -> dict[str, Any]:
    """Describe what an entry asks for, in the form in which a drift check describes what is there."""
    if entry["absent"]:
        return {"kind": "absent"}
    if entry["link"] is not None:
        return {"kind": "link", "link": entry["link"]}
    attributes = {"owner": entry["owner"] or "root", "group": entry["group"] or "root"}
    if entry["folder"]:
        return {"kind": "folder", **attributes, "mode": f"{int(entry['mode'] or '0755', 8):04o}"}
    content = (entry["content"] or "").encode("utf-8", "surrogateescape")
    described = {"kind": "file", **attributes, "mode": f"{int(entry['mode'] or '0644', 8):04o}", "sha256": hashlib.sha256(content).hexdigest()}
    return described if secret or len(content) > host_places.TEXT_LIMIT_BYTES else {**described, "text": entry["content"] or ""}


def _would_change(entry: dict[str, Any]) -> bool:
    return not entry["absent"] and entry["content"] is not None and _read(entry["path"]) != entry["content"]


def _touch(mark: str) -> None:
    os.makedirs(PENDING_FOLDER, exist_ok=True)
    with open(mark, "w", encoding="utf-8"):
        pass


def _ensure(module: AnsibleModule, entry: dict[str, Any]) -> dict[str, str] | None:
    path = entry["path"]
    if entry["absent"]:
        return _ensure_absent(module, path)
    if entry["link"] is not None:
        return _ensure_link(module, path, entry["link"])
    if entry["folder"]:
        return _ensure_folder(module, entry)
    return _ensure_file(module, entry)


def _ensure_absent(module: AnsibleModule, path: str) -> dict[str, str] | None:
    if not os.path.lexists(path):
        return None
    if not module.check_mode:
        if os.path.isdir(path) and not os.path.islink(path):
            module.fail_json(msg=f"{path} is a folder; only files and links are removed here")
        os.unlink(path)
    return _difference(path, "present\n", "absent\n")


def _ensure_link(module: AnsibleModule, path: str, target: str) -> dict[str, str] | None:
    before = os.readlink(path) if os.path.islink(path) else ("a file\n" if os.path.lexists(path) else "")
    if before == target:
        return None
    if not module.check_mode:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.new"
        if os.path.lexists(temporary):
            os.unlink(temporary)
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)  # A folder that holds anything stays, and the task fails.
        os.symlink(target, temporary)
        os.replace(temporary, path)
    return _difference(path, before, target)


def _ensure_folder(module: AnsibleModule, entry: dict[str, Any]) -> dict[str, str] | None:
    path = entry["path"]
    made = not os.path.isdir(path)
    if made and not module.check_mode:
        os.makedirs(path, exist_ok=True)
    wrong = made if module.check_mode and made else _set_attributes(module, entry, default_mode="0755")
    return _difference(path, "absent\n" if made else "other owner or mode\n", "folder\n") if made or wrong else None


def _ensure_file(module: AnsibleModule, entry: dict[str, Any]) -> dict[str, str] | None:
    path, content = entry["path"], entry["content"] or ""
    before = _read(path)
    if before != content:
        if not module.check_mode:
            _replace(module, entry, content)
        return _difference(path, before or "", content)
    if _set_attributes(module, entry, default_mode="0644"):
        return _difference(path, "other owner or mode\n", "owner and mode as described\n")
    return None


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def _replace(module: AnsibleModule, entry: dict[str, Any], content: str) -> None:
    folder = os.path.dirname(entry["path"])
    os.makedirs(folder, exist_ok=True)
    # The temporary file lies beside the final one: a rename works only inside one file system.
    handle, temporary = tempfile.mkstemp(prefix=".clusterwright-", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        _set_attributes(module, {**entry, "path": temporary}, default_mode="0644")
        os.replace(temporary, entry["path"])
    except BaseException:
        os.unlink(temporary)
        raise


def _set_attributes(module: AnsibleModule, entry: dict[str, Any], *, default_mode: str) -> bool:
    path = entry["path"]
    if not os.path.lexists(path):
        return False
    wanted = int(entry["mode"] or default_mode, 8)
    changed = stat.S_IMODE(os.stat(path).st_mode) != wanted
    if changed and not module.check_mode:
        os.chmod(path, wanted)
    changed = module.set_owner_if_different(path, entry["owner"] or "root", changed)
    return bool(module.set_group_if_different(path, entry["group"] or "root", changed))


def _difference(path: str, before: str, after: str) -> dict[str, str]:
    return {"before_header": path, "after_header": path, "before": before, "after": after}


if __name__ == "__main__":
    main()
