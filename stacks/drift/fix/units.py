"""Units of systemd: their links come back as they were, and units that should run are started. Pure."""

import fnmatch

from blueprints.finding import Finding
from blueprints.finding.subject import Unit
from blueprints.finding.values import UnitLink, UnitState, Values
from components.inspection.codes import Code
from components.inspection.hosts import files as unit_links

from . import files, names
from .step import Command, Order, Step

HOLDING_DATA = ("*.mount", "*.automount", "*.swap")
"""Units with data behind them: a person decides whether they may start again."""
STARTS_WITHIN_S = 20
"""How long a unit's start is waited for."""
_RUN = """run() {
    timeout "$3" systemctl "$1" -- "$2" || {
        status=$?
        [ "$status" = 124 ] || return "$status"
        case $(systemctl show --property=ActiveState --value -- "$2") in active | activating | reloading) return 0 ;; esac
        [ -n "$(systemctl show --property=Job --value -- "$2")" ] || return "$status"
    }
}
"""
"""command, unit, seconds. A daemon may wait for another one, as slurmd for slurmctld, which a later repair starts on another host: it goes on starting, or its start is queued, and the check after the repairs says whether it runs."""
RESTART = (
    _RUN
    + """set -eu
case $(systemctl show --property=UnitFileState --value -- "$1") in
"" | transient) systemctl reset-failed -- "$1" ;;
*)
    systemctl reset-failed -- "$1"
    run restart "$1" "$2"
    ;;
esac
"""
)
"""A unit that somebody ran once has no file, so that nothing could start it again. One that failed again and again must not start for a while until its failures are forgotten
(systemd.unit(5), StartLimitIntervalSec)."""
START = (
    _RUN
    + """systemctl reset-failed -- "$1" $(systemctl show --property=Requires --value -- "$1") 2>/dev/null || :
run start "$1" "$2"
"""
)
"""A unit that it requires may have failed again and again meanwhile, and must not start either until its failures are forgotten."""
REMOVE_LINK = '[ ! -L "$1" ] || rm -- "$1"'


def steps(finding: Finding, unit: Unit, values: Values) -> tuple[Step, ...]:
    """Give the steps that end a finding about a unit; none where a person decides."""
    if not names.UNIT.fullmatch(unit.name):
        return ()
    if finding.code == Code.UNIT_ENABLEMENT:
        return _enablement(finding, unit, values)
    if unit.is_of_users or any(fnmatch.fnmatchcase(unit.name, pattern) for pattern in HOLDING_DATA):
        return ()
    match finding.code:
        case Code.UNIT_STOPPED:
            return (Step(unit.host, Command(files.script(START, unit.name, str(STARTS_WITHIN_S)), shown=f"start {unit.name}"), Order.RUNNING, (finding,)),)
        case Code.UNIT_FAILED:
            command = Command(files.script(RESTART, unit.name, str(STARTS_WITHIN_S)), shown=f"restart {unit.name}, or forget its failure where it has no file")
            return (Step(unit.host, command, Order.RUNNING, (finding,)),)
        case _:
            return ()


def _enablement(finding: Finding, unit: Unit, values: Values) -> tuple[Step, ...]:
    match values.recorded, values.actual:
        case UnitLink(path=path, target=None), UnitLink() if names.is_path(path):
            command = Command(files.script(REMOVE_LINK, path), shown=f"remove the link {path}")
        case UnitLink(path=path, target=str(target)), UnitLink() if names.is_path(path) and names.is_text(target) and "\0" not in target:
            command = Command(files.script(files.LINK, path, "/nonexistent", target), shown=f"link {path} to {target}")
        case UnitState() as recorded, UnitState() as actual:
            command = Command(unit_links.systemctl(unit, recorded, actual))
        case _:
            return ()
    reload = () if unit.is_of_users else (Step(unit.host, Command(("systemctl", "daemon-reload")), Order.RELOAD, (finding,), is_quiet=True),)
    return (Step(unit.host, command, Order.CONTENT, (finding,), is_quiet=True), *reload)
