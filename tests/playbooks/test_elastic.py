"""The role ships the whole program, and nothing but it."""

import pathlib
import subprocess
import sys

import yaml

from tests.playbooks import templates

PROGRAM = templates.PLAYBOOKS.parent / "components" / "elastic"
VARIABLES = yaml.safe_load((templates.PLAYBOOKS / "roles" / "elastic" / "vars" / "main.yml").read_text(encoding="utf-8"))


def test_every_module_is_shipped() -> None:
    here = {f"../components/elastic/{path.relative_to(PROGRAM)}" for path in PROGRAM.rglob("*.py")}
    assert set(VARIABLES["elastic_sources"]) == {*here, "../blueprints/hostlist.py"}


def test_the_program_runs_where_there_is_nothing_but_python(tmp_path: pathlib.Path) -> None:
    for source in VARIABLES["elastic_sources"]:
        shipped = tmp_path / source.removeprefix("../").removeprefix("components/")
        shipped.parent.mkdir(parents=True, exist_ok=True)
        shipped.write_bytes((templates.PLAYBOOKS / source).read_bytes())
    # -S leaves out every installed package, -I the project.
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); import runpy; runpy.run_module('elastic', run_name='__main__')"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(tmp_path), "status"],
        capture_output=True,
        text=True,
        check=False,
        env={"CLUSTERWRIGHT_FLEET": "/nowhere"},
    )
    assert ended.returncode == 1
    assert "the fleet table can't be read" in ended.stderr


def test_its_wrapper_has_no_known_fault(tmp_path: pathlib.Path) -> None:
    text = templates.render("clusterwright-elastic.sh.j2", role="elastic")
    program = tmp_path / "clusterwright-elastic.sh"
    program.write_text(text)
    ended = subprocess.run([str(pathlib.Path(sys.executable).with_name("shellcheck")), str(program)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
