"""Change the rails of a host, and confirm the change over a new connection.

One action, not several tasks: between two tasks a play waits for the slowest of its hosts, and meanwhile the others would take their changes back.
"""

import json
import shlex
import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

LOOK_EVERY_S = 1


class ActionModule(ActionBase):
    """`rails_change: {folder: …, interfaces: […], confirm_within_s: …, answers_within_s: …}`."""

    _supports_check_mode = True
    _VALID_ARGS = frozenset(("folder", "interfaces", "confirm_within_s", "answers_within_s"))

    def run(self, tmp: "str | None" = None, task_vars: "dict[str, Any] | None" = None) -> "dict[str, Any]":
        given = self._task.args
        order = json.dumps({"interfaces": given["interfaces"], "confirm_within_s": int(given["confirm_within_s"])})
        deadline = time.monotonic() + int(given["confirm_within_s"]) + int(given["answers_within_s"])
        begun = self._program("begin", *(["--check"] if self._task.check_mode else []), order=order)
        if begun["failed"] and self._task.check_mode and "No such file" in begun["msg"]:
            return {"changed": True, "changes": ["the program is not on this host yet"]}
        if begun["failed"] or not begun["pending"]:
            return begun
        while True:
            try:
                result = self._program("result")
                if result["failed"] or result["applied"]:
                    # The connection that started the change proves nothing: only one that began after it shows that the host still lets somebody in.
                    self._connection.reset()
                    confirmed = self._program("confirm")
                    return confirmed if confirmed["failed"] else begun
            except AnsibleConnectionFailure:
                # A change that cuts the connection is taken back, and then the host answers again.
                if time.monotonic() > deadline:
                    raise
                self._connection.reset()
            time.sleep(LOOK_EVERY_S)

    def _program(self, *words: str, order: str = "") -> "dict[str, Any]":
        folder, _, module = self._task.args["folder"].rpartition("/")
        command = f"cd {shlex.quote(folder)} && exec python3 -B -m {' '.join(shlex.quote(word) for word in (module, *words))}"
        ended = self._low_level_execute_command(f"sh -c {shlex.quote(command)}", in_data=(order or "{}").encode(), sudoable=True)
        if ended["rc"] != 0:
            return {
                "failed": True,
                "changed": False,
                "msg": ended["stderr"].strip() or ended["stdout"].strip() or f"`{words[0]}` ended with status {ended['rc']}",
            }
        answer = json.loads(ended["stdout"])
        return {"failed": False, "changed": bool(answer.get("changes")), **answer}
