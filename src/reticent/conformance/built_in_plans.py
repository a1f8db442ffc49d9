"""The plans that are audited where no study is named: every statistic, under both relations.

    built_in()    questions about bounded columns, and densities
    robust()      statistics without bounds: by test, by joint choice, by smooth sensitivity, by blocks; mode paper
    made_up()     statistics of extensions, with options and schemas at random

A question is here because a verb of the language is (``tests/audit/test_report.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

from reticent.conformance.neighbours import KeyedDice
from reticent.conformance.schemas import PEOPLE, Extended, random_plan, random_schema
from reticent.data.design import PublicMargins, SampleDesign
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics.density import DensityOf, Detail
from reticent.study.allocation import PreparedRelease, settle
from reticent.study.formulas import understand

COLUMNS: Final[dict[str, Column]] = {
    "x": Real(Fraction(0), Fraction(10)),
    "y": Real(),
    "k": Integer(0, 9, missing=Fraction(0)),
    "g": Category(("a", "b", "c")),
    "b": Category((True, False)),
    "w": Real(Fraction(0), Fraction(5)),
}
QUESTIONS: Final = (
    ("count", "sum(x)", "mean(x)", "variance(k)", "median(x)", "histogram(x, edges=0:10:2)"),
    ("count by g", "mean(x) by b", "proportion(g, value=a)", "quantiles(y, 0.25 0.75)", "sd(x, per=person)"),
    ("test(x ~ b)", "test(k ~ x, kind=correlation)", "test(g ~ b, kind=proportions, value=a)"),
    ("persons by g", "sum(k) by g", "iqr(x)", "quantile(k, 0.9) by b", "histogram(g)", "mean(y, low=0, high=1)"),
    ("mean(x) weight w", "count weight w by g", "sum(k) weight w", "proportion(g, value=a) weight w where k > 2"),
    ("histogram(x, edges=0:10:2) weight w by b", "histogram(g) weight w", "mean(k, interval=no) weight w by b"),
    ("median(x) weight w", "quantiles(k, 0.25 0.75) weight w by b", "quantile(y, 0.9, interval=no) weight w"),
    ("regress(x ~ k + g) weight w",),
    ("log_mean(x)", "geometric_mean(k) by g", "mean(y, method=clipped)", "log_mean(x, per=person)"),
)
DESIGNED: Final = ("mean(x)", "sum(k)", "proportion(b, value=true)", "count", "mean(x) by g")
DESIGNS: Final = {
    "strata": SampleDesign(
        "w", strata="g", fractions=(("a", Fraction(1, 10)), ("b", Fraction(1, 2)), ("c", Fraction(0)))
    ),
    "margins": SampleDesign(
        "w", margins=PublicMargins("g", (("a", Fraction(9)), ("b", Fraction(5)), ("c", Fraction(1))))
    ),
}
DENSITIES: Final = (
    DensityOf("x", method="histogram", detail=Detail(cells=4)),
    DensityOf("x", method="series", detail=Detail(degree=2)),
)
PERSONS: Final[tuple[tuple[Kind, int], ...]] = (
    ("add_remove", 1),
    ("add_remove", 3),
    ("substitute", 1),
    ("substitute", 3),
)


SIZED: Final = 400  # people: as many as the regressions below need, and few enough to be made up for every pair
DELTA: Final = "delta=0.000001"
ALL: Final = (
    (20, (f"scale(k, {DELTA})", f"iqr(k, method=S, {DELTA})")),
    (
        20,
        (
            f"median(k, method=M, {DELTA})",
            "mean(x, method=coinpress, centre=0, radius=1000, deviation=2, delta=0.000001)",
        ),
    ),
    (20, ("location(x)", "trimmed_mean(k, 0.2, method=smooth)")),
    (20, (f"scale(k, {DELTA}) by g", f"median(k, method=M, {DELTA}) by g")),
    (20, ("location(x) by b", "median(x, method=smooth) by b")),
)
ONE_EACH: Final = (
    (20, (f"regress(k ~ x, method=R_S, {DELTA})", f"regress(k ~ x, method=R_H, {DELTA})")),
    (20, ("regress(k ~ x, method=theil_sen)", "regress(k ~ x, method=tukey)")),
    (
        30,
        (
            f"regress(k ~ x, method=R_S, mode=paper, {DELTA})",
            f"scale(k, mode=paper, {DELTA})",
            f"trimmed_mean(k, 0.2, method=TM, mode=paper, {DELTA})",
        ),
    ),
)


def built_in() -> Iterator[tuple[str, PreparedRelease, Schema]]:
    """Every statistic, under both relations, for persons of one row and of several."""
    for kind, rows in PERSONS:
        schema = Schema(COLUMNS, Person(kind, None if rows == 1 else "who", rows), design=SampleDesign())
        units = PEOPLE if kind == "substitute" else None
        for place, questions in enumerate(QUESTIONS, start=1):
            within = Cost(Fraction(len(questions)))
            name = f"plan {place}, {kind}, at most {rows} {'row' if rows == 1 else 'rows'} each"
            yield name, settle(understand(questions, schema), within, schema, units, "approximate"), schema
        for word, design in DESIGNS.items():
            drawn, within = replace(schema, design=design), Cost(Fraction(len(DESIGNED)))
            name = f"sample with {word}, {kind}, at most {rows} {'row' if rows == 1 else 'rows'} each"
            yield name, settle(understand(DESIGNED, drawn), within, drawn, units, "approximate"), drawn
        within = Cost(Fraction(6))
        name = f"densities, {kind}, at most {rows} {'row' if rows == 1 else 'rows'} each"
        yield name, settle(understand(DENSITIES, schema), within, schema, units, "approximate"), schema


def robust() -> Iterator[tuple[str, PreparedRelease, Schema]]:
    """Every statistic without bounds, at an epsilon at which it is no guess."""
    for kind, rows in PERSONS:
        people = SIZED if rows == 1 else None
        schema = Schema(COLUMNS, Person(kind, None if rows == 1 else "who", rows, people))
        each = f"{kind}, at most {rows} {'row' if rows == 1 else 'rows'} each"
        for place, (epsilon, questions) in enumerate((*ALL, *(ONE_EACH if rows == 1 else ())), start=1):
            within = Cost(Fraction(epsilon), override="made up")
            plan = settle(
                understand(questions, schema), within, schema, PEOPLE if people is None else people, "approximate"
            )
            yield f"robust {place}, {each}", plan, schema


SCHEMAS: Final = 8  # for each statistic of an extension


def made_up(extensions: Extended) -> Iterator[tuple[str, PreparedRelease, Schema]]:
    """Every statistic of the extensions, with options of its own making, on schemas at random; the same each time."""
    for kind in (kind for one in extensions for kind in one.statistics):
        for place in range(SCHEMAS):
            dice = KeyedDice(f"{kind.verb} {place}")
            schema = random_schema(dice)
            yield f"{kind.verb}, schema {place + 1}", random_plan(schema, dice, 1, (kind,), extensions), schema
