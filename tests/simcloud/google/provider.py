"""The plugin's process: it answers the engine as pulumi-gcp does. `plugin/pulumi-resource-gcp` starts it."""

import http.client
import json
import os
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import grpc
from pulumi.runtime.proto import provider_pb2

from components.provider import codec

from ..core import provider
from ..core.failure import NotSimulated
from . import errors, provider_door
from .bridge import kinds
from .bridge.resource import Refused
from .bridge.rest import OperationFailed, RequestFailed, Rest

NO_CREDENTIALS = (
    "Attempted to load application default credentials since neither `credentials` nor `access_token` was set in the provider block. No credentials loaded. "
    "To use your gcloud credentials, run 'gcloud auth application-default login'"
)


class Line:
    """The engine's questions, answered by requests to the REST door."""

    def __init__(self, address: str):
        self._address = urlsplit(address).netloc
        self._open = threading.local()

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Carry out one of Pulumi's operations.

        Raises:
            Failed: a service or the provider itself refused.
        """
        token = request.get("caller", "")

        def send(host: str, method: str, path: str, query: Mapping[str, Any], body: Any) -> tuple[int, Any]:
            return self._send(host, method, path, query, body, token=token)

        try:
            found = provider_door.answer(Rest(send), provider.plain(request))
        except (RequestFailed, OperationFailed, Refused, NotSimulated) as error:
            raise provider.Failed(str(error)) from error
        return found if request["operation"] == "invoke" else {"faults": [], **found}

    def _send(self, host: str, method: str, path: str, query: Mapping[str, Any], body: Any, *, token: str) -> tuple[int, Any]:
        target = f"/{host}{quote(path, safe='/:@')}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            connection = self._connection()
            connection.request(method, target, None if body is None else json.dumps(body), headers)
            answered = connection.getresponse()
            text = answered.read()
        except (OSError, http.client.HTTPException) as error:
            self._open.connection = None
            raise provider.Failed(f"{host} does not answer: {error}") from error
        found = json.loads(text) if text else {}
        if answered.status >= 400 and any(one.get("reason") == errors.KILL_ENGINE for one in found["error"]["errors"]):
            provider.kill_engine()
        return answered.status, found

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._open, "connection", None)
        if connection is None:
            connection = self._open.connection = http.client.HTTPConnection(self._address)
        return connection


class Servicer(provider.Servicer):
    """The protocol with Google Cloud's own settings."""

    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        olds, news = codec.decode(request.olds), codec.decode(request.news)
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_SOME if olds != news else provider_pb2.DiffResponse.DIFF_NONE)

    def planned(self, context: grpc.ServicerContext, urn: provider.Urn, inputs: provider.Values) -> provider.Values:
        return self.planned_update(context, urn, {}, inputs)

    def planned_update(self, context: grpc.ServicerContext, urn: provider.Urn, olds: provider.Values, inputs: provider.Values) -> provider.Values:
        found = self.attempt(context, urn, "planning", "planned", type=urn.type, olds=olds, inputs=inputs)
        planned: provider.Values = provider.unmarked(found["properties"])
        return planned

    def configured(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "project": values.get("project") or _first_of("GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"),
            "region": values.get("region") or _first_of("GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION"),
            "zone": values.get("zone") or _first_of("GOOGLE_ZONE", "GCLOUD_ZONE", "CLOUDSDK_COMPUTE_ZONE"),
            "labels": values.get("defaultLabels") or {},
            "caller": values.get("accessToken") or os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN") or _token_of_machine(),
        }


def _first_of(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _token_of_machine() -> str:
    """Give the token of the machine's metadata server, the last of the application default credentials.

    Raises:
        Failed: there is none.
    """
    host = os.environ.get("GCE_METADATA_HOST", "")
    connection = http.client.HTTPConnection(host or "metadata.google.internal", timeout=5)
    try:
        connection.request("GET", "/computeMetadata/v1/instance/service-accounts/default/token", headers={"Metadata-Flavor": "Google"})
        return str(json.loads(connection.getresponse().read())["access_token"])
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        raise provider.Failed(NO_CREDENTIALS) from error
    finally:
        connection.close()


def _version() -> str:
    """Give the version of the SDK whose arguments the cloud knows."""
    package: str = kinds.sdk()["package"]
    return package.rpartition(" ")[2]


if __name__ == "__main__":
    provider.serve(lambda line: Servicer(line, version=_version()), line=Line)
