"""The simulated account as a test sees it: start it, point the engine and boto3 at it, look inside, and make things go wrong."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import client
from ..core.client import CloudError, Seen
from ..hosted import place
from .keys import ACCESS_KEY, SECRET_KEY

__all__ = ["PLUGIN_FOLDER", "REGION", "CloudError", "Seen", "SimulatedCloud", "started"]

REGION = "us-east-1"
PLUGIN_FOLDER = Path(__file__).parent / "plugin"


class SimulatedCloud(client.SimulatedCloud):
    """A running simulated account; `started` makes one."""

    def __init__(self, folder: Path, *, hosts: str | None = None):
        super().__init__(folder, module="tests.simcloud.aws", hosts=hosts)

    @property
    def environment(self) -> dict[str, str]:
        """What the engine, the plugin and boto3 need in their environment to find this account and be let in."""
        return {
            **super().environment,
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def audit(self) -> list[str]:
        """Say what the cloud took and what would not work all the same; see `audit`."""
        found: list[str] = self.ask("audit")
        return found

    def throttle(self, match: str = "ec2.*", *, times: int | None = 1) -> None:
        self.fault(match, code="RequestLimitExceeded", message="Request limit exceeded.", times=times)

    def make(self, kind: str, /, *, region: str = REGION, **inputs: Any) -> Seen:
        """Make a thing that existed before any program, by the rules."""
        found = self.ask("make", kind=kind, inputs=inputs, region=region)
        return Seen(**{**found, "addresses": tuple(found["addresses"])})

    def put(self, kind: str, id: str, properties: Mapping[str, Any], *, region: str = REGION) -> None:  # noqa: A002
        """Put a thing there as it is, under an id of one's own and past all rules."""
        self.ask("put", kind=kind, id=id, region=region, properties=properties)

    def end(self, id: str) -> None:  # noqa: A002
        """End an instance as a failing machine does."""
        self.ask("end", id=id)

    def interrupt(self, id: str, *, within_s: float = 120) -> None:  # noqa: A002
        """Announce that a spot instance ends; `advance` brings the end."""
        self.ask("interrupt", id=id, within_s=within_s)

    def impair(self, id: str, impaired: bool = True, *, events: Sequence[Mapping[str, Any]] = ()) -> None:  # noqa: A002
        """Have an instance's status checks fail; `events` as in DescribeInstanceStatus."""
        self.ask("impair", id=id, impaired=impaired, events=list(events))

    def come_short(self, *, gpus: int = 0, efa: int = 0, times: int = 1) -> None:
        """Have the next instances with GPUs come with so many GPUs and EFA devices less than their type and their interfaces say; seen where instances are hosts of this machine."""
        self.set("short", [{"gpus": gpus, "efa": efa}] * times)

    def keys_of(self, id: str) -> Mapping[str, str]:  # noqa: A002
        """Give the keys of an instance's role, by boto3's names: who signs with them may do what the role's policies say."""
        found: Mapping[str, str] = self.ask("keys", id=id)
        return found

    def reserve(
        self, machine: str, zone: str, count: int, *, kind: str = "default", starts_in_s: float = 0, ends_in_s: float | None = None, region: str = REGION
    ) -> Seen:
        """Put a capacity reservation there (`kind` default or capacity-block), as bought outside of any program."""
        values = {"machine": machine, "zone": zone, "count": count, "kind": kind, "starts_in_s": starts_in_s, "ends_in_s": ends_in_s, "region": region}
        found = self.ask("reserve", **values)
        return Seen(**{**found, "addresses": tuple(found["addresses"])})


@contextlib.contextmanager
def started(folder: Path, *, hosts: str | None = None) -> Iterator[SimulatedCloud]:
    """Run a simulated account whose journal lies in `folder`.

    Args:
        hosts: a name; the cloud's instances are then hosts of this machine, which are found by that name and removed at the end, and those of a killed earlier run at the beginning.
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
