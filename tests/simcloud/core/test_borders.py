"""What every simulated cloud shares knows none of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from blueprints.project import project_root

CORE = Path(__file__).parent
LOADS = "import importlib, json, sys\nfor name in json.load(sys.stdin): importlib.import_module(name)\nprint(json.dumps([*sys.modules]))"
CLOUDS = (
    "tests.simcloud.aws",
    "tests.simcloud.google",
    "googleapiclient",
    "tests.simcloud.hosted",
    "boto3",
    "botocore",
    "moto",
    "pulumi_aws",
    "tests.simcloud.google",
    "googleapiclient",
    "pulumi_gcp",
)


def clouds_loaded_by(*modules: str) -> set[str]:
    """Import modules in a process of their own, and name what came along of a certain cloud."""
    answer = subprocess.run([sys.executable, "-c", LOADS], input=json.dumps(modules), capture_output=True, text=True, cwd=project_root(), check=False)
    assert answer.returncode == 0, answer.stderr
    return {cloud for cloud in CLOUDS for name in json.loads(answer.stdout) if name == cloud or name.startswith(f"{cloud}.")}


def test_the_core_loads_nothing_of_a_certain_cloud() -> None:
    modules = [f"tests.simcloud.core.{file.stem}" for file in CORE.glob("*.py") if not file.stem.startswith("test_")]
    assert len(modules) > 5
    assert clouds_loaded_by(*modules) == set()


@pytest.mark.parametrize(("module", "cloud"), [("tests.simcloud.aws.keys", "tests.simcloud.aws"), ("tests.simcloud.aws.client", "tests.simcloud.hosted")])
def test_a_module_of_a_certain_cloud_is_noticed(module: str, cloud: str) -> None:
    assert cloud in clouds_loaded_by(module)
