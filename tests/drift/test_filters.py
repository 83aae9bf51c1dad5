"""What is ignored, what has to be seen again, what is new: the way from everything found to what is reported."""

import datetime as dt
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints.finding import Finding, Level, subject
from components.inspection import compare
from components.inspection.codes import Code
from components.inspection.collect import Seen
from components.inspection.finding import shown
from components.inspection.hosts import exposure, files, packages
from components.inspection.layer import Layer
from stacks import errors
from stacks.drift import filters, history, ignore
from stacks.drift.report import fingerprint
from tests.drift import examples
from tests.drift.examples import MOMENT, finding, report, told

FILE = """\
ignore:
  - {code: CW721, where: "train-*: /etc/motd", reason: the greeting is ours, until: 2026-12-31}
  - {code: "CW7*", where: "login-0: *", actual: "x*", reason: being moved}
"""


def test_entries_cover_by_code_place_and_value_until_they_end() -> None:
    entries = ignore.parse(FILE, "it")
    covered = [finding(), finding("login-0: /etc/a", actual="xyz")]
    others = [finding("control-0: /etc/motd"), finding(code=Code.FILE_GONE), finding("login-0: /etc/a", actual="abc")]
    counting, ignored = ignore.apply([*covered, *others], entries, MOMENT.date())
    assert [one.finding for one in ignored] == covered
    assert [*counting] == others
    assert ignored[0].reason == "the greeting is ours"


def test_an_entry_that_ended_comes_back_with_what_it_covered() -> None:
    chosen = filters.choose(report(finding()), filters.Choice(ignore.parse(FILE, "it")), None)
    assert told(chosen.report.findings) == []
    later = filters.choose(report(finding(), moment=MOMENT.replace(year=2027)), filters.Choice(ignore.parse(FILE, "it")), None)
    assert told(later.report.findings) == [("CW721", "train-0: /etc/motd"), ("CW790", "ignore CW721 train-*: /etc/motd")]


BROKEN = [
    ("ignore: [", "is not YAML"),
    ("- a", "one list with the name `ignore`"),
    ("ignored: []", "one list with the name `ignore`"),
    ("ignore: [text]", "it is not a mapping"),
    ("ignore: [{code: CW721, where: x}]", "`reason` is missing"),
    ("ignore: [{code: CW999, where: x, reason: y}]", "no finding has the code `CW999`"),
    ("ignore: [{code: CW721, where: x, reason: y, untill: 2026-01-01}]", "did you mean `until`?"),
    ("ignore: [{code: CW721, where: x, reason: y, until: tomorrow}]", "`until` is no date"),
    ("ignore: [{code: CW721, where: x, reason: y, until: 2026-01-01 10:00:00}]", "`until` is no date"),
    ("ignore: [{code: 5, where: x, reason: y}]", "`code` is missing"),
    ("ignore: [{code: CW721, where: x, reason: y, digest: 12}]", "`digest` is no text"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_a_malformed_file_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(errors.BadIgnoreFile, match="it") as raised:
        ignore.parse(text, "it")
    assert said in str(raised.value)


def test_no_file_and_an_empty_one_cover_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# nothing yet\n")
    assert ignore.read(tmp_path / "empty") == ignore.read(tmp_path / "none") == ()


def test_a_baseline_covers_exactly_what_it_was_made_from_and_keeps_what_was_there() -> None:
    findings = [finding("train-0: /etc/motd"), finding(subject.CloudResource("fs", "x", "ingress[0].cidr"), code=Code.PROPERTY_CHANGED)]
    text = ignore.baseline(findings, ignore.parse(FILE, "it"), reason="known", until=dt.date(2027, 1, 1))
    entries = ignore.parse(text, "it")
    assert entries[:2] == ignore.parse(FILE, "it")
    assert ignore.apply(findings, entries[2:], MOMENT.date())[0] == ()
    assert len(ignore.apply([finding(subject.CloudResource("fs", "x", "ingress0.cidr"), code=Code.PROPERTY_CHANGED)], entries[2:], MOMENT.date())[0]) == 1


def test_a_value_that_was_accepted_is_drift_again_when_it_changes() -> None:
    accepted = finding("train-0: /etc/shadow", actual="sha256 3c4f [x]*")
    entries = ignore.parse(ignore.baseline([accepted], reason="ours", until=None, is_of_value=True), "it")
    later = finding("train-0: /etc/shadow", actual="sha256 3c4f [x]and another")
    assert ignore.apply([accepted, later], entries, MOMENT.date())[0] == (later,)


def of_file(text: str, *, recorded: str | None = "a\n", mode: str = "0644") -> Finding:
    """Find that a file has this text now."""
    sides = [None if content is None else file_place(content, bits) for content, bits in ((recorded, "0644"), (text, mode))]
    [found] = files.findings("train-0", [{"path": "/etc/motd", "recorded": sides[0], "actual": sides[1], "written": False}])
    return found


def file_place(text: str, mode: str) -> dict[str, str]:
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return {"kind": "file", "mode": mode, "owner": "root", "group": "root", "sha256": checksum, "text": text}


LONG = "".join(f"line {number}\n" for number in range(9))


@pytest.mark.parametrize(
    ("accepted", "later"),
    [
        (of_file(LONG), of_file(LONG.replace("line 7", "line x"))),
        (of_file(LONG), of_file(LONG + "\n")),
        (of_file("b\n"), of_file("  b\n")),
        (of_file("b\n"), of_file("b\n", mode="0666")),
        (of_file(LONG, recorded=None), of_file("b\n", recorded=None)),
        (finding(actual=shown("x" * 300 + "y")), finding(actual=shown("x" * 300 + "z"))),
    ],
    ids=["fourth line or later", "an empty line more", "spaces", "mode", "content of a file that was added", "a long value"],
)
def test_what_a_report_does_not_show_was_accepted_too_and_is_drift_again_when_it_changes(accepted: Finding, later: Finding) -> None:
    entries = ignore.parse(ignore.baseline([accepted], reason="ours", until=None, is_of_value=True), "it")
    assert ignore.apply([accepted], entries, MOMENT.date())[0] == ()
    assert ignore.apply([later], entries, MOMENT.date())[0] == (later,)


NOTHING: dict[str, Any] = {
    "is_read": True,
    **dict.fromkeys(("privileged", "writable", "unowned", "changed_programs", "runtime_files", "transient_units", "root_starts", "system_keys"), ()),
    **dict.fromkeys(("listening", "deleted", "covering"), ()),
}


@pytest.mark.parametrize(
    ("told_of", "name"),
    [
        ({"package_files": ["/usr/sbin/slurmd"]}, "/usr/sbin/slurmd"),
        ({"exposure": {**NOTHING, "changed_programs": ["/usr/bin/newgrp"]}}, "/usr/bin/newgrp"),
        ({"exposure": {**NOTHING, "unowned": ["/usr/bin/extra"]}}, "/usr/bin/extra"),
        ({"exposure": {**NOTHING, "privileged": [{"path": "/usr/bin/helper", "right": "4755 root:root", "owned": False}]}}, "/usr/bin/helper"),
        ({"exposure": {**NOTHING, "runtime_files": ["/run/udev/rules.d/1.rules"]}}, "/run/udev/rules.d/1.rules"),
        ({"exposure": {**NOTHING, "transient_units": ["x.service"]}}, "x.service"),
        ({"exposure": {**NOTHING, "root_starts": ["/root/.bashrc"]}}, "/root/.bashrc"),
        ({"exposure": {**NOTHING, "system_keys": [{"user": "backup", "path": "/var/backups/.ssh/authorized_keys"}]}}, "/var/backups/.ssh/authorized_keys"),
    ],
)
def test_a_file_of_which_a_report_shows_no_content_was_accepted_as_it_is(told_of: dict[str, Any], name: str) -> None:
    one, other = [file_place("b\n", "0644")], [file_place("c\n", "0644")]
    first, second, gone = (of_host(told_of, {name: there}) for there in (one, other, [None]))
    entries = ignore.parse(ignore.baseline([first], reason="ours", until=None, is_of_value=True), "it")
    assert ignore.apply([first, second, gone], entries, MOMENT.date())[0] == (second, gone)


def of_host(told_of: Mapping[str, Any], contents: Mapping[str, Any]) -> Finding:
    given = examples.facts(**told_of, contents=contents)
    [found] = exposure.findings("train-0", given, exposure.Common()) if "exposure" in told_of else packages.findings("train-0", given)
    return found


def test_a_munge_key_that_was_accepted_is_drift_again_when_it_is_another_one() -> None:
    first, second, none = (of_munge_key(checksum) for checksum in ("1" * 64, "2" * 64, ""))
    entries = ignore.parse(ignore.baseline([first], reason="ours", until=None, is_of_value=True), "it")
    assert ignore.apply([first, second, none], entries, MOMENT.date())[0] == (second, none)


def of_munge_key(checksum: str) -> Finding:
    seen = Seen({examples.hosts()[2]: examples.facts(munge_key_sha256=checksum)}, None, {}, {}, examples.NOW_S)
    [[found]] = compare.of_hosts(seen, examples.known()).values()
    return found


def test_a_baseline_of_everything_covers_a_file_whatever_it_holds_later() -> None:
    entries = ignore.parse(ignore.baseline([of_file(LONG)], reason="ours", until=None), "it")
    assert ignore.apply([of_file("b\n")], entries, MOMENT.date())[0] == ()


def test_a_fingerprint_is_of_the_place_and_not_of_the_value() -> None:
    assert fingerprint(finding(actual="x")) == fingerprint(finding(actual="y", what="other words"))
    assert len({fingerprint(finding()), fingerprint(finding("train-1: /etc/motd")), fingerprint(finding(code=Code.FILE_GONE))}) == 3


def runs(*reports: object, **wishes: object) -> list[filters.Chosen]:
    """Choose from reports one after the other, each knowing the one before."""
    found: list[filters.Chosen] = []
    for one in reports:
        found.append(filters.choose(one, filters.Choice(**wishes), found[-1].run if found else None))  # type: ignore[arg-type]
    return found


def test_a_fingerprint_is_the_same_in_every_version() -> None:
    assert fingerprint(finding("train-0: /etc/motd")) == "397ad13fd5929e56"
    assert fingerprint(finding(subject.CloudResource("fs", "x", "size"), code=Code.PROPERTY_CHANGED)) == "0317a1f539c5d068"


def test_a_known_finding_is_news_once_and_again_when_it_came_back() -> None:
    a, b = finding("train-0: a"), finding("train-0: b")
    first, second, third, fourth = runs(report(a), report(a, b), report(b), report(a, b))
    assert [[one.place for one in chosen.news] for chosen in (first, second, third, fourth)] == [["train-0: a"], ["train-0: b"], [], ["train-0: a"]]
    assert third.report.gone == ("CW721 train-0: a",)
    assert first.report.fresh is None, "the first check has nothing to compare with"
    assert second.report.fresh == frozenset({fingerprint(b)})


def test_since_last_reports_only_what_is_new() -> None:
    a, b = finding("train-0: a"), finding("train-0: b")
    _, second, third = runs(report(a), report(a, b), report(a, b), since_last=True)
    assert told(second.report.findings) == [("CW721", "train-0: b")]
    assert told(third.report.findings) == []
    assert third.run.shown.keys() == {fingerprint(a), fingerprint(b)}


def test_a_finding_counts_only_after_as_many_checks_in_a_row_as_asked_for() -> None:
    a = finding()
    chosen = runs(report(a), report(a), report(), report(a), report(a), report(a), confirm=3)
    assert [len(one.report.findings) for one in chosen] == [0, 0, 0, 0, 0, 1]
    assert [one.report.waiting for one in chosen[:2]] == [((a, 1),), ((a, 2),)]
    assert chosen[2].report.gone == (), "what was never reported can't be gone"
    assert [len(one.news) for one in chosen] == [0, 0, 0, 0, 0, 1]


def test_a_layer_that_fails_neither_clears_nor_renews_what_is_known_of_it() -> None:
    a = finding()
    first, second, third = runs(report(a), report(failed=(Layer.HOSTS,)), report(a))
    assert second.report.gone == ()
    assert second.run.streaks == first.run.streaks
    assert third.news == ()
    assert third.run.streaks[fingerprint(a)] == 2


def test_what_matters_less_is_left_out() -> None:
    levels = [finding(f"train-0: {level}", level=level) for level in Level]
    chosen = filters.choose(report(*levels), filters.Choice(least=Level.WARNING), None)
    assert [one.level for one in chosen.report.findings] == [Level.ERROR, Level.WARNING]


def test_history_is_kept_read_and_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT", 3)
    made = [filters.choose(report(finding(), moment=MOMENT.replace(minute=minute)), filters.Choice(), None).run for minute in range(5)]
    for one in made:
        history.add(tmp_path / "deep" / "folder", one)
    assert history.read(tmp_path / "deep" / "folder") == tuple(made[-3:])


def test_a_broken_line_of_the_history_is_passed_over(tmp_path: Path) -> None:
    run = filters.choose(report(finding()), filters.Choice(), None).run
    history.add(tmp_path, run)
    path = tmp_path / history.FILE
    path.write_text("{cut off\n[]\n" + path.read_text() + '{"moment": 5}\n')
    assert history.read(tmp_path) == (run,)


def test_an_entry_holds_on_its_last_day() -> None:
    last = dt.date(2026, 11, 21)
    entry = ignore.Entry("CW7*", "*", "known", last)
    assert [entry.has_ended(last + dt.timedelta(days=days)) for days in (-1, 0, 1)] == [False, False, True]
