"""Made-up schemas and plans: what may be declared and asked, at random and often at its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from reticent.conformance.neighbours import Dice
from reticent.data.query import Per
from reticent.data.schema import Category, Column, Integer, Key, Missing, Person, Real, Schema
from reticent.errors import Refusal
from reticent.privacy.adjacency import Kind
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest, OfTest
from reticent.statistics.logarithms import LogMean, OfLogs
from reticent.statistics.specs import (
    CapShare,
    Count,
    Histogram,
    IncompleteShare,
    Iqr,
    Location,
    Mean,
    OfIqr,
    OfQuantiles,
    People,
    Proportion,
    Quantiles,
    Statistic,
    Sum,
    TrimmedMean,
    Variance,
)
from reticent.statistics.unbounded.tails import Tail

if TYPE_CHECKING:
    from reticent.privacy.cost import Cost
    from reticent.study.allocation import Asked, Prepared

RANGES: Final[tuple[tuple[int | str, int | str], ...]] = (
    (0, 1),
    ("-3/2", 3),
    (0, "1/1000000"),
    (2**50, 2**50 + 1),
    ("1/10", "3/10"),
    (-5, -2),
    (0, 10**12),
)
WHOLE: Final = ((0, 9), (-3, 3), (1, 3), (0, 1), (-(2**53), 2**53), (0, 100))
CAPS: Final = (1, 1, 2, 3, 5)
EPSILONS: Final = ("1/10", "1/2", "1", "3", "10")
LEVELS: Final = ("1/2", "1/4", "9/10", "1/100")
PEOPLE: Final = 10_000  # a public number so large that no quantile is refused; the tables may have any number


def random_schema(dice: Dice) -> Schema:
    """Columns of every kind, and a person of one or several rows."""
    columns: dict[str, Column] = {
        "x": _real(dice),
        "y": Real(resolution=dice.pick((None, None, Fraction(1, 10))), constant=dice.chance(10)),
        "k": _integer(dice),
        "g": Category(dice.pick((("a",), ("a", "b"), ("a", "b", "c"), ("", "é", "new"))), constant=dice.chance(15)),
        "h": Category(dice.pick(((1, 2, 3), (0, 1), (2**53, -1)))),
        "b": Category(dice.pick(((True, False), (True,)))),
    }
    adjacency: Kind = dice.pick(("add_remove", "substitute"))
    several = dice.chance(80)
    if several and dice.chance(20):
        declared: Column = Integer(0, 9) if dice.chance(50) else Category(("p5", "p6", "p7"))
        columns["who"] = declared  # the person column may be one that is asked for
    people = dice.pick((None, PEOPLE))
    return Schema(columns, Person(adjacency, "who" if several else None, dice.pick(CAPS) if several else 1, people))


def _real(dice: Dice) -> Real:
    low, high = (Fraction(end) for end in dice.pick(RANGES))
    inside = low + (high - low) / 2
    outside = high + 1 if abs(high + 1) > 1 else high
    missing: Missing = "drop" if dice.chance(50) else dice.pick((inside, low, outside))
    resolution = dice.pick((None, None, None, (high - low) / 7))
    return Real(low, high, missing=missing, resolution=resolution, constant=dice.chance(10))


def _integer(dice: Dice) -> Integer:
    low, high = dice.pick(WHOLE)
    missing: Missing = "drop" if dice.chance(70) else Fraction(dice.pick((low, high)))
    return Integer(low, high, missing=missing, constant=dice.chance(10))


def random_plan(schema: Schema, dice: Dice, most: int = 3) -> Prepared:
    """One to ``most`` questions with a price, by the code that prices a release; refused ones are asked anew."""
    from reticent.study.allocation import settle

    while True:
        asked = {item.statistic.name: item for item in (_asked(schema, dice) for _ in range(dice.between(1, most)))}
        within, currency = _limit(dice)
        units = PEOPLE if schema.person.adjacency == "substitute" else schema.person.people
        try:
            return settle(list(asked.values()), within, schema, units, currency)
        except Refusal:
            continue


def _limit(dice: Dice) -> tuple[Cost, str]:
    from reticent.privacy.cost import Cost

    epsilon = Fraction(dice.pick(EPSILONS))
    if dice.chance(75):
        return Cost(epsilon, override="made up"), dice.pick(("approximate", "approximate", "zcdp"))
    delta = Fraction(1, 10**6)
    return Cost(None, epsilon**2 / 4, delta, "made up"), dice.pick(("approximate", "zcdp"))


def _asked(schema: Schema, dice: Dice) -> Asked:
    from reticent.study.allocation import Asked, keys_of

    statistic = MAKERS[dice.pick(tuple(MAKERS))](dice)
    if dice.chance(25) and not isinstance(statistic, CapShare | IncompleteShare):
        statistic = replace(statistic, epsilon=Fraction(dice.pick(EPSILONS)))
    numeric = Mean | LogMean | Sum | Quantiles | Iqr | Location | TrimmedMean
    if isinstance(schema.columns.get("who"), Integer) and isinstance(statistic, numeric):
        statistic = replace(statistic, column="who")
    if dice.chance(60) or isinstance(statistic, CapShare | IncompleteShare | HypothesisTest):
        return Asked(statistic)
    column = dice.pick(tuple(name for name, column in schema.columns.items() if isinstance(column, Category)))
    declared = schema.columns[column]
    assert isinstance(declared, Category)
    among = dice.some(declared.among, 3) if dice.chance(30) else None
    return Asked(statistic, keys_of(schema, column, among, dice.pick((None, None, 1, 2))))


def _per(dice: Dice) -> Per:
    return dice.pick(("row", "row", "person"))


def _own(dice: Dice) -> tuple[Fraction | None, Fraction | None]:
    """Bounds of the question's own, seldom."""
    return (Fraction(-1), Fraction(2)) if dice.chance(10) else (None, None)


def _sum_of(dice: Dice) -> Statistic:
    low, high = _own(dice)
    return Sum(dice.pick(("x", "k")), low=low, high=high)


def _mean_of(dice: Dice) -> Statistic:
    low, high = _own(dice)
    if dice.chance(30):
        tail: Tail | None = dice.pick((None, None, "normal", Fraction(3)))
        return Mean(dice.pick(("x", "y", "k")), method="clipped", tail=tail, per=_per(dice), low=low, high=high)
    if dice.chance(15):
        delta, around = Fraction(1, 10**6), (Fraction(dice.pick((0, 5, -(10**6)))), Fraction(1000), Fraction(2))
        return Mean(dice.pick(("x", "y", "k")), method="coinpress", around=around, delta=delta, per=_per(dice))
    return Mean(dice.pick(("x", "k")), per=_per(dice), low=low, high=high, interval=dice.chance(70))


def _logs_of(dice: Dice) -> Statistic:
    verb: OfLogs = dice.pick(("log_mean", "geometric_mean"))
    low, high = (Fraction(1, 2), Fraction(2)) if dice.chance(10) else (None, None)
    return LogMean(dice.pick(("x", "y", "k")), verb=verb, per=_per(dice), low=low, high=high)


def _variance_of(dice: Dice) -> Statistic:
    low, high = _own(dice)
    return Variance(
        dice.pick(("x", "k")), root=dice.chance(50), per=_per(dice), low=low, high=high, interval=dice.chance(60)
    )


def _histogram_of(dice: Dice) -> Statistic:
    if dice.chance(50):
        return Histogram(dice.pick(("g", "h", "b")))
    edges = dice.pick((("-1", "0", "1", "3"), ("0", "1/10"), ("-2", "-1/2", "2.5", "1000000")))
    return Histogram(dice.pick(("x", "y", "k")), edges=tuple(Fraction(edge) for edge in edges))


def _quantiles_of(dice: Dice) -> Statistic:
    levels = tuple(Fraction(level) for level in dice.some(LEVELS, 3))
    low, high = _own(dice)
    method: OfQuantiles = dice.pick(("auto", "separate", "joint")) if len(levels) > 1 else "auto"
    column, interval = dice.pick(("x", "y", "k")), dice.chance(60)
    return Quantiles(column, levels, method=method, per=_per(dice), low=low, high=high, interval=interval)


def _iqr_of(dice: Dice) -> Statistic:
    low, high = _own(dice)
    method: OfIqr = dice.pick(("auto", "separate", "joint"))
    column, interval = dice.pick(("x", "y", "k")), dice.chance(60)
    return Iqr(column, method=method, per=_per(dice), low=low, high=high, interval=interval)


def _location_of(dice: Dice) -> Statistic:
    return Location(dice.pick(("x", "y", "k")), Fraction(dice.pick(("1/8", "2", "8"))), per=_per(dice))


def _trimmed_of(dice: Dice) -> Statistic:
    return TrimmedMean(dice.pick(("x", "k")), Fraction(dice.pick(("1/10", "1/4", "49/100"))), per=_per(dice))


def _test_of(dice: Dice) -> Statistic:
    """A hypothesis of each kind; one that does not fit the schema is refused, and another question made."""
    kind: OfTest = dice.pick(("means", "proportions", "independence", "ranks", "correlation", "normal", "density"))
    number, (group, other, *_) = dice.pick(("x", "k")), dice.shuffled(("g", "h", "b"))
    edges = tuple(Fraction(edge) for edge in dice.pick(((), (), ("-1", "0", "1", "3"), ("-2", "1000000"))))
    low, high = _own(dice)
    match kind:
        case "means":
            return HypothesisTest(number, group, kind=kind, low=low, high=high)
        case "proportions":
            values: dict[str, Key] = {"g": "a", "h": 1, "b": True}
            value = values[other]
            return HypothesisTest(other, group, kind=kind, value=value if dice.chance(70) else None)
        case "independence":
            return HypothesisTest(other, group, kind=kind)
        case "ranks":
            return HypothesisTest(number, group, kind=kind, edges=edges, low=low, high=high)
        case "correlation":
            return HypothesisTest("x", "k", kind=kind, low=low, high=high)
        case "density":
            return HypothesisTest(number, kind=kind, density=Fraction(dice.pick(("1/100", "1/2", "3"))))
        case _:
            centre, deviation = dice.pick(((None, None), (Fraction(0), Fraction(2))))
            return HypothesisTest(
                number, kind="normal", edges=edges, centre=centre, deviation=deviation, low=low, high=high
            )


MAKERS: Final[Mapping[str, Callable[[Dice], Statistic]]] = {
    "count": lambda dice: Count(),
    "persons": lambda dice: People(),
    "sum": _sum_of,
    "mean": _mean_of,
    "log_mean": _logs_of,
    "proportion": lambda dice: Proportion(dice.pick(("g", "h", "b")), value=dice.pick((None, "a", "1", "True"))),
    "variance": _variance_of,
    "histogram": _histogram_of,
    "quantiles": _quantiles_of,
    "iqr": _iqr_of,
    "location": _location_of,
    "trimmed_mean": _trimmed_of,
    "capped": lambda dice: CapShare(),
    "incomplete": lambda dice: IncompleteShare(tuple(dice.some(("x", "y", "k", "g", "h", "b"), 3))),
    "test": _test_of,
}
