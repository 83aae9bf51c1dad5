"""What neither a package nor a role left on a host: files are moved aside, files of packages come back from their package. Pure."""

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, HostPart, Unit
from components.inspection.codes import Code

from . import files, names
from .step import Cluster, Command, Order, Step

CLOSE = 'chmod -- o-w "$1"'
TAKE_RIGHTS = """chmod -- u-s,g-s "$1"
python3 -IS -c 'import os, sys; "security.capability" in os.listxattr(sys.argv[1]) and os.removexattr(sys.argv[1], "security.capability")' "$1"
"""
OWNED = 'set -eu\nif dpkg-query --search -- "$1" >/dev/null 2>&1; then\n' + TAKE_RIGHTS + "else\n" + files.MOVE_ASIDE + "fi\n"
"""path, folder. A file of a package loses the rights that its package did not give it; any other one is moved aside."""
ROOT_START = (
    files.MOVE_ASIDE
    + """name=${1##*/}
original=/usr/share/base-files/dot${name#root}
if [ "${1%/*}" = /root ] && [ -e "$original" ]; then install -m 0644 -- "$original" "$1"; fi
"""
)
"""path, folder. The package base-files has the originals of root's own files."""
RELOAD = ("systemctl", "daemon-reload")
HOSTNAME = "hostname"


def of_file(finding: Finding, subject: HostFile, cluster: Cluster) -> tuple[Step, ...]:
    """Give the steps that end a finding about a file that has no record."""
    host, path = subject.host, subject.path
    if not names.is_path(path):
        return ()
    moved = f"move {path} to {cluster.aside}{path}"
    match finding.code:
        case Code.PRIVILEGED:
            shown = f"take the rights from {path} that its package did not give it, or, where no package owns it, {moved}"
            return (Step(host, Command(files.script(OWNED, path, cluster.aside), shown=shown), Order.PACKAGES, (finding,), is_quiet=True),)
        case Code.WORLD_WRITABLE:
            return (Step(host, Command(files.script(CLOSE, path), shown=f"close {path} to others"), Order.CONTENT, (finding,)),)
        case Code.UNOWNED | Code.SYSTEM_KEY:
            return (Step(host, Command(files.script(files.MOVE_ASIDE, path, cluster.aside), shown=moved), Order.CONTENT, (finding,)),)
        case Code.ROOT_START:
            shown = f"{moved}, and install the original"
            return (Step(host, Command(files.script(ROOT_START, path, cluster.aside), shown=shown), Order.CONTENT, (finding,), is_quiet=True),)
        case Code.TRANSIENT:
            move = Step(host, Command(files.script(files.MOVE_ASIDE, path, cluster.aside), shown=moved), Order.CONTENT, (finding,), is_quiet=True)
            return (move, Step(host, Command(RELOAD), Order.RELOAD, (finding,), is_quiet=True))
        case _:
            return ()


def of_unit(finding: Finding, unit: Unit) -> tuple[Step, ...]:
    """Give the step that ends a unit that was created at run time."""
    if finding.code != Code.TRANSIENT or not names.UNIT.fullmatch(unit.name):
        return ()
    return (Step(unit.host, Command(("systemctl", "stop", "--", unit.name)), Order.RUNNING, (finding,)),)


def of_part(finding: Finding, part: HostPart) -> tuple[Step, ...]:
    """Give the step that restores the running hostname."""
    if finding.code != Code.HOSTNAME or not names.OBJECT.fullmatch(part.host):
        return ()
    return (Step(part.host, Command((HOSTNAME, part.host)), Order.RUNNING, (finding,)),)
