"""Start the server: `python -m tests.simcloud.google FOLDER PORT`. The journal lies in FOLDER; the end of standard input ends it."""

import sys
from pathlib import Path

from ..core import server as core
from . import server


def main() -> None:
    core.end_with_parent(sys.stdin.fileno())
    server.serve(Path(sys.argv[1]) / "journal", port=int(sys.argv[2]), ready=lambda chosen: print(chosen, flush=True))


if __name__ == "__main__":
    main()
