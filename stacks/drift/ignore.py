"""The ignore file: findings that are accepted, each with a reason and a last day. Pure but for reading the file."""

import dataclasses
import datetime as dt
import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from blueprints import message_text
from blueprints.finding import Finding
from blueprints.finding.subject import IgnoreEntry
from components.inspection.codes import Code
from components.inspection.finding import drift

from ..errors import BadIgnoreFile
from .report import Ignored, texts

KEYS = {"code", "where", "actual", "digest", "reason", "until"}
EVERYTHING = "*"
HEAD = """\
# Drift that is known and accepted. Patterns are those of shells (`*`, `?`, `[a-z]`). An entry without `until` never ends; one that has ended comes
# back as a finding, together with what it covered.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One entry: what it covers, why, and until when."""

    code: str
    """A code, or a pattern."""
    where: str
    """A pattern of the finding's place."""
    reason: str
    until: dt.date | None = None
    actual: str = EVERYTHING
    """A pattern of what is there now."""
    digest: str = ""
    """Of what is there now, where the report does not show all of it; empty: any."""

    def covers(self, finding: Finding) -> bool:
        places = fnmatch.fnmatchcase(finding.code, self.code) and (self.where == finding.place or fnmatch.fnmatchcase(finding.place, self.where))
        is_same = not self.digest or (finding.values is not None and finding.values.digest == self.digest)
        return places and is_same and (self.actual == EVERYTHING or fnmatch.fnmatchcase(texts(finding).actual or "", self.actual))

    def has_ended(self, day: dt.date) -> bool:
        return self.until is not None and self.until < day


def _escaped(text: str) -> str:
    """Escape a place as a pattern: it may hold brackets or stars."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def read(path: Path) -> tuple[Entry, ...]:
    """Read the file; none is an empty one.

    Raises:
        BadIgnoreFile: it isn't what it should be.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise BadIgnoreFile(f"{path}: {error}") from error
    return parse(text, str(path))


def parse(text: str, name: str) -> tuple[Entry, ...]:
    """Read the text of an ignore file.

    Raises:
        BadIgnoreFile: it isn't what it should be.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadIgnoreFile(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    if content is None:
        return ()
    if not isinstance(content, dict) or set(content) != {"ignore"} or not isinstance(content["ignore"] or [], list):
        raise BadIgnoreFile(f"{name} has to hold one list with the name `ignore`")
    problems: list[str] = []
    entries = [_entry(entry, f"{name}, entry {number}", problems) for number, entry in enumerate(content["ignore"] or [], start=1)]
    if problems:
        raise BadIgnoreFile("\n".join(problems))
    return tuple(entry for entry in entries if entry)


def _entry(entry: Any, where: str, problems: list[str]) -> Entry | None:
    found = [*_problems(entry)]
    problems += [f"{where}: {problem}" for problem in found]
    if found:
        return None
    until = entry.get("until")
    narrower = {"actual": str(entry.get("actual", EVERYTHING)), "digest": entry.get("digest", "")}
    return Entry(code=str(entry["code"]), where=str(entry["where"]), reason=str(entry["reason"]), until=until, **narrower)


def _problems(entry: Any) -> Iterable[str]:
    if not isinstance(entry, dict):
        yield "it is not a mapping"
        return
    for key in entry:
        if key not in KEYS:
            yield message_text.did_you_mean(str(key), KEYS, allowed=f"there is no key {message_text.quoted(str(key))}; allowed are")
    for key in ("code", "where", "reason"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            yield f"`{key}` is missing" + (": write why this is accepted" if key == "reason" else "")
    if isinstance(entry.get("code"), str) and not any(fnmatch.fnmatchcase(code, entry["code"]) for code in Code):
        yield f"no finding has the code {message_text.quoted(entry['code'])}"
    if not isinstance(entry.get("digest", ""), str):
        yield "`digest` is no text as `clusterwright drift baseline --only` writes it"
    if entry.get("until") is not None and type(entry["until"]) is not dt.date:
        yield f"`until` is no date like 2027-01-31 but {message_text.quoted(entry['until'])}"


def apply(findings: Iterable[Finding], entries: Sequence[Entry], day: dt.date) -> tuple[tuple[Finding, ...], tuple[Ignored, ...]]:
    """Divide findings into those that count and those that an entry covers."""
    counting, ignored = [], []
    for finding in findings:
        entry = next((one for one in entries if one.covers(finding) and not one.has_ended(day)), None)
        if entry:
            ignored.append(Ignored(finding, entry.reason, entry.until))
        else:
            counting.append(finding)
    return tuple(counting), tuple(ignored)


def expired(entries: Iterable[Entry], day: dt.date) -> tuple[Finding, ...]:
    """Say which entries have ended."""
    return tuple(
        drift(
            Code.IGNORE_EXPIRED,
            IgnoreEntry(entry.code, entry.where),
            f"the entry ended on {entry.until}: {entry.reason}",
            remedy="fix what it covers, or give the entry a later date in the ignore file",
        )
        for entry in entries
        if entry.has_ended(day)
    )


def baseline(findings: Iterable[Finding], kept: Iterable[Entry] = (), *, reason: str, until: dt.date | None, is_of_value: bool = False) -> str:
    """Write an ignore file that covers these findings, after the entries that stay.

    Args:
        is_of_value: only while what is there now stays.
    """
    entries = [_written(entry) for entry in kept]
    for finding in findings:
        actual = texts(finding).actual if is_of_value else None
        digest = finding.values.digest if is_of_value and finding.values else ""
        entries.append(_written(Entry(str(finding.code), _escaped(finding.place), reason, until, _escaped(actual) if actual else EVERYTHING, digest)))
    return HEAD + yaml.safe_dump({"ignore": entries}, sort_keys=False, allow_unicode=True, width=160)


def _written(entry: Entry) -> dict[str, Any]:
    narrower = {"actual": entry.actual} if entry.actual != EVERYTHING else {}
    narrower |= {"digest": entry.digest} if entry.digest else {}
    return {"code": entry.code, "where": entry.where, **narrower, "reason": entry.reason, **({"until": entry.until} if entry.until else {})}
