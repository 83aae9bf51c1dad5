"""Bring cluster, accounts and users in Slurm's accounting to what the blueprint says."""

import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: slurm_accounting
short_description: Bring cluster, accounts and users in Slurm's accounting to what the blueprint says
description:
  - Reads associations once, decides what is missing, and calls sacctmgr for that only. What is there beyond the blueprint stays.
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
    description: Accounts with C(name), C(description) and C(users).
    type: list
    elements: dict
    required: true
  users:
    description: Users with C(name) and C(default_account).
    type: list
    elements: dict
    required: true
  removed_users:
    description: Users that left the blueprint.
    type: list
    elements: str
    default: []
"""
RETURN = r"""
steps:
  description: What was changed, as arguments of sacctmgr.
  returned: always
  type: list
  elements: str
"""

SACCTMGR_DEADLINE_S = 60


class Refused(Exception):
    """The accounting daemon did not do what it was asked."""


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "organization": {"type": "str", "required": True},
            "accounts": {"type": "list", "elements": "dict", "required": True},
            "users": {"type": "list", "elements": "dict", "required": True},
            "removed_users": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    try:
        associations = _associations()
        has_users = any(cluster == wanted["cluster"] and user for cluster, _, user in associations)
        steps = plan(wanted, associations=associations, defaults=_default_accounts() if has_users else {}, descriptions=_descriptions())
        if not module.check_mode:
            for step in steps:
                _sacctmgr(["--immediate", *step])
    except Refused as refused:
        module.fail_json(msg=f"{refused}. Look at `journalctl -u slurmdbd` on this host.")
    module.exit_json(changed=bool(steps), steps=[" ".join(step) for step in steps])


def plan(wanted: dict[str, Any], *, associations: list[tuple[str, str, str]], defaults: dict[str, str], descriptions: dict[str, str]) -> list[list[str]]:
    """Say which sacctmgr calls lead from the associations (cluster, account, user) to what is wanted."""
    cluster = wanted["cluster"]
    have_accounts = {account for name, account, _ in associations if name == cluster}
    have_users = {(account, user) for name, account, user in associations if name == cluster and user}
    steps: list[list[str]] = []
    if cluster not in {name for name, _, _ in associations}:
        steps.append(["add", "cluster", cluster])
    steps.extend(
        ["add", "account", account["name"], f"cluster={cluster}", f"description={account['description']}", f"organization={wanted['organization']}"]
        for account in wanted["accounts"]
        if account["name"] not in have_accounts
    )
    for account in wanted["accounts"]:
        recorded = descriptions.get(account["name"])  # sacctmgr keeps text in lower case
        if account["name"] in have_accounts and recorded is not None and recorded != account["description"].lower():
            steps.append(["modify", "account", "where", f"name={account['name']}", f"cluster={cluster}", "set", f"description={account['description']}"])
        missing = [name for name in account["users"] if (account["name"], name) not in have_users]
        if missing:
            steps.append(["add", "user", ",".join(missing), f"account={account['name']}", f"cluster={cluster}"])
    for user in wanted["users"]:
        default = defaults.get(user["name"], _first_account(wanted, user["name"]))
        if default != user["default_account"]:
            steps.append(["modify", "user", "where", f"name={user['name']}", f"cluster={cluster}", "set", f"defaultaccount={user['default_account']}"])
    gone = sorted(set(wanted["removed_users"]) & {user for _, user in have_users})
    if gone:
        steps.append(["delete", "user", "where", f"name={','.join(gone)}", f"cluster={cluster}"])
    return steps


def _first_account(wanted: dict[str, Any], user: str) -> str | None:
    """The account whose addition makes the user: it becomes the default one."""
    return next((account["name"] for account in wanted["accounts"] if user in account["users"]), None)


def _associations() -> list[tuple[str, str, str]]:
    rows = _sacctmgr(["show", "associations", "format=cluster,account,user"]).splitlines()
    return [(cluster, account, user) for cluster, account, user in (row.split("|")[:3] for row in rows if row)]


def _default_accounts() -> dict[str, str]:
    rows = _sacctmgr(["show", "user", "format=user,defaultaccount"]).splitlines()
    return dict(row.split("|")[:2] for row in rows if row)


def _descriptions() -> dict[str, str]:
    rows = _sacctmgr(["show", "account", "format=account,description"]).splitlines()
    return dict(row.split("|")[:2] for row in rows if row)


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
