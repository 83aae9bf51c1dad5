"""The first way to an engine: the `pulumi` that is on PATH."""

from __future__ import annotations

import pytest

from tests.tools.installer import VERSION, Installer, release_archive, release_server, write_program

MAJOR, MINOR, PATCH = map(int, VERSION.split("."))


@pytest.mark.parametrize("version", [f"v{VERSION}", f"v{MAJOR}.{MINOR + 1}.0", f"v{VERSION}+local"])
def test_a_pulumi_on_path_whose_version_fits_is_taken_and_nothing_is_made(engine: Installer, version: str) -> None:
    write_program(engine.programs / "pulumi", f"echo {version}")
    write_program(engine.programs / "pulumi-language-python", "exit 1")
    answer = engine.run()
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == f"{engine.programs}\n"
    assert str(engine.programs / "pulumi") in answer.stderr
    assert engine.made() == []


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"echo v{MAJOR}.{MINOR - 1}.9", f"is version {MAJOR}.{MINOR - 1}.9; the project needs {VERSION}"),
        (f"echo v{MAJOR + 1}.0.0", f"is version {MAJOR + 1}.0.0"),
        (f"echo v{VERSION}-alpha.1", f"is version {VERSION}-alpha.1"),
        ("echo hello", "is version hello"),
        ("echo broken >&2; exit 1", "does not answer `pulumi version`"),
    ],
)
def test_a_pulumi_that_does_not_fit_is_left_and_the_page_says_why(engine: Installer, script: str, why: str) -> None:
    write_program(engine.programs / "pulumi", script)
    write_program(engine.programs / "pulumi-language-python", "exit 1")
    answer = engine.run()
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert why in answer.stderr
    assert engine.made() == []


def test_a_pulumi_without_a_language_host_cannot_run_this_project(engine: Installer) -> None:
    write_program(engine.programs / "pulumi", f"echo v{VERSION}")
    answer = engine.run(CLUSTERWRIGHT_ENGINE="path")
    assert answer.returncode == 1
    assert "has no pulumi-language-python beside it" in answer.stderr


def test_a_language_host_beside_a_linked_pulumi_counts(engine: Installer) -> None:
    elsewhere = engine.cache.parent / "opt"
    write_program(elsewhere / "pulumi", f"echo v{VERSION}")
    write_program(elsewhere / "pulumi-language-python", "exit 1")
    (engine.programs / "pulumi").symlink_to(elsewhere / "pulumi")
    answer = engine.run()
    assert answer.stdout == f"{engine.programs}\n", answer.stderr


def test_an_engine_of_the_cache_on_path_is_judged_by_its_pins_not_by_its_version(engine: Installer) -> None:
    older = engine.cache / "engine" / "older" / "bin"
    write_program(older / "pulumi", f"echo v{VERSION}")
    write_program(older / "pulumi-language-python", "exit 1")
    archive = release_archive()
    engine.pin(archive)
    with release_server(archive) as (url, asked):
        answer = engine.run(PATH=f"{older}:/usr/bin:/bin", CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert len(asked) == 1
    assert answer.stdout.strip() != str(older)
    assert answer.returncode == 0, answer.stderr


def test_an_unknown_way_is_named_with_the_known_ones(engine: Installer) -> None:
    answer = engine.run(CLUSTERWRIGHT_ENGINE="compile")
    assert answer.returncode == 1
    assert answer.stderr == "error: CLUSTERWRIGHT_ENGINE is 'compile'; it can be path, archive or build\n"


def test_a_second_run_downloads_nothing(engine: Installer) -> None:
    archive = release_archive()
    engine.pin(archive)
    with release_server(archive) as (url, _):
        first = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    second = engine.run()  # nobody serves the archive any more
    assert second.stdout == first.stdout
    assert second.stderr == ""
