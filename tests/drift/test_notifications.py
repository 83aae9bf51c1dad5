"""Messages about what is new, to a real command and a real web server."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.inspection.layer import Layer
from stacks import errors
from stacks.drift import filters, notifications
from tests.drift.examples import finding, report

A, B = finding("train-0: a"), finding("train-0: b")


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[bytes]]]:
    got: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(500 if self.path == "/broken" else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_webhook_gets_what_slack_reads(webhook: tuple[str, list[bytes]]) -> None:
    url, got = webhook
    notifications.post(url, report(A, B), [B])
    [body] = got
    assert set(json.loads(body)) == {"text"}
    text = json.loads(body)["text"]
    assert text.startswith("Drift of starter on local, stack prod: drift: 2 warnings")
    assert "train-0: b" in text
    assert "train-0: a" not in text, "only what is new is told"


def test_a_webhook_that_refuses_is_an_error_without_its_address(webhook: tuple[str, list[bytes]]) -> None:
    with pytest.raises(errors.NotDelivered) as raised:
        notifications.post(f"{webhook[0]}/broken", report(A), [A])
    assert "500" in str(raised.value)
    assert webhook[0] not in str(raised.value)
    for url in ("http://127.0.0.1:1/", "file:///etc/passwd", "slack"):
        with pytest.raises(errors.NotDelivered):
            notifications.post(url, report(A), [A])


def test_a_command_gets_the_report_and_the_message(tmp_path: Path) -> None:
    notifications.run_command(f'cat > {tmp_path}/report; printf %s "$CLUSTERWRIGHT_DRIFT_MESSAGE" > {tmp_path}/message', report(A), [A])
    assert json.loads((tmp_path / "report").read_text())["findings"][0]["where"] == "train-0: a"
    assert "train-0: a" in (tmp_path / "message").read_text()
    with pytest.raises(errors.NotDelivered, match="status 3: oh"):
        notifications.run_command("echo oh >&2; exit 3", report(A), [A])


def test_a_message_is_worth_sending_when_something_came_went_or_failed_anew() -> None:
    first = filters.choose(report(A), filters.Choice(), None)
    again = filters.choose(report(A), filters.Choice(), first.run)
    gone = filters.choose(report(), filters.Choice(), again.run)
    failed = filters.choose(report(failed=(Layer.HOSTS,)), filters.Choice(), gone.run)
    still = filters.choose(report(failed=(Layer.HOSTS,)), filters.Choice(), failed.run)
    worth = []
    before: frozenset[str] = frozenset()
    for chosen in (first, again, gone, failed, still):
        worth.append(notifications.is_worth(chosen.report, chosen.news, failed_before=before))
        before = frozenset(chosen.run.failed)
    assert worth == [True, False, True, True, False]


def test_a_long_list_is_cut() -> None:
    many = [finding(f"train-0: {number}") for number in range(50)]
    text = notifications.message(report(*many), many)
    assert text.count("•") == notifications.LINES
    assert "and 30 more" in text
