"""`clusterwright graph`: what a blueprint will be, as a picture, as a report for a browser, or with characters for a terminal."""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from blueprints.load import Loaded

from ..errors import EXIT_USAGE, Problem, reason
from ..render import finding_list, plan_html
from ..render.picture import render as picture
from . import options

FORMS = ("svg", "html", "text")
ENDINGS = {".svg": "svg", ".html": "html", ".htm": "html", ".txt": "text"}
WIDEST_COLUMNS = 140
"""A picture gains nothing from more."""
FILE_COLUMNS = 100
_BOX_DRAWING = "─┃┆▶▼■×"


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    options.what_if(parser)
    parser.add_argument(
        "--as",
        dest="form",
        choices=FORMS,
        help="svg, a picture; html, a report to open in a browser; text, for a terminal (default: by the ending of --output; "
        "without it text on a terminal, and svg into a pipe)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this file, as a whole or not at all (default: standard output)")


def run(given: argparse.Namespace) -> int:
    form = _form(given.form, given.output)
    loaded = options.loaded(given)
    finding_list.show(loaded.findings)
    content = _content(loaded, form, to_file=given.output is not None)
    if given.output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return 0
    try:
        write_whole(given.output, content)
    except OSError as error:
        raise Problem(
            f"the file {given.output} can't be written", why=reason(error), remedy="name a file in a folder that exists and that you may write to"
        ) from error
    return 0


def _form(asked: str | None, output: Path | None) -> str:
    if asked:
        return asked
    if output is None:
        return "text" if sys.stdout.isatty() else "svg"
    if output.suffix.lower() not in ENDINGS:
        why = "a picture is written as .svg, .html or .txt, and the name ends in none of them"
        remedy = f"end the name so, or say what to write: --as {', --as '.join(FORMS)}"
        raise Problem(f"{output} can't be written", why=why, remedy=remedy, status=EXIT_USAGE)
    return ENDINGS[output.suffix.lower()]


def _content(loaded: Loaded, form: str, *, to_file: bool) -> bytes:
    if form == "html":
        return plan_html.of_blueprint(loaded).encode()
    if form == "svg":
        return picture.as_svg(loaded.spec).encode()
    columns = FILE_COLUMNS if to_file else min(WIDEST_COLUMNS, shutil.get_terminal_size((FILE_COLUMNS, 24)).columns)
    encoding = "utf-8" if to_file else sys.stdout.encoding or "utf-8"
    return picture.as_text(loaded.spec, columns=columns, ascii_only=not to_file and not shows_boxes(encoding)).encode(encoding, "replace")


def shows_boxes(encoding: str) -> bool:
    """Say whether a terminal shows box drawing: its encoding has it, and the locale is not the one that promises ASCII only."""
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    try:
        _BOX_DRAWING.encode(encoding)
    except UnicodeEncodeError:
        return False
    return locale not in ("C", "POSIX")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step, so that a reader never finds half of it. What is no file (a pipe, a terminal) is written to.

    Raises:
        OSError: it can't be written; what was there before still is.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
