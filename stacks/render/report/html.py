"""The report as one HTML file: it asks for nothing from anywhere, runs no script, and can be read without colours, a mouse or a screen."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..html_head import head
from ..picture import svg
from ..picture.shapes import Drawing
from ..picture.svg import text
from .contents import Column, Notice, Report, Section, Table

_STYLE = svg.STYLE + (Path(__file__).parents[1] / "page.css").read_text()
PICTURE_WIDTHS = {"wide": 1040, "medium": 720, "narrow": 328}
"""Pixels. The page shows one of the three, so that a picture's text is as large as the page's; page.css has the same names."""
_SHORT = 12
"""Characters of a cell that stays on one line: a number with its unit, a date."""


def page(report: Report, pictures: Mapping[str, Drawing]) -> str:
    """Write the page.

    Args:
        pictures: the same picture in each of `PICTURE_WIDTHS`.
    """
    return (
        "\n".join(
            [
                *head(f"{report.title}: cluster report", style=_STYLE),
                *_opening(report),
                *_pictures(pictures),
                *(line for section in report.sections for line in _section(section)),
                *_END,
            ]
        )
        + "\n"
    )


def _opening(report: Report) -> Iterator[str]:
    yield "<body>"
    yield '<a class="skip" href="#main">Skip to the report</a>'
    yield "<header>"
    yield f'<p class="where">{text(report.subtitle)}</p>'
    yield f"<h1>{text(report.title)}</h1>"
    if report.description:
        yield f'<p class="lead">{text(report.description)}</p>'
    if report.audience:
        yield f"<p>For: {text(report.audience)}</p>"
    yield '<dl class="figures">'
    for figure in report.figures:
        note = f"<dd>{text(figure.note)}</dd>" if figure.note else ""
        yield f'<div><dt>{text(figure.label)}</dt><dd class="value">{text(figure.value)}</dd>{note}</div>'
    yield "</dl>"
    yield '<nav aria-label="Sections"><ul>'
    yield '<li><a href="#picture">Picture</a></li>'
    for section in report.sections:
        yield f'<li><a href="#{section.key}">{text(section.title)}</a></li>'
    yield "</ul></nav>"
    yield "</header>"
    yield '<main id="main" tabindex="-1">'


def _pictures(pictures: Mapping[str, Drawing]) -> Iterator[str]:
    yield '<section id="picture" aria-labelledby="picture-heading">'
    yield '<h2 id="picture-heading">Picture</h2>'
    yield "<figure>"
    for name, drawing in pictures.items():
        yield svg.element(drawing, mark=name)
    yield "</figure>"
    yield "</section>"


def _section(section: Section) -> Iterator[str]:
    yield f'<section id="{section.key}" aria-labelledby="{section.key}-heading">'
    yield f'<h2 id="{section.key}-heading">{text(section.title)}</h2>'
    for paragraph in section.paragraphs:
        yield f"<p>{text(paragraph)}</p>"
    if section.terms:
        yield '<dl class="terms">'
        yield from (f"<div><dt>{text(term)}</dt><dd>{text(value)}</dd></div>" for term, value in section.terms)
        yield "</dl>"
    for entry in section.tables:
        yield from _table(entry)
    yield from (_notice(notice) for notice in section.notices)
    if section.points:
        yield '<ul class="points">'
        yield from (f"<li>{text(point)}</li>" for point in section.points)
        yield "</ul>"
    yield "</section>"


def _table(entry: Table) -> Iterator[str]:
    """Write a table; its roles are said, as narrow screens show each row as a card and browsers then forget that it is a table."""
    yield f'<div class="scroll" role="region" tabindex="0" aria-label="{text(entry.caption)}">'
    yield f'<table role="table"><caption>{text(entry.caption)}</caption>'
    yield '<thead role="rowgroup"><tr role="row">'
    yield from (f'<th role="columnheader" scope="col"{_looks(column, column.title)}>{text(column.title)}</th>' for column in entry.columns)
    yield "</tr></thead>"
    yield from _rows(entry, entry.rows, "tbody")
    if entry.totals:
        yield from _rows(entry, entry.totals, "tfoot")
    yield "</table></div>"


def _rows(entry: Table, rows: tuple[tuple[str, ...], ...], group: str) -> Iterator[str]:
    yield f'<{group} role="rowgroup">'
    for row in rows:
        first, *others = row
        yield f'<tr role="row"><th role="rowheader" scope="row">{text(first)}</th>'
        yield from (_cell(column, value) for column, value in zip(entry.columns[1:], others, strict=True))
        yield "</tr>"
    yield f"</{group}>"


def _cell(column: Column, value: str) -> str:
    return f'<td role="cell" data-label="{text(column.title)}"{_looks(column, value)}>{text(value)}</td>'


def _looks(column: Column, value: str) -> str:
    names = {"number": column.is_number, "whole": column.is_whole or 0 < len(value) <= _SHORT, "empty": not value}
    shown = [name for name, applies in names.items() if applies]
    return f' class="{" ".join(shown)}"' if shown else ""


def _notice(notice: Notice) -> str:
    return "\n".join(
        [
            f'<article class="notice {notice.level}">',
            f'<h3><span class="level">{text(notice.level)}</span> {text(notice.what)}</h3>',
            f"<p>{text(notice.why)}</p>",
            f'<p class="remedy">{text(notice.remedy)}</p>',
            f'<p class="place">{text(notice.place)}</p>',
            "</article>",
        ]
    )


_END = (
    "</main>",
    "<footer><p>Made by clusterwright from the blueprint and its catalogue, without asking an account. Nothing was built for it.</p></footer>",
    "</body>",
    "</html>",
)
