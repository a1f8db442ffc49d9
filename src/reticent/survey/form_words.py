"""Words of a respondent's page, in any language: one text file, checked before a page is made of it.

    english()          the file with the words of this package, to copy and translate
    read_words(path)   the words of such a file

A translation keeps every placeholder of a sentence, so that no page leaves out a chance. It says every sentence: a page
in two languages is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Final

from reticent.data.format import on_one_line
from reticent.errors import SpecError

LONGEST: Final = 4_000  # letters of one text
LARGEST: Final = 200_000  # bytes of a file
FREE: Final = ("consent", "contact")  # said by the survey team, or by nobody
NAMES: Final = ("lang", "direction")
SCRIPT: Final = (  # said after the page was opened
    *("need_number", "need_all", "need_consent", "nothing", "as_given", "sending", "received", "failed", "saved"),
    *("copied", "selected"),
)

PageWords = Mapping[str, str]


def english() -> str:
    """Text of the file with the words of this package."""
    return files("reticent.survey").joinpath("form_words.toml").read_text("utf-8")


@cache
def english_words() -> PageWords:
    """The words of this package."""
    return {name: str(text) for name, text in tomllib.loads(english()).items()}


def read_words(path: str | Path) -> PageWords:
    """The words of a file; those of an English one may be left out, and are those of the package.

    Raises
    ------
    SpecError
        For a file that cannot be read, a word that no page has, one that is missing, or a placeholder that was lost.
    """
    file = Path(path)
    try:
        raw = file.read_bytes()
        found = tomllib.loads(raw.decode("utf-8")) if len(raw) <= LARGEST else None
    except (OSError, ValueError):
        found = None
    if found is None:
        raise SpecError(f"The words of the page cannot be read: {file.name} must be a TOML file in UTF-8.")
    return checked(found)


def checked(found: Mapping[str, object]) -> PageWords:
    """The words, if a page can be made of them.

    Raises
    ------
    SpecError
        As ``read_words``.
    """
    ours = english_words()
    unknown = sorted(set(found) - set(ours))
    if unknown:
        raise SpecError(f"No page says '{unknown[0][:60]}'. Its words are {', '.join(ours)}.")
    missing = [name for name in ours if name not in found and name not in FREE]
    if found.get("lang", "en") != "en" and missing:
        raise SpecError(f"The page would be in two languages: {', '.join(missing)} must be said too.")
    words: dict[str, str] = {}
    for name, text in {**ours, **found}.items():
        if not isinstance(text, str) or len(text) > LONGEST or not (on_one_line(text) or name in FREE):
            raise SpecError(f"'{name}' is text of at most {LONGEST:,} letters on one line.")
        if not text.strip() and name not in FREE:
            raise SpecError(f"'{name}' says nothing.")
        if name not in FREE and _placeholders(text) != _placeholders(ours[name]):
            kept = ", ".join(sorted(f"{{{part}}}" for part in _placeholders(ours[name]))) or "no braces"
            raise SpecError(f"'{name}' must have {kept}, as in English, and no others.")
        words[name] = text
    if words["direction"] not in ("ltr", "rtl") or not words["lang"].replace("-", "").isalnum():
        raise SpecError('direction is "ltr" or "rtl", and lang a code of a language such as "de".')
    return words


def _placeholders(text: str) -> frozenset[str]:
    """Names in braces; a brace that stands alone, or holds more than a name, is none that English has."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        return frozenset({text})
    plain = all(not spec and conversion is None for _, _, spec, conversion in parts)
    return frozenset(name for _, name, _, _ in parts if name is not None) if plain else frozenset({text})
