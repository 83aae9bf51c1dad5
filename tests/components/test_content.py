"""The fingerprint of a playbook changes with the files that the playbook reads, and with no others."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from components.finish.content import copy, files, fingerprint, installation
from components.finish.playbook import PLAYBOOKS


@pytest.fixture
def playbooks(tmp_path: Path) -> Path:
    for program in (Path("components", "elastic"), Path("components", "maintenance")):  # what a role ships lies beside the playbooks
        shutil.copytree(PLAYBOOKS.parent / program, tmp_path / program, ignore=shutil.ignore_patterns("__pycache__"))
    catalogue = [Path("blueprints", "catalog", f"{name}.yaml") for name in ("roce", "fabric_devices", "host_settings", "repairs")]
    for shared in (Path("blueprints", "hostlist.py"), Path("blueprints", "maintenance_windows.py"), *catalogue):
        (tmp_path / shared.parent).mkdir(exist_ok=True)
        shutil.copy(PLAYBOOKS.parent / shared, tmp_path / shared)
    return Path(shutil.copytree(PLAYBOOKS, tmp_path / "playbooks", ignore=shutil.ignore_patterns("__pycache__")))


def now(playbook: str, playbooks: Path) -> str:
    """The fingerprint without the memory that one run of the program has of it."""
    return str(fingerprint.__wrapped__(playbook, playbooks=playbooks))


def changed(playbooks: Path, playbook: str, *, by: str) -> bool:
    """Say whether one more line in the file `by` changes the playbook's fingerprint."""
    before = now(playbook, playbooks)
    with (playbooks / by).open("a") as file:
        file.write("\n# one more line\n")
    return now(playbook, playbooks) != before


@pytest.mark.parametrize(
    ("playbook", "file", "is_read"),
    [
        ("site.yml", "site.yml", True),
        ("site.yml", "ansible.cfg", True),
        ("site.yml", "library/host_facts.py", True),
        ("site.yml", "../components/elastic/act.py", True),
        ("site.yml", "../blueprints/hostlist.py", True),
        ("accept.yml", "../blueprints/hostlist.py", True),
        ("image.yml", "../blueprints/hostlist.py", False),
        ("image.yml", "../blueprints/catalog/fabric_devices.yaml", True),
        ("image.yml", "../blueprints/catalog/host_settings.yaml", False),
        ("site.yml", "../blueprints/catalog/host_settings.yaml", True),
        ("site.yml", "validate.yml", True),  # import_playbook
        ("site.yml", "vars/contract.yml", True),  # vars_files of an imported playbook
        ("site.yml", "filter_plugins/contract_problems.py", True),
        ("image.yml", "filter_plugins/contract_problems.py", False),
        ("site.yml", "tasks/install.yml", True),  # include_tasks
        ("site.yml", "roles/slurmctld/tasks/configure.yml", True),  # import_role
        ("site.yml", "roles/slurm_config/templates/slurm.conf.j2", True),
        ("site.yml", "roles/users/defaults/main.yml", True),
        ("site.yml", "roles/acceptance/tasks/main.yml", False),
        ("site.yml", "accept.yml", False),
        ("site.yml", "image.yml", False),
        ("accept.yml", "roles/acceptance/files/acceptance/__main__.py", True),
        ("accept.yml", "roles/slurm_config/templates/slurm.conf.j2", False),
        ("accept.yml", "site.yml", False),
        ("image.yml", "tasks/install.yml", True),
        ("image.yml", "tasks/tidy.yml", True),
        ("image.yml", "roles/boot/files/boot.sh", True),
        ("image.yml", "roles/slurmctld/tasks/main.yml", True),
        ("image.yml", "roles/slurmctld/templates/slurmctld.service.conf.j2", True),
        ("image.yml", "roles/base_os/files/journald-instance.conf", True),  # one of two, as the host is
        ("image.yml", "roles/gpu_driver/vars/main.yml", True),
        ("image.yml", "roles/kernel/tasks/alone.yml", True),  # a second task file of a role
        ("image.yml", "module_utils/host_places.py", True),  # what a module imports, and a task reads
        ("image.yml", "library/files.py", True),
        ("image.yml", "roles/slurmctld/tasks/configure.yml", False),
        ("image.yml", "roles/munge/tasks/configure.yml", False),
        ("image.yml", "roles/database/templates/init.sql.j2", False),  # of the configuring alone
        ("image.yml", "roles/slurmdbd/templates/slurmdbd.conf.j2", False),
        ("image.yml", "roles/cloud_host/tasks/ready.yml", False),
        ("image.yml", "library/slurm_accounting.py", False),
        ("image.yml", "roles/elastic/tasks/main.yml", False),
        ("site.yml", "roles/slurm_config/filter_plugins/slurm_tables.py", True),
        ("site.yml", "library/slurm_accounting.py", True),
        ("image.yml", "vars/contract.yml", False),
        ("image.yml", "site.yml", False),
    ],
)
def test_a_playbook_reads_what_it_uses(playbook: str, file: str, is_read: bool) -> None:
    assert (PLAYBOOKS / file in files(playbook)) is is_read


def test_the_fingerprint_changes_with_a_file_that_is_read_and_with_no_other(playbooks: Path) -> None:
    assert changed(playbooks, "image.yml", by="roles/munge/tasks/main.yml")
    assert not changed(playbooks, "image.yml", by="roles/munge/tasks/configure.yml")


def test_a_copy_elsewhere_has_the_same_fingerprint(playbooks: Path) -> None:
    assert fingerprint("site.yml", playbooks=playbooks) == fingerprint("site.yml")


def test_a_file_that_becomes_executable_is_a_change(playbooks: Path) -> None:
    before = now("image.yml", playbooks)
    script = playbooks / "roles/boot/files/boot.sh"
    script.chmod(script.stat().st_mode ^ 0o111)
    assert now("image.yml", playbooks) != before


def test_a_new_file_in_a_role_is_a_change_and_compiled_python_is_none(playbooks: Path) -> None:
    before = now("accept.yml", playbooks)
    cache = playbooks / "roles/acceptance/files/acceptance/__pycache__"
    cache.mkdir()
    (cache / "judge.cpython-311.pyc").write_bytes(b"compiled")
    assert now("accept.yml", playbooks) == before
    (playbooks / "roles/acceptance/files/acceptance/more.py").touch()
    assert now("accept.yml", playbooks) != before


def test_a_copy_of_what_a_playbook_reads_is_a_playbook_of_its_own(playbooks: Path, tmp_path: Path) -> None:
    """`components/local/image.py` bakes from such a copy, and Image Builder from an archive of the same files: what was missed would be missing there."""
    alone = copy("image.yml", tmp_path / "alone", playbooks=playbooks)
    copied = {path.relative_to(alone.parent) for path in alone.parent.rglob("*") if path.is_file()}
    assert copied == {path.resolve().relative_to(playbooks.parent.resolve()) for path in files("image.yml", playbooks=playbooks)}
    assert Path("blueprints/catalog/fabric_devices.yaml") in copied
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "--list-tasks", "-i", "image,", "image.yml"],
        cwd=alone, env={**os.environ, "ANSIBLE_CONFIG": str(alone / "ansible.cfg")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "slurmd : " in done.stdout


def test_a_task_file_that_is_not_declared_is_an_error(playbooks: Path) -> None:
    (playbooks / "roles/munge/meta/reads.yml").write_text("configure: {}\n")
    with pytest.raises(FileNotFoundError, match=r"main of .*roles/munge is not declared in meta/reads\.yml"):
        now("image.yml", playbooks)


def test_a_change_of_a_declaration_alone_changes_no_fingerprint(playbooks: Path) -> None:
    before = now("image.yml", playbooks)
    with (playbooks / "roles/munge/meta/reads.yml").open("a") as file:
        file.write("# one more line\n")
    assert now("image.yml", playbooks) == before


def test_a_task_file_that_does_not_exist_is_an_error(playbooks: Path) -> None:
    (playbooks / "roles/munge/tasks/main.yml").rename(playbooks / "roles/munge/tasks/other.yml")
    with pytest.raises(FileNotFoundError, match=r"roles/munge/tasks/main\.yml"):
        now("image.yml", playbooks)


def test_a_role_that_does_not_exist_is_an_error(playbooks: Path) -> None:
    shutil.rmtree(playbooks / "roles/mpi")
    with pytest.raises(FileNotFoundError, match="roles/mpi"):
        now("image.yml", playbooks)


@pytest.mark.parametrize(
    ("role", "file", "is_read"),
    [
        ("compute", "roles/guard/files/guard.py", True),
        ("compute", "roles/in_place/defaults/main.yml", True),
        ("compute", "roles/munge/files/munge.service.conf", True),
        ("compute", "library/server_software.py", True),
        ("compute", "module_utils/host_places.py", True),
        ("control", "roles/database/templates/mariadb.cnf.j2", True),
        ("compute", "roles/database/templates/mariadb.cnf.j2", False),
        ("access", "roles/guard/files/guard.py", False),
        ("compute", "roles/users/tasks/main.yml", False),
        ("compute", "roles/rails/tasks/main.yml", False),
        ("compute", "roles/base_os/tasks/main.yml", False),
        ("compute", "site.yml", False),
        ("compute", "ansible.cfg", False),
    ],
)
def test_a_server_installs_its_software_again_when_what_that_reads_changes_and_only_then(playbooks: Path, role: str, file: str, is_read: bool) -> None:
    before = installation.__wrapped__(role, playbooks=playbooks)
    with (playbooks / file).open("a") as stream:
        stream.write("\n# one more line\n")
    assert (installation.__wrapped__(role, playbooks=playbooks) != before) is is_read
