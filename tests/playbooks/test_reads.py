"""Playbooks and roles declare the files that they read, all of them and no others."""

import pathlib
import shutil

import pytest

from tests.playbooks import reads, templates


@pytest.fixture(scope="module")
def playbooks(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy for all tests of this module; each test puts back what it changes."""
    return pathlib.Path(shutil.copytree(templates.PLAYBOOKS, tmp_path_factory.mktemp("copy") / "playbooks", ignore=shutil.ignore_patterns("__pycache__")))


def test_every_playbook_role_and_module_declares_what_it_reads() -> None:
    assert reads.problems(templates.PLAYBOOKS) == []


BOOT = "roles/boot/tasks/main.yml"
MISTAKES = {
    "a file": (BOOT, "\n- files: {entries: [{path: /x, content: \"{{ lookup('ansible.builtin.file', 'other.sh') }}\"}]}\n", "boot/main reads files other.sh"),
    "one of two files": (BOOT, "\n- debug: {msg: \"{{ lookup('file', 'boot.sh' if cloud else 'other.sh') }}\"}\n", "boot/main reads files other.sh"),
    "a file in a condition": (BOOT, "\n- meta: noop\n  when: lookup('file', 'other.sh') != ''\n", "boot/main reads files other.sh"),
    "a template": (BOOT, "\n- debug: {msg: \"{{ query('template', 'other.j2') }}\"}\n", "boot/main reads templates other.j2"),
    "a template that a template imports": (
        "roles/boot/templates/clusterwright-boot.service.j2", "{% from 'other.j2' import x %}\n", "boot/main reads templates other.j2",
    ),
    "a module": (BOOT, "\n- host_record: {}\n", "boot/main reads modules host_record"),
    "a filter": (
        BOOT,
        "\n- debug: {msg: \"{{ spec | contract_problems({}) }}\"}\n",
        "boot/main reads filter_plugins contract_problems",
    ),
    "a module that another one imports": (
        "library/host_facts.py", "\nfrom ansible.module_utils.host_places import PLACES\n", "library/host_facts.py reads module_utils host_places",
    ),
    "a module of a role that imports": (
        "roles/munge/library/keys.py", "from ansible.module_utils import kernel_set\n", "munge/configure reads module_utils kernel_set",
    ),
    "a file of the playbooks": (
        BOOT, "\n- debug: {msg: \"{{ lookup('file', playbook_dir ~ '/module_utils/host_places.py') }}\"}\n", "boot/main reads module_utils host_places",
    ),
    "a role": ("tasks/tidy.yml", "\n- ansible.builtin.import_role: {name: users}\n", "tasks/tidy.yml reads roles users"),
    "another task file of a role": ("tasks/tidy.yml", "\n- include_role: {name: time, tasks_from: check}\n", "tasks/tidy.yml reads roles time/check"),
    "tasks": ("image.yml", "\n- hosts: all\n  tasks: [{include_tasks: tasks/unbaked.yml}]\n", "image.yml reads tasks unbaked"),
    "a playbook": ("accept.yml", "\n- import_playbook: site.yml\n", "accept.yml reads playbooks site.yml"),
    "variables": ("accept.yml", "\n- hosts: all\n  vars_files: [vars/contract.yml]\n", "accept.yml reads vars contract"),
    "a role that a role depends on": ("roles/mpi/meta/main.yml", "dependencies: [{role: users}]\n", "mpi/main reads roles users"),
    "a lookup among a role's variables": ("roles/mpi/vars/main.yml", "mpi_text: \"{{ lookup('file', 'x') }}\"\n", "mpi/main reads files x"),
    "a computed name": (BOOT, "\n- debug: {msg: \"{{ lookup('file', word ~ '.sh') }}\"}\n", "boot/main names a file in a way that only a run computes"),
    "names from a list": (BOOT, "\n- debug: {msg: \"{{ query('file', *words) }}\"}\n", "boot/main names a file in a way that only a run computes"),
    "another lookup": (BOOT, "\n- debug: {msg: \"{{ lookup('csvfile', 'x file=boot.csv') }}\"}\n", "boot/main names a file in a way that only a run computes"),
    "a copy": (BOOT, "\n- ansible.builtin.copy: {src: boot.sh, dest: /x}\n", "boot/main names a file in a way that only a run computes"),
    "a pattern": (BOOT, "\n- debug: {msg: x}\n  with_fileglob: ['*.sh']\n", "boot/main names a file in a way that only a run computes"),
    "a file that nothing reads": ("roles/boot/files/never.sh", "exit 0\n", "boot: nothing reads files/never.sh"),
    "a task file without a declaration": ("roles/boot/tasks/more.yml", "[]\n", "boot: more is in one of the folder and meta/reads.yml only"),
    "a module without a declaration": ("library/more.py", "", "library: more is in one of the folder and meta/reads.yml only"),
    "a playbook without a declaration": ("more.yml", "[]\n", "playbooks: more.yml is in one of the folder and meta/reads.yml only"),
    "a declaration of something else": ("roles/users/meta/reads.yml", "  files: [x]\n", "users/main declares files x, which it does not name"),
    "a folder without need": ("roles/users/meta/reads.yml", "  project: [components]\n", "users/main declares a folder"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_read_and_not_declared_is_found(playbooks: pathlib.Path, mistake: str) -> None:
    name, text, problem = MISTAKES[mistake]
    file = playbooks / name
    before = file.read_text() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text((before or "") + text)
    try:
        found = reads.problems(playbooks)
    finally:
        if before is None:
            file.unlink()
        else:
            file.write_text(before)
    assert any(line.startswith(problem) for line in found), found
