"""`clusterwright check`: everything wrong with a blueprint, before anything is built."""

import argparse
import json

from blueprints import finding

from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    parser.add_argument("--strict", action="store_true", help="end with status 1 if there are warnings")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(given: argparse.Namespace) -> int:
    loaded = options.loaded(given)
    warnings = sum(found.level is finding.Level.WARNING for found in loaded.findings)
    if given.json:
        document = {
            "format": 1,
            "name": loaded.spec.name,
            "target": loaded.spec.target,
            "findings": [finding.as_record(found) for found in loaded.findings],
            "suppressed": [finding.as_record(found) for found in loaded.suppressed],
        }
        print(json.dumps(document, indent=2))
    else:
        options.show(loaded.findings)
        accepted = f", {len(loaded.suppressed)} accepted by the blueprint" if loaded.suppressed else ""
        print(f"{loaded.spec.name}: no errors (target {loaded.spec.target}){accepted}")
    return 1 if given.strict and warnings else 0
