"""The password of BMCs comes from one private place, and no place keeps it; one that was refused is not tried again."""

import os
from pathlib import Path

import pytest

from blueprints import spec
from components.bmc.model import Access, Cause, Unanswered
from stacks import project
from stacks.bmcs import password, refusals
from stacks.engine import commands, state
from stacks.errors import EngineFailed, Problem

STACK = f"test-bmc-password-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
MARKER = "planted-Zk93-marker"


def private(path: Path, text: str = f"{MARKER}\n", mode: int = 0o600) -> spec.SiteBmc:
    path.write_text(text)
    path.chmod(mode)
    return spec.SiteBmc("operator", password_file=str(path))


def test_reads_a_private_file_without_its_line_break(tmp_path: Path) -> None:
    assert password.read(private(tmp_path / "password"), "lab") == MARKER


def test_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(password.VARIABLE, "other")

    assert password.read(private(tmp_path / "password"), "lab") == "other"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_refuses_a_file_that_others_can_read_or_write(tmp_path: Path, mode: int) -> None:
    with pytest.raises(Problem) as raised:
        password.read(private(tmp_path / "password", mode=mode), "lab")

    assert raised.value.remedy == f"chmod 600 {tmp_path / 'password'}"
    assert MARKER not in raised.value.page()


@pytest.mark.parametrize("text", ["", "\n"])
def test_refuses_an_empty_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(Problem):
        password.read(private(tmp_path / "password", text), "lab")


def test_refuses_what_is_missing_or_undescribed(tmp_path: Path) -> None:
    for asked in (spec.SiteBmc("operator", password_file=str(tmp_path / "none")), spec.SiteBmc("operator")):
        with pytest.raises(Problem):
            password.read(asked, "lab")


@pytest.mark.engine
def test_reads_an_encrypted_setting_of_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    for name, value in (("BACKEND_URL", (tmp_path / "state").as_uri()), ("HOME", str(tmp_path / "home")), ("CONFIG_PASSPHRASE", "of the stack")):
        monkeypatch.setenv(f"PULUMI_{name}", value)
    settings = project.stack_file(STACK)
    try:
        state.create_if_missing(STACK)
        commands.answer("config", "set", "--secret", "bmc:password", MARKER, "--stack", STACK)

        assert password.read(spec.SiteBmc("operator", secret="bmc:password"), STACK) == MARKER
        assert MARKER not in settings.read_text()
        with pytest.raises(EngineFailed):
            password.read(spec.SiteBmc("operator", secret="bmc:other"), STACK)
    finally:
        settings.unlink(missing_ok=True)


def remembered(folder: Path, text: str = MARKER) -> refusals.Refusals:
    return refusals.Refusals(folder, Access("operator", text))


def refused() -> Unanswered:
    return Unanswered(Cause.PASSWORD, "it refuses")


def test_a_refused_password_is_not_tried_again_by_a_later_run(tmp_path: Path) -> None:
    remembered(tmp_path).note({"gpu-1": refused(), "gpu-2": "on", "gpu-3": Unanswered(Cause.SILENT, "")})
    later = remembered(tmp_path)

    with pytest.raises(Unanswered) as raised:
        later.check("gpu-1")
    later.check("gpu-2")
    later.check("gpu-3")
    remembered(tmp_path, "another").check("gpu-1")

    assert raised.value.cause is Cause.PASSWORD


def test_a_password_that_works_again_is_forgotten(tmp_path: Path) -> None:
    remembered(tmp_path).note({"gpu-1": refused()})
    remembered(tmp_path).note({"gpu-1": "on"})

    remembered(tmp_path).check("gpu-1")


def test_the_file_holds_no_password_and_is_private(tmp_path: Path) -> None:
    remembered(tmp_path).note({"gpu-1": refused()})
    file = tmp_path / refusals.FILE

    assert MARKER not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
