"""Mount the file systems of the cluster on this host, at boot and when the host is configured: with Python's standard library alone, 3.9 or later.

`/etc/clusterwright/mounts.json` lists them; each has a unit of systemd. A file system can come minutes after the host: the program tries until a deadline and names what is missing, by mount point. Homes of the
host's own users stay reachable below a file system that is mounted over them: people who administer the host log in with keys that are in these homes.

    site_mounts.py [--wait SECONDS]   mount
    site_mounts.py --unmount [UNIT …]  unmount what the program mounted, or these of it, the last one first
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Any

TABLE = "/etc/clusterwright/mounts.json"
PASSWD = "/etc/passwd"
UNDER = "/var/lib/clusterwright/under"
"""Below it, the folders that file systems are mounted over."""
CREATED = "/var/lib/clusterwright/mount-points.json"
"""Lists folders that the program created to mount a file system there: they leave with it."""
START_WITHIN_S = 100
EACH_S = 2.0

Row = dict[str, Any]
"""`name`, `target`, `source`, `kind` (of mount(8), `bind`, or `present`: the site mounts it), `unit`, `program` (that mounts this kind), `create` (the folder that is mounted is created if it is missing), `within` (the file system that has this folder)."""


def main(words: list[str]) -> int:
    with open(TABLE, encoding="utf-8") as stream:
        rows: list[Row] = json.load(stream)
    if words[:1] == ["--unmount"]:
        return unmount([row for row in rows if len(words) == 1 or row["unit"] in words])
    deadline = time.monotonic() + (float(words[1]) if words[:1] == ["--wait"] else 0)
    while True:
        problems = [problem for row in rows for problem in [mount(row)] if problem]
        if not problems or time.monotonic() >= deadline:
            break
        time.sleep(EACH_S)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def mount(row: Row) -> str:
    """Mount a file system unless it is mounted; return what prevents it, or nothing."""
    target, where = row["target"], f"{row['target']} ({row['source']}) is not mounted"
    if row["kind"] == "present":
        return "" if is_mounted(target) else f"{where}: nothing is mounted there, and the blueprint says that the site's own servers mount it"
    if row.get("program") and not any(
        os.access(os.path.join(folder, row["program"]), os.X_OK) for folder in ("/sbin", "/usr/sbin", "/usr/bin", "/usr/local/sbin")
    ):
        return f"{where}: this host has no {row['program']}, which the client of that file system installs; the distribution's archive does not have it"
    if is_mounted(target):
        other = mounted_source(target)
        if is_source(row, other):
            keep_homes(target)
            return ""
        stopped = run("systemctl", "stop", row["unit"]) if row["unit"] in active_units() else None
        if stopped is None or stopped.returncode != 0 or is_mounted(target):
            return f"{where}: {other or 'something else'} is mounted there, and is in use or was mounted by somebody else"
    if row["kind"] == "bind":
        refused = ready_folder(row)
        if refused:
            return f"{where}: {refused}"
    create(target)
    cover(target)
    started = run("systemctl", "start", row["unit"])
    if started.returncode != 0:
        said = run("journalctl", "--unit", row["unit"], "--lines", "3", "--no-pager", "--output", "cat").stdout
        return f"{where}: {' | '.join(said.split(chr(10)))[:400] or started.stderr.strip()}"
    keep_homes(target)
    print(f"{target} is mounted")
    return ""


def unmount(rows: list[Row]) -> int:
    failed = 0
    for row in reversed(rows):
        target, under = row["target"], below(row["target"])
        if row["kind"] == "present" or not is_source(row, mounted_source(target)):
            continue
        for home in homes(target):
            if is_mounted(home):
                run("umount", home)
        stopped = run("systemctl", "stop", row["unit"])
        if stopped.returncode != 0 or is_mounted(target):
            print(f"{target} stays mounted: {stopped.stderr.strip() or 'it is in use'}", file=sys.stderr)
            keep_homes(target)
            failed += 1
        else:
            if is_mounted(under) and run("umount", under).returncode == 0:
                os.rmdir(under)
            remove_created(target)
    return 1 if failed else 0


def create(target: str) -> None:
    """Create the folder where a file system is mounted, and note what of it is new on the host's own disk."""
    new = []
    folder = target
    while not os.path.isdir(folder):
        new.append(folder)
        folder = os.path.dirname(folder)
    # A folder in a file system that others share may be their mount point, too.
    if new and os.stat(folder).st_dev == os.stat("/").st_dev:
        note(sorted({*created(), *new}))
    if new:
        with contextlib.suppress(OSError):  # the unit says why
            os.makedirs(target, mode=0o755, exist_ok=True)


def remove_created(target: str) -> None:
    """Remove the folder where a file system was mounted, and those around it, where the program created them and they are empty."""
    for folder in reversed(created()):
        if target == folder or target.startswith(f"{folder}/"):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:  # it holds files or another mount point
                continue
            note([one for one in created() if one != folder])


def created() -> list[str]:
    try:
        with open(CREATED, encoding="utf-8") as stream:
            return [str(folder) for folder in json.load(stream)]
    except FileNotFoundError:
        return []


def note(folders: list[str]) -> None:
    os.makedirs(os.path.dirname(CREATED), exist_ok=True)
    with open(f"{CREATED}.new", "w", encoding="utf-8") as stream:
        json.dump(folders, stream)
    os.replace(f"{CREATED}.new", CREATED)


def ready_folder(row: Row) -> str:
    """See that the folder is there that is mounted elsewhere; return what prevents it, or nothing."""
    source = row["source"]
    parent = row.get("within", "")
    if parent and not is_mounted(parent):
        return f"{parent} is not mounted"
    try:
        if row.get("create"):
            os.makedirs(source, mode=0o755, exist_ok=True)
            os.chown(source, *owner(source))
        return "" if os.path.isdir(source) else f"there is no folder {source}"
    except PermissionError:
        return f"root may not write on {parent or source}: its server treats this host's root as nobody. Export it with `no_root_squash` to the controllers"
    except OSError as error:
        return f"{source}: {error.strerror}"


def owner(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_uid, found.st_gid


def is_source(row: Row, mounted: str) -> bool:
    if row["kind"] == "bind":
        try:
            return os.path.samefile(row["source"], row["target"])
        except OSError:
            return False
    return mounted.rstrip("/") == str(row["source"]).rstrip("/")


def cover(target: str) -> None:
    """Keep a way to the folder that a file system is about to hide, where it has homes of the host's own users."""
    under = below(target)
    if homes(target) and not is_mounted(under):
        os.makedirs(under, exist_ok=True)
        # Not shared with the folder itself: the file system must not appear below this one, too.
        run("mount", "--bind", "--make-private", target, under)


def keep_homes(target: str) -> None:
    """Mount homes of the host's own users where they were."""
    under = below(target)
    if not is_mounted(under):
        return
    for home in homes(target):
        kept = under + home[len(target) :]
        if os.path.isdir(kept) and not is_mounted(home):
            try:
                os.makedirs(home, mode=0o755, exist_ok=True)
            except OSError as error:
                print(f"{home} of this host's own user is hidden by {target}: {error.strerror}", file=sys.stderr)
                continue
            run("mount", "--bind", kept, home)


def homes(target: str) -> list[str]:
    """List homes of the host's own users below a folder, where they are or were."""
    with open(PASSWD, encoding="utf-8", errors="replace") as stream:
        entries = [line.rstrip("\n").split(":") for line in stream]
    named = sorted({entry[5].rstrip("/") for entry in entries if len(entry) > 6 and entry[5].startswith(target + "/")})
    under = below(target)
    return [home for home in named if os.path.isdir(under + home[len(target) :] if is_mounted(under) else home)]


def below(target: str) -> str:
    return UNDER + "/" + target.strip("/").replace("/", "-")


def is_mounted(target: str) -> bool:
    """Say whether something is mounted at a folder; os.path.ismount doesn't see a folder of the same file system."""
    return bool(mounted_source(target))


def mounted_source(target: str) -> str:
    """Give the source of the last mount at a folder, as /proc/self/mounts has it; empty: nothing is mounted there."""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as stream:
        found = [line.split()[0] for line in stream if line.split()[1] == target.replace(" ", "\\040")]
    return found[-1] if found else ""


def active_units() -> list[str]:
    shown = run("systemctl", "list-units", "--type=mount", "--plain", "--no-legend", "--no-pager").stdout
    return [line.split()[0] for line in shown.splitlines() if line.strip()]


def run(*argv: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=START_WITHIN_S, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", f"no answer within {START_WITHIN_S} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
