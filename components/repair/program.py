"""Carry out repairs on one host, each by itself: one that fails stops none of the others. It runs on the host; standard library only."""

import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
from typing import Any

SAID_CHARACTERS = 1000
DONE, FAILED = "done", "failed"


def main(steps: list[dict[str, Any]], *, mark: str, lock: str | None) -> None:
    """Run the steps and print their outcomes on one line.

    Args:
        steps: commands with `argv`, `stdin`, `within_s` and `lists`: what one that lists prints is given whole, without its complaints.
        mark: begins the line.
        lock: a file that is locked meanwhile: a run whose caller was killed goes on here, and the next one waits for it. None: nothing is locked.
    """
    with contextlib.ExitStack() as held:
        if lock is not None:
            pathlib.Path(lock).parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(held.enter_context(pathlib.Path(lock).open("w", encoding="utf-8")), fcntl.LOCK_EX)
        outcomes = carry_out(steps)
    print(mark + json.dumps(outcomes), flush=True)


def carry_out(steps: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Run the steps in order. One that fails is tried once more after the others, which may have removed what it failed on."""
    outcomes = [_run(step) for step in steps]
    for place, step in enumerate(steps):
        if outcomes[place]["state"] == FAILED and any(one["state"] == DONE for one in outcomes[place + 1 :]):
            outcomes[place] = _run(step)
    return outcomes


def _run(step: dict[str, Any]) -> dict[str, str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    try:
        complaints = subprocess.PIPE if step["lists"] else subprocess.STDOUT
        ended = subprocess.run(
            step["argv"], input=step["stdin"].encode(), stdout=subprocess.PIPE, stderr=complaints, check=False, timeout=step["within_s"], env=environment
        )
    except subprocess.TimeoutExpired:
        return {"state": FAILED, "said": f"it did not end within {step['within_s']} s"}
    except OSError as error:
        return {"state": FAILED, "said": f"{step['argv'][0]}: {error.strerror}"}
    if step["lists"] and ended.returncode == 0:
        return {"state": DONE, "said": ended.stdout.decode(errors="replace")}
    said = (ended.stderr or ended.stdout).decode(errors="replace").strip()[-SAID_CHARACTERS:]
    return {"state": DONE if ended.returncode == 0 else FAILED, "said": said or (f"it ended with status {ended.returncode}" if ended.returncode else "")}
