"""From a spec to a picture: as an SVG file, or with characters for a terminal."""

from blueprints.spec import ClusterSpec

from . import characters, layout, svg
from .text_metrics import PICTURE, TERMINAL
from .topology import topology

PICTURE_WIDTH = 960
"""Pixels of a picture that is a file of its own: a README shows it without shrinking."""


def as_svg(spec: ClusterSpec) -> str:
    """Draw the picture as one SVG document, the same for the same spec."""
    return svg.document(layout.place(topology(spec), width=PICTURE_WIDTH, metrics=PICTURE))


def as_text(spec: ClusterSpec, *, columns: int, ascii_only: bool) -> str:
    """Draw the picture with characters.

    Args:
        columns: the terminal's width.
        ascii_only: use no box drawing characters.
    """
    return characters.render(layout.place(topology(spec), width=columns, metrics=TERMINAL), ascii_only=ascii_only)
