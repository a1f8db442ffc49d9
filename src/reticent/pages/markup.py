"""Markup of pages: the Jinja2 templates of this folder, filled with values that are shown as text.

    render(name, values)    the text of a template
    trusted(text)           markup of our own making, such as a drawn figure: it is put in as it is
    stylesheet()            the one stylesheet, whose digest a policy may name

Every value is cleaned of characters that act instead of being seen, and then escaped, by one rule of the environment.
No template escapes anything itself, and none can forget to. Jinja2 is imported when the first page is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from reticent.data.format import plain

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(name: str, values: Mapping[str, object]) -> str:
    """The template ``name``.html filled with ``values``; one that it asks for and does not get is an error."""
    return _environment().get_template(f"{name}.html").render(values)


def trusted(text: str) -> Markup:
    """``text`` as markup, which is not escaped: what this package drew or wrote, and nothing from outside."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - the one place where text becomes markup


def stylesheet() -> str:
    """The stylesheet of every page, as it stands between the tags of ``style``."""
    return files("reticent.pages").joinpath("templates", "page.css").read_text("utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("reticent.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_text,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["style"] = trusted(stylesheet())
    return made


def _text(value: object) -> object:
    """A value as it is shown: markup as it stands, anything else as text without characters that act."""
    from markupsafe import Markup

    return value if type(value) is Markup else plain(str(value))
