"""The part of the scheduler layer about accounts, users and QOS: the blueprint against what slurmdbd says. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from . import roles, slurm
from .codes import Code
from .finding import Drift, Layer, Unchecked, drift

BUILT_IN_ACCOUNT = "root"
BUILT_IN_QOS = {"name": "normal", "priority": "0"}
"""What every cluster has (sacctmgr(1))."""
ASSOCIATION = ("cluster", "account", "user", "parentname", "fairshare", "grptres", "grpjobs", "maxtres", "maxjobs", "qos")
QOS = ("name", "priority", "maxwall", "maxtrespu", "maxjobspu", "preempt", "flags", "grptres")
LIMITS = {"fairshare": "1", "grptres": "", "grpjobs": "", "maxtres": "", "maxjobs": "", "qos": "normal"}
"""What an association has when nobody set a limit."""
SETTABLE = ("parent", "share", "most_gpus", "most_nodes", "most_jobs", "qos")
"""Fields of an account that a blueprint can give and the role `accounting` doesn't set yet."""
UP = "`clusterwright up` sets it when the controller is finished anew; `sacctmgr` on the controller sets it now"


def findings(answers: Mapping[str, Mapping[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    """Compare accounts, members, limits, rights and QOS."""
    rows = [row for row in slurm.parse_rows(answers["associations"]["text"], *ASSOCIATION) if row["cluster"] == spec["name"]]
    described = {row["account"]: row for row in slurm.parse_rows(answers["accounts"]["text"], "account", "description", "organization")}
    users = {row["user"]: row for row in slurm.parse_rows(answers["users"]["text"], "user", "default", "admin")}
    yield from _accounts(rows, described, spec)
    yield from _members(rows, spec)
    yield from _limits(rows, spec)
    yield from _users(users, spec)
    yield from _qos({row["name"]: row for row in slurm.parse_rows(answers["qos"]["text"], *QOS)}, spec)


def unchecked(spec: Mapping[str, Any]) -> Iterator[Unchecked]:
    """Name what the blueprint asks for and the roles don't set: it can't be called drift."""
    why = "the blueprint asks for it, and this version's roles don't set it"
    for account in spec["accounts"]:
        asked = [name for name in SETTABLE if _is_asked(account, name)]
        if asked:
            yield Unchecked(Layer.SCHEDULER, f"account {account['name']}: {', '.join(asked)}", why)
    for user in spec["users"]:
        if user.get("admin"):
            yield Unchecked(Layer.SCHEDULER, f"user {user['name']}: admin level", why)
    for qos in spec.get("qos") or ():
        yield Unchecked(Layer.SCHEDULER, f"QOS {qos['name']}", why)


def _is_asked(account: Mapping[str, Any], name: str) -> bool:
    return account.get(name) not in (None, [], (), 1) if name == "share" else bool(account.get(name))


def _accounts(rows: list[dict[str, str]], described: Mapping[str, Mapping[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    wanted = {account["name"]: account for account in spec["accounts"]}
    present = {row["account"] for row in rows} - {BUILT_IN_ACCOUNT}
    organization = roles.defaults("accounting")["accounting_organization"]
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
        account = accounts.get(row["account"])
        if account is None:
            continue
        whose = f"account {row['account']}" + (f": user {row['user']}" if row["user"] else "")
        for field, default in LIMITS.items():
            if row.get(field, default) != default and not any(_is_asked(account, name) for name in SETTABLE):
                what = f"{field} was set by hand"
                yield drift(
                    Layer.SCHEDULER,
                    Code.ACCOUNT_CHANGED,
                    f"{whose}: {field}",
                    what,
                    remedy=UP,
                    desired=default or "no limit",
                    recorded=default or "no limit",
                    actual=row[field],
                )


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
        if name not in {BUILT_IN_ACCOUNT, *admins} and row["admin"] not in ("None", ""):
            remedy = f"`sacctmgr modify user {name} set adminlevel=none` on the controller"
            yield drift(
                Layer.SCHEDULER,
                Code.ADMIN_LEVEL,
                f"user {name}: admin level",
                "the user may change accounting",
                remedy=remedy,
                desired="None",
                recorded="None",
                actual=row["admin"],
            )


def _qos(present: Mapping[str, Mapping[str, str]], spec: Mapping[str, Any]) -> Iterator[Drift]:
    named = {qos["name"] for qos in spec.get("qos") or ()}
    built_in = BUILT_IN_QOS["name"]
    if built_in not in present:
        yield drift(
            Layer.SCHEDULER, Code.QOS_MISSING, f"QOS {built_in}", "the QOS that every association has is gone", remedy=UP, desired="there", recorded="there"
        )
    for name, row in sorted(present.items()):
        if name == built_in:
            for field in QOS[1:]:
                default = BUILT_IN_QOS.get(field, "")
                if row.get(field, default) != default:
                    what = f"{field} of the QOS was set by hand"
                    remedy = f"`sacctmgr modify qos {name} set {field}={default or '-1'}` on the controller"
                    yield drift(
                        Layer.SCHEDULER,
                        Code.QOS_CHANGED,
                        f"QOS {name}: {field}",
                        what,
                        remedy=remedy,
                        desired=default or "no limit",
                        recorded=default or "no limit",
                        actual=row[field],
                    )
        elif name not in named:
            remedy = f"add it to the blueprint, or `sacctmgr delete qos {name}`"
            yield drift(
                Layer.SCHEDULER, Code.QOS_ADDED, f"QOS {name}", "the QOS was added by hand", remedy=remedy, actual=f"priority {row.get('priority', '')}"
            )
