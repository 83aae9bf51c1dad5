"""What is wrong with one host, and the findings that put hosts with the same fault together."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ... import finding, hostlist, message_text, spec, ssh_places
from ...codes import Code
from ...document import Document

DETAILS_AT_MOST = 4
"""Hosts whose own values a finding names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one host. Faults that differ only in host and detail are one finding."""

    host: str
    code: Code
    what: str
    """Without the host's name."""
    why: str
    remedy: str
    """`{login}` becomes the command that logs in to the first of the hosts, `{hosts}` the host list, `{file}` the blueprint."""
    level: finding.Level = finding.Level.ERROR
    detail: str = ""
    """What only this host's case is."""


def findings(faults: Iterable[Fault], cluster: spec.ClusterSpec, source: Document) -> tuple[finding.Finding, ...]:
    """Put faults together by their cause."""
    causes: dict[tuple[str, str, str, str, str], list[Fault]] = {}
    for fault in faults:
        causes.setdefault((fault.level, fault.code, fault.what, fault.why, fault.remedy), []).append(fault)
    return finding.in_order(_finding(several, cluster, source) for several in causes.values())


def _finding(faults: Sequence[Fault], cluster: spec.ClusterSpec, source: Document) -> finding.Finding:
    first, names = faults[0], list(dict.fromkeys(fault.host for fault in faults))
    shown = hostlist.compress(names)
    number = f" ({len(names)} hosts)" if len(names) > 1 else ""
    details = {fault.host: fault.detail for fault in faults if fault.detail}
    remedy = first.remedy.replace("{login}", login(cluster, first.host)).replace("{hosts}", shown).replace("{file}", source.file)
    why = "; ".join([first.why, *_details(details, is_alone=len(names) == 1)])
    return finding.Finding(first.level, first.code, _where(names, cluster, source), f"{shown}{number}: {first.what}", why, remedy)


def _details(details: Mapping[str, str], *, is_alone: bool) -> list[str]:
    """Say what is the case on some of the hosts; hosts with the same detail are named together."""
    by_text: dict[str, list[str]] = {}
    for host, text in details.items():
        by_text.setdefault(text, []).append(host)
    if is_alone or (len(by_text) == 1 and len(details) > 1):
        return list(by_text)
    shown = [f"{hostlist.compress(hosts)}: {text}" for text, hosts in list(by_text.items())[:DETAILS_AT_MOST]]
    left = len(by_text) - DETAILS_AT_MOST
    return [*shown, *([f"{left} more differ"] if left > 0 else [])]


def login(cluster: spec.ClusterSpec, host: str) -> str:
    """Give the command with which the operator logs in to a host."""
    site = cluster.site
    if site is None or host not in site.by_name:
        return f"ssh {host}"
    port = "".join(f"{word} " for word in ssh_places.port_option(site.port))
    key = f"-i {site.identity} " if site.identity else ""
    return f"ssh {port}{key}{site.user}@{site.by_name[host].address}"


def _where(names: Sequence[str], cluster: spec.ClusterSpec, source: Document) -> finding.Position:
    """Give the place of one host in the inventory; of several hosts the place of their pool, or the inventory."""
    written = [place for name in names if source.at(*(place := ("inventory", "hosts", name))) is not None]
    if len(names) == 1 and written:
        return source.where_key(*written[0])
    keys = dict.fromkeys(_key(group) for group in cluster.host_groups if not set(names).isdisjoint(group.hostnames))
    return source.where(*next(iter(keys))) if len(keys) == 1 else source.where_key("inventory")


def _key(group: spec.HostGroup) -> tuple[str, ...]:
    if group.role == "compute":
        return ("pools", group.name, "hosts")
    return ("control" if group.role == "kubernetes" else group.name, "hosts")


def listed(words: Sequence[str], most: int = DETAILS_AT_MOST) -> str:
    """List some words, and count the others."""
    left = len(words) - most
    return message_text.listed([*words[:most], f"{left} more"] if left > 0 else words)
