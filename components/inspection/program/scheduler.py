"""Ask Slurm's daemons what they are configured with and how their nodes are. Runs on a controller."""

import os
import subprocess
from typing import Any

from ansible.module_utils import host_places

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
    "accounts": ["sacctmgr", "--noheader", "--parsable2", "show", "account", "withcoordinator", "format=account,description,organization,coordinators"],
    "users": ["sacctmgr", "--noheader", "--parsable2", "show", "user", "format=user,defaultaccount,adminlevel"],
    "qos": ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=name,priority,maxwall,maxtrespu,maxjobspu,preempt,flags,grptres"],
}


def facts(deadline_s: int) -> dict[str, Any]:
    """Give the configuration that the roles wrote, as the host recorded it, and Slurm's answers; an answer that did not come is given with its reason.

    Args:
        deadline_s: how long each question may take, seconds.
    """
    answers = {"ping": _answer(QUESTIONS["ping"], _ask(QUESTIONS["ping"]), deadline_s)}
    if "error" not in answers["ping"]:  # else each further question would wait for its own deadline
        others = {name: argv for name, argv in QUESTIONS.items() if name != "ping"}
        asked = {name: _ask(argv) for name, argv in others.items()}
        answers |= {name: _answer(argv, asked[name], deadline_s) for name, argv in others.items()}
    return {"answers": answers, "configuration": _configuration(), "serves": os.path.exists(MARK)}


def _configuration() -> dict[str, str]:
    """Give the texts that were written for the scheduler, whatever the files hold now: path → text."""
    written = host_places.read_json(host_places.WRITTEN) or {}
    return {path: entry["text"] for path, entry in written.items() if path.startswith(FOLDER) and "text" in entry}


def _ask(argv: list[str]) -> "subprocess.Popen[str] | None":
    """Start a question; the answers are read one after another. None: the program is not installed."""
    try:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _answer(argv: list[str], asked: "subprocess.Popen[str] | None", deadline_s: int) -> dict[str, str]:
    if asked is None:
        return {"error": f"{argv[0]} is not installed"}
    try:
        output, complaints = asked.communicate(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        asked.kill()
        asked.communicate()
        return {"error": f"`{' '.join(argv)}` got no answer for {deadline_s} s"}
    if asked.returncode != 0:
        return {"error": (complaints or output).strip() or f"`{' '.join(argv)}` ended with status {asked.returncode}"}
    return {"text": output}
