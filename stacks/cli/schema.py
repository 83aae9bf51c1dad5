"""`clusterwright schema`: the language of blueprints, for editors (JSON Schema) or for readers (the reference page)."""

import argparse
import json
import sys
from pathlib import Path

from blueprints.language import reference, schema

from ..errors import Problem, reason


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reference", action="store_true", help="write the reference page (Markdown) instead of the schema")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this file (default: standard output)")


def run(given: argparse.Namespace) -> int:
    text = reference.reference() if given.reference else json.dumps(schema.schema(), indent=2, ensure_ascii=False) + "\n"
    if given.output is None:
        sys.stdout.write(text)
        return 0
    try:
        given.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"{given.output} can't be written", why=reason(error), remedy="name a file in a folder that exists and that you may write to") from error
    return 0
