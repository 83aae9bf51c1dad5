"""A BMC that serves resources of DMTF's public mockup of a rack-mount server (DSP2043), which this project did not write.

`dmtf_mockup.json` holds them as they are: path → resource, with DMTF's copyright notice in each. Source: the test data of OpenStack's sushy 5.14.0 (PyPI, Apache-2.0). That has no log and no firmware of parts of
the mockup, so that these paths are missing, as on BMCs that promise more than they serve. Requests, sessions and errors are those of `redfish.Bmc`.
"""

import json
from pathlib import Path
from typing import Any

from . import redfish

RESOURCES = Path(__file__).with_name("dmtf_mockup.json")
SYSTEM = "/redfish/v1/Systems/437XR1138R2"


class Bmc(redfish.Bmc):
    reset_path = f"{SYSTEM}/Actions/ComputerSystem.Reset"

    def __init__(self, folder: Path, **given: Any):
        super().__init__(folder, **given)
        self._mockup: dict[str, dict[str, Any]] = json.loads(RESOURCES.read_text())
        self.offered = tuple(self._mockup[SYSTEM]["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"])

    def resources(self) -> dict[str, dict[str, Any]]:
        """Give the mockup's resources, with the power that the server has now."""
        own = super().resources()
        sessions = {path: own[path] for path in (redfish.SESSIONS, *self.sessions)}
        return {**self._mockup, **sessions, SYSTEM: {**self._mockup[SYSTEM], "PowerState": self.power}}
