"""A stand-in for `dcgmi diag` where GPUs are simulated: the same command line, output form and exit status, and no GPU.

It knows the node's simulated GPUs by their device files. Faults are in /etc/clusterwright/simulated-fabric.json under `faults.dcgm`, a list of `{"test", "gpu", "severity", "category", "id", "words"}`;
`faults.dcgm_engine: false` is an engine that doesn't run. Sent to the nodes as text (`python3 -c`). A node without the file has no description of hardware, and nothing is said of it.

Source of form and status: NVIDIA/DCGM, dcgmi/Diag.cpp, dcgmlib/dcgm_structs.h and dcgm_errors.h; a document of DCGM 4.2.3 (tests/playbooks/dcgm). Read 2026-11-27.
"""

import json
import os
import pathlib
import re
import sys
from typing import Any

DESCRIPTION = pathlib.Path("/etc/clusterwright/simulated-fabric.json")
VERSION = "simulated"
SUITES = {"1": "1", "quick": "1", "short": "1", "2": "2", "medium": "2", "3": "3", "long": "3"}
TESTS = {"1": ("software",), "2": ("software", "memory", "pcie"), "3": ("software", "memory", "diagnostic", "pcie", "targeted_stress", "targeted_power")}
CATEGORIES = {
    "software": "Deployment",
    "memory": "Hardware",
    "diagnostic": "Hardware",
    "pcie": "Integration",
    "targeted_stress": "Stress",
    "targeted_power": "Stress",
}
GPU_GROUP = 1  # DCGM_FE_GPU
ISOLATE = 2  # DCGM_ERROR_ISOLATE
NVVS_ERROR, NVVS_ISOLATE_ERROR, CONNECTION_NOT_VALID = -30, -51, -21  # dcgmReturn_t
NO_DESCRIPTION = 3


def main(words: "list[str]") -> int:
    if not words or words[0] != "diag":
        print("PARSE ERROR: the stand-in has `diag` alone", file=sys.stderr)
        return 1
    suite, as_json, rest = None, False, words[1:]
    while rest:
        word = rest.pop(0)
        if word in ("-j", "--json"):
            as_json = True
        elif word in ("-r", "--run") and rest:
            suite = SUITES.get(rest.pop(0))
        else:
            print(f"PARSE ERROR: Argument: {word}\n             Couldn't find match for argument", file=sys.stderr)
            return 1
    if suite is None or not as_json:
        print("PARSE ERROR: the stand-in needs --run with a level, and --json", file=sys.stderr)
        return 1
    if not DESCRIPTION.exists():
        print(f"simulated dcgmi: no {DESCRIPTION}", file=sys.stderr)
        return NO_DESCRIPTION
    faults = json.loads(DESCRIPTION.read_text()).get("faults", {})
    if faults.get("dcgm_engine") is False:
        say({"DCGM Diagnostic": {"runtime_error": "Error: Unable to connect to host engine. Host engine connection invalid/disconnected.", "version": VERSION}})
        return CONNECTION_NOT_VALID & 0xFF
    gpus = sorted(int(found[1]) for name in os.listdir("/dev") if (found := re.fullmatch(r"nvidia(\d+)", name)))[: faults.get("dcgm_gpus")]
    wrong = [one for one in faults.get("dcgm", ()) if one["test"] in TESTS[suite]]
    categories: dict[str, list[Any]] = {}
    for name in TESTS[suite]:
        results = [result(gpu, [one for one in wrong if one["test"] == name and one["gpu"] == gpu]) for gpu in gpus]
        failed = any(one["status"] == "Fail" for one in results)
        categories.setdefault(CATEGORIES[name], []).append({"name": name, "results": results, "test_summary": {"status": "Fail" if failed else "Pass"}})
    entities = [{"device_id": "0000", "entity_id": gpu, "serial_num": "simulated"} for gpu in gpus]
    say(
        {
            "DCGM Diagnostic": {"test_categories": [{"category": name, "tests": tests} for name, tests in categories.items()]},
            "entity_groups": [{"entities": entities, "entity_group": "GPU", "entity_group_id": GPU_GROUP}],
            "metadata": {"Driver Version Detected": VERSION, "version": VERSION},
        }
    )
    if any(one["severity"] == ISOLATE for one in wrong):
        return NVVS_ISOLATE_ERROR & 0xFF
    return NVVS_ERROR & 0xFF if wrong else 0


def result(gpu: int, wrong: "list[dict[str, Any]]") -> "dict[str, Any]":
    errors = [{"error_category": one["category"], "error_id": one["id"], "error_severity": one["severity"], "warning": one["words"]} for one in wrong]
    found: dict[str, Any] = {"entity_group": "GPU", "entity_group_id": GPU_GROUP, "entity_id": gpu, "status": "Fail" if errors else "Pass"}
    return {**found, "warnings": errors} if errors else found


def say(document: "dict[str, Any]") -> None:
    print(json.dumps(document, indent="\t", separators=(",", " : ")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
