"""Checkov over plans: what it finds, of which resource. It runs in an environment of its own, which `tools/setup scanner` makes, and asks nobody outside of this machine."""

import dataclasses
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprints.project import project_root

_CLOSED = "http://127.0.0.1:9"
"""Nothing listens there: whatever would ask the network fails at once."""
_CLEAN, _FOUND = 0, 1


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """One finding."""

    plan: str
    code: str
    address: str
    """Of the resource, as Terraform has it (`aws_lb.login-balancer`)."""
    title: str


@dataclasses.dataclass(frozen=True, slots=True)
class Scan:
    found: tuple[Found, ...]
    passed: frozenset[tuple[str, str]]
    """Plan and code of every check that had something to look at, and liked it."""


def folder() -> Path | None:
    """Give the scanner's environment; None: it isn't installed."""
    said = project_root() / ".clusterwright/scanner"
    installed = Path(said.read_text().strip()) if said.is_file() else None
    return installed if installed and (installed / "bin/python").exists() else None


def run(plans: Mapping[str, Mapping[str, Any]], *, installed: Path, work: Path) -> Scan:
    """Scan plans.

    Args:
        plans: name → plan.
        work: an empty folder.
    Raises:
        ValueError: the scanner did not come to an end, or left something out.
    """
    (work / "plans").mkdir()
    for name, plan in plans.items():
        (work / "plans" / f"{name}.json").write_text(json.dumps(plan, indent=1))
    options = ("--framework", "terraform_plan", "--skip-download", "--compact", "--output", "json")
    command = [str(installed / "bin/python"), "-m", "checkov.main", "-d", "plans", *options]
    # Neither settings nor keys of whoever runs this, and no way out.
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(work),
        "CKV_SKIP_PACKAGE_UPDATE_CHECK": "true",
        "HTTP_PROXY": _CLOSED,
        "HTTPS_PROXY": _CLOSED,
        "PYTHONDONTWRITEBYTECODE": "" if os.access(installed, os.W_OK) else "1",
    }
    answer = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode not in (_CLEAN, _FOUND) or not answer.stdout.startswith("{"):
        raise ValueError(f"the scanner ended with {answer.returncode}:\n{answer.stderr[-2000:] or answer.stdout[-2000:]}")
    said = json.loads(answer.stdout)
    passed, failed = said["results"]["passed_checks"], said["results"]["failed_checks"]
    wanted = {name: {one["address"] for one in plan["planned_values"]["root_module"]["resources"]} for name, plan in plans.items()}
    if said["summary"]["parsing_errors"] or {_plan(one) for one in (*passed, *failed)} != wanted.keys():
        raise ValueError(f"the scanner left out plans: {said['summary']}")
    if said["summary"]["resource_count"] != sum(map(len, wanted.values())):
        raise ValueError(f"of {sum(map(len, wanted.values()))} resources the scanner saw {said['summary']['resource_count']}")
    found = tuple(Found(_plan(one), one["check_id"], one["resource"], one["check_name"]) for one in failed)
    return Scan(found, frozenset((_plan(one), one["check_id"]) for one in passed))


def _plan(one: Mapping[str, Any]) -> str:
    return Path(one["file_path"]).stem
