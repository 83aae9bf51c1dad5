"""`clusterwright submit`: write a job in one of the forms that Kubernetes knows, and submit it."""

import argparse
import secrets
import sys
from pathlib import Path
from typing import Any

import yaml

from blueprints import spec as specs
from components.kubernetes import api as apis
from components.kubernetes import apply, file_systems, jobs, kubeconfig, labels, submission

from ..engine import commands, state
from ..errors import EXIT_USAGE, Problem
from . import options

FILES = (".yaml", ".yml", ".json")
"""What a first word ends with that names a file; other words are a command."""
OF_COMMANDS = ("name", "image", "nodes", "gpus_per_node", "storage", "one_rack")
"""Options that change no manifest."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("--as", dest="form", choices=[*jobs.FORMS], help="the form to write (default: jobset for several nodes, else job)")
    parser.add_argument("--print", dest="is_printed", action="store_true", help="print the manifests and submit nothing")
    parser.add_argument(
        "--user", help="whose account is used where the job names none, and who it runs as with --storage (default: the blueprint's first user)"
    )
    parser.add_argument("--name", help="the job's name (default: the command's, with a few letters that make it unique)")
    parser.add_argument("--image", help="the container image")
    parser.add_argument("--nodes", type=int, help="nodes that run the command at the same time (default: 1)")
    parser.add_argument("--gpus-per-node", type=int, help="GPUs of each node (default: all)")
    parser.add_argument("--pool", help="the pool (default: the first one with GPUs)")
    parser.add_argument("--account", help="the account that pays (default: the user's)")
    parser.add_argument("--qos", help="the QOS, which sets the job's priority and longest time")
    parser.add_argument("--time-limit", help="the longest that the job may run, as Slurm writes it (01:30:00)")
    parser.add_argument(
        "--storage",
        type=_names,
        metavar="NAME,…",
        help="file systems of the cluster that the job needs, mounted at their usual place; the job then runs as the user",
    )
    parser.add_argument("--one-rack", action="store_true", default=None, help="start only where all nodes are in one rack")
    parser.add_argument("words", nargs="*", metavar="FILE.yaml | -- COMMAND", help="a job file, a Kubernetes manifest, or the command to run")


def run(given: argparse.Namespace) -> int:
    commands.require()
    outputs = commands.outputs(given.stack) if state.exists(given.stack) else {}
    if "spec" not in outputs:
        raise Problem(
            f"stack {given.stack} is not up", why="no `up` of it has finished yet, so nothing can run its jobs", remedy=f"make up STACK={given.stack}"
        )
    spec = specs.from_record(outputs["spec"])
    try:
        manifests = _manifests(given, spec)
    except jobs.JobInvalid as invalid:
        raise Problem("the job can't be submitted", why=str(invalid), remedy="correct the option or the job file", status=EXIT_USAGE) from None
    if given.is_printed:
        yaml.safe_dump_all(manifests, sys.stdout, sort_keys=False)
        return 0
    submit(manifests, str(outputs.get("kubeconfig", "")), given.stack)
    return 0


def submit(manifests: list[dict[str, Any]], config: str, stack: str) -> None:
    """Create the objects of a job, and print what follows it.

    Raises:
        Problem: the API server doesn't answer, or refuses one.
    """
    try:
        api = apis.Api(config)
        _require_claims(api, manifests)
        for manifest in manifests:
            created = apis.key_of({**manifest, **api.create(manifest)})
            print(f"submitted {created}")
    except kubeconfig.KubeconfigInvalid as invalid:
        raise Problem(f"stack {stack} has no kubeconfig that can be used", why=str(invalid), remedy=f"make up STACK={stack}") from None
    except apis.Unreachable as unreachable:
        raise Problem("the job was not submitted", why=str(unreachable), remedy=f"clusterwright drift --stack {stack}") from None
    except apis.ApiError as refused:
        what, *rest = apply.refusal_page(manifest, refused).splitlines()
        raise Problem(what, why="\n".join(line.strip().removeprefix("why: ") for line in rest[:-1]), remedy="correct the job, then submit it again") from None
    print(f"  its place in the queue: clusterwright kubectl --stack {stack} -- get workloads -n {created.namespace}")


def _require_claims(api: apis.Api, manifests: list[dict[str, Any]]) -> None:
    """Refuse jobs with storage that the cluster's nodes don't mount: their pods would wait for ever. Other claims are the user's own, and may come later."""
    asked = {(one, manifest["metadata"].get("namespace", "")) for manifest in manifests for one in jobs.claims(manifest)}
    for claim, namespace in sorted(one for one in asked if one[0].startswith(file_systems.CLAIMS)):
        if api.get(apis.Key("v1", "PersistentVolumeClaim", namespace, claim)) is None:
            raise Problem(
                f"the job's file system {claim} is not there",
                why=f"namespace {namespace} has no such claim: nodes of this target mount no file systems for pods, or somebody deleted it",
                remedy="submit the job without --storage, or run `clusterwright up`, which creates claims that are gone",
            )


def _manifests(given: argparse.Namespace, spec: specs.ClusterSpec) -> list[dict[str, Any]]:
    words = [*given.words]
    asked, written = submission.JobFile(), []
    if words and not words[0].endswith(FILES):
        asked = submission.with_options(asked, {"command": words})
    elif words:
        if words[1:]:
            raise jobs.JobInvalid(f"there is more than one file: {' '.join(words)}")
        written = _read(Path(words[0]))
        if len(written) == 1 and "apiVersion" not in written[0]:
            asked, written = submission.read(written[0]), []
    changes = {
        name: getattr(given, name) for name in ("name", "image", "nodes", "gpus_per_node", "pool", "account", "qos", "time_limit", "storage", "one_rack")
    }
    if written:
        if ignored := [name for name in OF_COMMANDS if changes[name] is not None]:
            raise jobs.JobInvalid(f"--{ignored[0].replace('_', '-')} is for commands and job files; a manifest says it itself")
        return [jobs.placed(one, _placement(changes, spec, given)) for one in written]
    asked = submission.with_options(asked, changes)
    if not asked.name and asked.command:
        asked = submission.with_options(asked, {"name": f"{labels.object_name(Path(asked.command[0]).name)[:40] or 'job'}-{secrets.token_hex(3)}"})
    form = given.form or ("jobset" if asked.nodes > 1 else "job")
    return jobs.manifests(submission.job(asked, spec, user=_user(given, spec)), form)


def _placement(changes: dict[str, Any], spec: specs.ClusterSpec, given: argparse.Namespace) -> jobs.Job:
    asked = submission.with_options(submission.JobFile(image="-", command=["-"]), {name: changes[name] for name in ("pool", "account", "qos", "time_limit")})
    return submission.job(asked, spec, user=_user(given, spec))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _user(given: argparse.Namespace, spec: specs.ClusterSpec) -> str:
    return given.user or (spec.users[0].name if spec.users else "")


def _read(file: Path) -> list[Any]:
    try:
        return [one for one in yaml.safe_load_all(file.read_text()) if one]
    except OSError as error:
        raise jobs.JobInvalid(f"{file} can't be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise jobs.JobInvalid(f"{file} is no YAML: {error}") from None
