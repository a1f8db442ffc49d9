"""How the documentation is built: Markdown pages, and the reference taken from the docstrings of the public names."""

from __future__ import annotations

import re
import warnings
from typing import Any

import reticent

project = "reticent"
author = "The reticent authors"
project_copyright = author
version = release = reticent.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False

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


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", keep_own_headings, priority=100)
