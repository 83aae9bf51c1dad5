"""The check that services get addresses of the blueprint's range: a real API server, and who gives them played by the test."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from components.finish import checks
from components.kubernetes import service_addresses
from components.kubernetes.api import Api, Key, key_of
from tests import processes
from tests.apiserver import works

pytestmark = pytest.mark.engine

RANGE = "10.80.15.192/30"


@pytest.fixture
def api(kubernetes: Any) -> Iterator[Api]:
    """The API with the namespace of MetalLB."""
    found: Api = kubernetes.api()
    found.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": service_addresses.KEY.namespace}})
    yield found
    for one in found.list("v1", "Service", namespace=service_addresses.KEY.namespace):
        found.delete(key_of(one))


def give(api: Api, key: Key, addresses: Sequence[str]) -> None:
    api.merge(key, {"status": {"loadBalancer": {"ingress": [{"ip": one} for one in addresses]}}}, subresource="status")


@contextlib.contextmanager
def giving(api: Api, address: str) -> Iterator[None]:
    """Give the check's service this address as soon as it is there."""

    def wait_and_give() -> None:
        processes.wait_until(lambda: api.get(service_addresses.KEY) is not None, awaiting="the check's service", within_s=60)
        give(api, service_addresses.KEY, [address])

    beside = threading.Thread(target=wait_and_give)
    beside.start()
    yield
    beside.join()


def verdict(api: Api) -> dict[str, Any]:
    [found] = service_addresses.checks(api, RANGE, works.Notes().work())
    assert api.get(service_addresses.KEY) is None, "the check leaves nothing"
    return found


def test_an_address_of_the_range_passes(api: Api) -> None:
    with giving(api, "10.80.15.194"):
        found = verdict(api)
    assert (found["verdict"], found["measured"]) == ("pass", "10.80.15.194")


def test_an_address_of_another_range_fails_by_its_code(api: Api) -> None:
    with giving(api, "10.80.15.197"):
        found = verdict(api)
    assert (found["verdict"], found["measured"], found["detail"]) == ("fail", "10.80.15.197", "it is of another range")
    assert checks.finding(found).code == "CW937"


def test_no_address_fails_with_what_the_controller_says(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_addresses, "GIVEN_WITHIN_S", 0.5)
    key = service_addresses.KEY
    said = {"involvedObject": {"kind": key.kind, "namespace": key.namespace, "name": key.name}, "reason": "AllocationFailed", "message": "no available IPs"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "of-the-check", "namespace": key.namespace}, **said}
    assert verdict(api)["detail"] == "nothing gave it an address within 0.5 s"
    api.apply(event)
    try:
        found = verdict(api)
    finally:
        api.delete(key_of(event))
    assert (found["verdict"], found["measured"], found["detail"]) == ("fail", "none", "no available IPs")


def test_a_range_that_users_services_have_to_the_last_address_passes(api: Api) -> None:
    for number in range(4):
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}], "allocateLoadBalancerNodePorts": False}
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"of-users-{number}", "namespace": service_addresses.KEY.namespace},
            "spec": spec,
        }
        give(api, key_of(api.apply(service)), [f"10.80.15.{192 + number}"])
    assert verdict(api)["verdict"] == "pass"
