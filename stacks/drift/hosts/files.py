"""Findings about files, folders, links and what they stand for: units that are enabled or masked. Pure."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .. import rules
from ..codes import Code
from ..differences import shown
from ..report import Drift, Layer, drift

WANTED_UNIT = re.compile(r"/etc/systemd/(?:system|user)/[^/]+\.(?:wants|requires)/(?P<unit>[^/]+)")
UNIT_LINK = re.compile(r"/etc/systemd/system/(?P<unit>[^/]+\.(?:service|timer|socket|mount|automount|target|path))")
MASK = "/dev/null"
_BACK = {("enabled", "disabled"): "enable", ("disabled", "enabled"): "disable", ("plain", "masked"): "unmask", ("masked", "plain"): "mask"}
"""State of a unit before and now → what `systemctl` is told to put it back."""
LINES_SHOWN = 3
BACK_IF_WRITTEN = "`clusterwright up` writes it where its host is finished anew; or put it back by hand, or build the host anew"
BACK_IF_INSTALLED = "put it back as it was, or build the host anew; if it shall stay, put it into a role"


def findings(host: str, differences: list[dict[str, Any]]) -> Iterator[Drift]:
    """Say what became of recorded places.

    Args:
        differences: as the module `drift_facts` gives them: path, recorded, actual, written.
    """
    for one in differences:
        yield _finding(host, one["path"], one["recorded"], one["actual"], is_written=one["written"])


def _finding(host: str, path: str, recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None, *, is_written: bool) -> Drift:
    if enablement := _enablement(path, recorded, actual):
        unit, what, was, became = enablement
        remedy = f"`systemctl {_BACK[was, became]} {unit}` on {host}"
        return drift(Layer.HOSTS, Code.UNIT_ENABLEMENT, f"{host}: unit {unit}", what, remedy=remedy, desired=was, recorded=was, actual=became)
    code, what = _told(recorded, actual)
    rule = rules.place_rule(path)
    before, now = _sides(recorded, actual)
    return drift(
        Layer.HOSTS,
        code,
        f"{host}: {path}",
        what + (f"; {rule.why}" if rule else ""),
        remedy=BACK_IF_WRITTEN if is_written else BACK_IF_INSTALLED,
        desired=before,
        recorded=before,
        actual=now,
        level=rule.level if rule else None,
    )


def _enablement(path: str, recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> tuple[str, str, str, str] | None:
    """Read links of systemd as what they mean: unit, what happened, state before and now."""
    links = [place["link"] for place in (recorded, actual) if place and place["kind"] == "link"]
    if len(links) != (recorded is not None) + (actual is not None):
        return None
    if matched := WANTED_UNIT.fullmatch(path):
        if recorded and actual:
            return None
        return (
            (matched["unit"], "the unit was disabled", "enabled", "disabled") if recorded else (matched["unit"], "the unit was enabled", "disabled", "enabled")
        )
    if (matched := UNIT_LINK.fullmatch(path)) and MASK in links:
        masked = actual is not None and actual["link"] == MASK
        return (matched["unit"], "the unit was masked", "plain", "masked") if masked else (matched["unit"], "the unit was unmasked", "masked", "plain")
    return None


def _told(recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> tuple[Code, str]:
    if recorded is None:
        kind = (actual or {})["kind"]
        return Code.FILE_ADDED, f"a {kind} is there that nothing recorded put there"
    if actual is None:
        return Code.FILE_GONE, f"the {recorded['kind']} is gone"
    if recorded["kind"] != actual["kind"]:
        return Code.FILE_KIND, f"a {actual['kind']} is in the place of a {recorded['kind']}"
    if recorded["kind"] == "link":
        return Code.FILE_KIND, "the link leads elsewhere"
    if recorded.get("sha256") != actual.get("sha256"):
        return Code.FILE_CHANGED, "the file has another content"
    return Code.FILE_ATTRIBUTES, f"the {recorded['kind']} has another {' and '.join(_attributes(recorded, actual))}"


def _attributes(recorded: Mapping[str, Any], actual: Mapping[str, Any]) -> list[str]:
    return [name for name in ("mode", "owner", "group") if recorded.get(name) != actual.get(name)]


def _sides(recorded: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> tuple[str | None, str | None]:
    """Write both sides: the lines that differ where both texts are known, else what describes the place."""
    if recorded and actual and recorded["kind"] == actual["kind"] == "file" and recorded.get("sha256") != actual.get("sha256"):
        if "text" in recorded and "text" in actual:
            return changed_lines(recorded["text"], actual["text"])
        return f"sha256 {recorded['sha256'][:12]}", f"sha256 {actual['sha256'][:12]}"
    return _described(recorded), _described(actual)


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
    return shown((" ¶ ".join(kept[:LINES_SHOWN]) or "no such line") + more) or ""


def _described(place: Mapping[str, Any] | None) -> str | None:
    if place is None:
        return None
    if place["kind"] == "link":
        return f"link to {place['link']}"
    return f"{place['kind']}, {place['mode']} {place['owner']}:{place['group']}"
