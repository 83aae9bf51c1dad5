"""Speak Pulumi's provider protocol for the kinds, which know nothing of it.

Around a kind's methods this adds what the engine expects: plans that show outputs, drift found by comparing outputs on refresh, progress on the resource's own row,
cancel and timeout, and partial failure: an operation that fails after making something is recorded with what exists.

Source: Pulumi's `sdk/proto/pulumi/provider.proto`.
"""

import contextlib
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import grpc
import pydantic
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from ..files import disk_space
from . import changes, codec
from .kind import Kind, PartlyMade, Refused, Stopped, Unobserved, Values, Work, input_names, typed
from .unknown import UNKNOWN


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Serve kinds to the engine behind `engine`.

    Args:
        named: gives the kind of a token.
    """

    def __init__(self, named: Callable[[str], Kind[Any]], *, engine: engine_pb2_grpc.EngineStub, version: str):
        self._named = named
        self._engine, self._version = engine, version
        self._stopping = threading.Event()

    # What the engine asks of the plugin as a whole

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=False, accept_outputs=False)

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo(version=self._version)

    def GetSchema(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.GetSchemaResponse(schema="{}")

    def CheckConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: grpc.ServicerContext) -> Any:
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        # Also called at every normal end, when nothing is under way any more.
        self._stopping.set()
        return empty_pb2.Empty()

    # What it asks of one resource

    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:
        kind, news = self._kind(request.urn), codec.decode(request.news)
        olds = _recorded(kind, request.olds)
        failures = [
            provider_pb2.CheckFailure(property=name, reason=f"{name} can't change from {olds[name]} to {news.get(name)} in an existing stack")
            for name in sorted(kind.fixed & olds.keys())
            if olds[name] != news.get(name)
        ]
        if not codec.holds_unknown(news):
            try:
                failures += [provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in kind.check(typed(kind, news))]
            except (Refused, pydantic.ValidationError) as error:
                failures += [provider_pb2.CheckFailure(property="", reason=_reason(error))]
            except Exception as error:
                context.abort(grpc.StatusCode.UNKNOWN, f"cannot be checked: {_reason(error)}")
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    def Diff(self, request: Any, context: grpc.ServicerContext) -> Any:
        kind, news = self._kind(request.urn), codec.decode(request.news)
        olds = _recorded(kind, request.olds)
        changed = difference(kind, olds, news)
        replaces = sorted(kind.replace_on & changed.keys())
        detail = {}
        for name, is_input in changed.items():
            update = provider_pb2.PropertyDiff.UPDATE_REPLACE if name in replaces else provider_pb2.PropertyDiff.UPDATE
            detail[name] = provider_pb2.PropertyDiff(kind=update, inputDiff=is_input)
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE,
            replaces=replaces,
            deleteBeforeReplace=bool(replaces) and kind.gone_first,
            diffs=sorted(changed),
            detailedDiff=detail,
            hasDetailedDiff=True,
        )

    def Create(self, request: Any, context: grpc.ServicerContext) -> Any:
        kind, news = self._kind(request.urn), codec.decode(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(id="", properties=_planned(kind, request.properties))
        inputs = typed(kind, news)
        state = self._attempt(context, request, lambda work: kind.create(inputs, work), kind=kind, wanted=request.properties, recorded=struct_pb2.Struct())
        self._work(request, kind).say("")  # the last step is no result
        return provider_pb2.CreateResponse(id=kind.identity(inputs), properties=state)

    def Update(self, request: Any, context: grpc.ServicerContext) -> Any:
        kind, news = self._kind(request.urn), codec.decode(request.news)
        olds = _recorded(kind, request.olds)
        hidden = codec.secret_names(request.news) | codec.secret_names(request.olds)
        change = changes.describe(olds, news, [name for name in input_names(kind) if name not in hidden])
        self._work(request, kind).say(change)
        if request.preview:
            return provider_pb2.UpdateResponse(properties=_planned(kind, request.news))
        inputs = typed(kind, news)
        state = self._attempt(context, request, lambda work: kind.update(inputs, olds, work), kind=kind, wanted=request.news, recorded=request.olds)
        self._work(request, kind).say(change)
        return provider_pb2.UpdateResponse(properties=state)

    def Read(self, request: Any, context: grpc.ServicerContext) -> Any:
        kind, state = self._kind(request.urn), codec.decode(request.properties)
        hidden = kind.secret_outputs | codec.secret_names(request.properties)
        try:
            observed = kind.read(typed(kind, _recorded(kind, request.properties)), state)
        except Unobserved as unobserved:
            self._warn(request.urn, str(unobserved))
            return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        except Exception as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"cannot be observed: {_reason(error)}")
        if observed is None:
            return provider_pb2.ReadResponse(id="")
        return provider_pb2.ReadResponse(id=request.id, properties=codec.encode({**state, **observed}, secrets=hidden), inputs=request.inputs)

    def Delete(self, request: Any, context: grpc.ServicerContext) -> Any:
        kind = self._kind(request.urn)
        state = _recorded(kind, request.properties)
        try:
            kind.delete(typed(kind, state), state, self._work(request, kind))
        except Exception as error:
            context.abort(grpc.StatusCode.UNKNOWN, _reason(error))
        return empty_pb2.Empty()

    # How the above is done

    def _kind(self, urn: str) -> Kind[Any]:
        return self._named(urn.split("::")[2].split("$")[-1])

    def _work(self, request: Any, kind: Kind[Any]) -> Work:
        def show(text: str, kept: bool) -> None:
            with contextlib.suppress(grpc.RpcError):  # the engine is gone; the work is valid all the same
                self._engine.Log(engine_pb2.LogRequest(severity=engine_pb2.INFO, message=text, urn=request.urn, ephemeral=not kept))

        stack, _, _, name = request.urn.removeprefix("urn:pulumi:").split("::", 3)
        return Work(show=show, stopping=self._stopping, timeout_s=request.timeout or kind.timeout_s, stack=stack, purpose=name)

    def _warn(self, urn: str, text: str) -> None:
        with contextlib.suppress(grpc.RpcError):
            self._engine.Log(engine_pb2.LogRequest(severity=engine_pb2.WARNING, message=text, urn=urn))

    def _attempt(
        self,
        context: grpc.ServicerContext,
        request: Any,
        operation: Callable[[Work], Values],
        *,
        kind: Kind[Any],
        wanted: struct_pb2.Struct,
        recorded: struct_pb2.Struct,
    ) -> struct_pb2.Struct:
        """Run one create or update and give the state to record; end the call with what exists when it fails half-way."""
        news, hidden = codec.decode(wanted), kind.secret_outputs | codec.secret_names(wanted)
        kept = {name: value for name, value in _recorded(kind, recorded).items() if name not in input_names(kind)}
        try:
            return codec.encode({**news, **operation(self._work(request, kind)), "complete": True}, secrets=hidden)
        except Exception as error:
            inputs = typed(kind, news)
            if isinstance(error, PartlyMade):
                exists: Values | None = error.outputs
                reasons: tuple[str, ...] = error.reasons
            else:
                exists, reasons = _observed(kind, inputs, {**kept, **news}), (_reason(error),)
            if exists is None:
                context.abort(grpc.StatusCode.UNKNOWN, reasons[0])
            state = codec.encode({**kept, **news, **exists, "complete": False}, secrets=hidden | codec.secret_names(recorded))
            _abort_partly_made(context, identity=kind.identity(inputs), state=state, inputs=wanted, reasons=reasons)


def difference(kind: Kind[Any], olds: Values, news: Values) -> dict[str, bool]:
    """Name what differs between the recorded state and what should be: property → whether it is an input.

    Outputs are compared too: on refresh the engine passes what `read` observed as the old state, and without this a dead host would go unseen.
    """
    changed = {name: True for name in input_names(kind) if olds.get(name) != news.get(name)}
    if codec.holds_unknown(news):
        return changed
    for name, value in {**dict(kind.expected(typed(kind, news))), "complete": True}.items():
        if value is not UNKNOWN and _as_wire(value) != olds.get(name):
            changed.setdefault(name, False)
    return changed


def _recorded(kind: Kind[Any], state: struct_pb2.Struct) -> dict[str, Any]:
    """Read what is recorded of a resource, in the form of this version."""
    values = codec.decode(state)
    upgraded = kind.upgrade(values) if values else values
    return values if upgraded is values else codec.decode(codec.encode(upgraded))


def _as_wire(value: Any) -> Any:
    return codec.decode(codec.encode({"value": value}))["value"]


def _planned(kind: Kind[Any], wanted: struct_pb2.Struct) -> struct_pb2.Struct:
    news = codec.decode(wanted)
    expected: Values = {} if codec.holds_unknown(news) else kind.expected(typed(kind, news))
    return codec.encode({**news, **expected}, secrets=kind.secret_outputs | codec.secret_names(wanted))


def _observed(kind: Kind[Any], inputs: Any, state: Values) -> Values | None:
    try:
        return kind.read(inputs, state)
    except Exception:
        # What exists is unknown: recording the resource is the safe side, since the next `up` and `destroy` then look at it again.
        return {}


def _reason(error: Exception) -> str:
    said, notes = _said(error), getattr(error, "__notes__", [])
    if not disk_space.NO_SPACE.search(said):
        return "\n".join([said, *notes])
    # A tool that copies several files has one sentence for each.
    return "\n".join(filter(None, [disk_space.plain(said) if isinstance(error, OSError) else said, *(notes or [disk_space.full_here()])]))


def _said(error: Exception) -> str:
    if isinstance(error, (Refused, Stopped, PartlyMade, OSError, RuntimeError)):
        return str(error)
    if isinstance(error, pydantic.ValidationError):
        return "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors())
    traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {error}"


def _abort_partly_made(
    context: grpc.ServicerContext, *, identity: str, state: struct_pb2.Struct, inputs: struct_pb2.Struct, reasons: tuple[str, ...]
) -> NoReturn:
    """End the call so that the engine records the resource with what exists (`ErrorResourceInitFailed`)."""
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=reasons[0])
    status.details.add().Pack(provider_pb2.ErrorResourceInitFailed(id=identity, properties=state, reasons=reasons, inputs=inputs))
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, reasons[0])
    raise AssertionError("abort returns never")
