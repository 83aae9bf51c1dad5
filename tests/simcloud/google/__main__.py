"""Start the server: `python -m tests.simcloud.google FOLDER PORT [NAME]`. The journal lies in FOLDER; the end of standard input ends it.

With a NAME its instances are hosts of this machine, found again under that name.
"""

import sys
from pathlib import Path

from ..core import server as core
from . import server
from .cloud import Cloud


def main() -> None:
    folder, port, *name = Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
    core.end_with_parent(sys.stdin.fileno())
    cloud = Cloud(folder / "journal")
    if name:
        from ..hosted import place  # what nobody else needs
        from ..hosted.google import backing

        backing.Hosted(cloud, place.names_of(name[0]), folder).begin()
    server.serve(cloud, port=port, ready=lambda chosen: print(chosen, flush=True))


if __name__ == "__main__":
    main()
