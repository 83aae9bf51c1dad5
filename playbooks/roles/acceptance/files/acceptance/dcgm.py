"""Runs on every node inside a job step: `dcgmi diag`, and what its JSON says of each GPU. Prints one JSON document in pieces.

Sent to the nodes as text (`python3 -c`), so that nothing needs to be installed there but DCGM. Its engine (nv-hostengine) tests all GPUs of the node, whatever the step may open.

The form is that of DCGM 4 (NVIDIA/DCGM, testing/python3/dcgm_diag_schema.json and dcgmi/Diag.cpp, read 2026-11-27); NVIDIA calls no form stable, so what is unknown is no fault of the node.
"""

import json
import os
import socket
import subprocess
import sys
from typing import Any

PROGRAM = "dcgmi"
PIECE_LETTERS = 800
LONGEST_WORDS = 200
FAULTS_AT_MOST = 16
"""Of one node: eight GPUs that fail one test are told whole."""
HARMLESS = ("pass", "skip")
MONITOR, CONFIG = 1, 5
USABLE = (MONITOR, CONFIG)
"""Severities with which a GPU can work: it should be watched, or a setting of its host is not as DCGM wants it (dcgm_errors.h, dcgmErrorSeverity_t)."""
ROOT, CATEGORIES, RUNTIME_ERROR = "DCGM Diagnostic", "test_categories", "runtime_error"


def main() -> None:
    task = json.loads(sys.argv[1])
    seen = {"node": os.environ.get("SLURMD_NODENAME", socket.gethostname()), **diagnosed(task["level"], task["limit_s"], task.get("simulated") or "")}
    text = json.dumps(seen)
    parts = [text[start : start + PIECE_LETTERS] for start in range(0, len(text), PIECE_LETTERS)]
    print("\n".join(f"@{os.environ['SLURM_PROCID']} {number} {len(parts)} {part}" for number, part in enumerate(parts)), flush=True)


def diagnosed(level: int, limit_s: float, simulated: str) -> "dict[str, Any]":
    """Run the diagnostic; `error` says why it tells nothing of the GPUs.

    Args:
        simulated: text of the program that stands in for dcgmi where GPUs are simulated; empty: they are real.
    """
    program = [sys.executable, "-c", simulated] if simulated else [PROGRAM]
    try:
        ended = subprocess.run(
            [*program, "diag", "--run", str(level), "--json"], capture_output=True, text=True, errors="replace", check=False, timeout=limit_s, cwd="/"
        )
    except FileNotFoundError:
        return {"error": "dcgmi is not installed"}
    except subprocess.TimeoutExpired:
        return {"error": f"dcgmi gave no answer within {limit_s:g} s"}
    try:
        return read(ended.stdout)
    except (ValueError, KeyError, TypeError, AttributeError):
        words = " ".join((ended.stderr or ended.stdout).split()) or "it printed nothing"
        return {"error": shortened(f"dcgmi ended with {ended.returncode}: {words}")}


def read(printed: str) -> "dict[str, Any]":
    """Read what `dcgmi diag --json` printed, lines before and after the document left out.

    Returns:
        `version`; `gpus`, how many DCGM knows; `tests`, name → how many results have which status; `faults`, what is not a pass, each with `test`, `status`, `where`, `severity` and `words`; those that make the node unfit come first, and what is too much is left out. Or `error` alone.
    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is in no form that is known.
    """
    document = json.loads(printed[printed.index("{") : printed.rindex("}") + 1])
    root = document[ROOT]
    if root.get(RUNTIME_ERROR):
        return {"error": shortened(str(root[RUNTIME_ERROR]))}
    tests: dict[str, dict[str, int]] = {}
    faults: list[dict[str, Any]] = []
    for test in (test for category in root[CATEGORIES] for test in category["tests"]):
        name, counted = str(test["name"]), tests.setdefault(str(test["name"]), {})
        found = [of_result(name, one, counted) for one in test["results"]]
        summary, told = test["test_summary"], {str(each["warning"]) for one in test["results"] if is_fault(one) for each in one.get("warnings") or ()}
        # It repeats the errors of the GPUs; those of the whole system, or of no GPU in particular, are in it alone.
        own = [each for each in summary.get("warnings") or () if str(each["warning"]) not in told]
        if own or not any(found):
            found.append(of_result(name, {"entity_group": "the node", **summary, "warnings": own}, {} if found else counted))
        faults += [fault for each in found for fault in each]
    gpus = sum(len(group["entities"]) for group in document.get("entity_groups") or () if group["entity_group"] == "GPU")
    version = str((document.get("metadata") or {}).get("version") or "")
    return {"version": version, "gpus": gpus, "tests": tests, "faults": sorted(faults, key=is_unfit, reverse=True)[:FAULTS_AT_MOST]}


def is_unfit(fault: "dict[str, Any]") -> bool:
    """Say whether a fault makes its node unfit for jobs."""
    return fault["status"] == "fail" and fault["severity"] not in USABLE


def of_result(test: str, one: "dict[str, Any]", counted: "dict[str, int]") -> "list[dict[str, Any]]":
    """Count a result by its status, and give a fault for each of its errors. An error without a severity has 0."""
    status = str(one["status"]).lower()
    counted[status] = counted.get(status, 0) + 1
    if not is_fault(one):
        return []
    where = f"{one['entity_group']} {one['entity_id']}" if "entity_id" in one else one["entity_group"]
    errors = one.get("warnings") or [{"warning": "no reason was given"}]
    return [
        {"test": test, "status": status, "where": where, "severity": int(each.get("error_severity", 0)), "words": shortened(str(each["warning"]))}
        for each in errors
    ]


def is_fault(one: "dict[str, Any]") -> bool:
    return str(one["status"]).lower() not in HARMLESS


def shortened(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= LONGEST_WORDS else f"{line[: LONGEST_WORDS - 1]}…"


if __name__ == "__main__":
    main()
