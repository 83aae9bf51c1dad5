"""Write what runs checks regularly: units and a timer of systemd, a crontab line, a workflow of GitHub, a job of GitLab, a CronJob of Kubernetes. Pure."""

import dataclasses
import hashlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence

import yaml

from components import registry

from ..layer import Layer

KEEP_DAYS = 30
SETTLE_S = 600
"""After an update hosts come and go for a while."""
DEADLINE_MIN = 30
UNITS_S = {"m": 60, "h": 3600, "d": 86400}
DAY_S = 86400
HOUR_S = 3600
NOT_NOW = 75
EXPECTED_STATUSES = (7, NOT_NOW)
"""Drift, and "not now": the check itself went well."""
NAME_LIMIT = 52
"""Of a CronJob, whose jobs' names are longer by eleven (Kubernetes documentation, "CronJob")."""
SECRETS_FILE = "/etc/clusterwright/drift.env"


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """What is to run, and how often."""

    stack: str
    folder: str
    """The checkout, on the machine that runs the checks."""
    every_s: int
    layers: tuple[Layer, ...] = ()
    """Empty: all."""
    settle_s: int = SETTLE_S
    words: tuple[str, ...] = ()
    """Further words for `clusterwright drift`."""
    keep_days: int = KEEP_DAYS
    image: str = ""
    """Kubernetes only: an image with a set-up checkout in `folder`."""
    user: str = "root"
    target: str = registry.DEFAULT
    """Where the stack is: what asks its cloud has to be set up where the checks run."""

    @property
    def name(self) -> str:
        """The stack's name where only letters, digits and hyphens can be, and not many; no two stacks have the same."""
        plain = f"clusterwright-drift-{re.sub('[^a-z0-9-]+', '-', self.stack.lower()).strip('-')}"
        if plain == f"clusterwright-drift-{self.stack}" and len(plain) <= NAME_LIMIT:
            return plain
        mark = hashlib.sha256(self.stack.encode()).hexdigest()[:6]
        return f"{plain[: NAME_LIMIT - len(mark) - 1].rstrip('-')}-{mark}"

    @property
    def setup(self) -> str:
        """What sets a fresh checkout up."""
        return registry.setup_command(self.target)

    def command(self, *more: str) -> list[str]:
        chosen = [word for layer in self.layers for word in ("--layer", str(layer))]
        return ["clusterwright", "drift", "--stack", self.stack, "--settle", str(self.settle_s), *chosen, *self.words, *more]


def every_s(word: str) -> int:
    """Read how often: `15m`, `1h`, `1d`. Cron can only say what divides an hour or a day.

    Raises:
        ValueError: it is no such time.
    """
    matched = re.fullmatch(r"(\d+)([mhd])", word)
    seconds = int(matched[1]) * UNITS_S[matched[2]] if matched else 0
    if seconds < UNITS_S["m"] or seconds > DAY_S or (HOUR_S % seconds if seconds < HOUR_S else DAY_S % seconds or seconds % HOUR_S):
        raise ValueError(f"{word!r} can't be kept by every scheduler: give minutes that divide an hour (15m), hours that divide a day (6h), or 1d")
    return seconds


def files(kind: str, schedule: Schedule) -> Mapping[str, str]:
    """Give the files of one kind of scheduler: path → text. A path is where the scheduler looks for it."""
    return WRITERS[kind](schedule)


def _cron_time(seconds: int) -> str:
    if seconds < HOUR_S:
        return f"*/{seconds // 60} * * * *"
    return "17 3 * * *" if seconds == DAY_S else f"17 */{seconds // HOUR_S} * * *"


def _systemd(schedule: Schedule) -> Mapping[str, str]:
    logs = f"/var/log/clusterwright-drift/{schedule.stack}"
    line = shlex.join(schedule.command()) + f" --out {shlex.quote(logs)}/$(date -u +%Y%m%dT%H%M%SZ).json --out {shlex.quote(logs)}/latest.html"
    program = f". ./activate && exec {line}"
    service = f"""\
# Written by `clusterwright drift schedule --as systemd`.
[Unit]
Description=clusterwright: drift check of stack {schedule.stack}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
User={schedule.user}
WorkingDirectory={_unit_text(schedule.folder)}
# Secrets (a webhook, a passphrase) go here, in a file that only {schedule.user} can read.
EnvironmentFile=-{SECRETS_FILE}
LogsDirectory=clusterwright-drift/{_unit_text(schedule.stack)}
LogsDirectoryMode=0700
ExecStart=/bin/sh -c {_unit_word(program)}
ExecStopPost=-/usr/bin/find {_unit_text(logs)} -name "*.json" -mtime +{schedule.keep_days} -delete
# Drift, and "not now, an update runs", are answers; only a check that could not be made is a failure.
SuccessExitStatus={" ".join(map(str, EXPECTED_STATUSES))}
TimeoutStartSec={DEADLINE_MIN}min
Nice=10
"""
    timer = f"""\
# Written by `clusterwright drift schedule --as systemd`.
[Unit]
Description=clusterwright: drift checks of stack {schedule.stack}

[Timer]
OnActiveSec=1min
OnUnitActiveSec={schedule.every_s}s
AccuracySec=1s

[Install]
WantedBy=timers.target
"""
    return {f"/etc/systemd/system/{schedule.name}.service": service, f"/etc/systemd/system/{schedule.name}.timer": timer}


def _unit_text(text: str) -> str:
    """Keep a text from being read as one of systemd's specifiers."""
    return text.replace("%", "%%")


def _unit_word(text: str) -> str:
    """Write one word of a command line of systemd: quoted, without specifiers and without its own variables."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _cron(schedule: Schedule) -> Mapping[str, str]:
    log = f"/var/log/{schedule.name}.log"
    secrets = f"set -a; [ ! -r {SECRETS_FILE} ] || . {SECRETS_FILE}; set +a"
    run = f"{secrets}; cd {shlex.quote(schedule.folder)} && . ./activate && {shlex.join(schedule.command())}"
    guarded = f"flock -n /run/lock/{schedule.name} sh -c {shlex.quote(run)}"
    # A percent sign would end the line for cron (crontab(5)).
    line = f"{_cron_time(schedule.every_s)} {schedule.user} {guarded} >>{log} 2>&1".replace("%", "\\%")
    table = f"""\
# Written by `clusterwright drift schedule --as cron`. A check that still runs is not started again.
# Secrets (a webhook, a passphrase) go into {SECRETS_FILE}, lines of sh(1) in a file that only {schedule.user} can read.
SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
{line}
"""
    rotation = f"""\
# Written by `clusterwright drift schedule --as cron`.
{log} {{
    daily
    rotate {schedule.keep_days}
    compress
    missingok
    notifempty
}}
"""
    return {f"/etc/cron.d/{schedule.name}": table, f"/etc/logrotate.d/{schedule.name}": rotation}


REPORTS = ("--out", "drift/report.json", "--out", "drift/report.md", "--out", "drift/report.xml", "--out", "drift/report.sarif", "--out", "drift/report.html")


def _github(schedule: Schedule) -> Mapping[str, str]:
    keep, cache = f".clusterwright/stacks/{schedule.stack}/drift", f"{schedule.name}-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}"
    # No --since-last: code scanning takes an alert that isn't in the latest upload for mended.
    check = f". ./activate && {{ {shlex.join(schedule.command(*REPORTS))} || status=$?; }}"
    secrets = {name: f"${{{{ secrets.{name} }}}}" for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "CLUSTERWRIGHT_DRIFT_WEBHOOK")}
    login = registry.account(schedule.target, "pipeline") if registry.has_account(schedule.target) else None
    steps = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": "3.12"}},
        {"name": "Set up", "run": schedule.setup},
        *(login.GITHUB_STEPS if login else ()),
        # A cache entry is never written twice under one name; the latest one is found by the beginning of its name.
        {"name": "What earlier checks found", "uses": "actions/cache/restore@v4", "with": {"path": keep, "key": cache, "restore-keys": f"{schedule.name}-"}},
        {"name": "Check", "env": secrets, "run": f'status=0\n{check}\n# {NOT_NOW}: an update runs, or has just ended; the next check says how it stands.\n'
         f'test "$status" -eq {NOT_NOW} || exit "$status"\n'},
        # The job fails where there is drift: what follows is for that case, too.
        {"name": "Remember", "if": _if_there(f"{keep}/*"), "uses": "actions/cache/save@v4", "with": {"path": keep, "key": cache}},
        {"name": "Summary", "if": _if_there("drift/report.md"), "run": 'cat drift/report.md >> "$GITHUB_STEP_SUMMARY"'},
        {
            "name": "Code scanning",
            "if": _if_there("drift/report.sarif"),
            "uses": "github/codeql-action/upload-sarif@v4",
            "with": {"sarif_file": "drift/report.sarif", "category": schedule.name},
        },
        {
            "name": "Reports",
            "if": _if_there("drift/report.json"),
            "uses": "actions/upload-artifact@v4",
            "with": {"name": "drift", "path": "drift", "retention-days": min(schedule.keep_days, 90)},
        },
    ]  # fmt: skip
    workflow = {
        "name": f"Drift of {schedule.stack}",
        "on": {"schedule": [{"cron": _cron_time(schedule.every_s)}], "workflow_dispatch": {}},
        "permissions": {"contents": "read", "security-events": "write", **(login.GITHUB_PERMISSIONS if login else {})},
        "concurrency": {"group": schedule.name, "cancel-in-progress": False},
        "jobs": {"drift": {"runs-on": "ubuntu-latest", "timeout-minutes": DEADLINE_MIN, "steps": steps}},
    }
    head = "# Give the secrets PULUMI_BACKEND_URL and PULUMI_CONFIG_PASSPHRASE, and commit the stack's settings. Where login nodes let only known networks in, hosts are reached\n"
    head += "# from a runner of your own there (runs-on).\n"
    if login:
        head += login.GITHUB_COMMENT
    return {f".github/workflows/{schedule.name}.yml": _yaml(workflow, "github", head)}


def _if_there(path: str) -> str:
    """Let a step run also after a failed one, if there is what it works on."""
    return f"always() && hashFiles('{path}') != ''"


def _gitlab(schedule: Schedule) -> Mapping[str, str]:
    keep = f".clusterwright/stacks/{schedule.stack}/drift"
    job = {
        "image": "python:3.12",
        "timeout": f"{DEADLINE_MIN} minutes",
        "rules": [{"if": '$CI_PIPELINE_SOURCE == "schedule"'}],
        "resource_group": schedule.name,
        "cache": {"key": schedule.name, "paths": [keep], "when": "always"},
        "script": [schedule.setup, f". ./activate && {shlex.join(schedule.command(*REPORTS))}"],
        "allow_failure": {"exit_codes": list(EXPECTED_STATUSES)},
        "artifacts": {"when": "always", "expire_in": f"{schedule.keep_days} days", "paths": ["drift"], "reports": {"junit": "drift/report.xml"}},
    }
    head = f"# Include this file, make a pipeline schedule (Build, Pipeline schedules) with the interval {_cron_time(schedule.every_s)!r},\n"
    head += (
        "# and give PULUMI_BACKEND_URL and PULUMI_CONFIG_PASSPHRASE as masked variables, and what the cloud's tools take for credentials that may only read.\n"
    )
    return {f".gitlab/{schedule.name}.yml": _yaml({schedule.name: job}, "gitlab", head)}


def _kubernetes(schedule: Schedule) -> Mapping[str, str]:
    keep = "/var/lib/clusterwright-drift"
    check = shlex.join(schedule.command("--history", keep, "--out", f"{keep}/latest.html"))
    # "Not now" is no failed job; drift is one, which is how a cluster's own monitoring gets to know of it.
    run = f". ./activate && {{ {check} || status=$?; test ${{status:-0}} -eq {NOT_NOW} || exit ${{status:-0}}; }}"
    container = {
        "name": "drift",
        "image": schedule.image,
        "workingDir": schedule.folder,
        "command": ["/bin/sh", "-c", run],
        "envFrom": [{"secretRef": {"name": schedule.name}}],
        "volumeMounts": [{"name": "history", "mountPath": keep}],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "history", "persistentVolumeClaim": {"claimName": schedule.name}}],
    }
    job = {"backoffLimit": 0, "activeDeadlineSeconds": DEADLINE_MIN * 60, "ttlSecondsAfterFinished": schedule.keep_days * DAY_S, "template": {"spec": pod}}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": schedule.name},
        "spec": {
            "schedule": _cron_time(schedule.every_s),
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {"spec": job},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": schedule.name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    head = f"# The Secret {schedule.name} holds PULUMI_BACKEND_URL, PULUMI_CONFIG_PASSPHRASE and, if wanted, CLUSTERWRIGHT_DRIFT_WEBHOOK;\n"
    head += "# where no workload identity gives them to the pod, also credentials of the stack's cloud that may only read.\n"
    return {f"{schedule.name}.yaml": _yaml(claim, "kubernetes", head) + "---\n" + _yaml(cron, "")}


def _yaml(content: Mapping[str, object], kind: str, head: str = "") -> str:
    written = f"# Written by `clusterwright drift schedule --as {kind}`.\n" if kind else ""
    return written + head + yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=160)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are, for whoever reads the file."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


WRITERS: Mapping[str, Callable[[Schedule], Mapping[str, str]]] = {
    "systemd": _systemd,
    "cron": _cron,
    "github": _github,
    "gitlab": _gitlab,
    "kubernetes": _kubernetes,
}


def next_steps(kind: str, schedule: Schedule, paths: Sequence[str]) -> str:
    """Say what is left to do once the files are where they belong."""
    match kind:
        case "systemd":
            return f"systemctl daemon-reload && systemctl enable --now {schedule.name}.timer"
        case "cron":
            return "cron reads it by itself"
        case "kubernetes":
            return f"kubectl apply -f {paths[0]}"
        case _:
            return "commit and push"
