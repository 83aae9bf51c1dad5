"""The tests that a change can break: none too few in a small tree, and in this one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from blueprints.project import project_root
from tests import choice

pytestmark = pytest.mark.slow
FILES = {
    "pyproject.toml": '[project]\nscripts = {tool = "stacks.main:main"}\n',
    "__main__.py": "from stacks import program\n",
    "README.md": "",
    "blueprints/__init__.py": "",
    "blueprints/base.py": "",
    "blueprints/plan.py": "from . import base\n",
    "blueprints/catalog/__init__.py": "",
    "blueprints/catalog/machines.yaml": "",
    "components/__init__.py": "",
    "components/finishing.py": 'PLAYBOOK = "site.yml"\n',
    "components/table.py": 'TARGETS = {"moon": "components.moon"}\n',
    "components/moon.py": "",
    "stacks/__init__.py": "",
    "stacks/main.py": "def main() -> None:\n    from blueprints.plan import base\n",
    "stacks/program.py": "import components.table\n",
    "playbooks/site.yml": "",
    "playbooks/roles/time/tasks/main.yml": "",
    "playbooks/roles/unused/tasks/main.yml": "",
    "tests/conftest.py": "",
    "tests/blueprints/test_base.py": "from blueprints import base\n",
    "tests/blueprints/test_catalog.py": "import blueprints.catalog\n",
    "tests/components/conftest.py": "from blueprints import plan\n",
    "tests/components/test_finishing.py": "from components import finishing\n",
    "tests/components/test_program.py": 'PROGRAM = """\nfrom components import moon\n"""\n',
    "tests/components/test_up.py": 'RUN = ["pulumi", "up"]\n',
    "tests/docs/test_docs.py": 'READ = "README.md"\n',
    "tests/playbooks/test_roles.py": "",
    "tests/stacks/test_tool.py": 'RUN = ["tool", "plan"]\n',
    "tests/tools/test_sources.py": 'READ = "*.py"\n',
}
ALWAYS = {"tools/test_sources"}
"""Tests that read the sources."""


@pytest.fixture
def tree(tmp_path: Path) -> choice.Tree:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return choice.Tree(tmp_path, reads=lambda playbook: [tmp_path / "playbooks" / playbook, tmp_path / "playbooks/roles/time/tasks/main.yml"])


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ("blueprints/base.py", {"blueprints/test_base", "stacks/test_tool", "components/test_finishing", "components/test_program", "components/test_up"}),
        ("blueprints/catalog/machines.yaml", {"blueprints/test_catalog"}),
        ("components/moon.py", {"components/test_program", "components/test_up"}),
        ("components/table.py", {"components/test_up"}),
        ("stacks/main.py", {"stacks/test_tool"}),
        ("playbooks/roles/time/tasks/main.yml", {"components/test_finishing", "playbooks/test_roles"}),
        ("tests/components/conftest.py", {"components/test_finishing", "components/test_program", "components/test_up"}),
        ("tests/stacks/test_tool.py", {"stacks/test_tool"}),
        ("README.md", {"docs/test_docs"}),
    ],
)
def test_what_reaches_a_change_is_chosen(tree: choice.Tree, changed: str, chosen: set[str]) -> None:
    assert set(tree.tests_of([changed])) == {f"tests/{name}.py" for name in chosen | ALWAYS}


def test_several_changes_choose_what_each_of_them_does(tree: choice.Tree) -> None:
    assert set(tree.tests_of(["stacks/main.py", "components/table.py"])) == {f"tests/{name}.py" for name in {"stacks/test_tool", "components/test_up"} | ALWAYS}


@pytest.mark.parametrize(
    "changed", ["Makefile", "pyproject.toml", "components/gone.py", "components/gone.yaml", "playbooks/roles/unused/tasks/main.yml", "tools/test"]
)
def test_what_can_not_be_attributed_chooses_all(tree: choice.Tree, changed: str) -> None:
    with pytest.raises(choice.Unattributed, match=changed):
        tree.tests_of(["blueprints/base.py", changed])


def test_changes_are_those_since_the_commit_with_new_files(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        known = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *known, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    for name in ("kept", "edited", "moved"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "--quiet", "--message=all")
    commit = git("rev-parse", "HEAD")
    (tmp_path / "edited").write_text("otherwise")
    git("mv", "moved", "elsewhere")
    git("commit", "--quiet", "--all", "--message=changed")
    (tmp_path / "new").write_text("new")
    assert choice.changed_since(commit, tmp_path) == ["edited", "elsewhere", "moved", "new"]


@pytest.fixture(scope="module")
def project() -> choice.Tree:
    return choice.Tree(project_root())


@pytest.mark.parametrize(
    ("changed", "chosen", "left_out"),
    [
        ("tests/simcloud/core/store.py", "tests/components/aws/test_engine.py", "tests/blueprints/test_compare.py"),
        ("components/local/balancer.py", "tests/hosts/test_starter.py", "tests/elastic/test_judge.py"),
        ("playbooks/roles/slurmctld/tasks/main.yml", "tests/hosts/test_starter.py", "tests/elastic/test_judge.py"),
        ("blueprints/library/starter.yaml", "tests/hosts/test_starter.py", "tests/blueprints/catalog/test_machines.py"),
    ],
)
def test_the_project_s_own_tests_are_chosen(project: choice.Tree, changed: str, chosen: str, left_out: str) -> None:
    found = project.tests_of([changed])
    assert chosen in found
    assert left_out not in found


def test_every_test_of_hosts_is_chosen_with_the_program_that_it_starts(project: choice.Tree) -> None:
    started = {f"tests/hosts/{file.name}" for file in (project_root() / "tests/hosts").glob("test_*.py")}
    assert started <= set(project.tests_of(["stacks/cli/main.py"]))
