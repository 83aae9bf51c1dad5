"""Inspect this host and print one line of JSON."""

import json
import signal
import sys
from typing import Any

from . import host, scheduler


def main(parameters: dict[str, Any]) -> None:
    """Print the facts of this host.

    Args:
        parameters: those of `host.facts`; `scheduler_s`: on a controller, how long Slurm may take for one answer; `within_s`: after how many seconds the kernel ends this program;
            `mark`: what the line with the facts begins with.
    """
    signal.alarm(parameters["within_s"])
    found: dict[str, Any] = {}
    if parameters.get("scheduler_s"):
        found["scheduler"] = scheduler.facts(parameters["scheduler_s"])
    found["host"] = host.facts(parameters)
    sys.stdout.write(f"\n{parameters['mark']}{json.dumps(found)}\n")
