"""Which network interfaces an instance type takes; the types' own records decide."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.simcloud.aws import layout
from tests.simcloud.core.failure import Refused


def nic(card: int, device: int, kind: str = "efa-only", **more: Any) -> dict[str, Any]:
    return {"NetworkCardIndex": card, "DeviceIndex": device, "InterfaceType": kind, **more}


PRIMARY = nic(0, 0, "interface")
RIGHT = {
    "p5, one address": ("p5.48xlarge", [PRIMARY, nic(0, 1), *(nic(card, 1) for card in range(1, 32))]),
    "p5, addresses on every card": ("p5.48xlarge", [nic(0, 0, "efa"), *(nic(card, 1, "efa") for card in range(1, 32))]),
    "p4d": ("p4d.24xlarge", [nic(0, 0, "efa"), *(nic(card, 1, "efa") for card in range(1, 4))]),
    "p6-b300, no EFA on the first card": ("p6-b300.48xlarge", [PRIMARY, *(nic(card, 0) for card in range(1, 17))]),
    "one plain interface": ("m5.large", [PRIMARY]),
    "a public address": ("m5.large", [{**PRIMARY, "AssociatePublicIpAddress": True}]),
}
WRONG = {
    "a card too many": ("p5.48xlarge", [PRIMARY, nic(32, 1)], "InvalidParameterValue"),
    "an interface too many on a card": ("p5.48xlarge", [PRIMARY, nic(1, 2)], "InvalidParameterValue"),
    "two in one place": ("p5.48xlarge", [PRIMARY, nic(1, 1), nic(1, 1)], "InvalidParameterValue"),
    "two EFA on one card": ("p5.48xlarge", [PRIMARY, nic(1, 0), nic(1, 1)], "InvalidParameterValue"),
    "EFA on a card without": ("p6-b300.48xlarge", [nic(0, 0, "efa")], "InvalidParameterValue"),
    "EFA on a type without": ("m5.large", [nic(0, 0, "efa")], "UnsupportedOperation"),
    "no primary one": ("p5.48xlarge", [nic(0, 1)], "InvalidParameterValue"),
    "a primary one without address": ("p5.48xlarge", [nic(0, 0)], "InvalidParameterValue"),
    "an address for EFA alone": ("p5.48xlarge", [PRIMARY, nic(1, 1, PrivateIpAddress="10.0.0.9")], "InvalidParameterCombination"),
    "a public address with several": ("p5.48xlarge", [{**PRIMARY, "AssociatePublicIpAddress": True}, nic(1, 1)], "InvalidParameterCombination"),
    "no device index": ("m5.large", [{"NetworkCardIndex": 0}], "MissingParameter"),
    "no such type": ("p5.47xlarge", [PRIMARY], "InvalidInstanceType"),
    "a type that nothing is known of": ("p6e-gb200.36xlarge", [PRIMARY], "NotSimulated"),
}


@pytest.mark.parametrize(("machine", "interfaces"), RIGHT.values(), ids=RIGHT.keys())
def test_a_layout_that_fits_is_taken(machine: str, interfaces: Sequence[dict[str, Any]]) -> None:
    layout.check(machine, interfaces)


@pytest.mark.parametrize(("machine", "interfaces", "code"), WRONG.values(), ids=WRONG.keys())
def test_a_layout_that_does_not_fit_is_refused(machine: str, interfaces: Sequence[dict[str, Any]], code: str) -> None:
    with pytest.raises(Refused) as refused:
        layout.check(machine, interfaces)
    assert refused.value.code == code
