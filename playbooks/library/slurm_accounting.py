"""Bring cluster, accounts, qualities of service and users in Slurm's accounting to what the blueprint says."""

import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: slurm_accounting
short_description: Bring cluster, accounts, qualities of service and users in Slurm's accounting to what the blueprint says
description:
  - Reads what there is once, decides what differs, and calls sacctmgr for that only.
  - What a blueprint can say of its accounts, qualities of service and users is brought to what it says, a limit that it no longer names included.
    What it can't say (limits of a single user, other kinds of limits), and what is there beyond it, stays.
  - The database knows GPUs only from a controller that has started once (slurm.conf(5), AccountingStorageTRES). Before that, limits of them are left out,
    and the answer says that they wait.
options:
  cluster:
    description: The cluster's name.
    type: str
    required: true
  organization:
    description: Organization of new accounts.
    type: str
    required: true
  accounts:
    description: Accounts, as the resolved cluster has them.
    type: list
    elements: dict
    required: true
  qos:
    description: Qualities of service, as the resolved cluster has them.
    type: list
    elements: dict
    default: []
  users:
    description: Users with C(name), C(default_account) and C(admin).
    type: list
    elements: dict
    required: true
  removed_users:
    description: Users that left the blueprint.
    type: list
    elements: str
    default: []
  keeps_preemption:
    description:
      - Whether this Slurm's daemons keep in memory whose jobs a quality of service stopped when it stops none any more. Then slurmdbd is restarted after that;
        without it, it refuses the opposite as a circle.
    type: bool
    default: false
"""
RETURN = r"""
steps:
  description: What was changed, as arguments of sacctmgr.
  returned: always
  type: list
  elements: str
preemption_ended:
  description: Whether a quality of service stops no jobs any more, or for a moment stopped none.
  returned: always
  type: bool
waits:
  description: Whether limits of GPUs were left out, as the database doesn't know GPUs yet.
  returned: always
  type: bool
"""

SACCTMGR_DEADLINE_S = 60
TOP_ACCOUNT, USUAL_QOS = "root", "normal"
"""What Slurm makes itself: the account above all others, and what jobs have that name no quality of service (sacctmgr(1))."""
NO_LIMIT = "-1"
"""With which sacctmgr takes a limit back (sacctmgr(1), "General specifications for association based entities")."""
NO_PREEMPTION = "preempt="
ACCEPTANCE_ACCOUNT = ACCEPTANCE_QOS = "clusterwright-acceptance"
"""What the job of the acceptance runs with (role `acceptance`): Slurm's own user alone may name it."""
ACCEPTANCE_USER = "root"
"""Slurm's own administrator, which every cluster has (sacctmgr(1))."""
NEVER_REACHED = "10000"
"""A limit that a QOS sets is taken instead of the one that the job's account, or the QOS of its partition, has (Slurm's Resource Limits, "Precedence")."""
ACCEPTANCE_LIMITS = {"maxjobsperuser": "maxjobspu", "maxsubmitjobsperuser": "", "grpjobs": "", "grpsubmitjobs": ""}
"""Limits as `sacctmgr modify` sets them → the column in which QUESTIONS reads them."""
ADMINISTRATOR = "Administrator"
GPUS, NODES = "gres/gpu", "node"
"""Resources that are limited, by the accounting's names."""
QUESTIONS = {
    # Without the limits of the accounts above: what is set here, not what is so (sacctmgr(1), WOPLimits).
    "associations": ("show", "associations", "woplimits", "format=cluster,account,user,parentname,fairshare,grptres,grpjobs,qos,defaultqos"),
    "accounts": ("show", "account", "format=account,description"),
    "qos": ("show", "qos", "format=name,priority,maxwall,maxtrespu,maxjobspu,preempt"),
    "users": ("show", "user", "format=user,defaultaccount,adminlevel"),
    "resources": ("show", "tres", "format=type,name"),
}
"""What is read, each with the columns that `plan` knows by these names."""

Rows = list[dict[str, str]]


class Refused(Exception):
    """The accounting daemon did not do what it was asked."""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "organization": {"type": "str", "required": True},
            "accounts": {"type": "list", "elements": "dict", "required": True},
            "qos": {"type": "list", "elements": "dict", "default": []},
            "users": {"type": "list", "elements": "dict", "required": True},
            "removed_users": {"type": "list", "elements": "str", "default": []},
            "keeps_preemption": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    try:
        there = {name: _ask(name) for name in ("associations", "accounts", "qos")}
        has_users = any(row["cluster"] == wanted["cluster"] and row["user"] for row in there["associations"])
        counted = {f"{row['type']}/{row['name']}".rstrip("/") for row in _ask("resources")}
        steps = plan(without_uncounted(wanted, counted), **there, users=_ask("users") if has_users else [])
        steps += acceptance_steps(wanted["cluster"], associations=there["associations"], qos=there["qos"])
        if not module.check_mode:
            for step in steps:
                _sacctmgr(["--immediate", *step])
                if step[-1] == NO_PREEMPTION and wanted["keeps_preemption"]:
                    module.run_command(["systemctl", "restart", "slurmdbd.service"], check_rc=True)
    except Refused as refused:
        module.fail_json(msg=f"{refused}. Look at `journalctl -u slurmdbd` on this host.")
    module.exit_json(
        changed=bool(steps),
        steps=[" ".join(step) for step in steps],
        preemption_ended=any(step[-1] == NO_PREEMPTION for step in steps),
        waits=without_uncounted(wanted, counted) != wanted,
    )


def without_uncounted(wanted: dict[str, Any], counted: set[str]) -> dict[str, Any]:
    """Leave out limits of GPUs where the database doesn't count them yet: sacctmgr refuses their name."""
    if GPUS in counted:
        return wanted
    return {
        **wanted,
        "accounts": [{**account, "most_gpus": None} for account in wanted["accounts"]],
        "qos": [{**qos, "gpus_per_user": None} for qos in wanted["qos"]],
    }


def plan(wanted: dict[str, Any], *, associations: Rows, accounts: Rows, qos: Rows, users: Rows) -> list[list[str]]:
    """Say which sacctmgr calls lead from what there is, rows by the columns of QUESTIONS, to what is wanted."""
    own = [row for row in associations if row["cluster"] == wanted["cluster"]]
    members = {(row["account"], row["user"]) for row in own if row["user"]}
    steps = [] if own else [["add", "cluster", wanted["cluster"]]]
    steps += _qos_steps(wanted, {row["name"]: row for row in qos})
    steps += _account_steps(wanted, {row["account"]: row for row in own if not row["user"]}, {row["account"]: row["description"] for row in accounts})
    for account in wanted["accounts"]:
        missing = [name for name in account["users"] if (account["name"], name) not in members]
        if missing:
            steps.append(["add", "user", ",".join(missing), f"account={account['name']}", f"cluster={wanted['cluster']}"])
    steps += _user_steps(wanted, {row["user"]: row for row in users})
    gone = sorted(set(wanted["removed_users"]) & {user for _, user in members})
    if gone:
        steps.append(["delete", "user", "where", f"name={','.join(gone)}", f"cluster={wanted['cluster']}"])
    return steps


def acceptance_steps(cluster: str, *, associations: Rows, qos: Rows) -> list[list[str]]:
    """Say which sacctmgr calls give the acceptance an account, and a quality of service that no limit of users holds, without priority, which preempts nothing."""
    limits = [f"{name}={NEVER_REACHED}" for name in ACCEPTANCE_LIMITS]
    row = next((row for row in qos if row["name"] == ACCEPTANCE_QOS), None)
    steps: list[list[str]] = []
    if row is None:
        steps.append(["add", "qos", ACCEPTANCE_QOS, *limits, "flags=OverPartQOS,PartitionTimeLimit"])
    else:
        held = any(row[column] != NEVER_REACHED for column in ACCEPTANCE_LIMITS.values() if column)
        if held or row["priority"] != "0" or row["preempt"] or row["maxtrespu"]:
            cleared = [f"{GPUS}={NO_LIMIT}" for part in row["maxtrespu"].split(",") if part.startswith(f"{GPUS}=")]
            values = [*limits, "priority=0", NO_PREEMPTION, *(f"maxtresperuser={one}" for one in cleared)]
            steps.append(["modify", "qos", "where", f"name={ACCEPTANCE_QOS}", "set", *values])
    own = {row["user"]: row for row in associations if (row["cluster"], row["account"]) == (cluster, ACCEPTANCE_ACCOUNT)}
    # An account of its own: a partition that allowed Slurm's account `root` would allow all accounts, which are below it (slurm.conf(5), AllowAccounts).
    if "" not in own:
        texts = ("fairshare=0", "description=tests of the cluster", "organization=clusterwright")
        steps.append(["add", "account", ACCEPTANCE_ACCOUNT, f"cluster={cluster}", *texts])
    if ACCEPTANCE_USER not in own:
        steps.append(["add", "user", ACCEPTANCE_USER, f"account={ACCEPTANCE_ACCOUNT}", f"cluster={cluster}"])
    if ACCEPTANCE_QOS not in _names(own.get(ACCEPTANCE_USER, {}).get("qos", "")):
        who = (f"name={ACCEPTANCE_USER}", f"account={ACCEPTANCE_ACCOUNT}", f"cluster={cluster}")
        steps.append(["modify", "user", "where", *who, "set", f"qos+={ACCEPTANCE_QOS}"])
    return steps


def _qos_steps(wanted: dict[str, Any], present: dict[str, dict[str, str]]) -> list[list[str]]:
    """Add all before one names another; and take preemption back before any is given, as circles are refused at every moment."""
    steps = [["add", "qos", qos["name"]] for qos in wanted["qos"] if qos["name"] not in present]
    given = []
    for qos in wanted["qos"]:
        row = present.get(qos["name"], {})
        stops, stopped = set(qos["preempts"]), _names(row.get("preempt", ""))
        if stopped - stops:
            steps.append(["modify", "qos", "where", f"name={qos['name']}", "set", NO_PREEMPTION])
            stopped = set()
        values = {
            "priority": (str(qos["priority"]), row.get("priority", "0")),
            "maxwall": (_minutes(qos["max_time"]), _minutes(row.get("maxwall", ""))),
            "maxtresperuser": _tres({GPUS: qos["gpus_per_user"]}, row.get("maxtrespu", "")),
            "maxjobsperuser": (_limit(qos["jobs_per_user"]), row.get("maxjobspu", "") or NO_LIMIT),
            "preempt": (",".join(qos["preempts"]), ",".join(qos["preempts"]) if stopped == stops else ""),
        }
        changes = _changes(values)
        if changes:
            given.append(["modify", "qos", "where", f"name={qos['name']}", "set", *changes])
    return steps + given


def _account_steps(wanted: dict[str, Any], present: dict[str, dict[str, str]], descriptions: dict[str, str]) -> list[list[str]]:
    cluster = wanted["cluster"]
    qualities = _qualities(wanted)
    steps: list[list[str]] = []
    for account in _parents_first(wanted["accounts"]):
        name, parent = account["name"], account["parent"] or TOP_ACCOUNT
        row = present.get(name, {"parentname": parent})
        recorded = descriptions.get(name)  # sacctmgr keeps text in lower case
        description = account["description"] or name  # Slurm 22.05 refuses an account without one
        if name not in present:
            made = [f"parent={parent}"] if account["parent"] else []
            steps.append(["add", "account", name, f"cluster={cluster}", *made, f"description={description}", f"organization={wanted['organization']}"])
        elif recorded is not None and recorded != description.lower():
            steps.append(["modify", "account", "where", f"name={name}", f"cluster={cluster}", "set", f"description={description}"])
        values = {
            "parent": (parent, row["parentname"]),
            "fairshare": (str(account["share"]), row.get("fairshare", "1")),
            "grptres": _tres({GPUS: account["most_gpus"], NODES: account["most_nodes"]}, row.get("grptres", "")),
            "grpjobs": (_limit(account["most_jobs"]), row.get("grpjobs", "") or NO_LIMIT),
            **_quality_values(qualities.get(name, ()), row),
        }
        changes = _changes(values)
        if changes:
            steps.append(["modify", "account", "where", f"name={name}", f"cluster={cluster}", "set", *changes])
    return steps


def _user_steps(wanted: dict[str, Any], present: dict[str, dict[str, str]]) -> list[list[str]]:
    steps = []
    for user in wanted["users"]:
        row = present.get(user["name"], {})
        default = row.get("defaultaccount", _first_account(wanted, user["name"]))
        if default != user["default_account"]:
            steps.append(
                ["modify", "user", "where", f"name={user['name']}", f"cluster={wanted['cluster']}", "set", f"defaultaccount={user['default_account']}"]
            )
        level = row.get("adminlevel", "None")
        if user["admin"] != (level == ADMINISTRATOR) and _first_account(wanted, user["name"]):
            steps.append(["modify", "user", "where", f"name={user['name']}", "set", f"adminlevel={ADMINISTRATOR if user['admin'] else 'None'}"])
    return steps


def _first_account(wanted: dict[str, Any], user: str) -> str | None:
    """The account whose addition makes the user: it becomes the default one."""
    return next((account["name"] for account in wanted["accounts"] if user in account["users"]), None)


def _parents_first(accounts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put each account behind the one that it is part of; circles are refused before a blueprint is resolved."""
    by_name = {account["name"]: account for account in accounts}
    ordered: dict[str, dict[str, Any]] = {}
    for account in accounts:
        way = []
        above: dict[str, Any] | None = account
        while above and above["name"] not in ordered and above not in way:
            way.append(above)
            above = by_name.get(above["parent"] or "")
        ordered.update({one["name"]: one for one in reversed(way)})
    return list(ordered.values())


def _qualities(wanted: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Give what jobs of each account may name, what jobs have that name none first; nothing where the blueprint has no qualities of service.

    An account without a list has that of the account it is part of, and at the top all there are.
    """
    if not wanted["qos"] and not any(account["qos"] for account in wanted["accounts"]):
        return {}
    every = (USUAL_QOS, *(qos["name"] for qos in wanted["qos"]))
    found: dict[str, tuple[str, ...]] = {}
    for account in _parents_first(wanted["accounts"]):
        found[account["name"]] = tuple(account["qos"]) or found.get(account["parent"] or "", every)
    return found


def _quality_values(names: tuple[str, ...], row: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Give (wanted, present) of the list and of its first. Where nothing is named, an account has what comes from above it, which is Slurm's own one."""
    present, first = _names(row.get("qos", "")), row.get("defaultqos", "")
    if not names:
        names = (USUAL_QOS,)
        present, first = present or {USUAL_QOS}, first or USUAL_QOS
    same = present == set(names)
    return {"qos": (",".join(names), ",".join(names) if same else ""), "defaultqos": (names[0], first if same else "")}


def _changes(values: dict[str, tuple[str, str]]) -> list[str]:
    return [f"{name}={wanted}" for name, (wanted, present) in values.items() if wanted != present]


def _limit(number: int | None) -> str:
    return NO_LIMIT if number is None else str(number)


def _tres(limits: dict[str, int | None], text: str) -> tuple[str, str]:
    """Give what has to change of some of the resources that a limit names, against nothing; the others are not the blueprint's."""
    present = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    changed = {name: _limit(number) for name, number in limits.items() if _limit(number) != present.get(name, NO_LIMIT)}
    return ",".join(f"{name}={value}" for name, value in changed.items()), ""


def _names(text: str) -> set[str]:
    return {name for name in text.split(",") if name}


def _minutes(limit: str) -> str:
    """Write `[days-]hours:minutes:seconds` in minutes, begun ones in full, as Slurm keeps it; NO_LIMIT for none."""
    if limit in ("", "UNLIMITED"):
        return NO_LIMIT
    days, _, clock = limit.rpartition("-")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return str((int(days or 0) * 24 + hours) * 60 + minutes + (seconds > 0))


def _ask(name: str) -> Rows:
    question = QUESTIONS[name]
    columns = question[-1].removeprefix("format=").split(",")
    return [dict(zip(columns, line.split("|"), strict=False)) for line in _sacctmgr(list(question)).splitlines() if line]


def _sacctmgr(arguments: list[str]) -> str:
    command = ["sacctmgr", "--noheader", "--parsable2", *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SACCTMGR_DEADLINE_S)
    except subprocess.TimeoutExpired:
        raise Refused(f"`{' '.join(command)}` got no answer for {SACCTMGR_DEADLINE_S} s") from None
    if ended.returncode != 0:
        raise Refused(f"`{' '.join(command)}` failed: {(ended.stderr or ended.stdout).strip()}")
    return ended.stdout


if __name__ == "__main__":
    main()
