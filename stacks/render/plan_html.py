"""The plan of a cluster as one HTML page: its picture, all that a plan shows, and the findings."""

import dataclasses
import re
from collections.abc import Sequence

from blueprints.finding import Finding
from blueprints.load import Loaded
from blueprints.spec import ClusterSpec

from . import finding_list, html, plan_view, tables
from .picture import layout, svg
from .picture.shapes import Drawing
from .picture.text_metrics import PICTURE
from .picture.topology import topology
from .plan_view import PlanView

PICTURE_WIDTHS = {"wide": 1040, "medium": 720, "narrow": 328}
"""Pixels. The page shows one of the three, so that a picture's text is as large as the page's; page.css has the same names."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Section:
    key: str
    title: str
    lead: str
    parts: tuple[tables.Table | tables.Facts, ...]


def of_blueprint(loaded: Loaded) -> str:
    """Write the page of a blueprint."""
    view = plan_view.view(loaded.spec)
    return page(view, audience=loaded.blueprint.audience, findings=finding_list.folded(loaded.findings), accepted=loaded.suppressed)


def page(view: PlanView, *, audience: str = "", findings: Sequence[Finding] = (), accepted: Sequence[Finding] = ()) -> str:
    """Write the page of a plan.

    Args:
        audience: for whom the blueprint is, in its own words.
        accepted: findings that the blueprint accepts for a time.
    """
    from markupsafe import Markup

    shown = ((section, section.shown(detailed=True)) for section in view.sections)
    sections = [_Section(_key(number, section), _title(number, section), section.lead, parts) for number, (section, parts) in enumerate(shown) if parts]
    drawn = [Markup(svg.element(drawing, mark=name)) for name, drawing in pictures(view.cluster).items()]  # noqa: S704  (svg escapes what it writes)
    style = html.style("picture.css", "page.css")
    return html.page("plan.html.j2", style=style, view=view, audience=audience, sections=sections, pictures=drawn, findings=findings, accepted=accepted)


def pictures(spec: ClusterSpec) -> dict[str, Drawing]:
    """Lay the picture out for every width that a page can have."""
    shown = topology(spec)
    return {name: layout.place(shown, width=width, metrics=PICTURE) for name, width in PICTURE_WIDTHS.items()}


def _title(number: int, section: tables.Section) -> str:
    """Give the heading; the page has the first section's title above everything."""
    return section.title if number else "Overview"


def _key(number: int, section: tables.Section) -> str:
    return re.sub(r"[^a-z]+", "-", _title(number, section).partition(",")[0].lower())
