"""Every form of the report: well formed, complete, and nothing in it that a reader could take for its own markup."""

import dataclasses
import html.parser
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from components.inspection.codes import Code
from components.inspection.finding import Unchecked
from components.inspection.layer import Layer
from stacks.drift import filters, ignore, reports
from stacks.drift.report import Report, Result
from stacks.drift.reports import document, junit, markdown, sarif, summary, terminal
from tests.drift.examples import finding, report

NASTY = "train-0: /etc/<b>|`x`*_[a](b)&\x1b[31m\x00\n# \ud800"


def chosen(*, failed: tuple[Layer, ...] = (), nasty: bool = False) -> filters.Chosen:
    covered, new, old = (
        finding("login-0: /etc/motd"),
        finding(NASTY if nasty else "train-0: /etc/new"),
        finding("train-0: /etc/old", code=Code.FILE_GONE, actual=None),
    )
    entries = ignore.parse('ignore: [{code: CW721, where: "login-0: *", reason: ours, until: 2027-01-01}]', "it")
    before = filters.choose(report(covered, old, finding("train-1: gone")), filters.Choice(entries), None)
    return filters.choose(report(covered, new, old, failed=failed), filters.Choice(entries), before.run)


def whole(**options: Any) -> Report:
    return chosen(**options).report


@pytest.mark.parametrize("nasty", [False, True])
def test_the_terminal_shows_everything_and_steers_nothing(nasty: bool) -> None:
    text = terminal.write(whole(nasty=nasty), show_ignored=True)
    for part in ("Drift of starter on local, stack prod: drift: 2 warnings", "(new)", "desired and recorded: a", "actual: b", "actual: nothing", "do: put it back", "Not checked", "ours, until 2027-01-01"):  # fmt: skip
        assert part in text
    assert "\x1b" not in text
    assert "\x00" not in text
    assert "\x1b[31;1merror" not in terminal.write(whole(), colour=False)


def test_one_reason_of_several_layers_is_said_once() -> None:
    text = terminal.write(report(failed=(Layer.CLOUD, Layer.HOSTS)))
    assert text.count("the credentials have expired") == 1
    assert "for the same reason" in text


@pytest.mark.parametrize("form", [".txt", ".md", ".html"])
def test_a_reason_of_several_lines_is_shown_without_signs_of_replacement(form: str) -> None:
    reason = "the engine failed\nwith exit status 255"
    results = (Result(Layer.CLOUD, unchecked=(Unchecked(Layer.CLOUD, "the program", reason),), failure=reason),)
    text = reports.text(form, dataclasses.replace(report(), results=results), ())
    assert " ".join(text.split()).count("the engine failed with exit status 255") == 2


def test_json_holds_every_field_of_every_finding() -> None:
    record = json.loads(document.write(whole(nasty=True)))
    assert record["format"] == 1
    assert [one["where"] for one in record["findings"]] == [NASTY, "train-0: /etc/old"]
    for one in record["findings"]:
        assert set(one) == {"layer", "level", "code", "where", "what", "desired", "recorded", "actual", "remedy", "fingerprint"}
    assert record["new"] == [record["findings"][0]["fingerprint"]]
    assert record["gone"] == ["CW721 train-1: gone"]
    assert [(one["where"], one["reason"], one["until"]) for one in record["ignored"]] == [("login-0: /etc/motd", "ours", "2027-01-01")]
    assert {one["layer"] for one in record["unchecked"]} == {"cloud", "hosts"}


@pytest.mark.parametrize("nasty", [False, True])
@pytest.mark.parametrize("failed", [(), (Layer.CLOUD,)])
def test_junit_has_the_attributes_and_sums_that_its_readers_count_on(nasty: bool, failed: tuple[Layer, ...]) -> None:
    root = ET.fromstring(junit.write(whole(nasty=nasty, failed=failed)).encode())
    assert root.tag == "testsuites"
    sums = dict.fromkeys(("tests", "failures", "errors"), 0)
    for suite in root:
        assert suite.tag == "testsuite"
        assert {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"} <= set(suite.attrib)
        cases = suite.findall("testcase")
        assert all({"name", "classname", "time"} <= set(case.attrib) and len(case) <= 1 for case in cases)
        found = {"tests": len(cases), **{f"{kind}s": len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error")}}
        assert {name: int(suite.attrib[name]) for name in found} == found
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
        sums = {name: sums[name] + found[name] for name in sums}
    assert {name: int(root.attrib[name]) for name in sums} == sums
    assert sums["failures"] == 2
    assert sums["errors"] == len(failed)


@pytest.mark.parametrize("nasty", [False, True])
def test_sarif_has_what_the_standard_and_code_scanning_ask_for(nasty: bool) -> None:
    log = json.loads(sarif.write(whole(nasty=nasty, failed=(Layer.CLOUD,))))
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(set(rules))
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert result["partialFingerprints"]["clusterwrightDrift/v1"]
    # What GitHub tells alerts apart by (GitHub Docs, "SARIF support for code scanning"), and what it asks of rules (GH2012 of Microsoft's validator).
    assert len({result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]}) == len(run["results"])
    assert all(rule[part]["text"] for rule in run["tool"]["driver"]["rules"] for part in ("shortDescription", "fullDescription", "help"))
    for result in run["results"]:
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "stacks/Pulumi.prod.yaml"
    assert [result.get("baselineState") for result in run["results"]] == ["new", "unchanged", "unchanged"]
    assert [result.get("suppressions", [{}])[0].get("justification") for result in run["results"]] == [None, None, "ours"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert any("expired" in one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"])


@pytest.mark.parametrize("nasty", [False, True])
def test_markdown_rows_have_one_cell_for_each_column(nasty: bool) -> None:
    text = markdown.write(whole(nasty=nasty), show_ignored=True)
    columns = 0
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = 0
            continue
        cells = line.replace("\\\\", "").replace("\\|", "").count("|") - 1
        columns = columns or cells
        assert cells == columns, line
    assert "<b>" not in text


class Parser(html.parser.HTMLParser):
    """Checks that elements are closed in their order, and collects what is shown."""

    VOID = ("meta", "link", "rect", "path", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A closed element of SVG."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("nasty", [False, True])
def test_the_page_is_well_formed_and_shows_everything(nasty: bool) -> None:
    one = chosen(nasty=nasty)
    parser = Parser()
    page = reports.text(".html", one.report, (one.run, one.run))
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    for part in ("Drift: 2 warnings", "train-0: /etc/old", "put it back", "ours", "nobody looked", "Earlier checks"):
        assert part in parser.text
    assert "<b>" not in page
    assert "<script" not in page


def test_a_file_is_written_in_the_form_of_its_ending(tmp_path: Path) -> None:
    one = chosen()
    for ending in reports.ENDINGS:
        reports.write(tmp_path / "deep" / f"report{ending}", one.report, (one.run,))
        assert (tmp_path / "deep" / f"report{ending}").read_text()


def test_the_verdict_names_what_could_not_be_checked_first() -> None:
    assert summary.verdict(report()) == "no drift"
    assert summary.verdict(report(failed=(Layer.CLOUD,))) == "could not be checked: cloud; no drift in the other layers"
    assert summary.verdict(report(finding(), failed=(Layer.CLOUD,))) == "could not be checked: cloud; drift in what could be: 1 warning"
    assert summary.verdict(report(failed=(Layer.CLOUD, Layer.HOSTS))) == "could not be checked: cloud, hosts"


def test_a_layer_that_was_checked_in_part_shows_what_was_found_and_why_the_rest_was_not() -> None:
    [cloud] = report(finding(code=Code.RESOURCE_GONE), failed=(), layers=(Layer.CLOUD,)).results
    part = dataclasses.replace(cloud, failure="3 resources could not be inspected")
    assert summary.of_layer(part) == "could not be checked in full, 1 finding in what could"
    whole = dataclasses.replace(report(layers=(Layer.CLOUD,)), results=(part,))
    for form in (".txt", ".md", ".html"):
        text = reports.text(form, whole, ())
        assert "3 resources could not be inspected" in text
        assert "CW701" in text
