"""Run Pulumi's engine: the only module that starts the `pulumi` program and captures its answer."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from components.finish import inspection_results
from components.provider import packed

from .. import errors, project
from ..errors import EngineFailed, Problem
from . import backend

PROJECT = "clusterwright"
LONGEST = 2000
"""Characters of the engine's output that an error shows."""
PLUGIN = Path("components/provider/pulumi-resource-clusterwright")
"""Started by the engine for this project's own resources (Pulumi.yaml)."""
UNDECIPHERABLE = re.compile(r"passphrase|secrets manager|failed to decrypt")
"""What the engine says when it can't decrypt a stack's secrets."""
BAD_SETTINGS = re.compile(r"stack configuration could not be loaded|invalid YAML file|could not unmarshal")
"""What the engine says about a settings file that it can't read."""
OTHER_PROVIDER = re.compile(r"^secretsprovider:\s*(?!passphrase|default)(\S+)", re.MULTILINE)
"""In a stack's settings: a key service instead of a passphrase."""
QUIET = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
EVENTS = {"PULUMI_DEBUG_COMMANDS": "true"}
"""Makes the engine accept `--event-log`, as the Automation API does."""


class Undecipherable(EngineFailed):
    """The secrets of a stack can't be decrypted."""

    def __init__(self, stack: str, said: str):
        file = os.environ.get("PULUMI_CONFIG_PASSPHRASE_FILE")
        place = "PULUMI_CONFIG_PASSPHRASE" if "PULUMI_CONFIG_PASSPHRASE" in os.environ else f"the file {file}" if file else "PULUMI_CONFIG_PASSPHRASE_FILE"
        super().__init__(
            f"the secrets of stack {stack} can't be decrypted",
            why=said,
            remedy=f"give back the passphrase that the stack had ({place}), from a backup for example, and run the same command again.\n"
            f"If it is lost, so are the keys and passwords that the stack generated, and nothing else. To generate them again, which restarts the hosts:\n"
            f"clusterwright up --stack {stack} --forget-secrets\n"
            f"Or delete the stack, for which nobody needs them:\n"
            f"clusterwright down --stack {stack} --forget-secrets",
        )


def require() -> None:
    """Raise Problem unless the engine is on PATH and a backend is chosen."""
    if shutil.which("pulumi") is None or "PULUMI_BACKEND_URL" not in os.environ:
        raise Problem(
            "Pulumi's engine was not found",
            why="`pulumi` is not on PATH, or PULUMI_BACKEND_URL is not set",
            remedy="run `make setup`, which installs it, then `. ./activate` in this shell; or use the make targets, which do both",
        )
    if not os.access(project_root() / PLUGIN, os.X_OK):
        raise Problem(
            "this checkout is incomplete",
            why=f"{project_root() / PLUGIN} is missing or can't be executed",
            remedy=f"git -C {shlex.quote(str(project_root()))} checkout -- {PLUGIN}",
        )
    backend.require()


def environment() -> dict[str, str]:
    """Give the engine's environment. Its parts talk to each other through this machine's own address, also where a proxy leads to all others."""
    direct = [os.environ.get("no_grpc_proxy") or os.environ.get("no_proxy") or os.environ.get("NO_PROXY", ""), "127.0.0.1", "localhost"]  # noqa: SIM112 - gRPC reads this case alone
    return {**inspection_results.AS_RECORDED, **os.environ, **QUIET, "no_grpc_proxy": ",".join(filter(None, direct))}


def run(*words: str, folder: Path | None = None, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `pulumi` without a terminal and capture what it writes; the caller judges the exit status.

    Args:
        folder: of the Pulumi project; this project's by default.
    """
    whole = {**environment(), **(variables or {})}
    try:
        return subprocess.run(
            ["pulumi", *words], cwd=folder or project_root(), env=whole, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise broken(errors.reason(error)) from error


def broken(why: str) -> EngineFailed:
    """Give the page about an engine that doesn't run."""
    program = Path(shutil.which("pulumi") or "pulumi")
    made = program.parent.parent  # as tools/engine/install lays it out: engine/KEY/bin/pulumi
    remove = f"rm -rf {shlex.quote(str(made))} && make setup" if made.parent.name == "engine" else f"remove {program} or put a working Pulumi before it on PATH"
    return EngineFailed("Pulumi's engine doesn't run", why=f"{program}: {why}", remedy=f"{remove}\nthen the same command again")


def answer(*words: str, folder: Path | None = None) -> str:
    """Give the standard output of a command.

    Raises:
        EngineFailed: it ended with an error; Undecipherable where that is about the stack's secrets.
    """
    done = run(*words, folder=folder)
    if done.returncode:
        if "--stack" in words and (page := about_settings(words[words.index("--stack") + 1], done.stderr)):
            raise page
        if not done.stderr.strip():
            raise broken(f"it ended with status {done.returncode} and printed nothing")
        raise EngineFailed(
            f"`pulumi {' '.join(words[:2])}` failed", why=done.stderr.strip()[-LONGEST:], remedy="correct what it names and run the command again"
        )
    return done.stdout


def _settings(stack: str) -> str:
    file = project.stack_file(stack)
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def about_settings(stack: str, said: str) -> EngineFailed | None:
    """Give the page about settings that can't be read, or secrets that can't be decrypted, when that is what the engine says."""
    why = said.strip().removeprefix("error: ")[-LONGEST:]
    if BAD_SETTINGS.search(said):
        file = shlex.quote(str(project.stack_file(stack)))
        remedy = f"correct the file, or set it aside, which loses what was set: mv {file} {file}.broken\nthen the same command again"
        return EngineFailed(f"the settings of stack {stack} can't be read", why=f"{why}\nthe file is {file}", remedy=remedy)
    return _undecipherable(stack, why) if UNDECIPHERABLE.search(said) else None


def _undecipherable(stack: str, why: str) -> EngineFailed:
    provider = OTHER_PROVIDER.search(_settings(stack))
    if provider is None:
        return Undecipherable(stack, why)
    file = project.stack_file(stack)
    return EngineFailed(
        f"the secrets of stack {stack} can't be decrypted",
        why=f"{why}\n{file} says that {provider[1]} decrypts them",
        remedy=f"check that this key exists and that you may use it\n"
        f"or, if a passphrase protected the stack before: sed -i /^secretsprovider:/d {shlex.quote(str(file))}\nthen the same command again",
    )


def record(stack: str, *, folder: Path | None = None, show_secrets: bool = False) -> dict[str, Any]:
    """Give all that the backend records of a stack.

    Args:
        show_secrets: decrypt them; they stay encrypted by default.
    Raises:
        EngineFailed: no such stack, a wrong passphrase, a backend that doesn't answer.
    """
    found: dict[str, Any] = json.loads(answer("stack", "export", *(["--show-secrets"] if show_secrets else []), "--stack", stack, folder=folder))
    return found


def resources_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the resources of a record, with long inputs and outputs as they were before they were packed."""
    found: list[dict[str, Any]] = (record.get("deployment") or {}).get("resources") or []
    return [{**one, **{side: packed.unpack_each(one[side]) for side in ("inputs", "outputs") if one.get(side)}} for one in found]


def outputs(stack: str) -> dict[str, Any]:
    """Give the stack's outputs, secrets included."""
    return packed.unpack_each(json.loads(answer("stack", "output", "--json", "--show-secrets", "--stack", stack)))


def listed(stack: str) -> Mapping[str, Any]:
    """Give the stack's entry in the backend's list; empty when the backend doesn't answer: whoever reads the record next gets the error."""
    done = run("stack", "ls", "--json")
    return entry_of(json.loads(done.stdout), stack) if done.returncode == 0 else {}


def entry_of(entries: Sequence[Mapping[str, Any]], stack: str) -> Mapping[str, Any]:
    """Find a stack in `pulumi stack ls --json`, where Pulumi's service writes an organization before its name. Pure."""
    return next((entry for entry in entries if entry["name"] == stack or entry["name"].endswith(f"/{stack}")), {})
