"""What is behind an instance: nothing by default, or a host that really runs."""

from collections.abc import Mapping
from typing import Any, Protocol


class Backing(Protocol):
    """Give instances a body. Methods are called with the store's lock held, so they begin things and do not wait for them.

    An instance is given in the form of DescribeInstances, with `UserData` (base64) beside it.
    """

    name: str
    """What reports call it: `simulated` when nothing real runs."""
    has_hosts: bool
    """Whatever has an address in the network is reached there, so that names which nobody resolves give way to addresses."""

    def start(self, instance: Mapping[str, Any]) -> None:
        """Begin to run it."""

    def stop(self, instance: str) -> None:
        """End it; one that is not there is fine."""

    def describe(self, instance: str) -> Mapping[str, Any]:
        """Give what is known only now: `ConsoleOutput`, and `State` when it ended by itself."""


class Pretended:
    """No machine at all."""

    name = "simulated"
    has_hosts = False

    def start(self, instance: Mapping[str, Any]) -> None:
        """Nothing runs."""

    def stop(self, instance: str) -> None:
        """Nothing ends."""

    def describe(self, instance: str) -> Mapping[str, Any]:
        return {"ConsoleOutput": f"simulated: no machine runs behind {instance}\n"}
