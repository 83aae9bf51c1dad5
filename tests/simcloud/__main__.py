"""Start the server: `python -m tests.simcloud FOLDER PORT`. The journal and the address lie in FOLDER; the end of standard input ends it."""

import sys
from pathlib import Path

from . import server
from .store import Store


def main() -> None:
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    server.end_with_parent(sys.stdin.fileno())
    server.serve(Store(folder / "journal"), port=port, ready=lambda chosen: print(chosen, flush=True))


if __name__ == "__main__":
    main()
