"""What the program of an earlier version registered for a blueprint: `python -m tests.recorded.registered NAME` writes it down again, with the code of this checkout.

Nothing runs for it. Values that only an `up` gives are those of the tests' stand-in for the engine (`tests/components/registered.py`).
"""

import json
import lzma
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprints import facts, load
from blueprints.project import project_root
from blueprints.spec import ClusterSpec
from components import cluster
from components.provider import packed
from tests.components import registered

from .states import FOLDER, PROJECT, replaced

BLUEPRINTS = FOLDER.parent / "contract"
TARGETS = {"local-both": "local", "local-kubernetes": "local", "metal": "metal", "metal-kubernetes": "metal"}
"""Blueprint → the target that it is for."""
FINGERPRINTS = frozenset({"content", "image", "lowers", "proves", "release", "release_folder"})
"""Inputs that name what playbooks, images, the release and the verdicts of acceptance are made from: a change of these is meant to reach hosts."""

MACHINE = facts.Facts(sockets=1, cores_per_socket=4, threads_per_core=1, memory_mib=32 * 1024)

Inputs = Mapping[str, Mapping[str, Any]]
"""URN → the inputs of the resource, with packed records opened."""


def today(name: str) -> Inputs:
    """Register the blueprint of a name with today's code."""
    spec = load.examine(str(BLUEPRINTS / f"{name}.yaml"), target=TARGETS[name], stack=registered.STACK, facts=MACHINE).spec
    program = registered.run(lambda: _register(spec))
    found = {one.urn: packed.unpack_each(one.inputs) for one in program.resources}
    kept = {urn: {key: _provided(key, value) for key, value in inputs.items() if key not in FINGERPRINTS} for urn, inputs in found.items()}
    plain: Inputs = replaced(kept, {str(project_root()): PROJECT})
    return plain


def _provided(key: str, value: Any) -> Any:
    """Leave fingerprints out of what a target provides to playbooks."""
    return {name: one for name, one in value.items() if name not in ("release", "in_place")} if key == "provided" else value


def _register(spec: ClusterSpec) -> None:
    cluster.Cluster(spec.name, spec, stack=registered.STACK)


def read(name: str) -> Inputs:
    found: Inputs = json.loads(lzma.decompress(file_of(name).read_bytes()))
    return found


def write(name: str) -> None:
    file_of(name).write_bytes(lzma.compress(json.dumps(today(name), indent=1, sort_keys=True).encode(), preset=9))


def file_of(name: str) -> Path:
    return FOLDER / "inputs" / f"{name}.json.xz"


def changed(then: Inputs, now: Inputs) -> dict[str, list[str]]:
    """Name what a preview would change: operation and name of each resource → the inputs that differ after this version's upgrade of what was recorded."""
    found = {f"delete {_name(urn)}": list[str]() for urn in then.keys() - now.keys()} | {
        f"create {_name(urn)}": list[str]() for urn in now.keys() - then.keys()
    }
    for urn in then.keys() & now.keys():
        kind = registered.KINDS.get(urn.split("::")[2].rpartition("$")[2])
        before = kind.upgrade(then[urn]) if kind else then[urn]
        differing = sorted(name for name in before.keys() | now[urn].keys() if before.get(name) != now[urn].get(name))
        if differing:
            found[f"update {_name(urn)}"] = differing
    return found


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


if __name__ == "__main__":
    write(*sys.argv[1:])
