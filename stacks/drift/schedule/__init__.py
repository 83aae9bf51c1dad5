"""Write the files that make checks run regularly: for systemd, cron, GitHub, GitLab and Kubernetes. Pure but for reading its templates.

Templates begin blocks with `<%` and values with `<<`, since the files that they make use braces themselves.
"""

import functools
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from components import registry

from .options import DAY_S, HOUR_S, KEEP_DAYS, SETTLE_S, Schedule, every_s

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["HOUR_S", "KEEP_DAYS", "KINDS", "SETTLE_S", "Schedule", "every_s", "files", "next_steps"]

DEADLINE_MIN = 30
ACCEPTANCE_MIN = 40
"""More where acceptance runs before the check: its own limit (`Acceptance.timeout_s`) and its jobs' clearing up."""
NOT_NOW = 75
EXPECTED_STATUSES = (7, NOT_NOW)
"""Drift, and "not now": the check itself went well."""
SECRETS_FILE = "/etc/clusterwright/drift.env"
GITHUB_KEEP_DAYS = 90
"""The longest that GitHub keeps artifacts of public repositories (GitHub documentation, "Artifact and log retention policy")."""
REPORTS = ("--out", "drift/report.json", "--out", "drift/report.md", "--out", "drift/report.xml", "--out", "drift/report.sarif", "--out", "drift/report.html")
PATHS = {
    "systemd": {"/etc/systemd/system/{name}.service": "systemd.service.j2", "/etc/systemd/system/{name}.timer": "systemd.timer.j2"},
    "cron": {"/etc/cron.d/{name}": "cron.j2", "/etc/logrotate.d/{name}": "logrotate.j2"},
    "github": {".github/workflows/{name}.yml": "github.yml.j2"},
    "gitlab": {".gitlab/{name}.yml": "gitlab.yml.j2"},
    "kubernetes": {"{name}.yaml": "kubernetes.yaml.j2"},
}
"""Kind of scheduler → where it looks for its files → template."""
KINDS = tuple(PATHS)
TEMPLATES = Path(__file__).parent / "templates"


def files(kind: str, schedule: Schedule) -> Mapping[str, str]:
    """Give the files of one kind of scheduler: path → text."""
    values = _values(schedule)
    return {path.format(name=schedule.name): _environment().get_template(template).render(values) for path, template in PATHS[kind].items()}


def write(files: Mapping[str, str], folder: Path) -> list[str]:
    """Write files below a folder; give their places."""
    written = []
    for path, text in files.items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        written.append(str(place))
    return written


def next_steps(kind: str, schedule: Schedule, paths: Sequence[str]) -> str:
    """Say what to do once the files are in their places."""
    match kind:
        case "systemd":
            return f"systemctl daemon-reload && systemctl enable --now {schedule.name}.timer"
        case "cron":
            return "nothing: cron reads the files by itself"
        case "kubernetes":
            return f"kubectl apply -f {shlex.quote(paths[0])}"
        case _:
            return "commit and push"


def _values(schedule: Schedule) -> dict[str, Any]:
    return {
        "schedule": schedule,
        "command": schedule.command,
        "reports": REPORTS,
        "setup": registry.setup_command(schedule.target),
        "login": registry.account(schedule.target, "pipeline") if registry.has_account(schedule.target) else None,
        "secrets_file": SECRETS_FILE,
        "expected_statuses": EXPECTED_STATUSES,
        "not_now": NOT_NOW,
        "deadline_min": DEADLINE_MIN + (ACCEPTANCE_MIN if "--accept-every" in schedule.words else 0),
        "day_s": DAY_S,
        "github_keep_days": min(schedule.keep_days, GITHUB_KEEP_DAYS),
    }


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,  # noqa: S701  (no HTML: each template quotes for its own reader)
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
    )
    made.filters.update(
        words=shlex.join, word=shlex.quote, unit_text=_unit_text, unit_word=_unit_word, cron=_cron_text, scalar=_scalar, yaml=_yaml, permissions=_permissions
    )
    return made


def _unit_text(text: str) -> str:
    """Keep systemd from reading its specifiers in a text."""
    return text.replace("%", "%%")


def _unit_word(text: str) -> str:
    """Write one word of a command line of systemd: quoted, without specifiers and without its own variables."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$").replace("\n", "\\n")
    return f'"{escaped}"'


def _cron_text(text: str) -> str:
    """Keep cron from ending the line at a percent sign (crontab(5))."""
    return text.replace("%", "\\%")


def _scalar(value: object) -> str:
    """Write a value of YAML on one line."""
    return json.dumps(value, ensure_ascii=False)


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, width=160).rstrip("\n")


def _permissions(own: Mapping[str, str]) -> dict[str, str]:
    return {"contents": "read", "security-events": "write", **own}
