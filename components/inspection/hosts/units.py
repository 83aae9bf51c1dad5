"""Units of systemd that failed or should run. Pure."""

import shlex
from collections.abc import Iterator, Mapping

from blueprints.finding import Finding
from blueprints.finding.subject import Unit

from ..codes import Code
from ..finding import drift

RUNNING = frozenset({"active", "activating", "reloading"})
NOT_STEADY = frozenset({"oneshot"})
"""Types of units that are done when they have run."""
DONE_AFTER_BOOT = frozenset({"cloud-init-main.service"})
"""Units of another type that stop by themselves: it serves the stages of cloud-init, and stops with the last (cloud-init's documentation, "Boot stages")."""


def findings(host: str, units: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Find units that failed, and enabled ones that do not run."""
    for name, unit in sorted(units.items()):
        subject, state, word = Unit(host, name), f"{unit['ActiveState']} ({unit['SubState']})", shlex.quote(name)
        if _has_failed(unit):
            remedy = f"`journalctl -u {word}` on {host} shows the reason; `systemctl restart {word}` tries again"
            yield drift(Code.UNIT_FAILED, subject, "the unit has failed", remedy=remedy, desired="active", recorded="active", actual=state)
        elif name not in DONE_AFTER_BOOT and (_should_run(unit) or _lacks_another(unit, units)) and unit["ActiveState"] not in RUNNING:
            what = "the unit is enabled, its conditions hold, and it does not run"
            remedy = f"`systemctl start {word}` on {host}, or `clusterwright up`"
            yield drift(Code.UNIT_STOPPED, subject, what, remedy=remedy, desired="active", recorded="active", actual=state)


def _has_failed(unit: Mapping[str, str]) -> bool:
    return unit["ActiveState"] == "failed" or unit["SubState"] == "auto-restart"


def _lacks_another(unit: Mapping[str, str], units: Mapping[str, Mapping[str, str]]) -> bool:
    """Say whether an enabled unit was never started because one that it requires failed: systemd doesn't look at its conditions then."""
    required = unit.get("Requires", "").split()
    is_wanted = unit["UnitFileState"].startswith("enabled") and unit.get("Type") not in NOT_STEADY
    return is_wanted and unit.get("ConditionTimestampMonotonic") == "0" and any(_has_failed(units[name]) for name in required if name in units)


def _should_run(unit: Mapping[str, str]) -> bool:
    """Say whether an enabled unit should run on this host: its conditions held when it was last started."""
    return unit["UnitFileState"].startswith("enabled") and unit.get("ConditionResult") == "yes" and unit.get("Type") not in NOT_STEADY
