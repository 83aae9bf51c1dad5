"""Make HTML pages from the templates of this folder: each is one file that asks for nothing from anywhere and runs no script."""

import base64
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprints.message_text import printable

from . import tables

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, *, style: str, **values: Any) -> str:
    """Fill in a template.

    Args:
        style: the page's only style; its policy allows no other.
    """
    from markupsafe import Markup

    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _environment().get_template(template).render(**values, style=Markup(style), style_digest=digest)  # noqa: S704  (a file of this package)


def style(*names: str) -> str:
    """Read style sheets of the templates' folder."""
    return "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_safe,
    )
    made.filters["shown"] = _shown
    made.filters["capitalised"] = _capitalised
    return made


def _safe(value: Any) -> Any:
    """Write control characters out: none may reach a reader."""
    return printable(value) if type(value) is str else value


def _shown(cell: tables.Shown) -> str:
    return printable(tables.plain(cell))


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
