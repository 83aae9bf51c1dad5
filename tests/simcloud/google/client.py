"""The simulated project as a test sees it: start it, point the engine and Google's clients at it, look inside, and make things go wrong."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import client
from ..core.client import CloudError, Seen
from ..hosted import place
from . import discovery
from .cloud import PROJECT, Answer

__all__ = ["PLUGIN_FOLDER", "PROJECT", "REGION", "ZONE", "CloudError", "Seen", "SimulatedCloud", "started"]

REGION, ZONE = "us-central1", "us-central1-a"
PLUGIN_FOLDER = Path(__file__).parent / "plugin"


class SimulatedCloud(client.SimulatedCloud):
    """A running simulated project; `started` makes one."""

    def __init__(self, folder: Path, *, hosts: str | None = None):
        super().__init__(folder, module="tests.simcloud.google", hosts=hosts)

    @property
    def environment(self) -> dict[str, str]:
        """What the engine, the plugin and Google's clients need in their environment to find this project and be let in.

        Credentials come from a metadata server at the same address; services are at `/<host>/`, which `CLOUDSDK_API_ENDPOINT_OVERRIDES_*` tell.
        """
        services = {host.partition(".")[0].upper(): f"{self.address}/{host}/" for host in discovery.DOCUMENTS}
        return {
            **super().environment,
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            "GOOGLE_PROJECT": PROJECT,
            "GOOGLE_REGION": REGION,
            "GOOGLE_ZONE": ZONE,
            "GCE_METADATA_HOST": f"127.0.0.1:{self.port}",
            "GCE_METADATA_IP": f"127.0.0.1:{self.port}",
            "CLOUDSDK_CONFIG": os.devnull,
            **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service}": address for service, address in services.items()},
        }

    def preempt(self, id: str, *, within_s: float = 30) -> None:  # noqa: A002 - what every service calls it
        """Announce that a spot instance is taken back; `advance` brings the end."""
        self.ask("preempt", id=id, within_s=within_s)

    def fail_host(self, id: str) -> None:  # noqa: A002
        """Let the host of an instance fail."""
        self.ask("fail_host", id=id)

    def announce(self, id: str, **maintenance: Any) -> None:  # noqa: A002
        """Announce maintenance of an instance's host; fields as in `resourceStatus.upcomingMaintenance`."""
        self.ask("announce", id=id, maintenance=maintenance)

    def audit(self) -> list[str]:
        """Say what the project took and what would not work all the same; see `audit`."""
        found: list[str] = self.ask("audit")
        return found

    def token_of(self, id: str) -> str:  # noqa: A002
        """Give a token of a service account (by e-mail) or of an instance's: what its roles allow, it may do."""
        return str(self.ask("token", id=id))

    def request(self, host: str, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, token: str = "") -> Answer:
        """Send a request to the REST door, as the project's owner."""
        return Answer(**self.ask("request", host=host, method=method, path=path, query=query, body=body, token=token))


@contextlib.contextmanager
def started(folder: Path, *, hosts: str | None = None) -> Iterator[SimulatedCloud]:
    """Run a simulated project whose journal lies in `folder`.

    Args:
        hosts: a name; the project's instances are then hosts of this machine, which are found by that name and removed at the end, and those of a killed earlier run at the beginning.
    """
    if hosts:
        place.clear(place.names_of(hosts))
    cloud = SimulatedCloud(folder, hosts=hosts)
    try:
        yield cloud
    finally:
        cloud.stop()
        if hosts:
            place.clear(place.names_of(hosts))
