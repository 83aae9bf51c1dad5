"""A provider plugin's process: it answers the engine as the real provider does, by asking the simulated cloud."""

import http.client
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, Protocol
from urllib.parse import urlsplit

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from components import engine_watch
from components.provider import codec
from components.provider.unknown import UNKNOWN

from . import typed

WORKERS = 64
MESSAGE_LIMIT_BYTES = 400 * 1024 * 1024  # the engine's own limit
Values = Mapping[str, Any]
KINDS_OF_CHANGE = {True: provider_pb2.PropertyDiff.UPDATE_REPLACE, False: provider_pb2.PropertyDiff.UPDATE}


class Failed(Exception):
    """The cloud's refusal."""


class Asked(Protocol):
    """What carries out the operations of Pulumi's protocol on plain values."""

    def ask(self, request: Values) -> Any:
        """Carry out one.

        Raises:
            Failed: it was refused.
        """


class Line:
    """A connection to the simulated cloud for each thread."""

    def __init__(self, address: str):
        self._host = urlsplit(address).netloc
        self._open = threading.local()

    def ask(self, request: Values) -> Any:
        """Ask the cloud.

        Raises:
            Failed: it refused.
        """
        body = json.dumps(request, default=_marked).encode()
        try:
            answered = json.loads(self._post(body))
        except (OSError, http.client.HTTPException) as error:
            self._open.connection = None
            raise Failed(f"the simulated cloud does not answer: {error}") from error
        if "error" in answered:
            raise Failed(f"api error {answered['error']['code']}: {answered['error']['message']}")
        return answered["result"]

    def _post(self, body: bytes) -> bytes:
        connection: http.client.HTTPConnection | None = getattr(self._open, "connection", None)
        if connection is None:
            connection = self._open.connection = http.client.HTTPConnection(self._host)
        connection.request("POST", "/provider", body, {"Content-Type": "application/json"})
        return connection.getresponse().read()


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Pulumi's protocol on one side, the cloud's on the other."""

    def __init__(self, line: Asked, *, version: str):
        self._line, self._version = line, version
        self._context: dict[str, Any] = {}

    # What the engine asks of the plugin as a whole

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=False, accept_outputs=False)

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo(version=self._version)

    def GetSchema(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.GetSchemaResponse(schema="{}")

    def CheckConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Configure(self, request: Any, context: grpc.ServicerContext) -> Any:
        values = {name: _parsed(value) for name, value in codec.decode(request.args).items()}
        try:
            self._context = self.configured(values)
        except Failed as failed:
            context.abort(grpc.StatusCode.UNKNOWN, str(failed))
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def configured(self, values: Values) -> dict[str, Any]:
        """Give what goes with each request, from the provider's settings.

        Raises:
            Failed: they won't do.
        """
        return dict(values)

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            found = self._ask("invoke", token=request.tok, arguments=codec.decode(request.args))
        except Failed as failed:
            context.abort(grpc.StatusCode.UNKNOWN, f"invocation of {request.tok}: {failed}")
        answer: Any = {"return": codec.encode(found)}  # a word that Python keeps for itself
        return provider_pb2.InvokeResponse(**answer)

    # What it asks of one resource

    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        urn = Urn(request.urn)
        found = self.attempt(
            context,
            urn,
            "checking",
            "check",
            type=urn.type,
            name=urn.name,
            seed=request.randomSeed.hex(),
            olds=codec.decode(request.olds),
            news=codec.decode(request.news),
        )
        failures = [provider_pb2.CheckFailure(property=one["property"], reason=one["reason"]) for one in found["failures"]]
        inputs = unmarked(found["inputs"])
        return provider_pb2.CheckResponse(inputs=codec.encode(inputs, secrets=codec.secret_names(request.news)), failures=failures)

    def Diff(self, request: Any, context: grpc.ServicerContext) -> Any:
        urn = Urn(request.urn)
        olds, news, old_inputs = codec.decode(request.olds), codec.decode(request.news), codec.decode(request.old_inputs)
        changed = self.attempt(context, urn, "comparing", "diff", type=urn.type, olds=olds, news=news, oldInputs=old_inputs)
        changed = {name: replaces for name, replaces in changed["changed"].items() if name not in request.ignoreChanges}
        replaces = sorted(name for name, replaced in changed.items() if replaced)
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE,
            replaces=replaces,
            deleteBeforeReplace=bool(replaces) and self._must_go_first(context, urn, olds, news),
            diffs=sorted(changed),
            detailedDiff={
                name: provider_pb2.PropertyDiff(kind=KINDS_OF_CHANGE[replaced], inputDiff=name in news or name in old_inputs)
                for name, replaced in changed.items()
            },
            hasDetailedDiff=True,
        )

    def Create(self, request: Any, context: grpc.ServicerContext) -> Any:
        urn, inputs = Urn(request.urn), codec.decode(request.properties)
        hidden = codec.secret_names(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(id="", properties=codec.encode(self.planned(context, urn, inputs), secrets=hidden))
        found = self.attempt(context, urn, "creating", "create", type=urn.type, inputs=inputs)
        state = codec.encode({**_notes(inputs), **found["properties"]}, secrets=hidden)
        _taint(context, found, state=state, inputs=request.properties)
        return provider_pb2.CreateResponse(id=found["id"], properties=state)

    def Update(self, request: Any, context: grpc.ServicerContext) -> Any:
        urn, inputs = Urn(request.urn), codec.decode(request.news)
        hidden = codec.secret_names(request.news) | codec.secret_names(request.olds)
        if request.preview:
            return provider_pb2.UpdateResponse(properties=codec.encode(self.planned_update(context, urn, codec.decode(request.olds), inputs), secrets=hidden))
        olds, old_inputs = codec.decode(request.olds), codec.decode(request.old_inputs)
        found = self.attempt(context, urn, "updating", "update", type=urn.type, id=request.id, inputs=inputs, olds=olds, oldInputs=old_inputs)
        state = codec.encode({**_notes(inputs), **found["properties"]}, secrets=hidden)
        _taint(context, found, state=state, inputs=request.news)
        return provider_pb2.UpdateResponse(properties=state)

    def Read(self, request: Any, context: grpc.ServicerContext) -> Any:
        urn = Urn(request.urn)
        found = self.attempt(context, urn, "reading", "read", type=urn.type, id=request.id, inputs=codec.decode(request.inputs))
        hidden = codec.secret_names(request.properties) | codec.secret_names(request.inputs)
        properties, inputs = (codec.encode(found[part], secrets=hidden & found[part].keys()) for part in ("properties", "inputs"))
        return provider_pb2.ReadResponse(id=found["id"], properties=properties, inputs=inputs)

    def Delete(self, request: Any, context: grpc.ServicerContext) -> Any:
        urn = Urn(request.urn)
        self.attempt(context, urn, "deleting", "delete", type=urn.type, id=request.id, inputs=codec.decode(request.properties))
        return empty_pb2.Empty()

    # How the above is done

    def _ask(self, operation: str, **values: Any) -> Any:
        return self._line.ask({**self._context, "operation": operation, **values})

    def attempt(self, context: grpc.ServicerContext, urn: "Urn", doing: str, operation: str, **values: Any) -> Any:
        """Ask the cloud; what it refuses fails the engine's call."""
        try:
            found = self._ask(operation, **values)
        except Failed as failed:
            context.abort(grpc.StatusCode.UNKNOWN, f"{doing} {urn.type} ({urn.name}): {failed}")
        if any(fault["effect"] == "kill-engine" for fault in found.get("faults", ())):
            kill_engine()
        return found

    # What clouds plan differently

    def planned(self, context: grpc.ServicerContext, urn: "Urn", inputs: Values) -> Values:
        """Give the properties that a new thing will have, for a preview."""
        outputs = self.attempt(context, urn, "planning", "outputs", type=urn.type)["names"]
        return {**dict.fromkeys(outputs, UNKNOWN), **inputs}

    def planned_update(self, context: grpc.ServicerContext, urn: "Urn", olds: Values, inputs: Values) -> Values:
        """Give the properties that an update will leave, for a preview."""
        return {**olds, **inputs}

    def _must_go_first(self, context: grpc.ServicerContext, urn: "Urn", olds: Values, news: Values) -> bool:
        return bool(self.attempt(context, urn, "comparing", "first", type=urn.type, olds=olds, news=news)["first"])


class Urn:
    """What a resource's URN says of it."""

    def __init__(self, urn: str):
        parts = urn.split("::", 3)
        self.type, self.name = parts[2].split("$")[-1], parts[3]


def _notes(inputs: Values) -> Values:
    return {name: value for name, value in inputs.items() if name.startswith("__")}


def _marked(value: Any) -> Any:
    if value is UNKNOWN:
        return typed.UNKNOWN
    raise TypeError(f"{value!r} can't be sent")


def unmarked(value: Any) -> Any:
    """Give what came over a line with the mark of what is not known yet as `codec.UNKNOWN`."""
    if isinstance(value, Mapping):
        return {name: unmarked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [unmarked(inner) for inner in value]
    return UNKNOWN if value == typed.UNKNOWN else value


def _parsed(value: Any) -> Any:
    """Give a provider setting: the engine passes those that are no text as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _taint(context: grpc.ServicerContext, found: Values, *, state: struct_pb2.Struct, inputs: struct_pb2.Struct) -> None:
    """Report a thing that was made but is not as it should be, when a test asked for that: the engine records it with the failure."""
    for fault in found["faults"]:
        if fault["effect"] == "taint":
            status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=fault["message"])
            status.details.add().Pack(provider_pb2.ErrorResourceInitFailed(id=found["id"], properties=state, reasons=[fault["message"]], inputs=inputs))
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
            context.abort(grpc.StatusCode.UNKNOWN, fault["message"])


def plain(request: Values) -> Any:
    """Give a request as it arrives over a line: what is not known yet is `typed.UNKNOWN`."""
    return json.loads(json.dumps(request, default=_marked))


def kill_engine() -> NoReturn:
    """End the engine that started this plugin, and the plugin, as a crash does."""
    os.kill(int(os.environ["CLUSTERWRIGHT_ENGINE_PID"]), signal.SIGKILL)
    os._exit(1)


def serve(servicer: Callable[[Asked], Servicer], *, line: Callable[[str], Asked] = Line) -> None:
    """Serve until the engine that started the plugin ends.

    Args:
        line: makes what answers from the cloud's address.
    """
    engine_watch.end_with(int(os.environ["CLUSTERWRIGHT_ENGINE_PID"]))
    address = os.environ.get("CLUSTERWRIGHT_SIMCLOUD")
    if not address:
        sys.exit("CLUSTERWRIGHT_SIMCLOUD is not set: this is the plugin of a simulated cloud, and there is none to ask")
    limits = [("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES), ("grpc.max_send_message_length", MESSAGE_LIMIT_BYTES)]
    server = grpc.server(ThreadPoolExecutor(max_workers=WORKERS), options=limits)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer(line(address)), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()
