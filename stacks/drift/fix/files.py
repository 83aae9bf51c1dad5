"""Files, folders and links: content, owner and mode come back from the host's own record; what somebody added is moved aside. Pure."""

import fnmatch

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile
from blueprints.finding.values import FileContent, FileState, LinkTarget, Values
from components.finish import restorable_findings
from components.inspection.codes import Code

from . import names
from .step import Cluster, Command, Order, Step

OWNER_AND_MODE = 'chown -h -- "$1" "$3" && chmod -- "$2" "$3"'
"""One command for both: the mode follows the owner, as chown(2) clears bits of it."""
_KEEP = """keep() {
    [ -e "$1" ] || [ -L "$1" ] || return 0
    (umask 077 && mkdir -p -- "$2${1%/*}")
    if [ "$3" = copy ] && { [ ! -d "$1" ] || [ -L "$1" ]; }; then cp -a -- "$1" "$2$1"; else mv -T -- "$1" "$2$1"; fi
    [ -L "$2$1" ] || chmod -R a-s -- "$2$1"
}
set -eu
umask 022
"""
MOVE_ASIDE = _KEEP + 'keep "$1" "$2" move\n'
"""path, folder"""
WRITE = (
    _KEEP
    + """mkdir -p -- "${1%/*}"
new=$(mktemp -- "${1%/*}/.clusterwright-XXXXXX")
trap 'rm -f -- "$new"' EXIT
cat >"$new"
chown -- "$3" "$new"
chmod -- "$4" "$new"
keep "$1" "$2" copy
mv -fT -- "$new" "$1"
"""
)
"""path, folder for what is there, owner, mode; the content on standard input. A reader sees the old text or the new one."""
LINK = _KEEP + '[ -L "$1" ] || keep "$1" "$2" move\nmkdir -p -- "${1%/*}"\nln -sfnT -- "$3" "$1"\n'
"""path, folder for what is there, target"""
MAKE_FOLDER = _KEEP + '[ -d "$1" ] && [ ! -L "$1" ] || keep "$1" "$2" move\nmkdir -p -- "$1"\nchown -h -- "$3" "$1"\nchmod -- "$4" "$1"\n'
"""path, folder for what is there, owner, mode"""
REINSTALL = """set -eu
owner=$(dpkg-query --search -- "$1" | sed -n 's/^\\([a-z0-9][^ ,:]*\\).*: .*/\\1/p' | head -n 1)
[ -n "$owner" ] || { echo "no package owns $1" >&2; exit 1; }
version=$(dpkg-query --show --showformat='${Version}' -- "$owner")
is_back() { ! dpkg --verify -- "$owner" | sed 's/^[^/]*//' | grep -qxF -- "$path" || { echo "E: no archive has $owner $version"; return 1; }; }
again() { apt-get install --yes --quiet --option=Acquire::Retries=0 --reinstall --allow-downgrades --allow-change-held-packages --option=Dpkg::Options::=--force-confmiss --option=Dpkg::Options::=--force-confnew -- "$owner=$version" && is_back; }
path=$1
held=$(apt-mark showhold -- "$owner")
again || { apt-get update --quiet --option=Acquire::Retries=0 --error-on=any && again; }
[ -z "$held" ] || apt-mark hold -- "$owner"
"""
"""path. Without lists of packages, apt-get says that it can't download the package, and succeeds."""
SYNCHRONIZE = {"/etc/shadow": "pwconv", "/etc/gshadow": "grpconv"}
"""Programs that remove from a table of passwords what the public table beside it doesn't have (pwconv(8))."""
ADOPTION_PROGRAM = "/var/lib/clusterwright/adoption/release.py"
"""What adopting leaves on a server (`components/metal/guest/main.py`)."""
RESTORE_TABLE = _KEEP + 'if [ -e "$4" ]; then\n    keep "$1" "$2" copy\n    ! python3 -IS "$4" restore "$1" "$3" || exit 0\nfi\nexec "$5"\n'
"""path, folder for what is there, checksum, program of adopting, program that synchronizes. Other hosts, and servers that don't know the content, can only be rid of rows without a user."""

RELOADS = (
    ("/etc/systemd/system/*", ("systemctl", "daemon-reload")),
    ("/etc/systemd/system.conf.d/*", ("systemctl", "daemon-reexec")),
    ("/etc/systemd/journald.conf*", ("systemctl", "restart", "systemd-journald.service")),
    ("/etc/ssh/sshd_config*", ("systemctl", "try-reload-or-restart", "ssh.service")),
    ("/etc/udev/*", ("udevadm", "control", "--reload")),
    ("/etc/ld.so.*", ("ldconfig",)),
)
"""What reads a file again: pattern of its path → command."""
QUIET = (
    "/etc/cron*", "/var/spool/cron/*", "/etc/sudoers*", "/etc/ssh/*", "/etc/motd", "/etc/issue*", "/etc/apt/*", "/etc/dpkg/*", "/etc/systemd/*", "/etc/modprobe.d/*",
    "/etc/udev/*", "/etc/sysctl*", "/usr/lib/clusterwright/*", "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid", "/etc/pam.d/*",
)  # fmt: skip
"""Files that no program of a job reads while it runs."""


def steps(finding: Finding, subject: HostFile, values: Values, cluster: Cluster) -> tuple[Step, ...]:
    """Give the steps that end a finding about a path; none where no step restores it."""
    host, path = subject.host, subject.path
    if not names.is_path(path):
        return ()
    if finding.code in restorable_findings.FILE_CODES and restorable_findings.is_file_of_roles(path) and (finish := cluster.finish(host)):
        return (Step(host, finish, Order.FINISH, (finding,)),)
    command = _command(finding, path, values, cluster)
    if command is None:
        return ()
    is_quiet = any(fnmatch.fnmatchcase(path, pattern) for pattern in QUIET) or finding.code == Code.FILE_ATTRIBUTES
    order = Order.PACKAGES if command == _reinstall(path) else Order.CONTENT
    reloads = [Command(argv) for pattern, argv in RELOADS if fnmatch.fnmatchcase(path, pattern)] if finding.code != Code.FILE_ATTRIBUTES else []
    return (
        Step(host, command, order, (finding,), is_quiet),
        *(Step(host, reload, Order.RELOAD, (finding,), is_quiet=True) for reload in reloads),
    )


def _command(finding: Finding, path: str, values: Values, cluster: Cluster) -> Command | None:
    match finding.code, values.recorded:
        case Code.FILE_ATTRIBUTES, FileState() as state:
            return _owner_and_mode(path, state)
        case Code.FILE_ADDED, None:
            return Command(script(MOVE_ASIDE, path, cluster.aside), shown=f"move {path} to {cluster.aside}{path}")
        case Code.PACKAGE_FILE, _:
            return _reinstall(path)
        case ((Code.FILE_CHANGED | Code.FILE_GONE | Code.FILE_KIND), FileContent(text=None) as content):
            program = SYNCHRONIZE.get(path)
            if finding.code == Code.FILE_GONE and not program and not content.is_written:
                return _reinstall(path)
            if not program or finding.code != Code.FILE_CHANGED:
                return None
            shown = f"restore {path} from what the server was adopted with, or run {program}"
            return Command(script(RESTORE_TABLE, path, cluster.aside, content.sha256, ADOPTION_PROGRAM, program), shown=shown)
        case ((Code.FILE_CHANGED | Code.FILE_GONE | Code.FILE_KIND), FileContent(state=state, text=str(text))) if _is_plain(state) and names.is_text(text):
            return Command(script(WRITE, path, cluster.aside, _owner(state), state.mode), text, shown=f"write {path} as recorded")
        case ((Code.FILE_GONE | Code.FILE_KIND), LinkTarget(target)) if names.is_text(target) and "\0" not in target:
            return Command(script(LINK, path, cluster.aside, target), shown=f"link {path} to {target}")
        case ((Code.FILE_GONE | Code.FILE_KIND), FileState(kind="folder") as state) if _is_plain(state):
            return Command(script(MAKE_FOLDER, path, cluster.aside, _owner(state), state.mode), shown=f"create the folder {path}")
        case _:
            return None


def script(text: str, *words: str) -> tuple[str, ...]:
    """Give the command that runs a script with words, of which the shell expands none."""
    return ("sh", "-c", text, "sh", *words)


def write(path: str, content: str, *, owner: str, mode: str, aside: str, shown: str) -> Command:
    """Give the command that writes a file and keeps what was there."""
    return Command(script(WRITE, path, aside, owner, mode), content, shown=shown)


def _reinstall(path: str) -> Command:
    return Command(script(REINSTALL, path), shown=f"install the package of {path} again, in its present version")


def _owner_and_mode(path: str, state: FileState) -> Command | None:
    shown = f"give {path} to {_owner(state)} with mode {state.mode}"
    return Command(script(OWNER_AND_MODE, _owner(state), state.mode, path), shown=shown) if _is_plain(state) else None


def _owner(state: FileState) -> str:
    return f"{state.owner}:{state.group}"


def _is_plain(state: FileState) -> bool:
    return bool(names.MODE.fullmatch(state.mode) and names.ACCOUNT.fullmatch(state.owner) and names.ACCOUNT.fullmatch(state.group))
