"""What is loaded by whom, where the import table of `make check` cannot see it: an import inside of a function is allowed there."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SLOW_TO_LOAD = {"pulumi", "pulumi_aws", "pulumi_gcp", "pulumi_kubernetes", "ansible", "ansible_runner", "grpc"}


def modules_of(package: str) -> list[str]:
    folder = PROJECT.joinpath(*package.split("."))
    return [package, *(module.name for module in pkgutil.walk_packages([str(folder)], f"{package}."))]


def loaded_by(modules: list[str]) -> set[str]:
    """Import the modules in a process of their own and return the names of all top-level packages that came along."""
    script = "import importlib, json, sys\nfor name in json.load(sys.stdin): importlib.import_module(name)\nprint(json.dumps([*sys.modules]))"
    answer = subprocess.run([sys.executable, "-c", script], input=json.dumps(modules), capture_output=True, text=True, cwd="/", check=False)
    assert answer.returncode == 0, answer.stderr
    return {name.partition(".")[0] for name in json.loads(answer.stdout)}


@pytest.mark.parametrize("package", ["blueprints", "stacks.cli", "components.local.machine"])
def test_describing_and_checking_a_cluster_loads_neither_engine_nor_ansible(package: str) -> None:
    assert loaded_by(modules_of(package)) & SLOW_TO_LOAD == set()


def test_a_module_that_loads_the_engine_is_noticed() -> None:
    assert "pulumi" in loaded_by(["components.local.pool"])
