"""What Slurm says: nodes, configuration, accounting. Every question has a deadline."""

import dataclasses
import os
import pwd
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from blueprints import hostlist

ANSWER_DEADLINE_S = 30
ACCOUNTED_FIELDS = 5


class Unanswered(Exception):
    """Slurm didn't answer a question; the text says which and what it said instead."""


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    name: str
    state: str
    """Lower case, as sinfo and scontrol say it, flags after `+` (`idle+drain`)."""
    gres: str
    reason: str

    @property
    def base_state(self) -> str:
        return self.state.split("+")[0].rstrip("*")

    @property
    def flags(self) -> frozenset[str]:
        marks = {"not_responding"} if self.state.split("+")[0].endswith("*") else set()
        return frozenset(self.state.split("+")[1:]) | marks


@dataclasses.dataclass(frozen=True, slots=True)
class AccountedJob:
    state: str
    user: str
    account: str
    node_count: int
    gpu_count: int


def nodes() -> dict[str, Node]:
    return parse_nodes(ask(["scontrol", "--oneliner", "show", "nodes"]))


def parse_nodes(text: str) -> dict[str, Node]:
    found = {}
    for line in text.splitlines():
        fields = _fields(line)
        if "NodeName" not in fields:
            continue
        gres = fields.get("Gres", "")
        found[fields["NodeName"]] = Node(
            name=fields["NodeName"],
            state=fields.get("State", "unknown").lower(),
            gres="" if gres == "(null)" else gres,
            reason=fields.get("Reason", ""),
        )
    return found


def _fields(line: str) -> dict[str, str]:
    # Values hold blanks (`OS=`, `Reason=`): a field ends where the next name begins.
    parts = re.split(r"\s+(?=[A-Za-z][A-Za-z0-9_]*=)", line.strip())
    return dict(part.split("=", 1) for part in parts if "=" in part)


def gres_gpus(gres: str) -> dict[str, int]:
    """Read `gpu:h100:8(S:0-1),gpu:a100:2` as counts by type; an untyped GPU has the type ''."""
    counts: dict[str, int] = {}
    for entry in re.sub(r"\([^)]*\)", "", gres).split(","):
        kind, _, rest = entry.partition(":")
        if kind == "gpu":
            gpu_type, _, count = rest.rpartition(":")
            counts[gpu_type] = counts.get(gpu_type, 0) + (int(count) if count.isdigit() else 0)
    return counts


def configuration() -> dict[str, str]:
    return parse_configuration(ask(["scontrol", "show", "config"]))


def parse_configuration(text: str) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def accounted(job: str) -> AccountedJob | None:
    """Give the job as accounting knows it, or None while it doesn't."""
    columns = "State,User,Account,NNodes,AllocTRES"
    return parse_accounted(ask(["sacct", "--jobs", job, "--allocations", "--noheader", "--parsable2", f"--format={columns}"]))


def parse_accounted(text: str) -> AccountedJob | None:
    row = next((line for line in text.splitlines() if line.strip()), None)
    if row is None:
        return None
    fields = row.split("|")
    if len(fields) < ACCOUNTED_FIELDS or not (fields[3] or "0").isdigit():
        raise Unanswered(f"`sacct` printed what is no job: {row}")
    state, user, account, node_count, resources = fields[:ACCOUNTED_FIELDS]
    gpus = re.search(r"(?:^|,)gres/gpu=(\d+)", resources)
    return AccountedJob(
        state=state.split()[0] if state else "",
        user=user,
        account=account,
        node_count=int(node_count or 0),
        gpu_count=int(gpus.group(1)) if gpus else 0,
    )


def jobs_on(node_names: Sequence[str]) -> dict[str, str]:
    """Give `job (user)` of running jobs by node."""
    text = ask(["squeue", "--noheader", "--states=RUNNING,COMPLETING", "--format=%i %u %N"])
    holders: dict[str, str] = {}
    for line in text.splitlines():
        job, user, where = ([*line.split(maxsplit=2), "", "", ""])[:3]
        for name in node_names:
            if _contains(where, name):
                holders.setdefault(name, f"{job} ({user})")
    return holders


def pending_reason(job: str) -> str:
    """Give Slurm's reason why a job waits (squeue(1), JOB REASON CODES)."""
    return ask(["squeue", "--noheader", f"--jobs={job}", "--states=all", "--format=%r"]).strip() or "unknown"


def partition_states() -> dict[str, str]:
    """Give the state of each partition, in Slurm's words (`UP`, `DOWN`, `DRAIN`, `INACTIVE`)."""
    rows = (_fields(line) for line in ask(["scontrol", "--oneliner", "show", "partition"]).splitlines())
    return {row["PartitionName"]: row.get("State", "UP") for row in rows if "PartitionName" in row}


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    name: str
    where: str
    """Its nodes as Slurm writes them."""
    end: str

    def holds(self, name: str) -> bool:
        return _contains(self.where, name)


def reservations() -> list[Reservation]:
    """Give the reservations that hold nodes now."""
    rows = (_fields(line) for line in ask(["scontrol", "--oneliner", "show", "reservation"]).splitlines())
    return [Reservation(row["ReservationName"], row.get("Nodes", ""), row.get("EndTime", "")) for row in rows if row.get("State") == "ACTIVE"]


def _contains(where: str, name: str) -> bool:
    return name in hostlist.expand(where)


def ask(command: Sequence[str], *, user: str | None = None) -> str:
    """Run one of Slurm's commands and give what it prints.

    Args:
        user: who runs it; None: this process's own.
    Raises:
        Unanswered: it failed or was silent for ANSWER_DEADLINE_S.
    """
    written = " ".join(command)
    try:
        ended = subprocess.run(command, capture_output=True, check=False, timeout=ANSWER_DEADLINE_S, cwd="/", **_as_user(user))
    except subprocess.TimeoutExpired:
        raise Unanswered(f"`{written}` got no answer for {ANSWER_DEADLINE_S} s") from None
    except FileNotFoundError:
        raise Unanswered(f"`{command[0]}` is not installed on this host") from None
    printed, said = (text.decode(errors="replace") for text in (ended.stdout, ended.stderr))
    if ended.returncode != 0:
        words = "; ".join(line.strip() for line in (said or printed).splitlines() if line.strip())
        raise Unanswered(f"`{written}` failed: {words or f'exit status {ended.returncode}'}")
    return printed


def _as_user(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise Unanswered(f"this host does not know the user {user}") from None
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": os.getgrouplist(user, entry.pw_gid)}
