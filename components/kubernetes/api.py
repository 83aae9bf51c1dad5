"""Talk to an API server: server-side apply with strict validation, and errors that name what the server said.

Written for the standard library: the `kubernetes` package takes seconds to import, and every `up` that changes nothing would pay for it.

Source: Kubernetes API concepts (server-side apply, dry run, field validation), https://kubernetes.io/docs/reference/using-api/.
"""

import contextlib
import dataclasses
import http.client
import json
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib import parse

from . import kubeconfig

MANAGER = "clusterwright"
"""The field manager."""
APPLY = "application/apply-patch+yaml"
TIMEOUT_S = 30
"""For one answer; the API server gives up on a webhook after 10 s by default, 30 s at most."""
CONFLICT, NOT_FOUND, BUSY = 409, 404, 429
BUSY_PAUSE_S = 0.5
"""Before a request is sent again that the server was too busy for; it is so while it makes the storage of a new definition, too."""

WEBHOOK_AWAY = (b"connection refused", b"no endpoints available", b"no route to host", b"context deadline exceeded")
"""What the server says of a webhook whose pod does not run."""

Object = Mapping[str, Any]


class ApiError(Exception):
    """The API server refused a request.

    Args:
        status: the HTTP status.
        reason: the API's word for it (`NotFound`, `Invalid`, `Conflict`).
        message: what the server said.
        causes: the fields concerned and what is wrong with each.
    """

    def __init__(self, status: int, reason: str, message: str, causes: Sequence[tuple[str, str]] = ()):
        super().__init__(message)
        self.status, self.reason, self.message, self.causes = status, reason, message, tuple(causes)


class Unreachable(Exception):
    """No answer from the API server; the text names it and says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Conflict:
    """A field that another manager owns."""

    manager: str
    field: str


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Key:
    """What names an object in a cluster."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class _Resource:
    plural: str
    namespaced: bool


def key_of(manifest: Object) -> Key:
    """Name the object that a manifest describes."""
    metadata = manifest.get("metadata") or {}
    return Key(str(manifest.get("apiVersion", "")), str(manifest.get("kind", "")), str(metadata.get("namespace") or ""), str(metadata.get("name", "")))


class Api:
    """One API server. Safe to share between threads: each has its own connection.

    Raises:
        kubeconfig.KubeconfigInvalid: the kubeconfig can't be used.
    """

    def __init__(self, text: str, *, timeout_s: float = TIMEOUT_S):
        self._access = kubeconfig.read(text)
        self._tls = kubeconfig.tls(self._access)
        self._token = kubeconfig.bearer(self._access)
        self._timeout_s = timeout_s
        self._local = threading.local()
        self._known: dict[str, dict[str, _Resource]] = {}

    @property
    def server(self) -> str:
        return self._access.server

    # Objects

    def get(self, key: Key) -> dict[str, Any] | None:
        """Give an object; None: there is none, nor perhaps its kind."""
        try:
            return self.request("GET", self._path(key))
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def list(self, api_version: str, kind: str, *, namespace: str = "", labels: str = "", fields: str = "") -> list[dict[str, Any]]:
        """List objects of a kind in a namespace, or in all; none where the server doesn't know the kind."""
        try:
            path = self._path(Key(api_version, kind, namespace, ""))
        except ApiError as error:
            if error.status == NOT_FOUND:
                return []
            raise
        query = {name: value for name, value in {"labelSelector": labels, "fieldSelector": fields}.items() if value}
        found = self.request("GET", path, query=query)
        return [{"apiVersion": api_version, "kind": kind, **one} for one in found.get("items") or ()]

    def apply(self, manifest: Object, *, dry_run: bool = False, force: bool = False) -> dict[str, Any]:
        """Apply a manifest on the server, which refuses fields that it doesn't know.

        Args:
            dry_run: let the server validate and answer, and store nothing.
            force: take fields over that another manager owns.
        Raises:
            ApiError: the server refused it; `conflicts` names the fields that others own.
        """
        query = {"fieldManager": MANAGER, "fieldValidation": "Strict", "force": str(force).lower()}
        if dry_run:
            query["dryRun"] = "All"
        return self.request("PATCH", self._path(key_of(manifest)), query=query, body=manifest, content_type=APPLY)

    def create(self, manifest: Object) -> dict[str, Any]:
        """Create an object whose name the server may complete (`generateName`)."""
        key = dataclasses.replace(key_of(manifest), name="")
        return self.request("POST", self._path(key), query={"fieldManager": MANAGER, "fieldValidation": "Strict"}, body=manifest)

    def merge(self, key: Key, change: Object, *, subresource: str = "") -> dict[str, Any]:
        """Change fields of an object by a JSON merge patch."""
        path = f"{self._path(key)}/{subresource}" if subresource else self._path(key)
        return self.request("PATCH", path, query={"fieldManager": MANAGER}, body=change, content_type="application/merge-patch+json")

    def delete(self, key: Key, *, foreground: bool = False) -> bool:
        """Delete an object; give whether there was one."""
        try:
            self.request("DELETE", self._path(key), body={"propagationPolicy": "Foreground" if foreground else "Background"})
        except ApiError as error:
            if error.status == NOT_FOUND:
                return False
            raise
        return True

    def is_known(self, api_version: str, kind: str) -> bool:
        """Say whether the server serves a kind."""
        return self._resource(api_version, kind) is not None

    def cluster_id(self) -> str:
        """Give what tells this cluster from all others: the identity of a namespace that each has and none can lose."""
        return str(self.request("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"])

    def version(self) -> str:
        """Give the server's version (`v1.34.4`)."""
        return str(self.request("GET", "/version")["gitVersion"])

    # Requests

    def request(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Object | None = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """Send one request and give the answer.

        Raises:
            ApiError: the server refused it.
            Unreachable: no answer.
        """
        target = f"{parse.urlsplit(self.server).path}{path}{'?' + parse.urlencode(query) if query else ''}"
        headers = {"Accept": "application/json", "User-Agent": MANAGER}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        content = None
        if body is not None:
            content, headers["Content-Type"] = json.dumps(body).encode(), content_type
        deadline = time.monotonic() + self._timeout_s
        with self._named_errors():
            status, answer = self._exchange(method, target, content, headers)
            while (status == BUSY or _is_webhook_away(status, answer)) and time.monotonic() < deadline:
                time.sleep(BUSY_PAUSE_S)
                status, answer = self._exchange(method, target, content, headers)
        found: dict[str, Any] = _parsed(answer)
        if status >= http.client.BAD_REQUEST:
            raise _error(status, found, answer)
        return found

    def _exchange(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send on the kept connection, and once more on a new one where the server had closed it."""
        kept = getattr(self._local, "kept", None) is not None
        try:
            return self._send(method, target, content, headers)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # Every request here may be sent twice: applies and deletes have the same result, and creates refuse a name that is taken.
            if not kept or method == "POST":
                raise
            return self._send(method, target, content, headers)

    def _send(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            connection.request(method, target, body=content, headers=dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()
        except BaseException:
            self._local.kept = None
            raise

    def _connection(self) -> http.client.HTTPConnection:
        kept: _Kept | None = getattr(self._local, "kept", None)
        found = kept.connection if kept else None
        if found is None:
            host, port = self._access.address
            if self._tls is None:
                found = http.client.HTTPConnection(host, port, timeout=self._timeout_s)
            else:
                found = _Tls(host, port, timeout=self._timeout_s, context=self._tls, server_name=self._access.server_name or host)
            self._local.kept = _Kept(found)
        return found

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"the API server {self.server} has a certificate that the kubeconfig doesn't trust: {error.verify_message}; perhaps the kubeconfig belongs to another cluster"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"no answer from the API server {self.server}: {str(error) or type(error).__name__}") from error

    def _path(self, key: Key) -> str:
        found = self._resource(key.api_version, key.kind)
        if found is None:
            raise ApiError(NOT_FOUND, "NotFound", f"the API server has no kind {key.kind} in {key.api_version}")
        namespace = f"/namespaces/{key.namespace}" if key.namespace and found.namespaced else ""
        return f"{_group(key.api_version)}{namespace}/{found.plural}{'/' + parse.quote(key.name) if key.name else ''}"

    def _resource(self, api_version: str, kind: str) -> _Resource | None:
        found = self._known.get(api_version, {}).get(kind)
        if found is None:  # a custom resource may have been defined since
            try:
                served = self.request("GET", _group(api_version))
            except ApiError as error:
                if error.status != NOT_FOUND:
                    raise
                served = {}
            resources = [one for one in served.get("resources") or () if "/" not in one["name"]]
            self._known[api_version] = {one["kind"]: _Resource(one["name"], bool(one["namespaced"])) for one in resources}
            found = self._known[api_version].get(kind)
        return found


class _Kept:
    """A connection that is closed when its thread, or the client, is done with it."""

    def __init__(self, connection: http.client.HTTPConnection):
        self.connection = connection
        # Not in __del__: of a circle of objects, the collector may take the socket first.
        weakref.finalize(self, connection.close)


class _Tls(http.client.HTTPSConnection):
    """A connection that expects a name of its own in the server's certificate."""

    def __init__(self, host: str, port: int, *, timeout: float, context: ssl.SSLContext, server_name: str):
        super().__init__(host, port, timeout=timeout, context=context)
        self._secure, self._server_name = context, server_name

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._secure.wrap_socket(plain, server_hostname=self._server_name)


def conflicts(error: ApiError) -> tuple[Conflict, ...]:
    """Read which fields other managers own from a refused apply."""
    if error.status != CONFLICT:
        return ()
    found = []
    for field, message in error.causes:
        # conflict with "kubectl-edit" using apps/v1
        parts = message.split('"')
        if len(parts) > 2:
            found.append(Conflict(parts[1], field))
    return tuple(found)


def _group(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _parsed(answer: bytes) -> Any:
    try:
        return json.loads(answer) if answer else {}
    except ValueError:
        return {}


def _is_webhook_away(status: int, answer: bytes) -> bool:
    """Say whether the server refused a request only because a controller that it asks about it does not answer: its pod is being moved to another node."""
    return status == http.client.INTERNAL_SERVER_ERROR and b"failed calling webhook" in answer and any(words in answer for words in WEBHOOK_AWAY)


def _error(status: int, found: Any, answer: bytes) -> ApiError:
    body: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    causes = [(str(one.get("field", "")), str(one.get("message", ""))) for one in (body.get("details") or {}).get("causes") or ()]
    message = str(body.get("message") or answer.decode(errors="replace").strip()[:500] or f"HTTP status {status}")
    return ApiError(status, str(body.get("reason") or ""), message, causes)
