"""The test kinds behind a real server and a real engine's ear, both on the loopback."""

import contextlib
import dataclasses
import os
import queue
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, provider_pb2_grpc, status_pb2

from components import engine_watch
from components.provider import codec
from components.provider.servicer import Servicer
from tests.components import notes

ANSWER_WITHIN_S = 20
# The engine's limit for what comes with an error is 16 MiB; Python's own is 8 KiB.
LIMITS = (("grpc.max_metadata_size", 2**24), ("grpc.absolute_max_metadata_size", 2**24))


class Ear(engine_pb2_grpc.EngineServicer):
    """The part of the engine that providers speak to: it keeps what it hears."""

    def __init__(self) -> None:
        self.heard: queue.SimpleQueue[engine_pb2.LogRequest] = queue.SimpleQueue()

    def Log(self, request: engine_pb2.LogRequest, context: grpc.ServicerContext) -> empty_pb2.Empty:  # noqa: N802 - the protocol's name
        self.heard.put(request)
        return empty_pb2.Empty()


class Failed(Exception):
    """An operation ended with an error; `partly` says what the engine is to record, None when nothing."""

    def __init__(self, error: Any):
        self.message: str = error.details()
        self.partly: provider_pb2.ErrorResourceInitFailed | None = None
        for name, value in error.trailing_metadata():
            if name == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                self.partly = provider_pb2.ErrorResourceInitFailed()
                assert status.details[0].Unpack(self.partly)
                assert status.message == self.message
        super().__init__(self.message)


@dataclasses.dataclass(frozen=True)
class Provider:
    """What the engine can ask of a provider, with plain values."""

    stub: provider_pb2_grpc.ResourceProviderStub
    ear: Ear

    def check(self, token: str, news: Mapping[str, Any], *, olds: Mapping[str, Any] | None = None) -> dict[str, str]:
        found = self._call(self.stub.Check, provider_pb2.CheckRequest(urn=urn(token), olds=codec.encode(olds or {}), news=codec.encode(news)))
        return {failure.property: failure.reason for failure in found.failures}

    def create(self, token: str, inputs: Mapping[str, Any] | struct_pb2.Struct, *, preview: bool = False, timeout_s: float = 0) -> Any:
        return self._call(self.stub.Create, creation(token, inputs, preview=preview, timeout_s=timeout_s))

    def begin_create(self, token: str, inputs: Mapping[str, Any]) -> "grpc.Future[Any]":
        begun: grpc.Future[Any] = self.stub.Create.future(creation(token, inputs), timeout=ANSWER_WITHIN_S)
        return begun

    def update(self, token: str, state: struct_pb2.Struct, inputs: Mapping[str, Any] | struct_pb2.Struct, *, preview: bool = False) -> Any:
        request = provider_pb2.UpdateRequest(urn=urn(token), id="id", olds=state, news=wire(inputs), preview=preview)
        return self._call(self.stub.Update, request)

    def diff(self, token: str, state: struct_pb2.Struct, inputs: Mapping[str, Any]) -> Any:
        return self._call(self.stub.Diff, provider_pb2.DiffRequest(urn=urn(token), id="id", olds=state, news=codec.encode(inputs)))

    def read(self, token: str, state: struct_pb2.Struct, inputs: struct_pb2.Struct | None = None) -> Any:
        return self._call(self.stub.Read, provider_pb2.ReadRequest(urn=urn(token), id="id", properties=state, inputs=inputs))

    def delete(self, token: str, state: struct_pb2.Struct, *, timeout_s: float = 0) -> None:
        self._call(self.stub.Delete, provider_pb2.DeleteRequest(urn=urn(token), id="id", properties=state, timeout=timeout_s))

    def cancel(self) -> None:
        self._call(self.stub.Cancel, empty_pb2.Empty())

    def hear(self) -> engine_pb2.LogRequest:
        """Wait for the next line that the provider says."""
        return self.ear.heard.get(timeout=ANSWER_WITHIN_S)

    def _call(self, method: Any, request: Any) -> Any:
        try:
            return method(request, timeout=ANSWER_WITHIN_S)
        except grpc.RpcError as error:
            raise Failed(error) from None


def urn(token: str) -> str:
    return f"urn:pulumi:stack::project::test:index:Parent${token}::name"


def wire(values: Mapping[str, Any] | struct_pb2.Struct) -> struct_pb2.Struct:
    return values if isinstance(values, struct_pb2.Struct) else codec.encode(values)


def creation(token: str, inputs: Mapping[str, Any] | struct_pb2.Struct, *, preview: bool = False, timeout_s: float = 0) -> provider_pb2.CreateRequest:
    return provider_pb2.CreateRequest(urn=urn(token), properties=wire(inputs), preview=preview, timeout=timeout_s)


@contextlib.contextmanager
def served() -> Iterator[Provider]:
    """Serve the test kinds, with an ear for what they say."""
    ear = Ear()
    with contextlib.ExitStack() as stack:
        engine, engine_port = _server(stack)
        engine_pb2_grpc.add_EngineServicer_to_server(ear, engine)
        engine.start()
        said_to = engine_pb2_grpc.EngineStub(stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{engine_port}")))
        server, port = _server(stack)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(notes.named(), engine=said_to, version="0.0.1"), server)
        server.start()
        channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}", options=LIMITS))
        yield Provider(provider_pb2_grpc.ResourceProviderStub(channel), ear)


def _server(stack: contextlib.ExitStack) -> tuple[grpc.Server, int]:
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    stack.callback(lambda: server.stop(grace=None).wait())
    return server, server.add_insecure_port("127.0.0.1:0")


def main() -> None:
    """Be the plugin's process, as the project's own is one."""
    engine_watch.end_with(int(os.environ["CLUSTERWRIGHT_ENGINE_PID"]))
    address = next(argument for argument in sys.argv[1:] if not argument.startswith("-"))
    engine = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(notes.named(), engine=engine, version="0.0.1"), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
