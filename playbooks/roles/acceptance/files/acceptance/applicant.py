"""Who submits a job of the acceptance: a user whose account, quality of service and limits let it run (pure)."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

USUAL_QOS = "normal"
"""What jobs have that name none, unless their account says otherwise (sacctmgr(1))."""


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """What jobs take while they run."""

    gpus: int
    nodes: int
    jobs: int


@dataclasses.dataclass(frozen=True, slots=True)
class Applicant:
    """A user in the role of an account."""

    user: str
    account: str
    qos: str = ""
    """Empty: the one that the account's jobs have when they name none."""
    is_limited: bool = False
    """Whether running jobs of others can keep the applicant's from starting."""


ROOT = Applicant("root", "root")
"""Where a blueprint has no users: Slurm's own account."""


def choose(spec: Mapping[str, Any], partition: Mapping[str, Any], *, alone: Demand, together: Demand) -> Applicant | None:
    """Choose who can run a job in a partition; None when the limits of the blueprint let nobody.

    Whom nothing limits comes first, then who may run all jobs of the acceptance at one time, then who may run this one; among equals the blueprint's order decides.
    """
    if not spec["users"]:
        return ROOT
    found: list[tuple[int, Applicant]] = []
    for applicant, limits in _candidates(spec, partition):
        if _holds(limits, alone):
            rank = (0 if not applicant.is_limited else 1) if _holds(limits, together) else 2
            found.append((rank, applicant))
    return min(found, key=lambda one: one[0])[1] if found else None


def _candidates(spec: Mapping[str, Any], partition: Mapping[str, Any]) -> Iterator[tuple[Applicant, list[Mapping[str, int | None]]]]:
    accounts = {account["name"]: account for account in spec["accounts"]}
    qualities = {qos["name"]: qos for qos in spec["slurm"]["qos"]}
    for user in spec["users"]:
        for name in dict.fromkeys((user["default_account"], *(user.get("accounts") or ()))):
            way = _up(name, accounts)
            if partition.get("accounts") and not {name, *(account["name"] for account in way)} & set(partition["accounts"]):
                continue
            listed = next((account["qos"] for account in way if account.get("qos")), (USUAL_QOS, *qualities))
            for number, qos in enumerate(listed):
                if partition.get("qos") and qos not in partition["qos"]:
                    continue
                limits = [*(_of_account(account) for account in way), *(_of_qos(qualities[qos]) for _ in range(qos in qualities))]
                is_limited = any(value is not None for limit in limits for value in limit.values())
                yield Applicant(user["name"], name, qos if number else "", is_limited), limits


def _up(name: str, accounts: Mapping[str, Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Give an account and those above it."""
    way: list[Mapping[str, Any]] = []
    account = accounts.get(name)
    while account and account not in way:
        way.append(account)
        account = accounts.get(account.get("parent") or "")
    return way


def _of_account(account: Mapping[str, Any]) -> dict[str, int | None]:
    return {"gpus": account.get("most_gpus"), "nodes": account.get("most_nodes"), "jobs": account.get("most_jobs")}


def _of_qos(qos: Mapping[str, Any]) -> dict[str, int | None]:
    return {"gpus": qos.get("gpus_per_user"), "nodes": None, "jobs": qos.get("jobs_per_user")}


def _holds(limits: Sequence[Mapping[str, int | None]], demand: Demand) -> bool:
    taken = dataclasses.asdict(demand)
    return all(most is None or taken[name] <= most for limit in limits for name, most in limit.items())
