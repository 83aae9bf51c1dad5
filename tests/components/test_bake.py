"""What an image is baked from: the same files, variables and script for each builder."""

import json
import pathlib
import shlex
import subprocess
import sys

from blueprints.project import project_root
from components import bake
from components.finish import content

SOFTWARE = {"profile": "debian-13", "os": "debian-13", "versions": [["kernel", "6.12"]]}


def test_the_archive_holds_what_the_playbook_reads_by_its_place_in_the_project() -> None:
    files = bake.archive_files()
    assert files["playbooks/image.yml"] == project_root() / "playbooks" / "image.yml"
    assert set(files.values()) == set(content.files(bake.PLAYBOOK))
    assert bake.archive_name() == f"bundle-{content.fingerprint(bake.PLAYBOOK)}.zip"


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
