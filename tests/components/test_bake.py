"""What an image is baked from: the same files, variables and script for each builder."""

import json
import pathlib
import re
import shlex
import subprocess
import sys
from importlib import metadata

import pytest
from packaging import requirements, utils

from blueprints.project import project_root
from components import bake
from components.finish import content

SOFTWARE = {"profile": "debian-13", "os": "debian-13", "versions": [["kernel", "6.12"]]}


def test_the_archive_holds_what_the_playbook_reads_by_its_place_in_the_project() -> None:
    files = bake.archive_files()
    assert files["playbooks/image.yml"] == project_root() / "playbooks" / "image.yml"
    assert set(files.values()) == set(content.files(bake.PLAYBOOK))


def test_the_archives_name_changes_with_the_roles_and_with_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    before = bake.archive_name()
    with monkeypatch.context() as changed:
        changed.setattr(bake, "requirements", lambda: "ansible-core==2.19.15")
        assert bake.archive_name() != before
    monkeypatch.setattr(content, "fingerprint", lambda _: "of other roles")
    assert bake.archive_name() != before


def test_ansible_is_installed_with_hashes_of_all_that_it_needs() -> None:
    pinned = {line.partition("==")[0]: line.split()[0].partition("==")[2] for line in bake.requirements().splitlines() if "==" in line and line[0] != " "}
    assert pinned.keys() == needed(bake.ANSIBLE), "pip refuses a package without a hash, and one that nothing needs is not brought"
    assert all(metadata.version(name) == version for name, version in pinned.items()), "images are baked with the versions that the tests run with"
    blocks = re.split(r"(?m)^(?=[a-z])", bake.requirements())[1:]
    assert all(block.count("--hash=sha256:") >= 1 for block in blocks)
    assert "#" not in bake.requirements()
    (install,) = [line for line in bake.script(SOFTWARE, cloud="somewhere").splitlines() if "/pip " in line]
    assert {"--require-hashes", ":all:", f"{bake.FOLDER}/{bake.REQUIREMENTS}"} <= set(install.split())


def needed(package: str) -> set[str]:
    """Name a package and all that it needs here, as its own metadata says."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        name = requirements.Requirement(waiting.pop()).name
        canonical = utils.canonicalize_name(name)
        if canonical not in found:
            found.add(canonical)
            wanted = [requirements.Requirement(one) for one in metadata.requires(name) or ()]
            waiting += [str(one) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def test_the_script_gives_the_playbook_its_variables_and_removes_everything_that_it_brought() -> None:
    lines = bake.script(SOFTWARE, cloud="somewhere").splitlines()
    variables = lines[lines.index(f"cat > {bake.FOLDER}/variables.json <<'END'") + 1]
    assert json.loads(variables) == {"cloud": "somewhere", "software": SOFTWARE}
    assert lines[-2].endswith(f"{bake.FOLDER}/playbooks/{bake.PLAYBOOK}")
    assert shlex.split(lines[-1])[:3] == ["rm", "-rf", bake.FOLDER]


def test_the_script_has_no_known_fault() -> None:
    shellcheck = str(pathlib.Path(sys.executable).with_name("shellcheck"))
    ended = subprocess.run([shellcheck, "--shell=bash", "-"], input=bake.script(SOFTWARE, cloud="somewhere"), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_whatever_an_image_is_made_from_changes_its_name() -> None:
    assert len({bake.fingerprint("base", "script"), bake.fingerprint("base", "other"), bake.fingerprint("other", "script")}) == 3
