"""Run the program against Pulumi's mocks and keep what it registers, as it goes over the wire."""

import asyncio
import contextvars
import dataclasses
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pulumi
import pydantic
from google.protobuf import struct_pb2
from pulumi.runtime import mocks, settings
from pulumi.runtime.stack import run_in_stack

from components.provider import codec, kinds, packed
from components.provider.kind import Kind
from components.provider.unknown import UNKNOWN

KINDS: Mapping[str, Kind[Any]] = kinds.kinds()
PROJECT, STACK = "clusterwright", "test"
STACK_TYPE = "pulumi:pulumi:Stack"


@dataclasses.dataclass(frozen=True)
class Registered:
    """One resource as the program registered it."""

    type: str
    name: str
    custom: bool
    inputs: Mapping[str, Any]
    secret_inputs: frozenset[str]
    protect: bool
    parent: str
    needs: frozenset[str]
    """Names of resources that must be there before it, because it takes their outputs or because it says so."""
    keep: bool = False
    """It stays in the cloud when the stack forgets it."""
    replace_first: bool = False
    ignores: frozenset[str] = frozenset()
    """Inputs whose later change is no change."""
    source: tuple[str, int] = ("", 0)
    """The file and the line that make it."""
    urn: str = ""
    """As the engine would make it."""
    needs_urns: frozenset[str] = frozenset()
    """The same as `needs`; names alone don't distinguish kinds."""


@dataclasses.dataclass
class Program:
    """All that a run of the program registered, in the order in which it did."""

    resources: list[Registered]
    outputs: Mapping[str, Any]
    secret_outputs: frozenset[str]

    def named(self, name: str) -> Registered:
        (found,) = [one for one in self.resources if one.name == name and one.custom]
        return found

    def of(self, token: str) -> list[Registered]:
        return [one for one in self.resources if one.type == token]

    def all_needs(self, name: str) -> set[str]:
        """Names of everything that must be there before it, at any distance."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            name = waiting.pop()
            needs = {need for one in self.resources if one.name == name and one.custom for need in one.needs} - found
            found |= needs
            waiting += needs
        return found


class Provider(mocks.Mocks):
    """Gives every resource the outputs that its kind expects, and plausible ones where only an apply can know."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if not args.custom:
            return "", dict(args.inputs)
        kind = KINDS[args.typ]
        inputs = pydantic.TypeAdapter(kind.inputs).validate_python(packed.unpack_each(_without_secrets(args.inputs)))
        outputs = {name: self._applied(args.typ, name, inputs) if value is UNKNOWN else value for name, value in kind.expected(inputs).items()}
        state = {name: pulumi.Output.secret(value) if name in kind.secret_outputs else value for name, value in outputs.items()}
        return args.name, {**args.inputs, **state, "complete": True}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        raise AssertionError(f"the program called {args.token}")

    def _applied(self, token: str, output: str, inputs: Any) -> Any:
        if token == "clusterwright:local:HostPool":
            hostnames = [inputs.hostname(number) for number in range(inputs.count)]
            described = [
                {"name": name, "address": inputs.address(number), "incarnation": f"disk-{name}", "host_key": "ssh-ed25519 AAAA"}
                for number, name in enumerate(hostnames)
            ]
            return described if output == "hosts" else dict.fromkeys(hostnames, 1)
        if token == "clusterwright:metal:Hosts":
            servers = [{**dataclasses.asdict(one), "incarnation": f"system of {one.name}"} for one in inputs.members]
            hardware = {"sockets": 1, "cores_per_socket": 2, "threads_per_core": 1, "memory_mib": 8192}
            return servers if output in ("hosts", "adopted") else {one.name: hardware if output == "hardware" else "1" for one in inputs.members}
        return f"{output} of {token}"


class Monitor(mocks.MockMonitor):
    """Pulumi's own stand-in for the engine, which also keeps the requests."""

    def __init__(self, provider: mocks.Mocks):
        super().__init__(provider)
        self.kept: list[Registered] = []
        self.outputs = struct_pb2.Struct()

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """Make the URN that the engine makes: with the types of all parents below the stack."""
        types = parent.split("::")[2] if parent else ""
        qualified = type_ if types in ("", STACK_TYPE) else f"{types}${type_}"
        return "urn:pulumi:" + "::".join([STACK, PROJECT, qualified, name])

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
        if request.type != STACK_TYPE:
            needs = {*request.dependencies} | {urn for of in request.propertyDependencies.values() for urn in of.urns}
            self.kept.append(
                Registered(
                    type=request.type,
                    name=request.name,
                    custom=request.custom,
                    inputs=codec.decode(request.object),
                    secret_inputs=codec.secret_names(request.object),
                    protect=request.protect,
                    parent=_name(request.parent),
                    needs=frozenset(map(_name, needs)),
                    needs_urns=frozenset(needs),
                    keep=request.retainOnDelete,
                    replace_first=request.deleteBeforeReplace,
                    ignores=frozenset(request.ignoreChanges),
                    source=(request.sourcePosition.uri, request.sourcePosition.line),
                    urn=self.make_urn(request.parent, request.type, request.name),
                )
            )
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        if request.urn.split("::")[2] == STACK_TYPE:
            self.outputs = request.outputs
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


def run(program: Callable[[], None], *, provider: mocks.Mocks | None = None, preview: bool = False) -> Program:
    """Run a program as the language host does, against the mocks.

    Args:
        provider: gives resources their outputs; left out, it knows the project's own kinds.
        preview: as in a preview, where outputs are not known.
    """
    monitor = Monitor(provider or Provider())
    # Pulumi keeps its settings and the stack in context variables: in a context of its own each run is the first one.
    contextvars.Context().run(_run, program, monitor, preview=preview)
    return Program(monitor.kept, codec.decode(monitor.outputs), codec.secret_names(monitor.outputs))


def _run(program: Callable[[], None], monitor: Monitor, *, preview: bool) -> None:
    loop = asyncio.new_event_loop()
    of_threads: list[asyncio.AbstractEventLoop] = []

    def begin() -> None:
        """Give a thread the event loop that the mocks would otherwise make there and leave open."""
        of_threads.append(asyncio.new_event_loop())
        asyncio.set_event_loop(of_threads[-1])

    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(initializer=begin))
    try:
        chosen = mocks.MockSettings(monitor=monitor, engine=mocks.MockEngine(None), project=PROJECT, stack=STACK, dry_run=preview)  # type: ignore[no-untyped-call]
        settings.configure(chosen)
        loop.run_until_complete(run_in_stack(program))
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        asyncio.set_event_loop(None)
        for one in (loop, *of_threads):
            one.close()


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return plain(value["value"]) if value.get(codec.SIGNATURE_KEY) == codec.SECRET_SIGNATURE else {name: plain(one) for name, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return {name: plain(value) for name, value in values.items()}


def input_names(token: str) -> set[str]:
    """Names of the inputs that a kind takes."""
    return {field.name for field in dataclasses.fields(KINDS[token].inputs)}
