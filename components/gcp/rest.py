"""Calls of the Compute Engine API, with the credentials that the provider uses."""

import contextlib
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import errors

if TYPE_CHECKING:
    from . import credentials

OVERRIDE_VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_{service}"
"""Google Cloud CLI reads it (gcloud topic configurations, `api_endpoint_overrides/compute`)."""
TOKEN_VARIABLE = "GOOGLE_OAUTH_ACCESS_TOKEN"
"""Terraform's Google provider reads it (provider reference, `access_token`)."""
COMPUTE, VERSION = "compute", "compute/v1/"
PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0)
"""Together more than a minute: a rate quota is refilled each minute (Compute Engine documentation, "Rate quotas")."""
RETRIED = frozenset({429, 500, 502, 503, 504})
SLOW_DOWN = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
"""Reasons of a 403 that ends with the minute (Compute Engine documentation, "Rate quotas")."""
LONGEST_SILENCE_S = 8.0
"""A lost connection comes back soon; a longer pause only delays the page that says so."""
FORBIDDEN, GONE = 403, 404
NOT_ENABLED = ("accessNotConfigured", "SERVICE_DISABLED")


class Silent(errors.TargetUnanswered):
    """No answer came: the connection was lost, or there is none."""


class Failed(errors.TargetUnanswered):
    """The API answered with an error.

    Args:
        status: of HTTP; 0: an operation failed.
        code: Google's word for the reason.
    """

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code = status, code

    @property
    def is_hidden(self) -> bool:
        """Whether a project doesn't let these credentials look at something."""
        return self.status == FORBIDDEN and self.code not in NOT_ENABLED


class Compute:
    """An API of one project, Compute Engine's unless `send` says otherwise. Several threads may share it.

    Args:
        project: begins all paths; empty: paths of the service belong to no project.
        send: carries a request out and gives status and body; None: over HTTP.
    """

    def __init__(
        self, project: str, *, send: "Callable[[str, str, bytes | None], tuple[int, bytes]] | None" = None, pause: Callable[[float], None] = time.sleep
    ):
        self._root, self._pause = f"projects/{project}" if project else "", pause
        self._send = send or Sender()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        return self._call("GET", path, query, None)

    def find(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """Give a resource, or None when there is none."""
        try:
            return self.get(path, query)
        except Failed as error:
            if error.status != GONE:
                raise
            return None

    def items(self, path: str, query: Mapping[str, str] | None = None, *, method: str = "GET") -> Iterator[dict[str, Any]]:
        """List all pages of a collection."""
        token = ""
        while True:
            page = self._call(method, path, {**(query or {}), **({"pageToken": token} if token else {})}, None)
            yield from page.get("items", ())
            token = page.get("nextPageToken", "")
            if not token:
                return

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Ask a question that has a body; it changes nothing."""
        return self._call("POST", path, None, body)

    def start(self, method: str, path: str, body: Mapping[str, Any] | None = None, query: Mapping[str, str] | None = None) -> str:
        """Begin a change; give the path of its operation. The change happens once, also where an answer is lost and the request is sent again (compute.v1, `requestId`)."""
        answer = self._call(method, path, {**(query or {}), "requestId": str(uuid.uuid4())}, body)
        where = path.split("/")
        scope = "/".join(where[:2]) if where[0] in ("zones", "regions") else "global"
        return f"{scope}/operations/{answer['name']}"

    def is_done(self, operation: str) -> bool:
        """Wait for an operation for as long as one call does, at most two minutes.

        Raises:
            Failed: the operation failed.
        """
        found = self._call("POST", f"{operation}/wait", None, None)
        if found.get("status") != "DONE":
            return False
        if problems := found.get("error", {}).get("errors"):
            raise Failed(0, str(problems[0].get("code", "")), "; ".join(str(one.get("message") or one.get("code")) for one in problems))
        return True

    def _call(self, method: str, path: str, query: Mapping[str, str] | None, body: Mapping[str, Any] | None) -> dict[str, Any]:
        where = "/".join(filter(None, (self._root, path))) + (f"?{urllib.parse.urlencode(query)}" if query else "")
        written = None if body is None else json.dumps(body).encode()
        for pause_s in PAUSES_S:
            try:
                return self._once(method, where, written)
            except Failed as error:
                if error.status not in RETRIED and error.code not in SLOW_DOWN:
                    raise
            except Silent:
                if pause_s > LONGEST_SILENCE_S:
                    raise
            self._pause(pause_s)
        return self._once(method, where, written)

    def _once(self, method: str, where: str, written: bytes | None) -> dict[str, Any]:
        return _read(*self._send(method, where, written))


class Sender:
    """Requests to a service over HTTP, with the user's own credentials.

    Args:
        version: begins all paths.
    """

    def __init__(self, service: str = COMPUTE, version: str = VERSION) -> None:
        self._endpoint = endpoint(service, version)
        self._lock = threading.Lock()
        self._credentials: credentials.Credentials | None = None

    def __call__(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": "application/json"}
        if method != "GET" and body is None:
            body = b""
        request = urllib.request.Request(self._endpoint + path, data=body, method=method, headers=headers)  # noqa: S310 - the project's own endpoint
        try:
            with urllib.request.urlopen(request, timeout=150) as answer:  # noqa: S310 - as above
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            raise Silent(f"Google Cloud does not answer: {error}") from error

    def _token(self) -> str:
        if given := os.environ.get(TOKEN_VARIABLE):
            return given
        from . import credentials

        with self._lock:
            self._credentials = self._credentials or credentials.Credentials()
            return self._credentials.token()


def endpoint(service: str, version: str) -> str:
    """Give the address that paths follow."""
    host = os.environ.get(OVERRIDE_VARIABLE.format(service=service.upper()), f"https://{service}.googleapis.com/")
    return host if host.endswith(version) else host + version


@contextlib.contextmanager
def missing() -> Iterator[None]:
    """Go on where a resource is missing."""
    try:
        yield
    except Failed as error:
        if error.status != GONE:
            raise


def _read(status: int, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        found = {}
    if status < 400:
        return dict(found)
    error = found.get("error") if isinstance(found, dict) else None
    told = error if isinstance(error, dict) else {}
    reasons = told.get("errors") or [{}]
    raise Failed(status, str(reasons[0].get("reason", "")), str(told.get("message") or f"Compute Engine answered {status}"))
