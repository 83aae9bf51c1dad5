"""Start a unit that changes the network of a host, and confirm it over a new connection: the host stops it by itself unless somebody does.

One action, not several tasks: between two tasks a play waits for the slowest of its hosts, and meanwhile the others would take their changes back.
"""

import shlex
import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

LOOK_EVERY_S = 1
BUSY = ("activating", "deactivating", "reloading")
"""States of a unit that is not through with it (systemctl(1))."""
LINKS = "/etc/systemd/system/multi-user.target.wants"
BEGIN = """
systemctl daemon-reload
systemctl stop {timer}.timer 2>/dev/null || true
systemd-run --quiet --collect --unit={timer} --on-active={within_s}s --timer-property=AccuracySec=100ms sh -c 'systemctl stop {unit}; rm -f {links}/{unit}'
systemctl reset-failed {unit} 2>/dev/null || true
systemctl --no-block {verb} {unit}
"""
CONFIRM = """
systemctl is-active --quiet {timer}.timer || {{ echo 'nobody confirmed it over a new SSH connection in time, so it would have cut it' >&2; exit 1; }}
systemctl stop {timer}.timer
"""
STATE = "systemctl is-active {unit} || true; systemctl show --no-pager --property=Job,ReloadResult {unit}"
"""Its state, the number of a job that systemd has still to carry out, and how the last reload ended: a unit stays active when one fails."""
JOURNAL = "journalctl --unit {unit} --lines 5 --no-pager --output cat"


class ActionModule(ActionBase):
    """`confirmed_unit: {unit: …, verb: restart, confirm_within_s: …, answers_within_s: …}`."""

    _supports_check_mode = True
    _VALID_ARGS = frozenset(("unit", "verb", "confirm_within_s", "answers_within_s"))

    def run(self, tmp: "str | None" = None, task_vars: "dict[str, Any] | None" = None) -> "dict[str, Any]":
        given = self._task.args
        if self._task.check_mode:
            return {"changed": True}
        unit, within_s = str(given["unit"]), int(given["confirm_within_s"])
        names = {
            "unit": unit,
            "timer": f"{unit.removesuffix('.service')}-rollback",
            "within_s": within_s,
            "links": LINKS,
            "verb": str(given.get("verb", "restart")),
        }
        deadline = time.monotonic() + within_s + int(given["answers_within_s"])
        begun = self._shell(BEGIN.format(**names))
        if begun["rc"] != 0:
            return self._failure(unit, begun["stderr"])
        while True:
            time.sleep(LOOK_EVERY_S)
            try:
                # The connection that started the unit proves nothing: only one that began after it shows that the host still lets somebody in.
                self._connection.reset()
                state, *lines = self._shell(STATE.format(unit=unit))["stdout"].splitlines()
                shown = dict(line.split("=", 1) for line in lines)
                is_busy = state in BUSY or shown.get("Job", "0") not in ("", "0")
                if state == "active" and not is_busy:
                    confirmed = self._shell(CONFIRM.format(**names))
                    if confirmed["rc"] != 0:
                        return self._failure(unit, confirmed["stderr"])
                    if shown.get("ReloadResult", "success") != "success":
                        return self._failure(unit, self._shell(JOURNAL.format(**names))["stdout"], does_not="take over what was written")
                    return {"changed": True}
                if not is_busy or time.monotonic() > deadline:
                    return self._failure(unit, self._shell(JOURNAL.format(**names))["stdout"])
            except AnsibleConnectionFailure:
                # A change that cuts the connection is taken back, and then the host answers again.
                if time.monotonic() > deadline:
                    raise

    def _shell(self, script: str) -> "dict[str, Any]":
        ended: dict[str, Any] = self._low_level_execute_command(f"sh -ec {shlex.quote(script)}", sudoable=True)
        return ended

    def _failure(self, unit: str, why: str, *, does_not: str = "run") -> "dict[str, Any]":
        return {"failed": True, "changed": False, "msg": f"{unit} does not {does_not}: {why.strip() or 'it gave no reason'}"}
