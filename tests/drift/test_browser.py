"""The page in a real browser: readable on a phone, a tablet and a desk, by day and by night, with nothing fetched and nothing complained about."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks.drift import reports
from tests import browser
from tests.drift.test_reports import chosen
from tests.stacks.render.test_browser import problems

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    with browser.running(tmp_path_factory.mktemp("browser")) as running:
        yield running.page()


@pytest.mark.parametrize("nasty", [False, True])
def test_a_drift_report_can_be_read_everywhere(nasty: bool, page: browser.Page, tmp_path: Path) -> None:
    one = chosen(nasty=nasty)
    assert problems(page, reports.text(".html", one.report, (one.run,) * 40), tmp_path) == []
