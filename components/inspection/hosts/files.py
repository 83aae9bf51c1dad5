"""Files, folders and links that differ from the host's record, and what links mean: units that are enabled or masked. Pure."""

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, Unit
from blueprints.finding.values import FileContent, FileState, LinkTarget, UnitLink, UnitState, Value

from .. import places
from ..codes import Code
from ..finding import digest, drift, shown

WANTED_UNIT = re.compile(r"/etc/systemd/(?P<manager>system|user)/[^/]+\.(?:wants|requires)/(?P<unit>[^/]+)", re.DOTALL)
UNIT_LINK = re.compile(r"/etc/systemd/system/(?P<unit>[^/]+\.(?:service|timer|socket|mount|automount|target|path))", re.DOTALL)
MASK = "/dev/null"
VERBS = {
    (UnitState.ENABLED, UnitState.DISABLED): "enable",
    (UnitState.DISABLED, UnitState.ENABLED): "disable",
    (UnitState.PLAIN, UnitState.MASKED): "unmask",
    (UnitState.MASKED, UnitState.PLAIN): "mask",
}
"""State of a unit before and now → the verb of `systemctl` that restores the first."""
PASSWORD_TABLES = ("/etc/shadow", "/etc/gshadow")
"""Files of which a host's record has no text, and a person may have changed a line on purpose."""
LINES_SHOWN = 3
RESTORED_BY_UP = "`clusterwright up` restores it"
RESTORED_FROM_RECORD = "`clusterwright up` restores it, or `clusterwright rebuild {host}` where the record has no text; to keep the change, put it into a role"
TABLE_RESTORED = "`clusterwright up` restores it where the host knows its earlier content, else `clusterwright rebuild {host}` creates the host again; to accept it as it is, run {accept}"
MOVED_ASIDE = "`clusterwright drift fix` moves it aside; to keep it, put it into a role"


class Enablement(NamedTuple):
    """What a link of systemd means."""

    unit: Unit
    what: str
    recorded: UnitLink
    actual: UnitLink


def findings(host: str, differences: list[dict[str, Any]]) -> Iterator[Finding]:
    """Describe the recorded paths that differ.

    Args:
        differences: as `program.places.differing` gives them: path, recorded, actual, written.
    """
    for one in differences:
        yield _finding(host, one["path"], one["recorded"], one["actual"], is_written=one["written"])


def _finding(host: str, path: str, recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None, *, is_written: bool) -> Finding:
    if enablement := _enablement(host, path, recorded, actual):
        unit, what, was, became = enablement
        remedy = f"`{shlex.join(systemctl(unit, was.state, became.state))}` on {host}"
        return drift(Code.UNIT_ENABLEMENT, unit, what, remedy=remedy, desired=was, recorded=was, actual=became)
    code, what = _difference(recorded, actual)
    rule = places.rule(path)
    before, now = _sides(recorded, actual, is_written=is_written)
    remedy = MOVED_ASIDE if recorded is None else RESTORED_BY_UP if is_written else RESTORED_FROM_RECORD.format(host=host)
    if path in PASSWORD_TABLES and code == Code.FILE_CHANGED:
        only = shlex.quote(f"{code}:{HostFile(host, path)}")
        remedy = TABLE_RESTORED.format(host=host, accept=f"`clusterwright drift baseline --only {only} --reason TEXT`")
    return drift(
        code,
        HostFile(host, path),
        what + (f"; {rule.why}" if rule else ""),
        remedy=remedy,
        desired=before,
        recorded=before,
        actual=now,
        digest=_digest(recorded, actual),
        level=rule.level if rule else None,
    )


def systemctl(unit: Unit, recorded: UnitState, actual: UnitState) -> tuple[str, ...]:
    """Give the command that restores whether a unit is enabled or masked."""
    manager = ("--global",) if unit.is_of_users else ()
    return ("systemctl", *manager, VERBS[recorded, actual], "--", unit.name)


def _enablement(host: str, path: str, recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> Enablement | None:
    """Read links of systemd as what they mean."""
    links = [place["link"] for place in (recorded, actual) if place and place["kind"] == "link"]
    if len(links) != (recorded is not None) + (actual is not None):
        return None
    if matched := WANTED_UNIT.fullmatch(path):
        if recorded and actual:
            return None
        unit = Unit(host, matched["unit"], is_of_users=matched["manager"] == "user")
        if recorded:
            return Enablement(unit, "the unit was disabled", _link(UnitState.ENABLED, path, recorded), UnitLink(UnitState.DISABLED, path, None))
        return Enablement(unit, "the unit was enabled", UnitLink(UnitState.DISABLED, path, None), _link(UnitState.ENABLED, path, actual))
    if (matched := UNIT_LINK.fullmatch(path)) and MASK in links:
        unit = Unit(host, matched["unit"])
        if actual is not None and actual["link"] == MASK:
            return Enablement(unit, "the unit was masked", _link(UnitState.PLAIN, path, recorded), _link(UnitState.MASKED, path, actual))
        return Enablement(unit, "the unit was unmasked", _link(UnitState.MASKED, path, recorded), _link(UnitState.PLAIN, path, actual))
    return None


def _link(state: UnitState, path: str, place: Mapping[str, Any] | None) -> UnitLink:
    return UnitLink(state, path, place["link"] if place else None)


def _difference(recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> tuple[Code, str]:
    if recorded is None:
        kind = (actual or {})["kind"]
        return Code.FILE_ADDED, f"a {kind} was added"
    if actual is None:
        return Code.FILE_GONE, f"the {recorded['kind']} is gone"
    if recorded["kind"] != actual["kind"]:
        return Code.FILE_KIND, f"a {actual['kind']} is in the place of a {recorded['kind']}"
    if recorded["kind"] == "link":
        return Code.FILE_KIND, "the link points elsewhere"
    if recorded.get("sha256") != actual.get("sha256"):
        return Code.FILE_CHANGED, "the file has another content"
    return Code.FILE_ATTRIBUTES, f"the {recorded['kind']} has another {' and '.join(_attributes(recorded, actual))}"


def _attributes(recorded: Mapping[str, Any], actual: Mapping[str, Any]) -> list[str]:
    return [name for name in ("mode", "owner", "group") if recorded.get(name) != actual.get(name)]


def _sides(recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None, *, is_written: bool) -> tuple[Value | None, Value | None]:
    """Give both sides: the lines that differ where both texts are known, else a description."""
    if recorded and actual and recorded["kind"] == actual["kind"] == "file" and recorded.get("sha256") != actual.get("sha256"):
        before, now = f"sha256 {recorded['sha256'][:12]}", f"sha256 {actual['sha256'][:12]}"
        if "text" in recorded and "text" in actual:
            before, now = changed_lines(recorded["text"], actual["text"])
        return FileContent(_state(recorded), recorded.get("text"), before, is_written, recorded["sha256"]), now
    if recorded and recorded["kind"] == "file" and (actual is None or actual["kind"] != "file"):
        state = _state(recorded)
        return FileContent(state, recorded.get("text"), str(state), is_written), _described(actual)
    return _described(recorded), _described(actual)


def _digest(recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> str:
    """Give the digest of a file whose content is another one: reports show some of its lines, and not its mode."""
    if actual is None or actual["kind"] != "file" or (recorded is not None and recorded.get("sha256") == actual["sha256"]):
        return ""
    return digest({name: value for name, value in actual.items() if name != "text"})


def _state(place: Mapping[str, Any]) -> FileState:
    return FileState(place["kind"], place["mode"], place["owner"], place["group"])


def changed_lines(old: str, new: str) -> tuple[str, str]:
    """Give the lines that only one of two texts has; the first few of each."""
    lost, got = [], []
    for line in difflib.ndiff(old.splitlines(), new.splitlines()):
        if line.startswith("- "):
            lost.append(line[2:].strip())
        elif line.startswith("+ "):
            got.append(line[2:].strip())
    return _joined(lost), _joined(got)


def _joined(lines: list[str]) -> str:
    kept = [line for line in lines if line]
    more = f" and {len(kept) - LINES_SHOWN} more lines" if len(kept) > LINES_SHOWN else ""
    return shown((" ¶ ".join(kept[:LINES_SHOWN]) or "no such line") + more)


def _described(place: Mapping[str, Any] | None) -> Value | None:
    if place is None:
        return None
    if place["kind"] == "link":
        return LinkTarget(place["link"])
    return _state(place)
