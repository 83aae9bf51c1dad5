"""Start the server: `python -m tests.simcloud.aws FOLDER PORT [NAME]`. The journal and the address lie in FOLDER; the end of standard input ends it.

With a NAME its instances are hosts of this machine, found again under that name.
"""

import sys
from pathlib import Path

from ..core import server as core
from ..core.store import Store
from . import instances, server


def main() -> None:
    folder, port, *name = Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
    core.end_with_parent(sys.stdin.fileno())
    world = server.world(Store(folder / "journal"))
    if name:
        from ..hosted import backing, place  # what nobody else needs takes half of the start

        instances.backing = hosted = backing.Hosted(world, place.names_of(name[0]), folder)
        hosted.begin()
    server.serve(world, port=port, ready=lambda chosen: print(chosen, flush=True))


if __name__ == "__main__":
    main()
