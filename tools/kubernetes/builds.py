"""Programs built from Go modules, each with the Go version that its part pins."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import processes
import recipe

FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")
SAY_EVERY_S = 60.0
LINES_OF_A_FAILURE = 12


def build(part: recipe.Part, wanted: Mapping[str, str], work: Path, programs: Path) -> None:
    """Build some programs of a part (name → Go package) into the folder `programs`.

    Raises:
        WayClosedError: there is no Go here, or it cannot fetch the pinned modules.
    """
    go = find_go()
    prepare(part, work, go)
    flags = [*FLAGS, "-ldflags", f"-s -w {part.ldflags}".strip()]
    # One call for all packages: while one program is linked on one processor, the next one is compiled on the others.
    together = {program: package for program, package in wanted.items() if package != "."}
    if together:
        made = work / "programs"
        made.mkdir()
        run_go(go, ["build", "-v", *flags, "-o", f"{made}/", *together.values()], part, work)
        for program, package in together.items():
            (made / default_name(package)).rename(programs / program)
    for program, package in wanted.items():
        if package == ".":
            run_go(go, ["build", "-v", *flags, "-o", str(programs / program), "."], part, work)


def find_go() -> str:
    go = shutil.which("go")
    if go is None:
        raise recipe.WayClosedError("no `go` on PATH")
    return go


def prepare(part: recipe.Part, work: Path, go: str) -> None:
    """Lay out the part's main module in `work`."""
    for pattern in recipe.FILES_OF_A_BUILD:
        for file in part.folder.glob(pattern):
            shutil.copyfile(file, work / file.name)
    if part.derived is not None:
        main = (module_folder(go, part, work, part.derived.module) / part.derived.file).read_text()
        (work / "main.go").write_text(without_imports(main, part.derived.without))


def without_imports(source: str, unwanted: Sequence[str]) -> str:
    """Leave blank imports out of Go source."""
    lines = [line for line in source.splitlines() if not any(line.strip() == f'_ "{path}"' for path in unwanted)]
    if len(source.splitlines()) - len(lines) != len(unwanted):
        raise recipe.RefusedError(f"the main package does not import each of {', '.join(unwanted)}")
    return "\n".join(lines) + "\n"


def default_name(package: str) -> str:
    """Give the name that Go gives the program of a package: its last element that is no major version."""
    elements = package.split("/")
    return elements[-2] if re.fullmatch(r"v\d+", elements[-1]) else elements[-1]


def module_folder(go: str, part: recipe.Part, work: Path, module: str) -> Path:
    """Fetch a module at the version that the part pins, and give the folder of its files."""
    run_go(go, ["mod", "download", module], part, work)
    return Path(json.loads(run_go(go, ["list", "-mod=readonly", "-m", "-json", module], part, work))["Dir"])


def run_go(go: str, arguments: Sequence[str], part: recipe.Part, work: Path) -> str:
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [go, *arguments],
            cwd=work,
            env=environment(part),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            preexec_fn=lambda: processes.end_with_parent(signal.SIGINT),
        )
        done = threading.Event()
        watch = threading.Thread(target=_say_progress, args=(part, Path(f"/proc/self/fd/{log.fileno()}"), done), daemon=True)
        watch.start()
        try:
            output, _ = process.communicate()
        except BaseException:
            process.send_signal(signal.SIGINT)  # Go removes its own scratch files on this one
            process.wait()
            raise
        finally:
            done.set()
            watch.join()
        log.seek(0)
        said = [line for line in log.read().splitlines() if not line.startswith("go: downloading ")]
    if process.returncode != 0:
        cause = said[-LINES_OF_A_FAILURE:] or ["it said nothing"]
        raise recipe.WayClosedError("\n".join([f"`go {arguments[0]}` of {part.name} failed:", *(f"    {line}" for line in cause)]))
    return output


def environment(part: recipe.Part) -> Mapping[str, str]:
    """Keep the user's own settings away from what is built, but not the way to modules (GOPROXY, GONOSUMDB …)."""
    return {**os.environ, "GOTOOLCHAIN": f"go{part.go}", "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off", "GO111MODULE": "on", "GOOS": "linux"}


def _say_progress(part: recipe.Part, log: Path, done: threading.Event) -> None:
    while not done.wait(SAY_EVERY_S):
        compiled = sum(not line.startswith("go: ") for line in log.read_text().splitlines())
        if compiled:
            recipe.say(f"{part.name}: {compiled} packages compiled")
