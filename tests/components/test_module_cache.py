"""Archives of Ansible's modules that runs share: made once, never those of another module, and only where nobody else writes."""

import os
import threading
from pathlib import Path

import pytest

from components.finish import module_cache, playbook
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
    (playbooks / "library/greet.py").write_text(MODULE.format(said="good morning"))
    assert greeting(playbooks) == "good morning"
    assert len(archives(cache)) == 2


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
