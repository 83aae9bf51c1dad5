"""Compute Engine's REST API with the standard library only, since controllers have no SDK of Google's.

The token comes from the metadata server, which `GCE_METADATA_HOST` moves, as for Google's client libraries. `CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE` moves the API, as for gcloud.
"""

import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

ENDPOINT, VERSION = "https://compute.googleapis.com", "compute/v1"
ENDPOINT_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"
METADATA, METADATA_VARIABLE = "metadata.google.internal", "GCE_METADATA_HOST"
TOKEN_PATH = "computeMetadata/v1/instance/service-accounts/default/token"
ANSWER_WITHIN_S = 60
TOKEN_RENEWED_BEFORE_S = 300.0  # the metadata server gives a new token five minutes before the old one ends (Compute Engine docs, "Authenticate workloads")
AGAIN_AFTER_S = (1.0, 2.0, 4.0)
"""After that, the next `sync` continues."""
PAGE = 500  # the most that a list gives at once (compute.v1, `maxResults`)
UNAUTHORIZED = 401
SLOW_DOWN = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
"""Compute Engine docs, "Rate quotas": 403 with this reason; the other services answer 429."""
UNAVAILABLE = frozenset({429, 500, 502, 504})
STOCK_OUT = "insufficientCapacity"
"""A 503 with this reason is an answer; any other is none (Compute Engine docs, "Troubleshoot bulk VM creation")."""
_NAMESPACE = uuid.UUID("6f1b1f0e-3f0a-4c37-9c1c-5d6f6a0a4b1e")

Send = Callable[[str, str, Mapping[str, str], Mapping[str, Any] | None], tuple[int, Mapping[str, Any]]]
"""(method, path, query, body) → (HTTP status, document)."""


class Failed(Exception):
    """Compute Engine refused a request, or did not answer.

    Args:
        status: HTTP status; 0: no answer.
        reason: Google's word for it, such as `quotaExceeded`.
    """

    def __init__(self, status: int, reason: str, message: str):
        super().__init__(f"{reason}: {message}" if reason else message)
        self.status, self.reason, self.message = status, reason, message

    @property
    def is_passing(self) -> bool:
        """Say whether the same request may succeed later."""
        return self.status in (0, UNAUTHORIZED, *UNAVAILABLE) or self.reason in SLOW_DOWN or (self.status == 503 and self.reason != STOCK_OUT)


class Silent(Exception):
    """No answer came; the text says why."""


class Compute:
    """The API for one project.

    Args:
        send: carries one request; it raises Silent.
        pause: lets seconds pass.
    """

    def __init__(self, project: str, *, send: Send | None = None, pause: Callable[[float], None] = time.sleep):
        self._project, self._send, self._pause = project, send or Http(), pause

    def call(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Make a request of the project, several times where that may help: all requests are safe to repeat.

        Raises:
            Failed: it was refused, or there was no answer.
        """
        for pause_s in (*AGAIN_AFTER_S, None):
            try:
                return self._once(method, f"projects/{self._project}/{path}", query or {}, body)
            except Failed as failure:
                if pause_s is None or not failure.is_passing:
                    raise
                self._pause(pause_s)
        raise AssertionError("the last try returns or raises")

    def listed(self, path: str, *, fields: str = "", most: int | None = None, **query: str) -> Iterator[Mapping[str, Any]]:
        """Give the items of a list, page by page.

        Args:
            fields: the fields of an item that are needed; empty: all.
            most: stop after so many.
        """
        wanted = {**query, "maxResults": str(PAGE), **({"fields": f"items({fields}),nextPageToken"} if fields else {})}
        count = 0
        while True:
            page = self.call("GET", path, wanted)
            for item in page.get("items", ()):
                yield item
                count += 1
                if count == most:
                    return
            if not page.get("nextPageToken"):
                return
            wanted["pageToken"] = str(page["nextPageToken"])

    def _once(self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        try:
            status, document = self._send(method, path, query, body)
        except Silent as silent:
            raise Failed(0, "", str(silent)) from silent
        if status >= 400:
            error: Mapping[str, Any] = document.get("error", {})
            first: Mapping[str, Any] = next(iter(error.get("errors", ())), {})
            raise Failed(status, str(first.get("reason") or error.get("status") or status), str(error.get("message", "")))
        return document


def request_id(*words: str) -> str:
    """Give the same UUID for the same words: a request repeated with it happens once (compute.v1, `requestId`)."""
    return str(uuid.uuid5(_NAMESPACE, "\0".join(words)))


class Http:
    """Carry requests over HTTP, with the token of the machine's service account."""

    def __init__(self) -> None:
        root = (os.environ.get(ENDPOINT_VARIABLE) or ENDPOINT).rstrip("/")
        self._endpoint = f"{root.removesuffix(VERSION).rstrip('/')}/{VERSION}"
        self._metadata = os.environ.get(METADATA_VARIABLE) or METADATA
        self._direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the metadata server is never behind a proxy
        self._renewing = threading.Lock()
        self._token, self._ends = "", 0.0

    def __call__(self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None) -> tuple[int, Mapping[str, Any]]:
        url = f"{self._endpoint}/{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        headers = {"Authorization": f"Bearer {self._valid_token()}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(url, method=method, headers=headers, data=sent)  # noqa: S310 - the endpoint is Google's, or the administrator's
        status, document = _answer(urllib.request.urlopen, asked, "Compute Engine")
        if status == UNAUTHORIZED:
            self._ends = 0.0
        return status, document

    def _valid_token(self) -> str:
        with self._renewing:
            if time.monotonic() >= self._ends:
                asked = urllib.request.Request(f"http://{self._metadata}/{TOKEN_PATH}", headers={"Metadata-Flavor": "Google"})
                status, document = _answer(self._direct.open, asked, "the metadata server")
                if status != 200 or "access_token" not in document:
                    raise Silent(f"the metadata server gives no token of this machine's service account (HTTP status {status})")
                self._token = str(document["access_token"])
                self._ends = time.monotonic() + max(0.0, float(document.get("expires_in", 0)) - TOKEN_RENEWED_BEFORE_S)
            return self._token


def _answer(open_url: Callable[..., Any], asked: urllib.request.Request, who: str) -> tuple[int, Mapping[str, Any]]:
    try:
        try:
            with open_url(asked, timeout=ANSWER_WITHIN_S) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                status, text = refusal.code, refusal.read()
        document = json.loads(text or b"{}") if status < 400 else _document(text)
    except (OSError, ValueError) as error:
        raise Silent(f"{who} did not answer: {error}") from error
    if not isinstance(document, dict):
        raise Silent(f"{who} answered something that is no JSON object")
    return status, document


def _document(text: bytes) -> Any:
    """Read the document of a refusal: a proxy's, for one, is none."""
    try:
        return json.loads(text)
    except ValueError:
        return {"error": {"message": text[:200].decode(errors="replace")}}
