"""The third way to an engine: built from Go modules."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.tools.installer import PROGRAMS, VERSION, Installer, release_archive, release_server, write_program

# What `go env` answers: version, toolchain, module cache, build cache.
GO_ENV = 'if [ "$1" = env ]; then printf "%s\\n" {version} {toolchain} "$HOME/mod" "$HOME/build"; exit; fi'


def stand_in_go(engine: Installer, *, version: str = "go1.99.0", toolchain: str = "local", build: str) -> None:
    write_program(engine.programs / "go", f"{GO_ENV.format(version=version, toolchain=toolchain)}\n{build}")


def test_without_any_way_one_page_says_why_for_each_and_what_to_do(engine: Installer) -> None:
    answer = engine.run()
    assert answer.returncode == 1
    assert answer.stdout == ""
    page = answer.stderr[answer.stderr.index("error:") :]
    assert page.startswith(f"error: the Pulumi engine {VERSION} is not here and could not be made\n")
    for way in ("path     no `pulumi` on PATH", "archive  http://127.0.0.1:9/", "build    no `go` on PATH", "remedy:"):
        assert way in page
    assert f"--version {VERSION}" in page
    assert engine.made() == []


def test_a_go_that_is_too_old_is_named_with_what_is_needed(engine: Installer) -> None:
    stand_in_go(engine, version="go1.19.8", build="exit 9")
    answer = engine.run()
    assert answer.returncode == 1
    assert re.search(r"`go` is go1\.19\.8; the engine needs 1\.25\.\d+ or newer", answer.stderr)


def test_a_go_that_fetches_its_own_toolchain_is_not_too_old(engine: Installer) -> None:
    stand_in_go(engine, version="go1.22.0", toolchain="auto", build="echo the build was reached >&2; exit 1")
    assert "the build was reached" in engine.run().stderr


def test_a_go_that_does_not_even_answer_is_one_page(engine: Installer) -> None:
    write_program(engine.programs / "go", "echo GOROOT is missing >&2; exit 2")
    answer = engine.run()
    assert answer.returncode == 1
    assert "does not work: GOROOT is missing" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_failing_build_shows_the_end_of_what_go_said_and_leaves_nothing(engine: Installer) -> None:
    lookup = "dial tcp: lookup proxy.example: no such host"
    stand_in_go(engine, build=f"echo 'go: downloading example.org/x v1.0.0' >&2; echo '{lookup}' >&2; exit 1")
    answer = engine.run()
    assert answer.returncode == 1
    assert lookup in answer.stderr
    assert "go: downloading" not in answer.stderr
    assert re.search(r"building Pulumi .* about \d+ min on \d+ cores", answer.stderr)
    assert engine.made() == []


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_stopped_half_way_counts_as_nothing_and_go_ends_with_it(engine: Installer, stop: signal.Signals) -> None:
    pipe = engine.cache.parent / "progress"
    os.mkfifo(pipe)
    # Go says its process id and works on until it is interrupted: nobody ever writes what it waits for.
    stand_in_go(engine, build=f"exec 3<> {pipe}.work; echo $$ > {pipe}; read -r line <&3")
    os.mkfifo(f"{pipe}.work")
    # A shell that starts the tests in its background has them ignore interrupts, and so would everything that they start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    run = subprocess.Popen(engine.command(), env=engine.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    with running(int(pipe.read_text())) as go:
        assert len(engine.made()) == 1
        run.send_signal(stop)
        run.communicate(timeout=30)
        assert run.returncode != 0
        ended, _, _ = select.select([go], [], [], 30)
        assert ended, "Go still runs 30 s after its parent was stopped"
    assert all(path.name.startswith(".partial-") for path in engine.made())

    archive = release_archive()
    engine.pin(archive)
    with release_server(archive) as (url, _):
        answer = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert answer.returncode == 0, answer.stderr
    assert engine.made() == [Path(answer.stdout.strip()).parent], "what the stopped run left is swept by the next one"


@contextmanager
def running(process_id: int) -> Iterator[int]:
    """Hold a descriptor of somebody else's child, and end the child whatever the test found out."""
    process = os.pidfd_open(process_id)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
        os.close(process)


@pytest.mark.engine
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_the_real_go_accepts_the_pins(engine: Installer) -> None:
    """What go.mod and go.sum pin is complete: Go lists every package of both programs without wanting to change a file."""
    packages = {"cli": "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", "language": "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"}
    for module, package in packages.items():
        environment = {**os.environ, "GOWORK": "off"}
        answer = subprocess.run(
            ["go", "list", "-mod=readonly", "-deps", package], cwd=engine.folder / module, env=environment, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr
        assert package in answer.stdout.split()


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_the_engine_that_the_real_go_builds_runs(engine: Installer) -> None:
    go = shutil.which("go")
    assert go is not None
    answer = engine.run(CLUSTERWRIGHT_ENGINE="build", PATH=f"{Path(go).parent}:/usr/bin:/bin", HOME=os.environ["HOME"])
    assert answer.returncode == 0, answer.stderr
    assert sorted(path.name for path in Path(answer.stdout.strip()).iterdir()) == sorted(PROGRAMS)
