"""What tests ask of the simulated Google Cloud behind everyone's back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simcloud.google import client

from .test_door import NETWORK, SUBNET, SUBNETS
from .test_instances import INSTANCE, ZONE


def test_tests_ask_behind_everyones_back(tmp_path: Path) -> None:
    with client.started(tmp_path) as running:
        spot = {"provisioningModel": "SPOT", "instanceTerminationAction": "STOP"}
        for path, body in (("global/networks", NETWORK), (SUBNETS, SUBNET), (f"{ZONE}/instances", {**INSTANCE, "scheduling": spot, "labels": {"a": "b"}})):
            assert running.request("compute.googleapis.com", "POST", f"/compute/v1/projects/proj/{path}", {}, body).status == 200
        (one,) = running.things("compute.instances", tags={"a": "b"})
        assert (one.addresses, one.taggable) == (("10.0.0.2",), True)
        assert any("no NAT" in finding for finding in running.audit())
        with pytest.raises(client.CloudError, match="no service account"):
            running.token_of(one.id)
        assert running.token_of("robot@proj.iam.gserviceaccount.com").startswith("ya29.")
        running.announce(one.id, windowStartTime="2026-12-01T00:00:00Z")
        running.drift(one.id, labels={"a": "c"})
        assert running.thing("compute.instances")["resourceStatus"]["upcomingMaintenance"]["maintenanceStatus"] == "PENDING"
        assert running.things("compute.instances", tags={"a": "b"}) == []
        running.preempt(one.id)
        running.advance(31)
        assert running.thing("compute.instances")["status"] == "TERMINATED"
        with pytest.raises(client.CloudError, match="no spot"):
            running.preempt("projects/proj/global/networks/net")
        running.lose(one.id)
        running.reset()
        assert running.things() == []
