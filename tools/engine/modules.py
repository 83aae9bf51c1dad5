"""The engine built from Go modules."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pins

VERSION_SYMBOL = f"{pins.SDK_MODULE}/go/common/version.Version"

# Measured: 295 s for the engine and 30 s for the language host on 2 cores, 60 s of downloads on a fast line.
BUILD_CORE_S = 650
DOWNLOAD_S = 60
BUILD_CACHES_BYTES = 4 * 1024**3  # 1.9 GiB of modules, 1.7 GiB of compiled packages


def make(recipe: pins.Recipe, partial: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise pins.WayClosedError("no `go` on PATH")
    settings = go_settings(go)
    require_go_version(recipe, settings)
    # Go stops when it hears of a missing gigabyte, but only after minutes.
    if not (Path(settings["GOMODCACHE"]) / f"cache/download/github.com/pulumi/pulumi/pkg/v3/@v/v{recipe.version}.zip").exists():
        half = BUILD_CACHES_BYTES // 2
        pins.require_space({Path(settings["GOMODCACHE"]): half, Path(settings["GOCACHE"]): half, partial: pins.ENGINE_BYTES})
    else:
        pins.require_space({partial: pins.ENGINE_BYTES})
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    minutes = (BUILD_CORE_S / cores + DOWNLOAD_S) / 60
    pins.say(f"engine: building Pulumi {recipe.version} from Go modules: about {minutes:.0f} min on {cores} cores, less when Go's caches are warm")
    flags = ["-mod=readonly", "-buildvcs=false", "-trimpath"]
    go_run(
        go,
        ["build", *flags, "-ldflags", f"-s -w -X {VERSION_SYMBOL}=v{recipe.version}", "-o", f"{partial}/bin/pulumi", pins.CLI_PACKAGE],
        recipe,
        partial,
        "cli",
    )
    pins.say("engine: the command line is built; the language host follows")
    go_run(go, ["build", *flags, "-ldflags", "-s -w", "-o", f"{partial}/bin/pulumi-language-python", pins.LANGUAGE_PACKAGE], recipe, partial, "language")
    sdk = Path(go_run(go, ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", pins.SDK_MODULE], recipe, partial, "cli").strip())
    for script in pins.SDK_SCRIPTS:
        target = partial / "bin" / Path(script).name
        shutil.copyfile(sdk / script, target)
        target.chmod(0o755)


def go_settings(go: str) -> dict[str, str]:
    names = ("GOVERSION", "GOTOOLCHAIN", "GOMODCACHE", "GOCACHE")
    try:
        answer = subprocess.run([go, "env", *names], cwd="/", env={**os.environ, "GOWORK": "off"}, capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stderr", "") or str(error)
        raise pins.WayClosedError(f"{go} does not work: {detail.strip()}") from None
    return dict(zip(names, answer.stdout.splitlines() + [""] * len(names), strict=False))


def require_go_version(recipe: pins.Recipe, settings: dict[str, str]) -> None:
    """From 1.21 on Go fetches the toolchain that go.mod names, unless it is told to stay as it is."""
    needed = needed_go(recipe)
    actual = go_number(re.match(r"go(\S+)", settings["GOVERSION"]))
    fetches = actual >= (1, 21) and settings["GOTOOLCHAIN"] != "local"
    if actual < needed and not fetches:
        shown = settings["GOVERSION"] or "of an unknown version"
        raise pins.WayClosedError(f"`go` is {shown}; the engine needs {'.'.join(map(str, needed))} or newer")


def needed_go(recipe: pins.Recipe) -> tuple[int, ...]:
    module_files = (recipe.folder / module / "go.mod" for module in ("cli", "language"))
    return max(go_number(re.search(r"^go (\S+)", file.read_text(), re.MULTILINE)) for file in module_files)


def go_number(match: re.Match[str] | None) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", match[1])[:3])) if match else ()


def go_run(go: str, arguments: list[str], recipe: pins.Recipe, partial: Path, module: str) -> str:
    """Run Go in one of the modules; what it says goes to a log, whose end is shown when it fails."""
    scratch = partial / "tmp"  # removed with the rest, whatever kills Go
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "GOWORK": "off", "GOTMPDIR": str(scratch)}
    with (partial / "log").open("w+") as log:
        process = subprocess.Popen(
            [go, *arguments], cwd=recipe.folder / module, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=end_with_parent
        )
        try:
            output, _ = process.communicate()
        except BaseException:
            process.send_signal(signal.SIGINT)  # Go removes its own scratch files on this one
            process.wait()
            raise
        log.seek(0)
        told = log.read().strip().splitlines()
    if process.returncode != 0:
        raise pins.WayClosedError("\n".join([f"`go {arguments[0]}` failed:", *(f"    {line}" for line in tell_cause(told))]))
    return output


def tell_cause(told: list[str]) -> list[str]:
    return [line for line in told if not line.startswith("go: downloading ")][-8:] or ["it said nothing"]


def end_with_parent() -> None:
    """Let Linux interrupt Go when this program is killed: a build that nobody waits for would run on for minutes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background job of a shell starts with it ignored
    if sys.platform == "linux":
        pr_set_pdeathsig = 1  # prctl(2)
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGINT)
