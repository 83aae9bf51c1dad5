"""Each command of the pages is understood as it is written, and ends with an answer or a page where nothing runs: never with a traceback."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from blueprints.project import project_root
from stacks.cli import main

pytestmark = pytest.mark.engine

PAGES = (project_root() / "README.md", *sorted((project_root() / "docs").glob("*.md")))
LINE = re.compile(r"^# (?:[A-Z]+=\$\()?(clusterwright [a-z].*)$", re.MULTILINE)
STACK = "documented"
PROVISIONS = ("up",)
"""Commands that build something without a stack: their words are read only."""


def documented() -> list[str]:
    """Give the commands without comments, redirections and the brackets of a variable."""
    lines = [line for page in PAGES for line in LINE.findall(page.read_text(encoding="utf-8"))]
    return sorted({re.split(r"\s+#\s|\s+>\s", line)[0].rstrip(" )") for line in lines})


def words(line: str) -> list[str]:
    """Split a command as a shell does, for a stack that nobody has."""
    of_line = shlex.split(line)[1:]
    places = [number + 1 for number, word in enumerate(of_line) if word == "--stack"]
    return [STACK if number in places else word.replace("blueprints/jobs", str(project_root() / "blueprints/jobs")) for number, word in enumerate(of_line)]


@pytest.fixture
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with the blueprints that the pages speak of, with an empty backend, without credentials."""
    monkeypatch.chdir(tmp_path)
    for name in ("mine.yaml", "lab.yaml"):
        shutil.copy(project_root() / "blueprints/library/starter.yaml", tmp_path / name)
    (tmp_path / "state").mkdir()
    (tmp_path / "passphrase").write_text("correct horse")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "state").as_uri())
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    monkeypatch.setenv("PULUMI_STACK", STACK)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_the_pages_name_commands() -> None:
    assert {line.split()[1] for line in documented()} >= {"check", "plan", "up", "down", "drift", "rebuild", "restore", "submit"}


@pytest.mark.parametrize("line", documented())
def test_a_documented_command_is_understood(line: str) -> None:
    main.parsed(words(line))


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize("line", [line for line in documented() if line.split()[1] not in PROVISIONS])
def test_a_documented_command_ends_with_an_answer_or_a_page(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        status = main.main(words(line))
    except SystemExit as ended:  # of argparse, with the reason on standard error
        status = int(ended.code or 0)
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err
    assert status == 0 or re.search(r"do:|error:", said.err) or said.out, said.err
