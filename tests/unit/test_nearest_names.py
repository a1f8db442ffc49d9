"""Mistyped names: every refusal that proposes a word finds it by one rule."""

from __future__ import annotations

from pathlib import Path

import pytest

import reticent
from reticent.data.format import nearest
from reticent.errors import QuestionError
from reticent.statistics.grammar import parse

SRC = Path(reticent.__file__).parent


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("age", ["Age (years)", "ward"], "Age (years)"),
        ("Patient", ["Patient No.", "ward"], "Patient No."),
        ("WARD", ["ward", "bed"], "ward"),
        ("mdvsi", ["mdvis", "disea"], "mdvis"),
        ("cost", ["cost-a", "bed"], "cost-a"),
        ("x1", ["ward"], None),
        ("", ["ward"], None),
    ],
)
def test_a_name_is_found_whatever_its_capitals_and_by_its_first_word(
    word: str, known: list[str], meant: str | None
) -> None:
    assert nearest(word, known) == meant


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("min(age)", r"The min is one person's value\. Ask quantile\(age, 0\.01\)\."),
        ("max(age) by ward", r"Ask quantile\(age, 0\.99\)\."),
        ("correlation(x, y)", r"Did you mean test\(x ~ y, kind=correlation\)\?"),
        ("corr(x, y)", r"Did you mean test\(x ~ y, kind=correlation\)\?"),
        ("Men(x)", r"Did you mean mean\?"),
    ],
)
def test_a_word_of_other_tools_is_answered_with_what_to_write(text: str, says: str) -> None:
    with pytest.raises(QuestionError, match=says):
        parse(text)


def test_unknown_columns_keys_and_options_are_told_by_the_one_rule() -> None:
    """Another matcher may be written for values; names of columns, keys, verbs and options go by ``nearest``."""
    for module in ("data/spec.py", "statistics/options.py", "data/expression.py", "data/schema.py"):
        assert "nearest(" in (SRC / module).read_text("utf-8")
    for module in ("data/spec.py", "statistics/options.py"):
        assert "difflib" not in (SRC / module).read_text("utf-8")
