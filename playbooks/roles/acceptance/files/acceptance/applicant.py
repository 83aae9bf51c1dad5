"""Which user's view acceptance takes: one whose account and quality of service a partition admits (pure)."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

USUAL_QOS = "normal"
"""What jobs have that name none, unless their account says otherwise (sacctmgr(1))."""


@dataclasses.dataclass(frozen=True, slots=True)
class Applicant:
    """A user in the role of an account."""

    user: str
    account: str
    qos: str = ""
    """Empty: the one that the account's jobs have when they name none."""


def choose(spec: Mapping[str, Any], partition: Mapping[str, Any]) -> Applicant | None:
    """Choose the first user, in the order of the blueprint, whom a partition admits; None when it admits nobody."""
    return next(_admitted(spec, partition), None)


def _admitted(spec: Mapping[str, Any], partition: Mapping[str, Any]) -> Iterator[Applicant]:
    accounts = {account["name"]: account for account in spec["accounts"]}
    for user in spec["users"]:
        for name in dict.fromkeys((user["default_account"], *(user.get("accounts") or ()))):
            way = _up(name, accounts)
            if partition.get("accounts") and not {name, *(account["name"] for account in way)} & set(partition["accounts"]):
                continue
            listed = next((account["qos"] for account in way if account.get("qos")), (USUAL_QOS, *(qos["name"] for qos in spec["slurm"]["qos"])))
            for number, qos in enumerate(listed):
                if not partition.get("qos") or qos in partition["qos"]:
                    yield Applicant(user["name"], name, qos if number else "")


def _up(name: str, accounts: Mapping[str, Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Give an account and those above it."""
    way: list[Mapping[str, Any]] = []
    account = accounts.get(name)
    while account and account not in way:
        way.append(account)
        account = accounts.get(account.get("parent") or "")
    return way
