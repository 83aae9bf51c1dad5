"""From a spec to a picture or a report: the pieces of this package, put together."""

from blueprints import estimate, quotas
from blueprints.load import Loaded
from blueprints.spec import ClusterSpec

from .. import finding_list
from ..picture import characters, layout, svg
from ..picture.shapes import Drawing
from ..picture.text_metrics import PICTURE, TERMINAL
from ..picture.topology import topology
from . import html, sections

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


def as_html(loaded: Loaded) -> str:
    """Write the report as one HTML page."""
    spec = loaded.spec
    told = sections.report(
        spec,
        audience=loaded.blueprint.audience,
        findings=finding_list.folded(loaded.findings),
        accepted=loaded.suppressed,
        estimate=estimate.estimate(spec),
        quotas=quotas.needed(spec),
        uncounted=quotas.unknown(spec),
    )
    return html.page(told, pictures(spec))


def pictures(spec: ClusterSpec) -> dict[str, Drawing]:
    """Lay the picture out for every width that a page can have."""
    shown = topology(spec)
    return {name: layout.place(shown, width=width, metrics=PICTURE) for name, width in html.PICTURE_WIDTHS.items()}
