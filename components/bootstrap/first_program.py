"""The program that a cloud's hosts run at the beginning of every boot, as one text for user data: a cloud's own part (`components/<target>/guest/`), and what all clouds share. Pure."""

import functools
import re
from pathlib import Path

SHARED = Path(__file__).parent / "guest" / "first_boot.py"
_IMPORT = re.compile(r"^(?:import|from) .*\n", re.MULTILINE)
_RUN = """

if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
"""


@functools.cache
def program(part: Path) -> str:
    """Give the program of a cloud's hosts, which needs the standard library alone.

    Its text is a part of user data: another text replaces the hosts.

    Args:
        part: the cloud's module with `main`; what it imports from this project is in the text instead.
    """
    own, shared = part.read_text(), SHARED.read_text()
    imports = {line for text in (own, shared) for line in _IMPORT.findall(text) if not line.startswith("from .")}
    in_order = sorted(imports, key=lambda line: (line.startswith("from "), line.split()[1]))
    found = [*_IMPORT.finditer(own)]
    functions = shared[shared.index("\ndef ") :]
    return f"{own[: found[0].start()]}{''.join(in_order)}{own[found[-1].end() :].rstrip()}\n\n{functions.rstrip()}\n{_RUN}"
