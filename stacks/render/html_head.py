"""What every page of this project begins with: it may load nothing, run nothing and send nothing, and has the one style that it brings."""

import base64
import hashlib
from collections.abc import Iterator

from .picture.svg import text


def head(title: str, *, style: str) -> Iterator[str]:
    """Write the lines of an HTML file up to its body."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'\">"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield '<meta name="referrer" content="no-referrer">'
    yield '<link rel="icon" href="data:,">'
    yield f"<title>{text(title)}</title>"
    yield f"<style>{style}</style>"
    yield "</head>"
