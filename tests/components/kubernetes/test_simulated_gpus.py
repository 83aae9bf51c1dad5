"""The device plugin for simulated GPUs, asked as the kubelet asks it."""

from __future__ import annotations

import os
import queue
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

from tests import processes
from tests.apiserver import release

WITHIN_S = 30
STRING, MESSAGE, REPEATED, SINGLE = "TYPE_STRING", "TYPE_MESSAGE", "LABEL_REPEATED", "LABEL_OPTIONAL"

# What the kubelet and its plugins say to each other, as far as this plugin uses it. Source: k8s.io/kubelet, pkg/apis/deviceplugin/v1beta1/api.proto.
MESSAGES: dict[str, list[tuple[str, int, str, str]]] = {
    "Empty": [],
    "RegisterRequest": [("version", 1, STRING, SINGLE), ("endpoint", 2, STRING, SINGLE), ("resource_name", 3, STRING, SINGLE)],
    "Device": [("ID", 1, STRING, SINGLE), ("health", 2, STRING, SINGLE)],
    "ListAndWatchResponse": [("devices", 1, "Device", REPEATED)],
    "ContainerAllocateRequest": [("devices_ids", 1, STRING, REPEATED)],
    "AllocateRequest": [("container_requests", 1, "ContainerAllocateRequest", REPEATED)],
    "Variable": [("key", 1, STRING, SINGLE), ("value", 2, STRING, SINGLE)],
    "DeviceSpec": [("container_path", 1, STRING, SINGLE), ("host_path", 2, STRING, SINGLE), ("permissions", 3, STRING, SINGLE)],
    "ContainerAllocateResponse": [("envs", 1, "Variable", REPEATED), ("devices", 3, "DeviceSpec", REPEATED)],
    "AllocateResponse": [("container_responses", 1, "ContainerAllocateResponse", REPEATED)],
}


def _message_types() -> dict[str, Any]:
    def one(name: str, number: int, kind: str, label: str) -> dict[str, Any]:
        field = {"name": name, "number": number, "label": label}
        return {**field, "type": STRING} if kind == STRING else {**field, "type": MESSAGE, "typeName": f".v1beta1.{kind}"}

    file = {
        "name": "deviceplugin.proto",
        "package": "v1beta1",
        "syntax": "proto3",
        "messageType": [{"name": name, "field": [one(*entry) for entry in fields]} for name, fields in MESSAGES.items()],
    }
    pool = descriptor_pool.DescriptorPool()
    pool.Add(json_format.ParseDict(file, descriptor_pb2.FileDescriptorProto()))
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"v1beta1.{name}")) for name in MESSAGES}


TYPES = _message_types()


@dataclass
class Kubelet:
    """The side of the kubelet: it takes registrations and asks the plugin that registered."""

    sockets: Path
    devices: Path
    registered: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)

    def serve(self) -> grpc.Server:
        def register(request: Any, context: grpc.ServicerContext) -> Any:
            self.registered.put(request)
            return TYPES["Empty"]()

        handler = grpc.unary_unary_rpc_method_handler(register, request_deserializer=TYPES["RegisterRequest"].FromString, response_serializer=_bytes)
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": handler}),))
        server.add_insecure_port(f"unix://{self.sockets}/kubelet.sock")
        server.start()
        return server

    def add(self, number: int) -> Path:
        file = self.devices / f"nvidia{number}"
        os.mknod(file, stat.S_IFCHR | 0o666, os.makedev(61, number))
        return file


def _bytes(message: Any) -> bytes:
    return bytes(message.SerializeToString())


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder near the root: the path of a socket has 107 bytes at most (unix(7))."""
    with tempfile.TemporaryDirectory(prefix="kubelet-") as folder:
        yield Path(folder)


@pytest.fixture
def kubelet(short_path: Path) -> Iterator[Kubelet]:
    if os.geteuid() != 0:
        pytest.skip("device files need root")
    kubelet = Kubelet(short_path / "sockets", short_path / "dev")
    kubelet.sockets.mkdir()
    kubelet.devices.mkdir()
    for number in range(2):
        kubelet.add(number)
    (kubelet.devices / "nvidia7").write_text("no device\n")
    server = kubelet.serve()
    program = release.program("simulated-gpus")
    words = [str(program), f"--devices={kubelet.devices}", f"--sockets={kubelet.sockets}", "--resource=example.com/gpu"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as plugin:
        yield kubelet
        plugin.terminate()
        said = plugin.communicate()[1]
    server.stop(None).wait()
    assert "no GPU is behind them" in said


def reports(channel: grpc.Channel) -> queue.SimpleQueue[dict[str, str]]:
    """Give what the plugin reports from now on: device → health."""
    told: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
    call = channel.unary_stream("/v1beta1.DevicePlugin/ListAndWatch", request_serializer=_bytes, response_deserializer=TYPES["ListAndWatchResponse"].FromString)

    def listen() -> None:
        try:
            for report in call(TYPES["Empty"]()):
                told.put({device.ID: device.health for device in report.devices})
        except grpc.RpcError:
            return  # the test is over

    threading.Thread(target=listen, daemon=True).start()
    return told


def test_devices_are_offered_given_and_missed(kubelet: Kubelet) -> None:
    registration = kubelet.registered.get(timeout=WITHIN_S)
    assert (registration.version, registration.resource_name) == ("v1beta1", "example.com/gpu")
    with grpc.insecure_channel(f"unix://{kubelet.sockets}/{registration.endpoint}") as channel:
        told = reports(channel)
        assert told.get(timeout=WITHIN_S) == {"simulated-gpu-0": "Healthy", "simulated-gpu-1": "Healthy"}

        allocate = channel.unary_unary("/v1beta1.DevicePlugin/Allocate", request_serializer=_bytes, response_deserializer=TYPES["AllocateResponse"].FromString)
        request = TYPES["AllocateRequest"](container_requests=[TYPES["ContainerAllocateRequest"](devices_ids=["simulated-gpu-1"])])
        given = allocate(request, timeout=WITHIN_S).container_responses[0]
        assert [(device.container_path, device.host_path, device.permissions) for device in given.devices] == [("/dev/nvidia1", "/dev/nvidia1", "rw")]
        assert {variable.key: variable.value for variable in given.envs} == {"NVIDIA_VISIBLE_DEVICES": "1", "CLUSTERWRIGHT_SIMULATED_GPUS": "1"}

        (kubelet.devices / "nvidia0").unlink()
        assert told.get(timeout=WITHIN_S) == {"simulated-gpu-0": "Unhealthy", "simulated-gpu-1": "Healthy"}
        kubelet.add(0)
        assert told.get(timeout=WITHIN_S) == {"simulated-gpu-0": "Healthy", "simulated-gpu-1": "Healthy"}


def test_a_kubelet_that_starts_again_is_told_again(kubelet: Kubelet) -> None:
    first = kubelet.registered.get(timeout=WITHIN_S)
    socket = kubelet.sockets / first.endpoint
    socket.unlink()  # a kubelet that starts removes all sockets of plugins
    assert kubelet.registered.get(timeout=WITHIN_S).endpoint == first.endpoint
    processes.wait_until(socket.exists, awaiting="the plugin's socket")
