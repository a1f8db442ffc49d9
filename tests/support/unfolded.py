"""Text as it was before it was folded to the width of a terminal."""

from __future__ import annotations

import re


def unfolded(text: str) -> str:
    """The text with every line that hangs below another put behind it."""
    return re.sub(r"\n {2,}", " ", text)
