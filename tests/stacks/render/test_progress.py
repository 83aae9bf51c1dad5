"""What a person reads while the engine works, from the events that it writes."""

import io
import json
from typing import Any

import pytest

from stacks.render import engine_events
from stacks.render.engine_events import Resource
from stacks.render.live_rows import LiveRows
from stacks.render.progress import NEWS_EVERY_S, STEP_SHOWN_AFTER_S, TOGETHER_WITHIN_S, Progress

PARENT = "urn:pulumi:dev::clusterwright::clusterwright:index:Cluster"
POOL, KEY = f"{PARENT}$clusterwright:local:HostPool::train", f"{PARENT}$clusterwright:secret:Secret::admin-key"
CLUSTER, STACK = f"{PARENT}::starter", "urn:pulumi:dev::clusterwright::pulumi:pulumi:Stack::clusterwright-dev"
PROVIDER = "urn:pulumi:dev::clusterwright::pulumi:providers:clusterwright::default"


def step(event: str, operation: str, urn: str) -> str:
    return json.dumps({"sequence": 1, event: {"metadata": {"op": operation, "urn": urn, "new": {"custom": urn not in (CLUSTER, STACK)}, "old": None}}})


def begun(operation: str, urn: str = POOL) -> str:
    return step("resourcePreEvent", operation, urn)


def ended(operation: str, urn: str = POOL) -> str:
    return step("resOutputsEvent", operation, urn)


def failed(operation: str, urn: str = POOL) -> str:
    return step("resOpFailedEvent", operation, urn)


def said(message: str, *, urn: str = POOL, severity: str = "info", ephemeral: bool = True) -> str:
    return json.dumps({"diagnosticEvent": {"urn": urn, "message": message, "severity": severity, **({"ephemeral": True} if ephemeral else {})}})


def shown(progress: Progress, *events: str, now: float = 0.0) -> list[str]:
    parsed = [event for line in events if (event := engine_events.parse(line))]
    return [*(line for event in parsed for line in progress.take(event, now)), *progress.quick()]


def test_a_changed_resource_has_one_line_and_others_are_counted() -> None:
    progress = Progress()
    lines = shown(progress, begun("update"), said("1 of 2 hosts: make train-2\n"), said("nodes 2 → 4\n"), ended("update"))
    assert lines == ["  ~ HostPool train updated: nodes 2 → 4"]
    assert shown(progress, begun("same", KEY), ended("same", KEY)) == []
    assert progress.total() == "1 updated, 1 unchanged"
    assert progress.changed == {POOL}


@pytest.mark.parametrize("urn", [CLUSTER, STACK, PROVIDER])
def test_what_is_only_a_name_for_others_is_neither_shown_nor_counted(urn: str) -> None:
    progress = Progress()
    assert shown(progress, begun("create", urn), ended("create", urn), begun("same", urn), ended("same", urn)) == []
    assert progress.total() == "nothing to do"


def test_an_operation_that_took_long_says_how_long() -> None:
    progress = Progress()
    shown(progress, begun("update"), now=10)
    assert shown(progress, ended("update"), now=22) == ["  ~ HostPool train updated (12 s)"]


def test_the_last_step_of_another_provider_is_no_result() -> None:
    other = "urn:pulumi:dev::clusterwright::aws:fsx/fileSystem:FileSystem::scratch"
    assert shown(Progress(), begun("create", other), said("waiting", urn=other), ended("create", other)) == ["  + FileSystem scratch created"]


def test_resources_of_one_kind_that_end_quickly_share_a_line() -> None:
    progress, other = Progress(), KEY.replace("admin-key", "munge-key")
    events = [
        event for line in (begun("create", KEY), ended("create", KEY), begun("create", other), ended("create", other)) if (event := engine_events.parse(line))
    ]
    assert [line for event in events for line in progress.take(event, 0)] == []
    assert list(progress.quick(TOGETHER_WITHIN_S - 0.1)) == []
    assert list(progress.quick(TOGETHER_WITHIN_S)) == ["  + Secret admin-key, munge-key created"]
    assert list(progress.quick()) == []
    assert shown(progress, begun("create", KEY), ended("create", KEY), begun("create"), ended("create"), begun("delete", KEY), ended("delete", KEY)) == [
        "  + Secret admin-key created",
        "  + HostPool train created",
        "  - Secret admin-key deleted",
    ]


def test_reading_resources_gives_no_lines() -> None:
    progress = Progress()
    assert shown(progress, begun("refresh"), ended("refresh")) == []
    assert progress.total() == "nothing to do"


def test_a_step_is_shown_in_a_log_once_it_takes_long() -> None:
    progress = Progress()
    shown(progress, begun("create"), said("database: The database runs"))
    assert list(progress.news(STEP_SHOWN_AFTER_S - 0.1)) == []
    (line,) = progress.news(STEP_SHOWN_AFTER_S)
    assert line.endswith("train creating (10 s): database: The database runs")
    assert list(progress.news(STEP_SHOWN_AFTER_S + 1)) == []


def test_a_log_shows_that_a_silent_operation_goes_on() -> None:
    progress = Progress()
    shown(progress, begun("create"))
    assert list(progress.news(NEWS_EVERY_S - 1)) == []
    assert list(progress.news(NEWS_EVERY_S)) == ["  + HostPool train creating (60 s)"]
    assert list(progress.news(NEWS_EVERY_S + 1)) == []


def test_every_step_is_shown_when_asked_for() -> None:
    lines = shown(Progress(is_verbose=True), begun("create"), said("one"), said("one"), said("two"), ended("create"))
    assert [line.partition(": ")[2] for line in lines] == ["", "one", "two", "two"]


def test_errors_are_whole_and_come_once_after_everything_else() -> None:
    progress = Progress()
    message = "<{%reset%}>control-0: task «Start» failed: line one\nline two\n"
    lines = shown(
        progress,
        begun("create"),
        said(message, severity="error", ephemeral=False),
        said(message, severity="error", ephemeral=False),
        said("train-9 is kept", ephemeral=False),
        failed("create"),
    )
    assert lines == ["  ! HostPool train failed"]
    assert list(progress.notes()) == ["HostPool train: train-9 is kept", "error: HostPool train: control-0: task «Start» failed: line one\nline two"]
    assert progress.has_errors


def test_what_the_engine_wraps_around_an_error_is_left_out() -> None:
    progress = Progress()
    shown(progress, said("1 error occurred:\n\t* no disk\n\n", severity="error", ephemeral=False))
    shown(progress, said("update failed", urn=STACK, severity="error", ephemeral=False))
    advice = "Attempting to deploy or update resources with 3 pending operations from previous deployment.\n  * urn, interrupted while creating"
    shown(progress, said(advice, urn=STACK, severity="warning", ephemeral=False))
    assert list(progress.notes()) == ["error: HostPool train: no disk"]


def test_what_the_engine_debugs_is_not_shown() -> None:
    progress = Progress()
    shown(progress, said("registering resource", severity="debug", ephemeral=False))
    assert list(progress.notes()) == []
    assert not progress.has_errors


@pytest.mark.parametrize(
    "line", [{"preludeEvent": {"config": {}}}, {"summaryEvent": {"resourceChanges": {"same": 1}}}, {"cancelEvent": {}}, {"laterEvent": {}}]
)
def test_other_events_are_passed_over(line: dict[str, Any]) -> None:
    assert engine_events.parse(json.dumps(line)) is None


def test_a_resource_is_named_as_its_urn_names_it() -> None:
    aws = Resource("urn:pulumi:dev::clusterwright::clusterwright:index:Cluster$aws:ec2/securityGroup:SecurityGroup::a::b")
    assert (aws.kind, aws.name, aws.is_own) == ("SecurityGroup", "a::b", False)


class TestLiveRows:
    @pytest.fixture(autouse=True)
    def size(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "20")
        monkeypatch.setenv("LINES", "10")

    def test_rows_replace_the_former_ones_below_lines_that_stay(self) -> None:
        terminal = io.StringIO()
        rows = LiveRows(terminal)
        rows.show(["a", "b"])
        rows.show(["c"], above=["done"])
        rows.show(())
        assert terminal.getvalue() == "a\nb\n\x1b[2A\x1b[Jdone\nc\n\x1b[1A\x1b[J"

    def test_a_row_is_cut_at_the_edge_and_rows_at_the_height(self) -> None:
        terminal = io.StringIO()
        LiveRows(terminal).show(["x" * 30] * 20)
        lines = terminal.getvalue().splitlines()
        assert lines == ["x" * 19] * 8 + ["    … and 12 more"]
