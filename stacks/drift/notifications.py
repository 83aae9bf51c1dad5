"""Notifications: a command that gets the report, or a webhook that takes Slack's JSON. Only news is sent."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence

from blueprints.finding import Finding

from ..errors import NotDelivered
from .report import Report
from .reports import document, summary

WITHIN_S = 30
LINES = 20
SCHEMES = ("http://", "https://")


def is_worth(report: Report, news: Sequence[Finding], *, failed_before: frozenset[str]) -> bool:
    """Say whether there is news since the last message: new findings, ones that are gone, a layer that fails now. Pure."""
    failed = {str(result.layer) for result in report.failures}
    return bool(news or report.gone or failed - failed_before)


def message(report: Report, news: Sequence[Finding]) -> str:
    """Write the message. Pure."""
    lines = [f"Drift of {summary.title(report)}: {summary.verdict(report)}"]
    lines += [f"• {finding.level} {finding.code} {finding.place}: {finding.what}" for finding in news[:LINES]]
    if len(news) > LINES:
        lines.append(f"… and {len(news) - LINES} more new ones")
    lines += [f"• gone: {place}" for place in report.gone[:LINES]]
    lines += [f"• {result.layer} could not be checked: {result.failure.splitlines()[0]}" for result in report.failures]
    return "\n".join(lines)


def run_command(command: str, report: Report, news: Sequence[Finding]) -> None:
    """Run a command of the user's with the report as JSON on its standard input and the message in its environment.

    Raises:
        NotDelivered: it failed, or took too long.
    """
    environment = {**os.environ, "CLUSTERWRIGHT_DRIFT_MESSAGE": message(report, news), "CLUSTERWRIGHT_DRIFT_STACK": report.stack}
    try:
        ended = subprocess.run(
            ["/bin/sh", "-c", command], input=document.write(report), text=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=WITHIN_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NotDelivered(f"the notification command did not end within {WITHIN_S} s") from None
    if ended.returncode:
        raise NotDelivered(f"the notification command ended with status {ended.returncode}: {ended.stderr.strip()}")


def post(url: str, report: Report, news: Sequence[Finding]) -> None:
    """Send a message to a webhook, in the JSON that Slack and what is like it take.

    Raises:
        NotDelivered: the webhook did not accept it.
    """
    if not url.startswith(SCHEMES):
        raise NotDelivered("the webhook's address begins with neither http:// nor https://")
    body = json.dumps({"text": message(report, news)}).encode()
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"}, method="POST")  # noqa: S310 - checked above
    try:
        with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:  # noqa: S310 - checked above
            answer.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise NotDelivered(f"the webhook answered with status {error.code}") from None
    except (urllib.error.URLError, OSError) as error:
        # The address itself is a secret of many services, so that it isn't in the text.
        raise NotDelivered(f"the webhook did not take the message: {error}") from error
