"""Every statistic in every method names its estimand before a row is read, and the name is true to the method.

The questions are made of the grammar's own lists of verbs and methods, so a new one is asked here, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import get_args

import pytest

from reticent.data.query import Keys
from reticent.data.schema import Column, Person, Schema, Text, category, integer, real
from reticent.errors import QuestionError
from reticent.privacy.adjacency import Kind
from reticent.statistics.context import Setting, Step
from reticent.statistics.density import OfDensity
from reticent.statistics.grammar import parse
from reticent.statistics.hypotheses.hypothesis_test import OfTest
from reticent.statistics.moments.mean import OfMean
from reticent.statistics.prepare import estimand, prepare
from reticent.statistics.quantiles.iqr import OfIqr
from reticent.statistics.quantiles.rank_statistic import OfQuantiles
from reticent.statistics.registry import KINDS as VERBS
from reticent.statistics.regression.regress import OfRegression
from reticent.statistics.robust.scale import OfScale
from reticent.statistics.robust.trimmed_mean import OfTrimmed

KINDS: tuple[Kind, ...] = ("substitute", "add_remove")
TABLE = (
    "count",
    "persons",
    "capped",
    "sum",
    "histogram",
    "incomplete",
    "keys",
)  # of this table, and not of a population
SPECIAL = {
    "coinpress": "mean(x, method=coinpress, centre=0, radius=1000, deviation=2)",
    "smooth": "median(x, method=smooth)",
}


def questions() -> Iterator[tuple[str, str]]:
    """A verb and a question, for every verb and every method; a verb without methods is asked by its examples."""
    methods: dict[str, tuple[str, ...]] = {
        "mean": get_args(OfMean),
        "median": get_args(OfQuantiles),
        "quantile": get_args(OfQuantiles),
        "quantiles": ("auto", "separate", "joint"),
        "iqr": get_args(OfIqr),
        "scale": get_args(OfScale),
        "trimmed_mean": get_args(OfTrimmed),
        "regress": get_args(OfRegression),
        "density": get_args(OfDensity),
        "test": get_args(OfTest),
    }
    column = {"regress": "y ~ x"}
    extra = {"quantile": ", 0.9", "quantiles": ", 0.1 0.9"}
    tests = {
        "means": "test(x ~ g, kind=means)",
        "proportions": "test(h ~ g, kind=proportions, value=1)",
        "independence": "test(h ~ g, kind=independence)",
        "ranks": "test(x ~ g, kind=ranks)",
        "correlation": "test(x ~ y, kind=correlation)",
        "normal": "test(x, kind=normal)",
        "density": "test(x, kind=density, density=0.1)",
        "auto": "test(x ~ g)",
    }
    for verb in VERBS:
        if verb == "test":
            yield from ((verb, tests[kind]) for kind in methods["test"])
        elif verb in methods:
            for method in methods[verb]:
                if method == "coinpress":
                    yield verb, SPECIAL[method]
                elif verb in ("median", "quantile") and method == "joint":
                    continue  # for several levels
                else:
                    yield verb, f"{verb}({column.get(verb, 'x')}{extra.get(verb, '')}, method={method})"
        else:
            yield from ((verb, text) for text in VERBS[verb].examples)
    yield "mean", "mean(x, method=clipped, tail=normal)"
    yield "mean", "mean(x, per=person)"
    yield "mean", "mean(free, method=clipped)"
    yield "geometric_mean", "geometric_mean(free, low=0.5, high=9)"


ASKED = list(dict.fromkeys(questions()))


def setting(kind: Kind, rows: int, *, keyed: bool = False) -> Setting:
    columns: dict[str, Column] = {
        "x": real(0, 100, missing=0, resolution="0.1"),
        "y": integer(0, 100, missing=0),
        "free": real(resolution="0.1"),
        "g": category(["a", "b"]),
        "h": category([0, 1]),
    }
    keys = Keys("h", (0, 1), min(2, rows)) if keyed else None
    person = Person(kind, None if rows == 1 else "who", rows)
    return Setting(Schema(columns, person, texts={"t": Text()}), 200_000, keys, Fraction(1, 10**8))


def prepared(text: str, here: Setting) -> Step | None:
    """The step, or None where the method does not suit the circumstances, which it then refuses."""
    try:
        return prepare(parse(text), here, Fraction(2))
    except QuestionError:
        return None


def named(verb: str, text: str, here: Setting) -> str | None:
    """The estimand of a question; a density is prepared by the study and named by the same function."""
    if verb == "density":
        return estimand(parse(text), here)
    step = prepared(text, here)
    return None if step is None else step.estimand


def wrong(verb: str, text: str, words: str, here: Setting) -> str:
    """The first thing that the words should say and do not; empty where they say everything."""
    table = verb in TABLE or "kind=density" in text
    person = here.schema.person
    asked = parse(text)
    if not words:
        return "nothing is named"
    if ("this table" in words) != table or ("population" in words) == table:
        return "of the population or of this table"
    columns = [asked.statistic.column] if hasattr(asked.statistic, "column") else []
    if any(column not in words for column in columns):
        return "the column"
    bounded = verb in ("mean", "variance", "sd", "sum", "log_mean", "geometric_mean") and "clipped" not in text
    if bounded and "coinpress" not in text and "cut to [" not in words:
        return "the bounds"
    if "method=clipped" in text and "tail" not in text and not words.startswith("mean of"):
        return "that cut values are meant, and not the population mean"
    if "tail=" in text and "if its tails" not in words:
        return "the declared tail"
    if "per=person" in text and "each person's mean" not in words:
        return "the averages by person"
    one = person.rows == 1 or verb in ("persons", "capped", "test")
    totals = verb == "sum" and here.keys is None and "the total of each person cut to [" in words
    most = getattr(asked.statistic, "groups", None) or person.rows
    if not one and not totals and f"at most {most}" not in words:
        return "the cap on rows"
    if here.keys is not None and f"in each group of {here.keys.column}" not in words:
        return "the groups"
    return ""


@pytest.mark.parametrize(("verb", "text"), ASKED)
def test_every_statistic_in_every_method_names_its_estimand(verb: str, text: str) -> None:
    answered = 0
    for kind in KINDS:
        for rows in (1, 3):
            here = setting(kind, rows)
            words = named(verb, text, here)
            if words is not None:
                answered += 1
                assert wrong(verb, text, words, here) == "", f"{text}: {words}"
    assert answered > 0 or verb == "capped"


@pytest.mark.parametrize("text", ["count", "sum(x)", "mean(x)", "median(x)", "iqr(x)", "location(x)", "log_mean(free)"])
def test_groups_stand_in_the_estimand(text: str) -> None:
    verb = text.partition("(")[0]
    here = setting("add_remove", 1, keyed=True)
    words = named(verb, text, here)
    assert words is not None
    assert wrong(verb, text, words, here) == "", words


def test_the_questions_reach_every_verb() -> None:
    assert {verb for verb, _ in ASKED} == set(VERBS)


@pytest.mark.parametrize(
    ("verb", "text", "words", "missing"),
    [
        ("mean", "mean(x)", "", "nothing is named"),
        ("mean", "mean(x)", "population mean of x", "the bounds"),
        ("mean", "mean(x, method=clipped)", "population mean of x", "that cut values are meant"),
        ("count", "count", "number of rows in the population", "of the population or of this table"),
        ("median", "median(x)", "population median of y", "the column"),
    ],
)
def test_words_that_claim_too_much_are_found(verb: str, text: str, words: str, missing: str) -> None:
    assert wrong(verb, text, words, setting("add_remove", 1)).startswith(missing)
