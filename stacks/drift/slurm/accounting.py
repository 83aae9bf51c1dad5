"""The part of the scheduler layer about accounts, users and QOS: the blueprint against what slurmdbd says. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .. import role_defaults
from ..codes import Code
from ..report import Drift, Layer, drift
from . import parse

BUILT_IN_ACCOUNT, BUILT_IN_QOS = "root", "normal"
"""What every cluster has (sacctmgr(1))."""
ASSOCIATION = ("cluster", "account", "user", "parentname", "fairshare", "grptres", "grpjobs", "maxtres", "maxjobs", "qos", "defaultqos")
QOS = ("name", "priority", "maxwall", "maxtrespu", "maxjobspu", "preempt", "flags", "grptres")
NO_LIMITS = {"fairshare": "1", "grptres": "", "grpjobs": "", "maxtres": "", "maxjobs": "", "qos": "", "defaultqos": ""}
"""What an association has when nobody set anything for itself."""
NO_QOS_LIMITS = {"priority": "0", "maxwall": "", "maxtrespu": "", "maxjobspu": "", "preempt": "", "flags": "", "grptres": ""}
ACCOUNT_FIELDS = frozenset({"parentname", "fairshare", "grptres", "grpjobs", "qos", "defaultqos"})
QOS_FIELDS = frozenset({"priority", "maxwall", "maxtrespu", "maxjobspu", "preempt"})
"""What the role `accounting` sets of an account and of a QOS, in Slurm's words; a blueprint can say nothing of the others."""
ACCOUNT_RESOURCES = frozenset({"gres/gpu", "node"})
ADMINISTRATOR, NO_RIGHTS = "Administrator", "None"
NOT_SET = "no limit"
UP = "`clusterwright up` sets it when the controller is finished anew; `sacctmgr` on the controller sets it now"


def findings(answers: Mapping[str, Mapping[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    """Compare accounts, members, limits, rights and QOS."""
    rows = [row for row in parse.parse_rows(answers["associations"]["text"], *ASSOCIATION) if row["cluster"] == spec["name"]]
    described = {row["account"]: row for row in parse.parse_rows(answers["accounts"]["text"], "account", "description", "organization")}
    users = {row["user"]: row for row in parse.parse_rows(answers["users"]["text"], "user", "default", "admin")}
    yield from _accounts(rows, described, spec)
    yield from _members(rows, spec)
    yield from _limits(rows, spec)
    yield from _users(users, spec)
    yield from _qos({row["name"]: row for row in parse.parse_rows(answers["qos"]["text"], *QOS)}, spec)


def _accounts(rows: list[dict[str, str]], described: Mapping[str, Mapping[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    wanted = {account["name"]: account for account in spec["accounts"]}
    present = {row["account"] for row in rows} - {BUILT_IN_ACCOUNT}
    organization = role_defaults.defaults("accounting")["accounting_organization"]
    for name in sorted({*wanted, *present}):
        where = f"account {name}"
        if name not in present:
            yield drift(
                Layer.SCHEDULER, Code.ACCOUNT_MISSING, where, "the account is gone: its users can't run jobs", remedy=UP, desired="there", recorded="there"
            )
        elif name not in wanted:
            remedy = f"add it to the blueprint, or `sacctmgr delete account {name}`"
            yield drift(
                Layer.SCHEDULER, Code.ACCOUNT_ADDED, where, "the account was added by hand", remedy=remedy, actual=described.get(name, {}).get("description")
            )
        else:
            for field, value in (("description", wanted[name]["description"].lower()), ("organization", organization.lower())):
                actual = described.get(name, {}).get(field)
                if actual is not None and actual.lower() != value:  # sacctmgr keeps text in lower case
                    what = f"the account has another {field}"
                    yield drift(Layer.SCHEDULER, Code.ACCOUNT_CHANGED, f"{where}: {field}", what, remedy=UP, desired=value, recorded=value, actual=actual)


def _members(rows: list[dict[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    wanted = {(account["name"], user) for account in spec["accounts"] for user in account["users"]}
    listed = {account["name"] for account in spec["accounts"]}
    present = {(row["account"], row["user"]) for row in rows if row["user"] and row["account"] != BUILT_IN_ACCOUNT}
    accounts = {row["account"] for row in rows}
    for account, user in sorted(wanted - present):
        if account in accounts:  # of an account that is gone, that is said once
            what = "the user has lost the account: jobs are refused"
            yield drift(Layer.SCHEDULER, Code.MEMBER_MISSING, f"account {account}: user {user}", what, remedy=UP, desired="member", recorded="member")
    for account, user in sorted(present - wanted):
        if account in listed:
            remedy = f"add the user to the account in the blueprint, or `sacctmgr delete user {user} account={account}`"
            yield drift(
                Layer.SCHEDULER, Code.MEMBER_ADDED, f"account {account}: user {user}", "the user was given the account by hand", remedy=remedy, actual="member"
            )


def _limits(rows: list[dict[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    accounts = {account["name"]: account for account in spec["accounts"]}
    for row in rows:
        if row["account"] not in accounts:
            continue
        account, user = row["account"], row["user"]
        whose = f"account {account}" + (f": user {user}" if user else "")
        command = f"`sacctmgr modify {'user' if user else 'account'} where name={user or account} cluster={spec['name']}{f' account={account}' if user else ''} set …`"
        wanted = NO_LIMITS if user else _wanted_of_account(accounts[account], spec)
        yield from _differences(Code.ACCOUNT_CHANGED, whose, wanted, row, own=() if user else ACCOUNT_FIELDS, command=command)


def _wanted_of_account(account: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, str]:
    limits = {"gres/gpu": account.get("most_gpus"), "node": account.get("most_nodes")}
    qualities = _qualities(account, spec)
    return {
        **NO_LIMITS,
        "parentname": account.get("parent") or BUILT_IN_ACCOUNT,
        "fairshare": str(account.get("share") or 1),
        "grptres": ",".join(f"{name}={limit}" for name, limit in limits.items() if limit is not None),
        "grpjobs": _number(account.get("most_jobs")),
        "qos": ",".join(qualities),
        "defaultqos": qualities[0] if qualities else "",
    }


def _qualities(account: Mapping[str, Any], spec: Mapping[str, Any]) -> Sequence[str]:
    """Give the QOS that jobs of an account may have, the usual one first: its own, those of the account it is part of, or all; none where the blueprint knows none."""
    by_name = {one["name"]: one for one in spec["accounts"]}
    named = spec.get("qos") or ()
    if not named and not any(one.get("qos") for one in spec["accounts"]):
        return ()
    above: Mapping[str, Any] | None = account
    while above:
        if above.get("qos"):
            return tuple(above["qos"])
        above = by_name.get(above.get("parent") or "")
    return (BUILT_IN_QOS, *(qos["name"] for qos in named))


def _differences(code: Code, whose: str, wanted: Mapping[str, str], row: Mapping[str, str], *, own: Collection[str], command: str) -> Iterator[Drift]:
    """Compare field by field.

    Args:
        own: the fields that the roles set; what is set in others is taken back by hand.
        command: with which that is done on the controller.
    """
    for field, desired in wanted.items():
        actual = row.get(field, desired)
        if field in ("qos", "defaultqos") and not desired and actual == BUILT_IN_QOS:
            continue  # said of it, or come to it from above: the same
        if _same(field, desired, actual):
            continue
        by_hand = field == "grptres" and all(_resources(desired).get(name) == _resources(actual).get(name) for name in ACCOUNT_RESOURCES)
        remedy = UP if field in own and not by_hand else f"{command} on the controller takes it back"
        what = f"{field} was set by hand"
        yield drift(
            Layer.SCHEDULER,
            code,
            f"{whose}: {field}",
            what,
            remedy=remedy,
            desired=desired or NOT_SET,
            recorded=desired or NOT_SET,
            actual=actual or NOT_SET,
        )


def _same(field: str, desired: str, actual: str) -> bool:
    match field:
        case "grptres" | "maxtres" | "maxtrespu":
            return _resources(desired) == _resources(actual)
        case "qos" | "preempt" | "flags":
            return set(desired.split(",")) == set(actual.split(","))
        case "maxwall":
            return parse.minutes(desired) == parse.minutes(actual)
        case _:
            return desired == actual


def _resources(text: str) -> dict[str, str]:
    """Read a limit of several resources (`gres/gpu=8,node=2`)."""
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def _number(limit: int | None) -> str:
    return "" if limit is None else str(limit)


def _users(present: Mapping[str, Mapping[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    for user in spec["users"]:
        row = present.get(user["name"])
        if row is None:
            continue  # without an account there is no user either; that is said of the account
        if row["default"] != user["default_account"]:
            what = "jobs of this user count for another account by default"
            where = f"user {user['name']}: default account"
            yield drift(
                Layer.SCHEDULER,
                Code.ACCOUNT_CHANGED,
                where,
                what,
                remedy=UP,
                desired=user["default_account"],
                recorded=user["default_account"],
                actual=row["default"],
            )
    admins = {user["name"] for user in spec["users"] if user.get("admin")}
    for name, row in sorted(present.items()):
        desired, actual = ADMINISTRATOR if name in admins else NO_RIGHTS, row["admin"] or NO_RIGHTS
        if name == BUILT_IN_ACCOUNT or actual == desired:
            continue
        what = "the user may not administer the scheduler" if desired == ADMINISTRATOR else "the user may change accounting"
        by_hand = f"`sacctmgr modify user {name} set adminlevel={desired.lower()}` on the controller"
        own = name in {user["name"] for user in spec["users"]} and ADMINISTRATOR in (desired, actual)
        yield drift(
            Layer.SCHEDULER,
            Code.ADMIN_LEVEL,
            f"user {name}: admin level",
            what,
            remedy=f"{by_hand} sets it now; `clusterwright up` does when the controller is finished anew" if own else by_hand,
            desired=desired,
            recorded=desired,
            actual=actual,
        )


def _qos(present: Mapping[str, Mapping[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    named = {qos["name"]: qos for qos in spec.get("qos") or ()}
    for name in sorted({BUILT_IN_QOS, *named, *present}):
        where = f"QOS {name}"
        command = f"`sacctmgr modify qos where name={name} set …`"
        if name not in present:
            what = "the QOS that every association has is gone" if name == BUILT_IN_QOS else "the QOS is gone: jobs that name it are refused"
            yield drift(Layer.SCHEDULER, Code.QOS_MISSING, where, what, remedy=UP, desired="there", recorded="there")
        elif name in named:
            yield from _differences(Code.QOS_CHANGED, where, _wanted_of_qos(named[name]), present[name], own=QOS_FIELDS, command=command)
        elif name == BUILT_IN_QOS:
            yield from _differences(Code.QOS_CHANGED, where, NO_QOS_LIMITS, present[name], own=(), command=command)
        else:
            remedy = f"add it to the blueprint, or `sacctmgr delete qos {name}`"
            actual = f"priority {present[name].get('priority', '')}"
            yield drift(Layer.SCHEDULER, Code.QOS_ADDED, where, "the QOS was added by hand", remedy=remedy, actual=actual)


def _wanted_of_qos(qos: Mapping[str, Any]) -> dict[str, str]:
    gpus = qos["gpus_per_user"]
    return {
        **NO_QOS_LIMITS,
        "priority": str(qos["priority"]),
        "maxwall": "" if qos["max_time"] == "UNLIMITED" else qos["max_time"],
        "maxtrespu": "" if gpus is None else f"gres/gpu={gpus}",
        "maxjobspu": _number(qos["jobs_per_user"]),
        "preempt": ",".join(qos["preempts"]),
    }
