"""What a node is told that it has to have is what its machine has."""

import dataclasses
import json
from typing import Any

import pytest

from blueprints import spec
from components.node_expectations import expected
from tests.blueprints import hand_made

ENA, EFA, EFA_ONLY = spec.Nic(0, 0, "ena", 1), spec.Nic(0, 0, "efa", 1), spec.Nic(1, 1, "efa-only", 0)


def told(**machine: Any) -> dict[str, Any]:
    group = spec.HostGroup("train", "compute", "train", 2, "", dataclasses.replace(hand_made.P5, **machine))
    found: dict[str, Any] = json.loads(expected(spec.NodeSet("train", None, group, ()), mounts=["/home"], is_replaced=True))
    return found


@pytest.mark.parametrize(("nics", "efa"), [((), 0), ((ENA,), 0), ((EFA,), 1), ((ENA, EFA_ONLY), 1), ((EFA, EFA_ONLY, EFA_ONLY), 3)])
def test_every_interface_that_brings_an_efa_device_counts(nics: tuple[spec.Nic, ...], efa: int) -> None:
    assert told(nics=nics)["efa"] == efa


@pytest.mark.parametrize(("brake", "told_so"), [("", {}), ("10%", {"brake": "10%"})])
def test_a_brake_that_is_not_the_usual_one_is_told(brake: str, told_so: dict[str, str]) -> None:
    node_set = spec.NodeSet("train", None, spec.HostGroup("train", "compute", "train", 2, "", hand_made.P5), (), health_brake=brake)
    found = json.loads(expected(node_set, mounts=[], is_replaced=True))
    assert {name: value for name, value in found.items() if name == "brake"} == told_so


def test_simulated_gpus_are_said_to_be() -> None:
    assert told(gpus=spec.Gpus("h100", 4, simulated=True))["gpus"] == {"count": 4, "simulated": True}
    assert told(gpus=None)["gpus"] is None
    divided = spec.Gpus("h100", 8, simulated=False, mig=(spec.MigSlices("3g.40gb", 1), spec.MigSlices("1g.10gb", 4)))
    assert told(gpus=divided)["gpus"] == {"count": 8, "simulated": False, "mig": {"3g.40gb": 1, "1g.10gb": 4}}
    assert (told()["check"], told()["mounts"]) == ("basic", ["/home"])


@pytest.mark.parametrize(
    ("on_failure", "is_replaced", "told_so"),
    [
        ("reboot", False, {"on_failure": "reboot"}),
        ("repair", False, {"on_failure": "repair"}),
        ("repair", True, {"on_failure": "repair", "else": "replace"}),
        ("reboot", True, {"on_failure": "reboot", "else": "replace"}),
        ("report", True, {"on_failure": "repair", "else": "replace"}),
        ("drain", False, {}),
        ("drain", True, {}),
        ("keep", True, {}),
        ("replace", True, {}),
        ("repair", None, {}),
    ],
)
def test_a_node_is_told_what_it_does_itself_and_whether_it_is_replaced_where_that_does_not_help(
    on_failure: str, is_replaced: bool | None, told_so: dict[str, str]
) -> None:
    node_set = spec.NodeSet("train", None, spec.HostGroup("train", "compute", "train", 2, "", hand_made.P5), (), on_failure=on_failure)
    found = json.loads(expected(node_set, mounts=[], is_replaced=is_replaced))
    assert {name: value for name, value in found.items() if name in ("on_failure", "else")} == told_so
