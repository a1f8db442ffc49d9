"""How the documentation is built: Markdown pages, and the reference taken from the docstrings of the public names."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import reticent

project = "reticent"
author = "The reticent authors"
project_copyright = author
version = release = reticent.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
autosummary_generate = False
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False

html_math_renderer = "mathml"  # formulas are drawn by the browser itself: pages load nothing from the network
html_theme = "pydata_sphinx_theme"
html_title = "reticent"
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}

# Headings of our docstrings that numpydoc does not know, and would leave out.
OWN_HEADINGS = ("Guarantee", "Accuracy", "Source", "Deviations")
warnings.filterwarnings("ignore", message="Unknown section", category=UserWarning)


def keep_own_headings(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Move each of our own sections under *Notes*, with its heading in bold."""
    kept, notes, target = [], [], None
    text = list(lines)
    for number, line in enumerate(text):
        following = text[number + 1] if number + 1 < len(text) else ""
        if line.strip() and re.fullmatch(r"-{3,}", following.strip()):
            target = notes if line.strip() in (*OWN_HEADINGS, "Notes") else kept
            if target is notes:
                notes += ["", f"**{line.strip()}.**", ""] if line.strip() != "Notes" else [""]
                continue
        if target is notes and re.fullmatch(r"-{3,}", line.strip()):
            continue
        (kept if target is None else target).append(line)
    if notes:
        lines[:] = [*kept, "", "Notes", "-----", *notes, ""]


class Room(SphinxDirective):
    """Names of a module: a table with one sentence each, then signature, parameters and methods of each.

    Without ``:names:`` they are those of ``__all__``, or the public classes and functions that the module defines.
    """

    required_arguments = 1
    option_spec = {"names": directives.unchanged_required}  # noqa: RUF012 - docutils reads it so

    def run(self) -> list[nodes.Node]:
        module = self.arguments[0]
        names = self.options.get("names", "").split() or public(importlib.import_module(module))
        lines = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [*(f"   {name}" for name in names), ""]
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
            options = ["   :members:"] * (kind == "class") + ["   :inherited-members:"] * all_ours(thing)
            lines += [f".. auto{kind}:: {name}", *options, ""]
        within = nodes.section()
        within.document = self.state.document
        self.state.nested_parse(StringList(lines, self.arguments[0]), self.content_offset, within)
        return within.children


def public(module: Any) -> list[str]:
    """Names that a module offers, in its own order."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    found = vars(module).items()
    own = [(name, thing) for name, thing in found if getattr(thing, "__module__", None) == module.__name__]
    return [name for name, thing in own if name[0] != "_" and (inspect.isclass(thing) or inspect.isfunction(thing))]


def all_ours(thing: object) -> bool:
    """True for a class that extends a value of ours and nothing else: the methods of the value are its own."""
    below = thing.__mro__[1:-1] if inspect.isclass(thing) else ()
    return bool(below) and all(one.__module__.startswith("reticent.") for one in below)


def keep_bars(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Show ``|x|`` of a docstring as it is written: Sphinx would look for a text to put in its place."""
    for number, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`.*?`)", line)
        lines[number] = "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)


def show_signature(_app: Any, what: str, _name: str, thing: Any, _options: Any, given: str, back: str) -> Any:
    """The constructor's parameters where a class catches all of them; none where some are private."""
    if what == "class" and given and ("*given" in given or re.search(r"[(,] *_\w", given)):
        parameters = list(inspect.signature(thing.__init__).parameters.values())[1:]
        private = any(parameter.name.startswith("_") for parameter in parameters)
        return ("" if private else str(inspect.Signature(parameters))), back
    return given, back


def show_formula(writer: Any, node: Any) -> None:
    """Write a formula as MathML, and stop there: its text has no other form."""
    display = "inline" if isinstance(node, nodes.math) else "block"
    try:
        made = convert(node.astext(), display=display)
        problem = re.search(r"\\[a-zA-Z]+", made)
    except Exception as error:
        made, problem = "", error
    if problem:
        logging.getLogger(__name__).warning("formula that is not read: %s: %r", node.astext(), problem, location=node)
    writer.body.append(made if display == "inline" else f"<p>{made}</p>")
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (show_formula, None), (show_formula, None))
    app.add_directive("room", Room)
    app.connect("autodoc-process-signature", show_signature)
    app.connect("autodoc-process-docstring", keep_bars, priority=90)
    app.connect("autodoc-process-docstring", keep_own_headings, priority=100)
