"""Compile the program and the installed packages that it runs with; all others are compiled when something imports them.

Run by the environment's own Python. A process that may not write bytecode, or may not write here, would compile them again each time.
"""

import compileall
import concurrent.futures
import functools
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

PROGRAM = "clusterwright"
OURS = ("blueprints", "components", "stacks")
SELDOM = ("ansible_test", "debugpy", "pygments")
"""Distributions and packages of which hardly anything is imported."""


def main() -> None:
    places = [Path(package) for package in OURS] + sorted(place for distribution in _required() for place in _places(distribution))
    with concurrent.futures.ProcessPoolExecutor() as pool:
        # What can't be compiled is a template.
        for _ in pool.map(functools.partial(compileall.compile_dir, quiet=2), (place for place in places if place.is_dir())):
            pass
    for place in places:
        if place.is_file():
            compileall.compile_file(place, quiet=2)


def _required() -> Iterator[metadata.Distribution]:
    """Give what the program requires, directly or not, without extras."""
    waiting, known = [PROGRAM], {PROGRAM, *SELDOM}
    while waiting:
        try:
            distribution = metadata.distribution(waiting.pop())
        except metadata.PackageNotFoundError:
            continue  # for other systems
        if distribution.name != PROGRAM:
            yield distribution
        for requirement in distribution.requires or ():
            name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower()
            if name not in known and "extra ==" not in requirement:
                known.add(name)
                waiting.append(name)


def _places(distribution: metadata.Distribution) -> set[Path]:
    """Give the folders and modules of a distribution at the top of the environment."""
    tops = {file.parts[0] for file in distribution.files or () if file.suffix == ".py"}
    return {Path(str(distribution.locate_file(top))) for top in tops - {"..", *SELDOM}}


if __name__ == "__main__":
    main()
