"""A session with the project: its identity, and what to do about missing credentials and APIs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ... import errors
from ...cloud import account
from .. import credentials, rest

SERVICES = {
    "compute": rest.VERSION,
    "cloudkms": "v1/",
    "cloudresourcemanager": "v1/",
    "file": "v1/",
    "lustre": "v1/",
    "serviceusage": "v1/",
    "storage": "storage/v1/",
}
"""Service → version of its API, as its paths begin."""
_UNAUTHENTICATED = 401
_USE_SUBNET = "compute.subnetworks.use"


class Session:
    """The services of one project.

    Raises:
        AccountUnavailable: nobody says which project.
    """

    def __init__(self, region: str):
        self.region, self.project = region, credentials.project()
        if not self.project:
            raise errors.AccountUnavailable(
                "no project of Google Cloud is named",
                why=f"none of {', '.join(credentials.PROJECT_VARIABLES)} is set",
                remedy="set GOOGLE_PROJECT to the id of the project (`gcloud projects list` shows those that you may use)",
            )
        self._answers = False
        self._buckets = rest.Compute("", send=self._sender("storage"))
        self._services: dict[tuple[str, str], rest.Compute] = {}

    def identity(self) -> account.Identity:
        """Return the project, as Compute Engine knows it.

        Raises:
            AccountUnavailable: no credentials, invalid credentials, no such project, or no answer.
        """
        try:
            self.find("", required=True)
        except rest.Failed as error:
            raise self._unavailable(error) from error
        return account.Identity(self.project, credentials.holder())

    def get(self, path: str, query: Mapping[str, str] | None = None, *, service: str = "compute", project: str = "") -> dict[str, Any]:
        """Get one answer; the path is below the project.

        Raises:
            AccountUnavailable: the project can't be queried.
            rest.Failed: Google Cloud refused this call.
        """
        try:
            found = self._service(service, project).get(path, query)
            self._answers = True
            return found
        except errors.TargetUnanswered as error:
            raise translated(error) or error from error

    def find(self, path: str, *, service: str = "compute", project: str = "", required: bool = False) -> dict[str, Any] | None:
        """Give a resource; None: there is none.

        Args:
            required: a missing one is an error too.
        Raises:
            AccountUnavailable, rest.Failed: as `get`.
        """
        try:
            return self.get(path, service=service, project=project)
        except rest.Failed as error:
            if error.status != rest.GONE or required:
                raise
            return None

    def items(
        self, path: str, query: Mapping[str, str] | None = None, *, key: str = "items", service: str = "compute", project: str = ""
    ) -> Iterator[dict[str, Any]]:
        """List all pages of a collection.

        Raises:
            AccountUnavailable, rest.Failed: as `get`.
        """
        token = ""
        while True:
            page = self.get(path, {**(query or {}), **({"pageToken": token} if token else {})}, service=service, project=project)
            yield from page.get(key, ())
            token = page.get("nextPageToken", "")
            if not token:
                return

    def everywhere(self, collection: str, query: Mapping[str, str] | None = None, *, project: str = "") -> Iterator[dict[str, Any]]:
        """List a collection of all zones.

        Raises:
            AccountUnavailable, rest.Failed: as `get`.
        """
        token = ""
        while True:
            page = self.get(f"aggregated/{collection}", {**(query or {}), **({"pageToken": token} if token else {})}, project=project)
            for scope in page.get("items", {}).values():
                yield from scope.get(collection, ())
            token = page.get("nextPageToken", "")
            if not token:
                return

    def bucket(self, name: str) -> dict[str, Any] | None:
        """Describe a bucket; None: there is none of this name.

        Raises:
            AccountUnavailable, rest.Failed: as `get`.
        """
        try:
            return self._buckets.find(f"b/{name}")
        except errors.TargetUnanswered as error:
            raise translated(error) or error from error

    def may(self, permission: str) -> bool:
        """Say whether the credentials have a permission on the project.

        Raises:
            AccountUnavailable, rest.Failed: as `get`.
        """
        try:
            asked = rest.Compute("", send=self._sender("cloudresourcemanager"))
            found = asked.post(f"projects/{self.project}:testIamPermissions", {"permissions": [permission]})
        except errors.TargetUnanswered as error:
            raise translated(error) or error from error
        return permission in found.get("permissions", ())

    def may_use(self, subnet: str, *, project: str) -> bool:
        """Say whether the credentials may use a subnet of another project.

        Args:
            subnet: its path below the project.
        Raises:
            AccountUnavailable, rest.Failed: as `get`.
        """
        try:
            found = self._service("compute", project).post(f"{subnet}/testIamPermissions", {"permissions": [_USE_SUBNET]})
        except errors.TargetUnanswered as error:
            raise translated(error) or error from error
        return _USE_SUBNET in found.get("permissions", ())

    def _service(self, service: str, project: str) -> rest.Compute:
        chosen = (service, project or self.project)
        if chosen not in self._services:
            self._services[chosen] = rest.Compute(chosen[1], send=self._sender(service))
        return self._services[chosen]

    def _sender(self, service: str) -> Callable[[str, str, bytes | None], tuple[int, bytes]]:
        """Send once until the first answer came: a user waits for the page that says that Google Cloud does not answer."""
        sender = rest.Sender(service, SERVICES[service])

        def send(method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
            try:
                return sender(method, path, body)
            except rest.Silent as error:
                if self._answers:
                    raise
                raise errors.TargetUnanswered(str(error)) from error.__cause__

        return send

    def _unavailable(self, error: rest.Failed) -> errors.AccountUnavailable:
        if error.code in rest.NOT_ENABLED:
            return errors.AccountUnavailable(
                f"the project {self.project} has not enabled the Compute Engine API",
                why=str(error),
                remedy=f"run `gcloud services enable compute.googleapis.com --project {self.project}`, then the same command again",
            )
        return errors.AccountUnavailable(
            f"the project {self.project} can't be queried",
            why=str(error),
            remedy=f"check the project's id (GOOGLE_PROJECT) and the roles of the credentials in it: `gcloud projects describe {self.project}` shows the same error",
        )


def translated(error: errors.TargetUnanswered) -> errors.AccountUnavailable | None:
    """Turn errors that concern the whole project into one page; None: the error concerns this call only."""
    if isinstance(error, rest.Failed):
        if error.status != _UNAUTHENTICATED:
            return None
        return errors.AccountUnavailable("the Google Cloud credentials have expired, or are invalid", why=str(error), remedy=_LOG_IN)
    cause = error.__cause__
    if isinstance(cause, ImportError):
        return errors.AccountUnavailable(
            "the Google Cloud project can't be queried", why=str(error), remedy="run `make setup EXTRAS=gcp`, then the same command again"
        )
    if isinstance(cause, OSError):
        return errors.AccountUnavailable(
            "Google Cloud does not answer", why=str(error), remedy="check the network and the proxy (HTTPS_PROXY), then run the command again"
        )
    return errors.AccountUnavailable("no valid Google Cloud credentials found", why=str(error), remedy=_LOG_IN)


_LOG_IN = "log in (`gcloud auth application-default login`), or name a file with credentials in GOOGLE_APPLICATION_CREDENTIALS, then run the command again"
