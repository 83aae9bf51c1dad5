"""Ask hosts that exist already whether they can be adopted and configured, for `check --live` and `up`: all at once, over SSH, and without changing anything."""

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import document, hostlist, spec
from blueprints.live import hosts as live
from blueprints.live.hosts import hardware, login, paths
from blueprints.project import project_root

from .. import live as contract
from . import connection, guest_program

HOST_WITHIN_S = 60
"""How long one host may take to connect and answer."""
REACH_WITHIN_S = 3
"""How long another host or an archive may take to accept a connection."""
BATCH = 512
"""Each host is sent its own program of 100 KiB: so many are in memory at once."""
TROUBLES = {
    connection.Trouble.UNREACHABLE: live.Trouble.UNREACHABLE,
    connection.Trouble.HANGS: live.Trouble.HANGS,
    connection.Trouble.OTHER_KEY: live.Trouble.OTHER_KEY,
    connection.Trouble.NO_LOGIN: live.Trouble.LOGIN_REFUSED,
    connection.Trouble.NO_SUDO: live.Trouble.FAILED,
    connection.Trouble.NO_PYTHON: live.Trouble.WITHOUT_PYTHON,
    connection.Trouble.FAILED: live.Trouble.FAILED,
}


def check(cluster: spec.ClusterSpec, source: document.Document, *, stack: str, recorded: spec.ClusterSpec | None) -> contract.Asked:
    """Ask the hosts that the last `up` did not adopt, or all of them; what became of the others, drift checks say.

    Raises:
        FileNotFoundError: this machine has no ssh(1).
    """
    moment, begun_s = dt.datetime.now(dt.UTC), time.monotonic()
    answers = ask(cluster, known=_known(recorded))
    silent = [name for name, answer in answers.items() if answer.is_off]
    told = [name for name, answer in answers.items() if answer.facts is not None]
    new = "new host" if recorded else "host"
    return contract.Asked(
        whom=f"{len(told)} of {len(answers)} {new}{'' if len(answers) == 1 else 's'} answered" if answers else "",
        findings=live.check(cluster, source, answers, stack=stack, owner=str(project_root())),
        record={
            "hosts": {
                "asked": hostlist.compress(answers),
                "answered": hostlist.compress(told),
                "unreachable": hostlist.compress(silent),
                "moment": moment.isoformat(timespec="seconds"),
                "seconds": round(time.monotonic() - begun_s, 1),
            }
        },
        stops_running=True,
    )


def _known(recorded: spec.ClusterSpec | None) -> Mapping[str, spec.SiteHost]:
    return recorded.site.by_name if recorded and recorded.site else {}


def ask(cluster: spec.ClusterSpec, *, known: Mapping[str, spec.SiteHost]) -> dict[str, live.Answer]:
    """Ask hosts about themselves.

    Args:
        known: hosts that need not be asked: those that are in the inventory as they were recorded.
    """
    site = cluster.site
    if site is None:
        return {}
    subjects = {
        subject.name: subject
        for subject in live.subjects(cluster, {host.name: live.Answer() for host in site.hosts})
        if known.get(subject.name) != subject.host
    }
    peers = paths.peers(cluster)
    servers = {connection.Server(name, subject.host.address, subject.host.host_key): subject for name, subject in subjects.items()}
    way = connection.Login(site.user, site.port, site.identity)
    found: dict[str, live.Answer] = {}
    waiting = [*servers]
    while waiting:
        some, waiting = waiting[:BATCH], waiting[BATCH:]
        programs = {server: _program(cluster, servers[server], peers[server.name]) for server in some}
        answers = connection.run(programs, way, mark=guest_program.MARK, within_s=HOST_WITHIN_S, as_user_too=True)
        found |= {server.name: _answer(answer) for server, answer in answers.items()}
    return found


def _program(cluster: spec.ClusterSpec, subject: live.Subject, peers: Sequence[tuple[str, str, int]]) -> bytes:
    return guest_program.probe(
        {
            "ports": paths.ports(cluster, subject.group),
            "role": "kubernetes" if paths.scheduler(cluster, subject.group) == "kubernetes" else "",
            "peers": peers,
            "kernel": hardware.installed_kernel(cluster),
            "reach_within_s": REACH_WITHIN_S,
            "within_s": HOST_WITHIN_S,
        }
    )


def _answer(answer: connection.Answer) -> live.Answer:
    if answer.trouble is not None:
        fingerprint = login.offered_fingerprint(answer.complaints) if answer.trouble is connection.Trouble.OTHER_KEY else ""
        return live.Answer(trouble=TROUBLES[answer.trouble], said=answer.said, fingerprint=fingerprint, asked_s=answer.asked_s)
    record: Mapping[str, Any] = answer.value or {}
    try:
        return live.Answer(facts=live.facts(record), asked_s=answer.asked_s)
    except (KeyError, TypeError) as error:
        return live.Answer(trouble=live.Trouble.FAILED, said=f"the answer can't be read: {error}", asked_s=answer.asked_s)
