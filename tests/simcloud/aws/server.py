"""The simulated account's server: the provider's door, the tests' and the AWS API on one port."""

import re
from collections.abc import Callable

from ..core import server
from ..core.store import Store
from . import control, provider_door, rules
from .api import door as api_door
from .cloud import Cloud
from .world import World

READS = re.compile(r"(read|invoke) |[\w-]+\.(Describe|Get|List)")  # names of calls that AWS's own policy ReadOnlyAccess lets pass


def world(store: Store) -> World:
    """Give the account that a store holds."""
    rules.load()
    return World(Cloud(store), is_read=lambda call: READS.match(call) is not None)


def serve(here: World, *, port: int, ready: Callable[[int], None]) -> None:
    """Serve until the process ends; `ready` takes the port."""
    doors = {"/provider": lambda asked: provider_door.answer(here, asked), "/control": lambda asked: control.answer(here, asked)}
    server.serve(doors, api=lambda request: api_door.answer(here, request), port=port, ready=ready)
