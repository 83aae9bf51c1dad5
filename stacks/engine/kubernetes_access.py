"""Reach the Kubernetes API of a stack: its kubeconfigs, and kubectl with one of them. A kubeconfig that no user asked to have in a file is in memory only."""

import dataclasses
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from components.kubernetes import api, user_access

from ..errors import EXIT_USAGE, Problem
from . import commands, state

OTHER_CLUSTER = (
    "--kubeconfig",
    "--server",
    "-s",
    "--context",
    "--cluster",
    "--user",
    "--token",
    "--client-key",
    "--client-certificate",
    "--certificate-authority",
)
"""Options of kubectl that lead to another cluster, or in as somebody else."""
HOUR_S, DAY_S = 3600, 24 * 3600


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """How the API server of a stack is reached."""

    stack: str
    server: str
    administrator: str = dataclasses.field(repr=False)
    """The administrator's kubeconfig."""
    release: Path
    """Folder of the release, with its kubectl."""
    users: tuple[str, ...]

    def kubeconfig(self, user: str | None, *, life_s: int) -> str:
        """Give a user's kubeconfig, with a certificate that is signed now; None: the administrator's.

        Raises:
            Problem: no such user, or the API server did not answer or refused.
        """
        if user is None:
            return self.administrator
        if user not in self.users:
            known = ", ".join(self.users) or "no users"
            raise Problem(f"no user {user}", why=f"the cluster has {known}", remedy="name one of them, or add the user to the blueprint")
        try:
            return user_access.kubeconfig(self.administrator, user, life_s=life_s)
        except (api.Unreachable, api.ApiError) as error:
            remedy = f"`clusterwright kubectl --stack {self.stack} -- get --raw /readyz` shows whether the API server answers"
            raise Problem(f"the cluster gave no certificate to {user}", why=str(error), remedy=remedy) from error

    def kubectl(self) -> str:
        """Find kubectl: that of the release, which fits the cluster's version, else one of this machine.

        Raises:
            Problem: there is none.
        """
        own = self.release / "bin" / "kubectl"
        found = str(own) if own.is_file() else shutil.which("kubectl")
        if found is None:
            why = f"neither {own} nor a kubectl in PATH"
            raise Problem("there is no kubectl", why=why, remedy=f"run `clusterwright up --stack {self.stack}`, which installs the release, or install kubectl")
        return found


def of_stack(stack: str) -> Access:
    """Read how a stack's API server is reached.

    Raises:
        Problem: the stack is not up, or has no Kubernetes.
    """
    outputs: dict[str, Any] = commands.outputs(stack) if state.exists(stack) else {}
    if "spec" not in outputs:
        raise Problem(f"stack {stack} is not up", why="no `up` of it has finished yet, so it has no API server", remedy=f"make up STACK={stack}")
    if "kubeconfig" not in outputs:
        schedulers = "Slurm" if outputs["spec"].get("slurm") else "another scheduler"
        remedy = f"`clusterwright ssh --stack {stack}` logs in to it; a blueprint with `scheduler: kubernetes` makes a cluster of Kubernetes"
        raise Problem(f"stack {stack} has no Kubernetes", why=f"its blueprint runs {schedulers}", remedy=remedy)
    known = outputs["kubernetes"]
    users = tuple(user["name"] for user in outputs["spec"]["users"])
    return Access(stack, known["server"], outputs["kubeconfig"], Path(known["release"]), users)


def refuse_other_cluster(stack: str, words: Sequence[str]) -> None:
    """Refuse options of kubectl that lead away from the stack's cluster.

    Raises:
        Problem: there is one before the first `--`.
    """
    own = words[: words.index("--")] if "--" in words else words
    # `logs -s`… do not exist; `-s=…` and `--server=…` are written in one word, too.
    for word in own:
        if word.partition("=")[0] in OTHER_CLUSTER:
            raise Problem(
                f"kubectl's option {word.partition('=')[0]} leads away from the cluster of stack {stack}",
                why="this command uses the stack's own kubeconfig, so that nothing reaches another cluster by mistake",
                remedy="leave the option out, name another stack with --stack, or call kubectl itself",
                status=EXIT_USAGE,
            )


def replace_process(program: str, words: Sequence[str], kubeconfig: str) -> None:
    """Become kubectl with a kubeconfig that is only in memory: a file without a name, which ends with the process."""
    descriptor = os.memfd_create("kubeconfig", 0)
    os.write(descriptor, kubeconfig.encode())
    environment = {**os.environ, "KUBECONFIG": f"/proc/self/fd/{descriptor}"}
    os.execve(program, [program, *words], environment)  # noqa: S606 - from here on it is kubectl's


def same_cluster(text: str, server: str) -> bool:
    """Say whether a kubeconfig is of this API server, and of no other."""
    try:
        clusters = yaml.safe_load(text)["clusters"]
        return [one["cluster"]["server"] for one in clusters] == [server]
    except (yaml.YAMLError, KeyError, TypeError):
        return False
