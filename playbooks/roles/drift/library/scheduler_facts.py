"""Ask Slurm's daemons what they are configured with and how their nodes are."""

import os
import subprocess

from ansible.module_utils import host_places
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: scheduler_facts
short_description: Ask Slurm's daemons what they are configured with
description: >-
  Gives the configuration that the roles wrote, as the host recorded it, and the answers of C(scontrol) and C(sacctmgr) as they are; an answer that did not come is given with its reason. Changes nothing.
options:
  deadline_s:
    description: How long each question may take, seconds.
    type: int
    default: 30
"""

FOLDER = "/etc/slurm/"
MARK = "/run/slurmctld/serves"  # role slurmctld; of two controllers the one that serves has it
QUESTIONS = {
    "ping": ["scontrol", "ping"],
    "config": ["scontrol", "show", "config"],
    "nodes": ["scontrol", "--all", "--oneliner", "show", "node"],
    "partitions": ["scontrol", "--all", "--oneliner", "show", "partition"],
    "reservations": ["scontrol", "--oneliner", "show", "reservation"],
    "jobs": ["squeue", "--noheader", "--all", "--states=RUNNING,COMPLETING,CONFIGURING,SUSPENDED,STOPPED,SIGNALING", "--format=%N"],
    "topology": ["scontrol", "--oneliner", "show", "topology"],
    "associations": [
        "sacctmgr",
        "--noheader",
        "--parsable2",
        "show",
        "associations",
        "woplimits",  # what is set there, not what comes from the account above
        "format=cluster,account,user,parentname,fairshare,grptres,grpjobs,maxtres,maxjobs,qos,defaultqos",
    ],
    "accounts": ["sacctmgr", "--noheader", "--parsable2", "show", "account", "format=account,description,organization"],
    "users": ["sacctmgr", "--noheader", "--parsable2", "show", "user", "format=user,defaultaccount,adminlevel"],
    "qos": ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=name,priority,maxwall,maxtrespu,maxjobspu,preempt,flags,grptres"],
}


def main() -> None:
    module = AnsibleModule(argument_spec={"deadline_s": {"type": "int", "default": 30}}, supports_check_mode=True)
    answers: dict[str, dict[str, str]] = {}
    for name, argv in QUESTIONS.items():
        answers[name] = _ask(argv, module.params["deadline_s"])
        if name == "ping" and answers[name].get("error"):
            break  # each further question would wait for its own deadline
    module.exit_json(changed=False, answers=answers, configuration=_configuration(), serves=os.path.exists(MARK))


def _configuration() -> dict[str, str]:
    """Give the texts that were written for the scheduler, whatever the files hold now: path → text."""
    written = host_places.read_json(host_places.WRITTEN) or {}
    return {path: entry["text"] for path, entry in written.items() if path.startswith(FOLDER) and "text" in entry}


def _ask(argv: list[str], deadline_s: int) -> dict[str, str]:
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=deadline_s)
    except FileNotFoundError:
        return {"error": f"{argv[0]} is not installed"}
    except subprocess.TimeoutExpired:
        return {"error": f"`{' '.join(argv)}` got no answer for {deadline_s} s"}
    if ended.returncode != 0:
        return {"error": (ended.stderr or ended.stdout).strip() or f"`{' '.join(argv)}` ended with status {ended.returncode}"}
    return {"text": ended.stdout}


if __name__ == "__main__":
    main()
