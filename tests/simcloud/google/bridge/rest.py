"""Requests to Google's services as the provider makes them: retried where it retries, with long-running operations polled to their end."""

import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

Send = Callable[[str, str, str, Mapping[str, Any], Any], tuple[int, Any]]
"""host, method, path, query and body of a request → status and body of the answer."""

RETRIED = (429, 502, 503, 504)  # terraform-provider-google: transport/error_retry_predicates.go
TRIES = 3
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.5
PATIENCE_S = 20 * 60  # the provider's usual timeout for one change
NOT_FOUND = 404


class RequestFailed(Exception):
    """A service refused; the text is the provider's."""

    def __init__(self, status: int, message: str, reason: str):
        super().__init__(f"googleapi: Error {status}: {message}, {reason}")
        self.status, self.reason = status, reason


class OperationFailed(Exception):
    """A service took a request and could not carry it out."""


class Rest:
    """A caller of services."""

    def __init__(self, send: Send):
        self._send = send

    def ask(self, host: str, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Make one request and give the answer's body.

        Raises:
            RequestFailed: the service refused.
        """
        for attempt in range(1, TRIES + 1):
            status, answered = self._send(host, method, path, query or {}, body)
            if status not in RETRIED or attempt == TRIES:
                break
            time.sleep(FIRST_PAUSE_S * attempt)
        if status < 400:
            return answered
        error = answered.get("error", {}) if isinstance(answered, Mapping) else {}
        reasons = [one.get("reason", "") for one in error.get("errors") or ()]
        raise RequestFailed(status, error.get("message", "no message"), reasons[0] if reasons else error.get("status", "unknown"))

    def find(self, host: str, path: str, *, query: Mapping[str, Any] | None = None) -> Any:
        """Get a thing; None when there is none."""
        try:
            return self.ask(host, "GET", path, query=query)
        except RequestFailed as failed:
            if failed.status == NOT_FOUND:
                return None
            raise

    def change(self, host: str, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Make a request and wait for the operation that it begins; give its end, or the answer where it is none.

        Raises:
            RequestFailed: the service refused.
            OperationFailed: it could not carry the request out.
        """
        answered = self.ask(host, method, path, query=query, body=body)
        poll = _polled(answered, path)
        if poll is None:
            return answered
        pause, until = FIRST_PAUSE_S, time.monotonic() + PATIENCE_S
        while not _is_done(answered):
            if time.monotonic() > until:
                raise OperationFailed(f"timeout while waiting for {poll}")
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_S)
            answered = self.ask(host, "GET", poll)
        if problems := _problems(answered):
            raise OperationFailed("; ".join(problems))
        return answered


def _polled(answered: Any, path: str) -> str | None:
    """Give the path at which an operation is polled; None for an answer that is none."""
    if not isinstance(answered, Mapping):
        return None
    if answered.get("kind") in ("compute#operation", "sql#operation"):
        return urlsplit(answered["selfLink"]).path
    name = answered.get("name", "")
    if isinstance(name, str) and ("operations/" in name) and ("done" in answered or "metadata" in answered):
        version = path.lstrip("/").partition("/")[0]
        return f"/{version}/{name}"
    return None


def _is_done(operation: Mapping[str, Any]) -> bool:
    return operation.get("status") == "DONE" or bool(operation.get("done"))


def _problems(operation: Mapping[str, Any]) -> list[str]:
    error = operation.get("error") or {}
    if "errors" in error:
        return [str(one.get("message") or one["code"]) for one in error["errors"]]
    return [f"Error code {error.get('code')}, message: {error['message']}"] if error.get("message") else []
