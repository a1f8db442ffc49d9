"""Mistyped names: every refusal that proposes a word finds it by one rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

import reticent
import reticent as rt
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


# --- what a refusal proposes can be pasted ----------------------------------------------------------------------------

PROPOSED: Final = re.compile(
    r"(?:Write for example: |Perhaps: |Ask |which level\? Write |by (?=cut\())(.+?)(?=\.(?: |$))"
    r"|Did you mean ([^?]*[( ][^?]*)\?"
)
WRONG: Final = (
    *("avg(cost)", "meen(cost) by ward", "std(cost)", "average(cost) where age >= 40 by ward", "prop(ill, value=1)"),
    *("percentile(cost, 90)", "quantile(cost)", "max(cost)", "minimum(cost) by ward", "range(cost)", "quartiles(age)"),
    *("ttest(cost, ward)", "anova(cost ~ ward)", "test(cost by ward)", "corr(cost, age)", "lm(cost ~ age)"),
    *("regress(cost, age)", "table(ward)", "crosstab(ward, ill)", "mode(age)", "histogramm(cost, edges=0:500:50)"),
    *("histogram(cost, bins=10)", "hist(cost, edges=0:500:100) by ward", "mean(cost, intervall=no)", "kde(cost)"),
    *("mean(cost) group by ward", "mean(cost) per ward", "sum(cost)/count", "sum(cost) / count(*) by ward"),
    *("count by age // 10", "count by age % 10", "count by cost", "mean(age^2)", "mean(sqrt cost)", "n", "people"),
    *("median(cost, ci=no)", "mean(cost, eps=0.1)", "quantile(cost, p=0.9)", "density(cost, missing=yes)"),
)


@pytest.fixture(scope="module")
def clinic() -> rt.Study:
    n = 4_000
    rows = {
        "cost": [float(k % 500) for k in range(n)],
        "age": [k % 100 for k in range(n)],
        "ward": ["north" if k % 3 else "south" for k in range(n)],
        "ill": [k % 2 for k in range(n)],
    }
    columns: dict[str, Any] = {
        "cost": rt.real(0, 500),
        "age": rt.integer(0, 100),
        "ward": rt.category(["north", "south"]),
        "ill": rt.category([0, 1]),
    }
    return rt.study(rows, adjacency="substitute", columns=columns, budget="10", delta="1e-6")


@pytest.mark.loop(12)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_refused_question_proposes_one_that_is_planned_as_it_stands(wrong: str, clinic: rt.Study) -> None:
    with pytest.raises(rt.ReticentError) as refused:
        clinic.plan([wrong], epsilon=1)
    said = str(refused.value).removesuffix(" Nothing was charged.")
    proposed = ["".join(pair) for pair in PROPOSED.findall(said)]
    assert proposed, said
    text = proposed[-1]
    text = f"count by {text}" if text.startswith("cut(") else text
    assert clinic.plan([text], epsilon=4).lines, said
