"""Remove all that a simulated cloud has on this machine: `python -m tests.simcloud.hosted NAME`."""

import sys

from . import place


def main() -> None:
    names = place.names_of(sys.argv[1])
    for one in place.left_behind(names):
        print(one)
    place.clear(names)


if __name__ == "__main__":
    main()
