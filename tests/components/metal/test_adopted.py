"""What finishing is told of adopted servers."""

from typing import Any

import pytest

from tests.contract.offerings import SERVERS


def hosts(**inventory: Any) -> list[dict[str, Any]]:
    program = SERVERS.run(SERVERS.starter, {f"inventory.{name}": value for name, value in inventory.items()})
    groups = [one.inputs for one in program.resources if one.type in ("clusterwright:finish:Group", "clusterwright:accept:Acceptance")]
    return [host for inputs in groups for name in ("hosts", "control") for host in inputs.get(name) or ()]


@pytest.mark.parametrize(("inventory", "ports"), [({}, {None}), ({"port": 2022}, {2022})], ids=["the usual one", "another one"])
def test_every_host_has_the_port_of_its_ssh_server(inventory: dict[str, Any], ports: set[int | None]) -> None:
    found = hosts(**inventory)
    assert len(found) > 3
    assert {one.get("port") for one in found} == ports
