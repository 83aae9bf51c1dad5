"""Who may import whom: the table in pyproject.toml is enforced, and what the program must not load before it needs it stays unloaded."""

from __future__ import annotations

import json
import pkgutil
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from components import registry

PROJECT = Path(__file__).resolve().parents[2]
SLOW_TO_LOAD = {"pulumi", "pulumi_aws", "pulumi_gcp", "pulumi_kubernetes", "ansible", "ansible_runner", "grpc"}


def loaded_by(package: str, *, root: Path = PROJECT) -> set[str]:
    """Import every module of a package in a process of its own and return the names of all top-level packages that came along."""
    folder = root.joinpath(*package.split("."))
    modules = [package, *(module.name for module in pkgutil.walk_packages([str(folder)], f"{package}."))]
    script = "import importlib, json, sys\nfor name in json.load(sys.stdin): importlib.import_module(name)\nprint(json.dumps([*sys.modules]))"
    answer = subprocess.run([sys.executable, "-c", script], input=json.dumps(modules), capture_output=True, text=True, cwd=root, check=False)
    assert answer.returncode == 0, answer.stderr
    return {name.partition(".")[0] for name in json.loads(answer.stdout)}


@pytest.mark.parametrize("package", ["blueprints", "stacks.cli", "components.local.machine"])
def test_describing_and_checking_a_cluster_loads_neither_engine_nor_ansible(package: str) -> None:
    assert loaded_by(package) & SLOW_TO_LOAD == set()


def test_a_module_that_loads_the_engine_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "hasty").mkdir()
    (tmp_path / "hasty/__init__.py").touch()
    (tmp_path / "hasty/inner.py").write_text("import pulumi\n")
    assert "pulumi" in loaded_by("hasty", root=tmp_path)


def test_imports_against_the_table_fail_the_check_one_contract_each(tmp_path: Path) -> None:
    for package in ("blueprints", "components", "stacks"):
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(PROJECT / "pyproject.toml", tmp_path)
    hasty = {
        "blueprints/hasty_upward.py": "from components import local",
        "blueprints/hasty.py": "import ansible_runner",
        "components/local/machine/hasty.py": "def later() -> None:\n    import pulumi",
        "components/local/hasty.py": "import pulumi_aws",
        "components/schedulers/hasty.py": "def later() -> None:\n    import boto3",
        "components/metal/hasty.py": "from components.aws import names",
        "stacks/acceptance/hasty_command.py": "from stacks.cli import main",
        "stacks/render/hasty_command.py": "from stacks.cli import main",
        "stacks/render/hasty.py": "from stacks.engine import commands",
        "stacks/engine/hasty.py": "from stacks.drift import detect",
    }
    for module, line in hasty.items():
        (tmp_path / module).write_text(f"{line}\n")
    answer = subprocess.run(["lint-imports", "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert "Contracts: 0 kept, 9 broken." in answer.stdout
    assert all(module.removesuffix(".py").replace("/", ".") in answer.stdout for module in hasty)


def test_no_target_is_left_out_of_the_table() -> None:
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (independent,) = [one["modules"] for one in contracts if one["type"] == "independence"]
    assert independent == sorted(f"components.{target}" for target in registry.TARGETS)


def test_the_provider_loads_no_language() -> None:
    """The engine starts it several times a run, and the models of the language take as long as all else that it loads."""
    script = "import sys, components.provider.__main__; print([name for name in sys.modules if name.startswith('blueprints.language')])"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=PROJECT, check=True)
    assert answer.stdout.strip() == "[]"
