"""The levels that `explain` tells are those that findings have."""

import pathlib

from blueprints import finding, library, load
from blueprints.codes import Code
from tests.blueprints import test_broken


def test_every_finding_of_the_corpus_and_the_library_has_a_level_that_its_code_can_have(tmp_path: pathlib.Path) -> None:
    found: dict[str, set[finding.Level]] = {}
    for case in (*test_broken.STORED, *test_broken.MADE):
        for one in test_broken.findings(case, tmp_path):
            found.setdefault(str(one.code), set()).add(one.level)
    for name in library.names():
        for target in ("aws", "gcp", "metal", "local"):
            try:
                noticed = load.examine(name, target=target, stack="test", facts=test_broken.FACTS).findings
            except finding.Invalid as invalid:
                noticed = invalid.findings
            for one in noticed:
                found.setdefault(str(one.code), set()).add(one.level)
    told = {str(code): {*code.levels} for code in Code}
    assert {code: sorted(seen - told[code]) for code, seen in found.items() if seen - told[code]} == {}
    assert {code: sorted(told[code] - seen) for code, seen in found.items() if told[code] - seen} == {}, "told, and never seen"
