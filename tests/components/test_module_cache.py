"""Archives of Ansible's modules that runs share: made once, never those of another module, and only where nobody else writes."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ansible.executor import module_common

from blueprints.project import project_root
from components.finish import ansible_program, module_cache, playbook, supervise
from components.provider.kind import Work

PLAY = """
- hosts: all
  gather_facts: false
  vars: {ansible_python_interpreter: /usr/bin/python3}
  tasks:
    - name: Greet
      greet:
"""
MODULE = """
from ansible.module_utils.basic import AnsibleModule
AnsibleModule(argument_spec={{}}).exit_json(said="{said}")
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLUSTERWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "cache"


@pytest.fixture
def playbooks(tmp_path: Path) -> Path:
    folder = tmp_path / "playbooks"
    (folder / "library").mkdir(parents=True)
    (folder / "ansible.cfg").write_text("[defaults]\nlibrary = library\n")
    (folder / "play.yml").write_text(PLAY)
    (folder / "library/greet.py").write_text(MODULE.format(said="hello"))
    return folder


def greeting(playbooks: Path) -> str:
    work = Work(show=lambda text, kept: None, stopping=threading.Event(), timeout_s=0, stack="mine", purpose="group")
    hosts = {"all": {"hosts": {"one": {"ansible_connection": "local"}}}}
    order = playbook.Run("play.yml", hosts, variables={}, secrets={}, private_key="", known_hosts=(), keep=("Greet",), playbooks=str(playbooks))
    done = playbook.run(order, work)
    assert done.ok, done
    return str(done.results["Greet"]["said"])


def archives(cache: Path) -> dict[Path, int]:
    return {file: file.stat().st_ino for file in cache.glob("modules/*/*greet*") if file.suffix != ".lock"}


def test_the_next_run_takes_what_a_run_made_until_the_module_changes(cache: Path, playbooks: Path) -> None:
    assert greeting(playbooks) == "hello"
    made = archives(cache)
    assert len(made) == 1
    assert greeting(playbooks) == "hello"
    assert archives(cache) == made
    assert not (supervise.UNPACKED / next(iter(made)).parent.name).exists(), "this machine keeps no modules as hosts do"
    (playbooks / "library/greet.py").write_text(MODULE.format(said="good morning"))
    assert greeting(playbooks) == "good morning"
    assert len(archives(cache)) == 2


def test_another_place_with_the_same_modules_is_the_same_folder(playbooks: Path, tmp_path: Path) -> None:
    before = module_cache.folder(playbooks)
    assert module_cache.folder(playbooks.rename(tmp_path / "moved")) == before


@pytest.mark.parametrize("change", ["library/greet.py", "module_utils/words.py", "roles/one/library/more.py"])
def test_other_modules_are_another_folder(playbooks: Path, change: str) -> None:
    before = module_cache.folder(playbooks)
    (playbooks / "play.yml").write_text("")
    assert module_cache.folder(playbooks) == before
    (playbooks / change).parent.mkdir(parents=True, exist_ok=True)
    (playbooks / change).write_text("other = 1\n")
    assert module_cache.folder(playbooks) != before


def test_a_folder_into_which_others_write_is_not_trusted(playbooks: Path) -> None:
    folder = module_cache.folder(playbooks)
    assert folder is not None
    folder.chmod(0o770)
    assert module_cache.folder(playbooks) is None


def test_without_a_cache_each_run_makes_its_own(cache: Path, playbooks: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert module_cache.folder(playbooks) is None
    assert greeting(playbooks) == "hello"


def test_what_no_run_used_for_long_is_removed(playbooks: Path) -> None:
    folder = module_cache.folder(playbooks)
    assert folder is not None
    for name, age_s in (("old", module_cache.KEPT_S + 60), ("young", module_cache.KEPT_S - 60)):
        (folder.parent / name).mkdir()
        (folder.parent / name / "one").touch()
        then = folder.stat().st_mtime - age_s
        os.utime(folder.parent / name, (then, then))
    module_cache.folder(playbooks)
    assert {one.name for one in folder.parent.iterdir()} == {folder.name, "young"}


# On hosts


def greeting_with(playbooks: Path, unpacked: Path) -> str:
    """Run the play on this machine as on a host, and give all that Ansible says."""
    words = ["-i", "one,", "-c", "local", "-v", "play.yml"]
    command = [sys.executable, "-m", "components.finish.ansible_program", "", str(unpacked), *words]
    environment = {**os.environ, "PYTHONPATH": str(project_root()), "PYTHONDONTWRITEBYTECODE": "", "ANSIBLE_CONFIG": str(playbooks / "ansible.cfg")}
    done = subprocess.run(command, cwd=playbooks, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_this_ansible_has_the_lines_that_are_replaced() -> None:
    before = module_common._ANSIBALLZ_CODE
    assert "/run/somewhere" in ansible_program.with_unpacking(before, "/run/somewhere")
    assert ansible_program.with_unpacking(before.replace("modlib_path", "other_path"), "/run/somewhere").count("/run/somewhere") == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root unpacks on hosts")
def test_a_host_compiles_once_and_runs_what_it_unpacked(playbooks: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    assert '"said": "hello"' in greeting_with(playbooks, unpacked)
    (module,) = unpacked.rglob("greet.py")
    compiled = unpacked / "ansible/module_utils/__pycache__"
    assert [file.stem.partition(".")[0] for file in compiled.glob("basic.*.pyc")] == ["basic"]
    assert not [file for file in unpacked.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")], "no part of a file stays"
    module.write_text(MODULE.format(said="I am the unpacked one"))
    assert "I am the unpacked one" in greeting_with(playbooks, unpacked)


def test_a_host_that_can_not_write_takes_the_archive(playbooks: Path, tmp_path: Path) -> None:
    (tmp_path / "unpacked").write_text("a file where the folder should be")
    assert '"said": "hello"' in greeting_with(playbooks, tmp_path / "unpacked")
