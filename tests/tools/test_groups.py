"""Tests of hosts that run side by side share no stack."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from blueprints.project import project_root
from tests.hosts import groups

MODULES = sorted((project_root() / "tests/hosts").glob("test_*.py"))
STACK = re.compile(r'\bdeployment\("([\w-]+)"')


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("def test_it(running: Deployment) -> None: ...", "running"),
        ("def stack(elastic_pool: Deployment) -> Deployment: ...", "elastic_pool"),
        ("def test_it(stack: Deployment) -> None: ...", "test_this"),
    ],
)
def test_modules_that_share_a_stack_are_one_group(tmp_path: Path, text: str, group: str) -> None:
    (tmp_path / "test_this.py").write_text(text)
    assert groups.group(tmp_path / "test_this.py") == group


def test_a_stack_s_name_is_one_group_s_alone() -> None:
    users = defaultdict(set)
    for module in MODULES:
        for stack in STACK.findall(module.read_text()):
            users[stack].add(groups.group(module))
    assert len(users) > 5
    assert {stack: used for stack, used in users.items() if len(used) > 1} == {}


def test_every_group_that_starts_early_exists() -> None:
    assert set(groups.LONGEST_FIRST) <= {groups.group(module) for module in MODULES}


def test_groups_start_in_their_order() -> None:
    ordered = [groups.group(module) for module in sorted(MODULES, key=groups.rank)]
    assert list(dict.fromkeys(ordered))[: len(groups.LONGEST_FIRST)] == list(groups.LONGEST_FIRST)
    assert ordered == [name for name in dict.fromkeys(ordered) for _ in range(ordered.count(name))], "a group's modules follow each other"
