"""The user's own credentials for Google Cloud, as all of Google's clients find them. Imports google-auth only for a token."""

import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from .. import errors

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
WITHOUT_SDK = "the module {} is missing: it comes with `make setup EXTRAS=gcp`"
TIMEOUT_S = 30
PROJECT_VARIABLES = ("GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
"""The provider takes the project from the first that is set (pulumi-gcp, "Installation & Configuration")."""


def holder() -> str:
    """Say for people whose credentials these are, without asking anybody."""
    file = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    return f"the account in {file}" if file else "the application default credentials"


def project() -> str:
    """Give the id of the project that commands work in; empty: nobody names one."""
    return next((os.environ[name] for name in PROJECT_VARIABLES if os.environ.get(name)), "")


class Credentials:
    """Application default credentials."""

    def __init__(self) -> None:
        self._found: Any = None

    def token(self) -> str:
        """Give an access token that is valid.

        Raises:
            TargetUnanswered: google-auth is missing, or there are no valid credentials.
        """
        try:
            import google.auth
            import google.auth.exceptions
        except ImportError as missing:
            raise errors.TargetUnanswered(WITHOUT_SDK.format(missing.name)) from missing
        request: Any = _ask  # google-auth calls it, and types it as its own class
        try:
            if self._found is None:
                self._found, _ = google.auth.default(scopes=SCOPES, request=request)
            if not self._found.valid:
                self._found.refresh(request)
        except google.auth.exceptions.GoogleAuthError as error:
            raise errors.TargetUnanswered(f"there are no valid credentials for Google Cloud: {error}") from error
        return str(self._found.token)


class _Response:
    """An answer in the form that google-auth reads (google.auth.transport.Response)."""

    def __init__(self, status: int, headers: Mapping[str, str], data: bytes):
        # google-auth looks names up in lower case.
        self.status, self.headers, self.data = status, {name.lower(): value for name, value in headers.items()}, data


def _ask(url: str, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None, timeout: float | None = None, **_: Any) -> _Response:
    """Carry out a request for google-auth with the standard library (google.auth.transport.Request).

    Raises:
        TransportError: nobody answers.
    """
    import google.auth.exceptions

    data = body.encode() if isinstance(body, str) else body
    request = urllib.request.Request(url, data=data, method=method, headers=dict(headers or {}))  # noqa: S310 - google-auth chose the address
    try:
        with urllib.request.urlopen(request, timeout=timeout or TIMEOUT_S) as answer:  # noqa: S310 - as above
            return _Response(answer.status, dict(answer.headers), answer.read())
    except urllib.error.HTTPError as error:
        return _Response(error.code, dict(error.headers), error.read())
    except OSError as error:
        unanswered: Any = google.auth.exceptions.TransportError  # it has no types
        raise unanswered(error) from error
