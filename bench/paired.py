"""Compare two checkouts: `python -m bench.paired OLDER NEWER [--pairs 5]`. Each is a checkout that `make setup` has set up.

The starter is brought up, left unchanged and removed, in turn by the older checkout and by the newer one, so that a machine whose speed drifts slows both. The first pair only warms caches and isn't counted.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import machine

STEPS = {"up": ("up",), "up without changes": ("up",), "down": ("down",)}
SLOWER_AT_MOST = 1.05
"""Median of the pairs' ratios, newer to older."""


def one_life(checkout: Path, home: Path) -> dict[str, float]:
    """Bring the starter up and down once, and give the seconds of each step.

    Raises:
        subprocess.CalledProcessError: a command failed.
    """
    environment = _environment(home)
    stack = f"paired-{home.name}"
    found = {}
    try:
        for step, words in STEPS.items():
            started = time.monotonic()
            _run(checkout, ("clusterwright", words[0], "--stack", stack, *words[1:]), environment)
            found[step] = time.monotonic() - started
    except BaseException:
        # Its state goes with the folder, and nothing could remove it later.
        if "down" not in found:
            _run(checkout, ("clusterwright", "down", "--stack", stack), environment)
        raise
    return found


def _environment(home: Path) -> dict[str, str]:
    (home / "state").mkdir(parents=True)
    (home / "passphrase").write_text("correct horse battery staple")
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH", "PULUMI_STACK")}
    return {
        **kept,
        "PULUMI_HOME": str(home / "pulumi"),
        "PULUMI_BACKEND_URL": f"file://{home / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(home / "passphrase"),
    }


def _run(checkout: Path, argv: tuple[str, ...], environment: Mapping[str, str]) -> None:
    # `activate` puts the checkout's own programs first on PATH.
    line = ["/bin/sh", "-c", '. ./activate && exec "$@"', "sh", *argv]
    subprocess.run(line, cwd=checkout, env=dict(environment), check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def compared(older: Path, newer: Path, pairs: int) -> list[dict[str, Any]]:
    """Measure pairs, and give for each step the medians in seconds and the median of the ratios."""
    lives: list[tuple[dict[str, float], dict[str, float]]] = []
    with tempfile.TemporaryDirectory(prefix="clusterwright-paired-") as folder:
        for number in range(pairs + 1):
            before = one_life(older, Path(folder, f"older-{number}"))
            after = one_life(newer, Path(folder, f"newer-{number}"))
            print(" ".join(f"{step}: {before[step]:.2f} s, {after[step]:.2f} s;" for step in STEPS), file=sys.stderr, flush=True)
            if number:
                lives.append((before, after))
    return [
        {
            "step": step,
            "older_s": round(statistics.median(before[step] for before, _ in lives), 2),
            "newer_s": round(statistics.median(after[step] for _, after in lives), 2),
            "ratio": round(statistics.median(after[step] / before[step] for before, after in lives), 3),
        }
        for step in STEPS
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.paired", description="Compare the starter's life in two checkouts, in turn")
    parser.add_argument("older", type=Path)
    parser.add_argument("newer", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    found = compared(arguments.older.resolve(), arguments.newer.resolve(), arguments.pairs)
    print(json.dumps({"machine": machine.described(), "pairs": arguments.pairs, "bar": SLOWER_AT_MOST, "steps": found}, indent=2))
    return 0 if all(one["ratio"] <= SLOWER_AT_MOST for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
