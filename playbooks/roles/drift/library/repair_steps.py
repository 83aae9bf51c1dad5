"""Carry out repairs on one host, each by itself: one that fails stops none of the others."""

import base64
import json
import os
import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: repair_steps
short_description: Carry out repairs on one host
description:
  - Runs commands one after the other and gives the result of each. A command that fails is tried once more after the others, which may have removed what it failed on.
options:
  steps:
    description:
      - Commands as JSON in base64, so that braces in a file's name are no template. Each has C(argv), C(stdin), and C(quiet) (whether a running job can't notice it).
    type: str
    required: true
  is_busy:
    description: Whether a job may run on the host. Then only quiet commands run.
    type: bool
    default: false
"""
RETURN = r"""
outcomes:
  description: For each step C(done), C(failed) or C(waits), with what the command said.
  returned: always
  type: list
"""

WITHIN_S = 600
"""A package may have to be downloaded first."""
SAID_CHARACTERS = 1000
DONE, FAILED, WAITS = "done", "failed", "waits"


def main() -> None:
    module = AnsibleModule(argument_spec={"steps": {"type": "str", "required": True, "no_log": True}, "is_busy": {"type": "bool", "default": False}})
    steps = json.loads(base64.b64decode(module.params["steps"]))
    outcomes = carry_out(steps, is_busy=module.params["is_busy"])
    module.exit_json(changed=any(one["state"] != WAITS for one in outcomes), outcomes=outcomes)


def carry_out(steps: list[dict[str, Any]], *, is_busy: bool) -> list[dict[str, str]]:
    """Run the steps, and give the outcome of each."""
    outcomes = [{"state": WAITS, "said": ""} if is_busy and not step["quiet"] else _run(step) for step in steps]
    for place, step in enumerate(steps):
        if outcomes[place]["state"] == FAILED and any(one["state"] == DONE for one in outcomes[place + 1 :]):
            outcomes[place] = _run(step)
    return outcomes


def _run(step: dict[str, Any]) -> dict[str, str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    try:
        ended = subprocess.run(
            step["argv"],
            input=step["stdin"].encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=WITHIN_S,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"state": FAILED, "said": f"it did not end within {WITHIN_S} s"}
    except OSError as error:
        return {"state": FAILED, "said": f"{step['argv'][0]}: {error.strerror}"}
    said = ended.stdout.decode(errors="replace").strip()[-SAID_CHARACTERS:]
    return {"state": DONE if ended.returncode == 0 else FAILED, "said": said or (f"it ended with status {ended.returncode}" if ended.returncode else "")}


if __name__ == "__main__":
    main()
