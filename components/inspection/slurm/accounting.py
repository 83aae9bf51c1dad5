"""Accounts, users and QOS of slurmdbd, compared with the blueprint. Pure."""

import dataclasses
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from blueprints import spec
from blueprints.finding import Finding
from blueprints.finding.subject import Membership, ObjectKind, SchedulerObject
from blueprints.finding.values import Setting

from .. import role_defaults
from ..codes import Code
from ..finding import drift
from . import parse

BUILT_IN_ACCOUNT, BUILT_IN_QOS = "root", "normal"
"""What every cluster has (sacctmgr(1))."""
ACCEPTANCE_ACCOUNT = ACCEPTANCE_QOS = "clusterwright-acceptance"
"""What the role `accounting` gives the job of the acceptance; a blueprint can't name it."""
ASSOCIATION = ("cluster", "account", "user", "parentname", "fairshare", "grptres", "grpjobs", "maxtres", "maxjobs", "qos", "defaultqos")
QOS = ("name", "priority", "maxwall", "maxtrespu", "maxjobspu", "preempt", "flags", "grptres")
NO_LIMITS = {"fairshare": "1", "grptres": "", "grpjobs": "", "maxtres": "", "maxjobs": "", "qos": "", "defaultqos": ""}
"""What an association has when none of its own values is set."""
NO_QOS_LIMITS = {"priority": "0", "maxwall": "", "maxtrespu": "", "maxjobspu": "", "preempt": "", "flags": "", "grptres": ""}
ACCOUNT_FIELDS = frozenset({"parentname", "fairshare", "grptres", "grpjobs", "qos", "defaultqos"})
QOS_FIELDS = frozenset({"priority", "maxwall", "maxtrespu", "maxjobspu", "preempt"})
"""What the role `accounting` sets of an account and of a QOS, in Slurm's words; a blueprint sets no others."""
ACCOUNT_RESOURCES = frozenset({"gres/gpu", "node"})
ADMINISTRATOR, NO_RIGHTS = "Administrator", "None"
NOT_SET = "no limit"
UP = "`clusterwright up` sets it when it configures the controller"
NO_LIMIT = "-1"
"""With which sacctmgr(1) clears a limit."""
SET_NAMES = {"parentname": "parent"}
"""What sacctmgr calls a field when it sets it, where it lists it under another name."""


def findings(answers: Mapping[str, Mapping[str, str]], people: spec.People) -> Iterator[Finding]:
    """Compare accounts, members, limits, rights and QOS."""
    rows = [row for row in parse.parse_rows(answers["associations"]["text"], *ASSOCIATION) if row["cluster"] == people.cluster]
    described = {row["account"]: row for row in parse.parse_rows(answers["accounts"]["text"], "account", "description", "organization", "coordinators")}
    users = {row["user"]: row for row in parse.parse_rows(answers["users"]["text"], "user", "default", "admin")}
    yield from _accounts(rows, described, people)
    yield from _coordinators(described, people)
    yield from _members(rows, people)
    yield from _limits(rows, people)
    yield from _users(users, people)
    yield from _qos({row["name"]: row for row in parse.parse_rows(answers["qos"]["text"], *QOS)}, people)


def _accounts(rows: list[dict[str, str]], described: Mapping[str, Mapping[str, str]], people: spec.People) -> Iterator[Finding]:
    wanted = {account.name: account for account in people.accounts}
    present = {row["account"] for row in rows} - {BUILT_IN_ACCOUNT, ACCEPTANCE_ACCOUNT}
    organization = role_defaults.defaults("accounting")["accounting_organization"]
    for name in sorted({*wanted, *present}):
        if name not in present:
            yield drift(Code.ACCOUNT_MISSING, _account(name), "the account is gone: its users can't run jobs", remedy=UP, desired="there", recorded="there")
        elif name not in wanted:
            remedy = f"add it to the blueprint, or `{shlex.join(['sacctmgr', 'delete', 'account', 'where', f'name={name}'])}`"
            yield drift(Code.ACCOUNT_ADDED, _account(name), "the account was added by hand", remedy=remedy, actual=described.get(name, {}).get("description"))
        else:
            description = wanted[name].description or name  # as `slurm_accounting` writes it
            for field, value in (("description", description.lower()), ("organization", organization.lower())):
                actual = described.get(name, {}).get(field)
                if actual is not None and actual.lower() != value:  # sacctmgr keeps text in lower case
                    what = f"the account has another {field}"
                    yield drift(
                        Code.ACCOUNT_CHANGED, _account(name, field), what, remedy=UP, desired=Setting(value), recorded=Setting(value), actual=Setting(actual)
                    )


def _coordinators(described: Mapping[str, Mapping[str, str]], people: spec.People) -> Iterator[Finding]:
    """Find users who may change an account: a blueprint names none."""
    for account in people.accounts:
        for user in filter(None, described.get(account.name, {}).get("coordinators", "").split(",")):
            command = shlex.join(["sacctmgr", "delete", "coordinator", f"account={account.name}", f"names={user}"])
            what = "the user coordinates the account: may add members and change their limits"
            remedy = f"`{command}` on the controller, and find out who appointed the user"
            yield drift(Code.ADMIN_LEVEL, Membership(account.name, user, "coordinator"), what, remedy=remedy, desired="no coordinator", actual="coordinator")


def _members(rows: list[dict[str, str]], people: spec.People) -> Iterator[Finding]:
    wanted = {(account.name, user) for account in people.accounts for user in account.users}
    listed = {account.name for account in people.accounts}
    present = {(row["account"], row["user"]) for row in rows if row["user"] and row["account"] != BUILT_IN_ACCOUNT}
    accounts = {row["account"] for row in rows}
    for account, user in sorted(wanted - present):
        if account in accounts:  # an account that is gone is one finding
            what = "the user has lost the account: jobs are refused"
            yield drift(Code.MEMBER_MISSING, Membership(account, user), what, remedy=UP, desired="member", recorded="member")
    for account, user in sorted(present - wanted):
        if account in listed:
            remedy = f"add the user to the account in the blueprint, or `{shlex.join(['sacctmgr', 'delete', 'user', 'where', f'name={user}', f'account={account}'])}`"
            yield drift(Code.MEMBER_ADDED, Membership(account, user), "the user was given the account by hand", remedy=remedy, actual="member")


def _account(name: str, field: str = "") -> SchedulerObject:
    return SchedulerObject(ObjectKind.ACCOUNT, name, field)


def _limits(rows: list[dict[str, str]], people: spec.People) -> Iterator[Finding]:
    accounts = {account.name: account for account in people.accounts}
    for row in rows:
        if row["account"] not in accounts:
            continue
        account, user = row["account"], row["user"]
        if user:
            command = ["sacctmgr", "modify", "user", "where", f"name={user}", f"account={account}", f"cluster={people.cluster}"]
            yield from _differences(Code.ACCOUNT_CHANGED, Membership(account, user), NO_LIMITS, row, own=(), command=command)
        else:
            command = ["sacctmgr", "modify", "account", "where", f"name={account}", f"cluster={people.cluster}"]
            wanted = _wanted_of_account(accounts[account], people)
            yield from _differences(Code.ACCOUNT_CHANGED, _account(account), wanted, row, own=ACCOUNT_FIELDS, command=command)


def _wanted_of_account(account: spec.Account, people: spec.People) -> dict[str, str]:
    limits = {"gres/gpu": account.most_gpus, "node": account.most_nodes}
    qualities = _qualities(account, people)
    return {
        **NO_LIMITS,
        "parentname": account.parent or BUILT_IN_ACCOUNT,
        "fairshare": str(account.share),
        "grptres": ",".join(f"{name}={limit}" for name, limit in limits.items() if limit is not None),
        "grpjobs": _number(account.most_jobs),
        "qos": ",".join(qualities),
        "defaultqos": qualities[0] if qualities else "",
    }


def _qualities(account: spec.Account, people: spec.People) -> Sequence[str]:
    """Give the QOS that jobs of an account may have, the default first: its own, else those of the account above it, else all; none where the blueprint names none."""
    by_name = {one.name: one for one in people.accounts}
    named = people.qos
    if not named and not any(one.qos for one in people.accounts):
        return ()
    above: spec.Account | None = account
    while above:
        if above.qos:
            return above.qos
        above = by_name.get(above.parent or "")
    return (BUILT_IN_QOS, *(qos.name for qos in named))


def _differences(
    code: Code, subject: SchedulerObject | Membership, wanted: Mapping[str, str], row: Mapping[str, str], *, own: Collection[str], command: Sequence[str]
) -> Iterator[Finding]:
    """Compare field by field.

    Args:
        own: the fields that the roles set. A person clears what is set in others.
        command: begins the command of sacctmgr that sets a field.
    """
    for field, desired in wanted.items():
        actual = row.get(field, desired)
        if field in ("qos", "defaultqos") and not desired and actual == BUILT_IN_QOS:
            continue  # an association shows it whether it was set or inherited
        if _same(field, desired, actual):
            continue
        by_hand = field == "grptres" and all(_resources(desired).get(name) == _resources(actual).get(name) for name in ACCOUNT_RESOURCES)
        typed = f"`{shlex.join([*command, 'set', assignment(field, desired, actual)])}` on the controller"
        yield drift(
            code,
            dataclasses.replace(subject, field=field),
            f"{field} was set by hand",
            remedy=f"{UP}; {typed} sets it now" if field in own and not by_hand else f"{typed} restores it",
            desired=Setting(desired, NOT_SET),
            recorded=Setting(desired, NOT_SET),
            actual=Setting(actual, NOT_SET),
        )


def assignment(field: str, desired: str, actual: str) -> str:
    """Write what `sacctmgr modify … set` takes to change a field to the desired value."""
    name = SET_NAMES.get(field, field)
    if field in ("grptres", "maxtres", "maxtrespu"):
        limits = {**dict.fromkeys(_resources(actual), NO_LIMIT), **_resources(desired)}
        return f"{name}={','.join(f'{resource}={limit}' for resource, limit in limits.items())}"
    cleared = "" if field in ("qos", "preempt") else NO_LIMIT
    return f"{name}={desired or cleared}"


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


def _users(present: Mapping[str, Mapping[str, str]], people: spec.People) -> Iterator[Finding]:
    for user in people.users:
        row = present.get(user.name)
        if row is None:
            continue  # without an account there is no user either; the finding about the account covers it
        if row["default"] != user.default_account:
            what = "jobs of this user count for another account by default"
            subject = SchedulerObject(ObjectKind.USER, user.name, "default account")
            yield drift(
                Code.ACCOUNT_CHANGED,
                subject,
                what,
                remedy=UP,
                desired=Setting(user.default_account),
                recorded=Setting(user.default_account),
                actual=Setting(row["default"]),
            )
    admins = {user.name for user in people.users if user.admin}
    for name, row in sorted(present.items()):
        desired, actual = ADMINISTRATOR if name in admins else NO_RIGHTS, row["admin"] or NO_RIGHTS
        if name == BUILT_IN_ACCOUNT or actual == desired:
            continue
        what = "the user may not administer the scheduler" if desired == ADMINISTRATOR else "the user may change accounting"
        by_hand = f"`{shlex.join(['sacctmgr', 'modify', 'user', 'where', f'name={name}', 'set', f'adminlevel={desired}'])}` on the controller"
        own = name in {user.name for user in people.users} and ADMINISTRATOR in (desired, actual)
        yield drift(
            Code.ADMIN_LEVEL,
            SchedulerObject(ObjectKind.USER, name, "admin level"),
            what,
            remedy=f"{UP}; {by_hand} sets it now" if own else by_hand,
            desired=Setting(desired),
            recorded=Setting(desired),
            actual=Setting(actual),
        )


def _qos(present: Mapping[str, Mapping[str, str]], people: spec.People) -> Iterator[Finding]:
    named = {qos.name: qos for qos in people.qos}
    for name in sorted({BUILT_IN_QOS, *named, *present} - {ACCEPTANCE_QOS}):
        subject = SchedulerObject(ObjectKind.QOS, name)
        command = ["sacctmgr", "modify", "qos", "where", f"name={name}"]
        if name not in present:
            what = "the QOS that every association has is gone" if name == BUILT_IN_QOS else "the QOS is gone: jobs that name it are refused"
            yield drift(Code.QOS_MISSING, subject, what, remedy=UP, desired="there", recorded="there")
        elif name in named:
            yield from _differences(Code.QOS_CHANGED, subject, _wanted_of_qos(named[name]), present[name], own=QOS_FIELDS, command=command)
        elif name == BUILT_IN_QOS:
            yield from _differences(Code.QOS_CHANGED, subject, NO_QOS_LIMITS, present[name], own=(), command=command)
        else:
            remedy = f"add it to the blueprint, or `{shlex.join(['sacctmgr', 'delete', 'qos', 'where', f'name={name}'])}`"
            actual = f"priority {present[name].get('priority', '')}"
            yield drift(Code.QOS_ADDED, subject, "the QOS was added by hand", remedy=remedy, actual=actual)


def _wanted_of_qos(qos: spec.Qos) -> dict[str, str]:
    gpus = qos.gpus_per_user
    return {
        **NO_QOS_LIMITS,
        "priority": str(qos.priority),
        "maxwall": "" if qos.max_time == "UNLIMITED" else qos.max_time,
        "maxtrespu": "" if gpus is None else f"gres/gpu={gpus}",
        "maxjobspu": _number(qos.jobs_per_user),
        "preempt": ",".join(qos.preempts),
    }
