"""The release of Kubernetes as a resource: made with progress, found in the cache, made whole when it is broken, ended with the run."""

import dataclasses
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.kubernetes import release as kind
from components.provider.kind import UNKNOWN, Refused, Stopped, Work
from tests import processes
from tests.tools import release

INPUTS = kind.ReleaseInputs(version="1.2.3")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[release.Release]:
    small = release.copied(tmp_path)
    monkeypatch.setattr(kind, "INSTALL", small.install)
    for name, value in small.environment().items():
        monkeypatch.setenv(name, value)
    kind._folder.cache_clear()
    yield small
    kind._folder.cache_clear()


def work(said: list[str], stopping: threading.Event | None = None) -> Work:
    return Work(show=lambda line, kept: said.append(line), stopping=stopping or threading.Event(), timeout_s=0)


def test_before_it_is_made_its_folder_is_known_and_its_images_are_not(small: release.Release) -> None:
    assert kind.Release().expected(INPUTS) == {"folder": small.run("--where").stdout.strip(), "images": UNKNOWN}
    assert kind.Release().read(INPUTS, {}) is None


def test_it_is_made_with_progress_and_read_as_it_was_made(small: release.Release) -> None:
    said: list[str] = []
    made = kind.Release().create(INPUTS, work(said))
    assert sorted(made["images"]) == ["registry.example.com/group/alpha:v1.2.3", "registry.example.com/group/beta:v1.2.3"]
    assert (Path(made["folder"]) / "bin/alpha").exists()
    assert [line.split(" (")[0] for line in said if "building" in line] == ["building alpha", "building beta"]
    assert kind.Release().read(INPUTS, made) == made == kind.Release().expected(INPUTS)


def test_an_optional_part_is_made_where_a_stack_asks_for_it(small: release.Release) -> None:
    assert kind.optional_parts(["alpha", "gamma"], rehearsal=True) == ["gamma"]
    plain = kind.Release().create(INPUTS, work([]))
    more = kind.Release().create(dataclasses.replace(INPUTS, parts=("gamma",)), work([]))
    assert set(more["images"]) - set(plain["images"]) == {"registry.example.com/group/gamma:v1.2.3"}
    assert small.builds() == 3


def test_a_rehearsal_of_training_brings_its_own_image() -> None:
    assert kind.optional_parts(["jobset", "trainer"], rehearsal=True) == ["trainer", "torch"]
    assert kind.optional_parts(["jobset", "trainer"], rehearsal=False) == ["trainer"]
    assert kind.optional_parts(["jobset"], rehearsal=True) == []


def test_a_broken_entry_of_the_cache_is_absent_until_it_is_made_again(small: release.Release) -> None:
    made = kind.Release().create(INPUTS, work([]))
    (Path(made["folder"]) / "bin/beta").unlink()
    assert kind.Release().read(INPUTS, made) is None
    assert kind.Release().create(INPUTS, work([])) == made
    assert kind.Release().read(INPUTS, made) == made


def test_a_stopped_run_ends_the_build_and_the_next_one_goes_on(small: release.Release) -> None:
    (small.state / "hold-beta").touch()
    stopping = threading.Event()
    ended: list[Exception] = []

    def create() -> None:
        try:
            kind.Release().create(INPUTS, work([], stopping))
        except Stopped as stopped:
            ended.append(stopped)

    running = threading.Thread(target=create)
    running.start()
    processes.wait_until(lambda: small.builds() == 2, awaiting="the second build")
    stopping.set()
    running.join()
    assert len(ended) == 1
    assert small.leftovers() == []
    (small.state / "hold-beta").unlink()
    said: list[str] = []
    kind.Release().create(INPUTS, work(said))
    assert [line for line in said if "building alpha" in line] == []


def test_what_cannot_be_built_is_one_page(small: release.Release) -> None:
    (small.state / "refuse").touch()
    with pytest.raises(Refused) as refused:
        kind.Release().create(INPUTS, work([]))
    assert str(refused.value).startswith("this release of Kubernetes is not in the cache and cannot be made here")
    assert "remedy:" in str(refused.value)


def test_a_version_that_nothing_pins_is_refused(small: release.Release) -> None:
    with pytest.raises(Refused, match=r"choose one of 1\.2\.3"):
        kind.Release().expected(kind.ReleaseInputs(version="1.0.0"))


def test_the_installer_sees_no_secret_of_the_run(small: release.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "planted")
    assert "planted" not in kind._environment().values()
    assert kind._environment()["PATH"] == os.environ["PATH"]
