"""Release a host: what the stack changed becomes what it was before, and what others changed since stays.

What is to be done is decided once, from what was there before, what the stack left and what is there now, and is recorded before anything is changed: a release that was killed goes on with the same plan.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import glob
import os
import shutil
from typing import TYPE_CHECKING, Any

from . import adopt, adoption, data, kernel, lost_mark, merge, mounts, packages, places, root_login, units
from .system import CommandFailed, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .system import System

LOCK_WITHIN_S = 60
COPIES = ("/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/subuid-", "/etc/subgid-", "/etc/.pwd.lock")
"""What tools for users and groups leave. They are as before, whatever is in them now."""
REMAINS = (
    ".ansible", ".kube", "apt-cacher-ng", "chrony", "cni", "clusterwright", "containerd", "containers", "docker-registry", "etcd", "extrausers", "haproxy",
    "keepalived", "kubelet", "kubernetes", "mariadb*", "munge*", "mysql*", "pods", "slurm*",
)  # fmt: skip
"""Names of folders that daemons of the stack fill and their packages leave behind."""
RAILS = "/usr/lib/clusterwright/rails/__main__.py"
"""Takes addresses, MTU, routes and rules of the rails back, in files and in the kernel (playbooks/roles/rails)."""
LEAVE = "/usr/lib/clusterwright/leave.d"
"""Programs that end what the stack runs on a server beside units and files, such as pods (playbooks/roles/kube_leave)."""
LEAVES_WITHIN_S = 300
CLUSTER_USERS = "/var/lib/extrausers/passwd"
SPARE_BYTES = 16 << 20


@dataclasses.dataclass
class Report:
    """What a release says of itself."""

    stays: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    """What is not as before: (what, why)."""
    kept: list[str] = dataclasses.field(default_factory=list)
    """Where data is that stays."""
    purged: int = 0
    restored: int = 0
    """Places that are as before again."""

    def answer(self, state: str) -> dict[str, Any]:
        stays = [{"what": what, "why": why} for what, why in dict.fromkeys(self.stays)]
        return {"state": state, "stays": stays, "kept": self.kept, "purged": self.purged, "restored": self.restored}


def release(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Bring a host to what it was before its adoption.

    Args:
        order: `token`; `group`, which releases the host: one that another group of the stack adopted since stays; `keep`, the folders whose data stays (default: database tables and job state); `lock_within_s`, how long another package manager is waited for.
    Returns:
        `state` (`released`, `free` when nobody had adopted the host, `moved` when another group has it), `stays`, `kept`.
    Raises:
        Refused: the host is another's, or its package manager can't work now. Nothing was changed.
    """
    records = adoption.Record(system)
    kept, mark = records.read(), adoption.mark(system)
    if kept is None and mark is None and not lost_mark.is_still_ours(system, order):
        _remove_own(system)
        return Report().answer("free")
    adopt.require_owner(mark or (kept or {}).get("mark"), order)
    if (group := adoption.setting(system, adoption.GROUP)) and group != order.get("group", group):
        return Report().answer("moved")
    packages.wait_for_lock(system, float(order.get("lock_within_s", LOCK_WITHIN_S)))
    _require_space(system)
    if kept is None:
        kept = lost_mark.record(system, mark or adopt.new_mark(order), records, adoption.setting(system, adoption.ROLE) or str(order.get("role", "")))
    packages.mend(system, kept["before"]["packages"], None if kept["is_open"] else kept["left"]["packages"])
    if "plan" not in kept:
        if kept["is_open"]:
            kept = adopt.close_round(kept, adoption.snapshot(system, records.contents))
        kept["plan"] = _plan(system, kept, records.contents)
        records.write(kept)
    report = Report(stays=[(what, why) for what, why in kept["plan"]["stays"]])
    if not kept["is_complete"]:
        report.stays.append(("what was there before the adoption", "its record was lost: only the scheduler and the stack's own folders were removed"))
    _carry_out(system, kept, records.contents, report, tuple(order.get("keep", (data.STATE,))))
    if not kept["is_complete"]:
        root_login.forbid(system)
    _remove_own(system)
    return report.answer("released")


def _plan(system: System, kept: Mapping[str, Any], contents: places.Contents) -> dict[str, Any]:
    before, left, now = kept["before"], kept["left"], adoption.snapshot(system, None)
    present = packages.installed(system)
    decided = packages.plan(before=before["packages"], left=left["packages"], now=present)
    staying = {path for name in decided.stay for path in packages.files_of(system, name)}
    leaving = {path for name in decided.purge for path in packages.files_of(system, name)}
    targets, stays, copied = decide_places(
        system, before["places"], left["places"], now["places"], contents=contents, staying=staying, leaving=leaving, names=_names_of(system, decided.stay)
    )
    stays += [(f"package {name}", why) for name, why in decided.stay.items()]
    stays += [(f"package {name}", f"its version changed and is not taken back: {change}") for name, change in decided.changed.items()]
    return {
        "packages": dataclasses.asdict(decided),
        "targets": targets,
        "copied": copied,
        "leaving": sorted(path for path in leaving if places.is_in(path, (*places.WHOLE, *places.LISTED))),
        "observed": {path: entry for path, entry in now["places"].items() if places.is_in(path, places.WHOLE)},
        "stop": [name for name in units.to_stop(before=before["units"], left=left["units"], now=now["units"]) if not _is_of(name, staying)],
        "start": units.to_start(before=before["units"], left=left["units"], now=now["units"]),
        "unmount": sorted((one for one in left["mounts"] if one not in before["mounts"] and one in now["mounts"]), key=len, reverse=True),
        "settings": _settings(system, before, targets, left["places"], contents),
        "stays": stays,
    }


def decide_places(
    system: System, before: Mapping[str, places.Entry], left: Mapping[str, places.Entry], now: Mapping[str, places.Entry], *,
    contents: places.Contents, staying: set[str], leaving: set[str], names: str,
) -> tuple[dict[str, places.Entry], list[tuple[str, str]], list[str]]:  # fmt: skip
    """Decide what becomes of each place: (path → what it is brought to, what stays and why, paths of which a copy is kept).

    Args:
        staying: files of packages that stay.
        leaving: files of packages that are purged.
        names: scripts of the packages that stay; users that they name stay.
    """
    targets: dict[str, places.Entry] = {}
    stays: list[tuple[str, str]] = []
    copied: list[str] = []
    skipped = tuple(path for entries in (before, left, now) for path, entry in entries.items() if entry["kind"] == "skipped")
    for path in sorted({*before, *left, *places.OF_DAEMONS}):
        if places.is_in(path, skipped):
            continue
        was, recorded, is_now = (entries.get(path, places.ABSENT) for entries in (before, left, now))
        if (was == recorded and path not in places.OF_DAEMONS) or is_now == was or path in staying or _links_to(path, recorded, staying):
            continue
        if _is_top(path):
            if was["kind"] == "absent" and is_now["kind"] != "absent":
                if path in leaving or places.is_of_logins(system, path) or any(fnmatch.fnmatchcase(os.path.basename(path), name) for name in REMAINS):
                    targets[path] = places.ABSENT
                else:
                    stays.append((path, "it was created while the stack was configured, and no part of the stack is known to own it"))
            elif was["kind"] in ("folder", "link") and recorded["kind"] == "link" and is_now == recorded:
                targets[path] = was  # a link of the stack took its place
        elif path in merge.TABLES and "sha256" in was and "sha256" in is_now:
            if (target := _merged(system, path, was, recorded, is_now, contents, names)) is None:
                stays.append((path, "somebody changed the same lines since the stack did"))
            else:
                targets[path] = target
        elif is_now == recorded or path in COPIES or any(fnmatch.fnmatchcase(path, pattern) for pattern in adoption.OWN_PLACES):
            if was["kind"] == "file" and "sha256" not in was:
                stays.append((path, "the stack changed it, and its content was not kept"))
            else:
                targets[path] = was
        elif is_now["kind"] == "absent":
            if was["kind"] != "absent":
                stays.append((path, "somebody removed it since the stack changed it"))
        elif path in leaving and was["kind"] == "absent":
            copied.append(path)
        elif "sha256" in was and "sha256" in is_now and "sha256" in recorded:
            if (target := _merged(system, path, was, recorded, is_now, contents, "")) is None:
                stays.append((path, "somebody changed the same lines since the stack did"))
            else:
                targets[path] = target
        elif is_now["kind"] == "folder" and was["kind"] == "absent":
            targets[path] = was  # removed if it is empty
        else:
            stays.append((path, "somebody changed it since the stack did"))
    return targets, stays, copied


def _merged(
    system: System, path: str, was: places.Entry, recorded: places.Entry, is_now: places.Entry, contents: places.Contents, names: str
) -> places.Entry | None:
    """Give what a file becomes once the stack's part is taken out; None: that can't be told apart from what others changed."""
    texts = [_text(contents.read(entry["sha256"])) if "sha256" in entry else "" for entry in (was, recorded)]
    present = _text(_read(system.path(path)))
    if texts[0] is None or texts[1] is None or present is None:
        return None
    if names and path in merge.TABLES:
        texts[0] = merge.with_named_rows(texts[0], texts[1], names)
    merged = merge.without(path, before=texts[0], left=texts[1], now=present)
    if merged is None:
        return None
    attributes = {key: was[key] if is_now[key] == recorded.get(key) else is_now[key] for key in ("mode", "owner", "group")}
    return {"kind": "file", **attributes, "sha256": contents.keep(merged.encode("utf-8", "surrogateescape"))}


def _carry_out(system: System, kept: Mapping[str, Any], contents: places.Contents, report: Report, keep: Sequence[str]) -> None:
    plan, before, mark = kept["plan"], kept["before"], kept["mark"]
    _leave(system, report)
    units.stop(system, plan["stop"])
    _end_sessions(system)
    _take_rails_back(system, report)
    for folder in plan["unmount"]:
        if folder in mounts.mounted(system) and (why := mounts.unmount(system, folder)):
            report.stays.append((f"mounted file system {folder}", why))
    report.stays += kernel.restore_tables(system, before=before["tables"], left=kept["left"]["tables"], now=kernel.tables(system))
    report.kept += data.set_aside(system, mark, keep)
    for path in plan["copied"]:
        _copy(system, mark, path, report)
    decided = packages.Plan.read(plan["packages"])
    report.stays += [(f"package {name}", why) for name, why in packages.carry_out(system, decided)]
    report.purged = len(decided.purge)
    restored = _restore_places(system, plan, before["places"], contents, report, keep)
    for name, value in plan["settings"].items():
        if why := kernel.restore_setting(system, name, value):
            report.stays.append((f"kernel setting {name}", why))
    system.answer("systemctl", "daemon-reload")
    system.answer("ldconfig")
    running = units.active(system)
    report.stays += units.start(system, [name for name in plan["start"] if name not in running])
    report.stays += units.read_again(system, restored, set(running) & set(before["units"]))
    _remove_own_files(system)
    in_place = [path for path in keep if data.holds_files(system.path(path))]
    staying = frozenset({adoption.FOLDER, adoption.MARK, data.KEPT, *in_place, *kept["others"]})
    for folder in adoption.OWN_FOLDERS:
        report.stays += [(path, "it is mounted, or holds what is") for path in mounts.remove_tree(system, folder, keep=staying) if path not in staying]


def _restore_places(
    system: System, plan: Mapping[str, Any], before: Mapping[str, places.Entry], contents: places.Contents, report: Report, keep: Sequence[str]
) -> list[str]:
    """Bring all places to their targets; give those that are as wanted."""
    targets = {**_side_effects(system, plan, before), **plan["targets"]}
    restored = []
    present = [path for path, entry in targets.items() if entry["kind"] != "absent"]
    absent = [path for path, entry in targets.items() if entry["kind"] == "absent"]
    for path in (*sorted(absent, reverse=True), *sorted(present)):
        if path == adoption.MARK or path == adoption.MARK.rpartition("/")[0]:
            continue  # the last that is removed
        entry = targets[path]
        if _is_top(path) and entry["kind"] == "absent":
            for one in mounts.remove_tree(system, path, keep=frozenset(keep)):
                report.stays.append((one, "it is mounted, or data that stays"))
            restored.append(path)
        elif why := _restored(system, path, entry, contents):
            report.stays.append((path, why))
        else:
            restored.append(path)
    report.restored = len(restored)
    return restored


def _restored(system: System, path: str, entry: places.Entry, contents: places.Contents) -> str:
    """Bring a place to its target; give why it stays as it is, or nothing."""
    try:
        is_there = places.describe(system, path, is_whole="size" not in entry) == entry
        return "" if is_there else places.restore(system, path, entry, contents)
    except OSError as error:
        return f"it can't be restored: {(error.strerror or str(error)).lower()}"


def _side_effects(system: System, plan: Mapping[str, Any], before: Mapping[str, places.Entry]) -> dict[str, places.Entry]:
    """Name what the packages' removal changed although the stack had not: path → what it was."""
    leaving = set(plan["leaving"])
    return {
        path: entry for path, entry in plan["observed"].items()
        if path not in leaving and path not in plan["targets"] and entry == before.get(path) and places.describe(system, path) != entry
    }  # fmt: skip


def _settings(
    system: System, before: Mapping[str, Any], targets: Mapping[str, places.Entry], left: Mapping[str, places.Entry], contents: places.Contents
) -> dict[str, str]:
    """Give the kernel's settings that the stack's files changed and that still have the stack's value: name → value before."""
    texts = [
        contents.read(left[path]["sha256"]) or b"" for path in targets if path.startswith(kernel.SETTING_FILES) and "sha256" in left.get(path, {})
    ]  # fmt: skip
    now = kernel.settings(system)
    found = {}
    for name, value in kernel.changed_settings([_text(text) or "" for text in texts]).items():
        was = before["settings"].get(name)
        if was is not None and name in now and kernel.same(now[name], value) and not kernel.same(was, value):
            found[name] = was
    return found


def _leave(system: System, report: Report) -> None:
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(system.path(LEAVE))):
            try:
                system.run(system.path(f"{LEAVE}/{name}"), within_s=LEAVES_WITHIN_S)
            except CommandFailed as failure:
                report.stays.append((f"what {name} runs", str(failure)))


def _take_rails_back(system: System, report: Report) -> None:
    if os.path.exists(system.path(RAILS)):
        try:
            system.run("python3", "-B", "-m", "rails", "remove", folder=os.path.dirname(os.path.dirname(RAILS)))
        except CommandFailed as failure:
            report.stays.append(("addresses, routes and rules of rails", str(failure)))


def _end_sessions(system: System) -> None:
    """End what users of the cluster still run: a released host doesn't know these users."""
    for line in system.read(CLUSTER_USERS).splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[2].isdigit() and os.path.isdir(system.path(f"/run/user/{fields[2]}")):
            system.answer("systemctl", "stop", f"user-{fields[2]}.slice")


def _copy(system: System, mark: Mapping[str, Any], path: str, report: Report) -> None:
    """Keep a copy of a configuration that somebody changed, whose package leaves."""
    target = f"{data.folder_of(mark)}/changed{path}"
    if os.path.isfile(system.path(path)):
        data.make_folder(system, mark)
        os.makedirs(os.path.dirname(system.path(target)), exist_ok=True)
        shutil.copy2(system.path(path), system.path(target))
    report.stays.append((target, f"a copy of {path}, which somebody changed; its package was the stack's"))


def _names_of(system: System, stay: Mapping[str, str]) -> str:
    """Give the texts of staying packages in which names of users are."""
    texts = [system.read(f"/var/lib/dpkg/info/{name}.postinst") for name in stay]
    texts += [system.read(path) for name in stay for path in packages.files_of(system, name) if path.startswith("/usr/lib/sysusers.d/")]
    return "\n".join(texts)


def _remove_own_files(system: System) -> None:
    for pattern in adoption.OWN_FILES:
        for path in glob.glob(system.path(pattern)):
            os.unlink(path)


def _remove_own(system: System) -> None:
    """Remove the mark and then the record: whichever of them is there lets a release that was killed go on."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(system.path(adoption.MARK))
    adoption.Record(system).remove()
    for folder in (adoption.MARK.rpartition("/")[0], data.KEPT.rpartition("/")[0]):
        with contextlib.suppress(OSError):  # others' files may be in it
            os.rmdir(system.path(folder))


def _require_space(system: System) -> None:
    status = os.statvfs(system.path("/etc"))
    free = status.f_bavail * status.f_frsize
    if free < SPARE_BYTES:
        raise Refused(
            "the disk of this host is full",
            why=f"/etc has {free / 2**20:.0f} MiB free; files can be restored with {SPARE_BYTES / 2**20:.0f} MiB",
            remedy="free some space (`sudo apt-get clean; sudo journalctl --vacuum-size=50M`), then run the same command again",
        )


def _is_top(path: str) -> bool:
    return path.rpartition("/")[0] in places.TOPS and not places.is_in(path, places.WHOLE)


def _is_of(unit: str, files: set[str]) -> bool:
    return any(os.path.basename(path) == unit for path in files)


def _links_to(path: str, entry: places.Entry, files: set[str]) -> bool:
    """Say whether a place is a link to a file of packages that stay, as those of enabled units are."""
    if entry["kind"] != "link" or not files:
        return False
    target = os.path.normpath(os.path.join(os.path.dirname(path), entry["link"]))
    return target in files or target.replace("/lib/systemd", "/usr/lib/systemd", 1) in files or target.replace("/usr/lib/systemd", "/lib/systemd", 1) in files


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None


def _text(content: bytes | None) -> str | None:
    if content is None or b"\0" in content:
        return None
    return content.decode("utf-8", "surrogateescape")
