"""The simulated project's server: the tests' door and the REST door on one port; the provider's door joins them."""

from collections.abc import Callable

from ..core import server
from . import control, rest_door
from .cloud import Cloud


def serve(cloud: Cloud, *, port: int, ready: Callable[[int], None]) -> None:
    """Serve until the process ends; `ready` takes the port."""
    doors = {"/control": lambda asked: control.answer(cloud.world, asked)}
    server.serve(doors, api=lambda request: rest_door.answer(cloud, request), port=port, ready=ready)
