"""Made-up schemas and plans: what may be declared and asked, at random and often at its limits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from reticent.conformance.neighbours import KeyedDice
from reticent.data.design import SampleDesign
from reticent.data.schema import Category, Column, Integer, Missing, Person, Real, Schema, Text
from reticent.errors import PublicParameterError, Refusal
from reticent.privacy.adjacency import Kind
from reticent.privacy.cost import Cost
from reticent.statistics.counts.cap_share import CapShare
from reticent.statistics.counts.histogram import Histogram
from reticent.statistics.counts.incomplete_share import IncompleteShare
from reticent.statistics.density import DensityOf
from reticent.statistics.extensions import Extension
from reticent.statistics.hypotheses.hypothesis_test import HypothesisTest
from reticent.statistics.moments.proportion import Proportion
from reticent.statistics.registry import all_statistics
from reticent.statistics.regression.regress import Regression
from reticent.statistics.robust.scale import Scale
from reticent.statistics.statistic import Ask, OfColumn, Statistic
from reticent.study.allocation import settle
from reticent.study.formulas import keys_of

if TYPE_CHECKING:
    from reticent.privacy.cost import Cost
    from reticent.study.allocation import PreparedRelease

Extended: TypeAlias = Sequence[Extension]
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
TRIES: Final = 1000
PEOPLE: Final = 10_000  # a public number so large that no quantile is refused; the tables may have any number


def random_schema(dice: KeyedDice) -> Schema:
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
    person = Person(adjacency, "who" if several else None, dice.pick(CAPS) if several else 1, people)
    columns["w"] = Real(Fraction(0), Fraction(dice.pick(("1", "1/1000000", "1000000000"))))
    return Schema(columns, person, texts={"t": Text(5)}, design=SampleDesign())


def _real(dice: KeyedDice) -> Real:
    low, high = (Fraction(end) for end in dice.pick(RANGES))
    inside = low + (high - low) / 2
    outside = high + 1 if abs(high + 1) > 1 else high
    missing: Missing = "drop" if dice.chance(50) else dice.pick((inside, low, outside))
    resolution = dice.pick((None, None, None, (high - low) / 7))
    return Real(low, high, missing=missing, resolution=resolution, constant=dice.chance(10))


def _integer(dice: KeyedDice) -> Integer:
    low, high = dice.pick(WHOLE)
    missing: Missing = "drop" if dice.chance(70) else Fraction(dice.pick((low, high)))
    return Integer(low, high, missing=missing, constant=dice.chance(10))


def random_plan(
    schema: Schema, dice: KeyedDice, most: int = 3, kinds: Sequence[type[Statistic]] = (), extensions: Extended = ()
) -> PreparedRelease:
    """One to ``most`` questions with a price, by the code that prices a release; refused ones are asked anew.

    Parameters
    ----------
    schema : Schema
    dice : KeyedDice
    most : int
        Greatest number of questions.
    kinds : sequence of statistics
        Classes to choose from; by default all.
    extensions : sequence of Extension

    Returns
    -------
    PreparedRelease

    Raises
    ------
    PublicParameterError
        Every one of many was refused.
    """
    problem: object = None
    for _ in range(TRIES):
        several = (_asked(schema, dice, kinds or KINDS) for _ in range(dice.between(1, most)))
        asked = {item.name: item for item in several}
        within, currency = _limit(dice)
        units = PEOPLE if schema.person.adjacency == "substitute" else schema.person.people
        try:
            return settle(list(asked.values()), within, schema, units, currency, extensions=extensions)
        except Refusal as refusal:
            problem = refusal
    raise PublicParameterError(f"made_up made no question that can be asked in {TRIES} attempts: {problem}")


def _limit(dice: KeyedDice) -> tuple[Cost, str]:
    epsilon = Fraction(dice.pick(EPSILONS))
    if dice.chance(75):
        return Cost(epsilon, override="made up"), dice.pick(("approximate", "approximate", "zcdp"))
    delta = Fraction(1, 10**6)
    return Cost(None, epsilon**2 / 4, delta, "made up"), dice.pick(("approximate", "zcdp"))


def _asked(schema: Schema, dice: KeyedDice, kinds: Sequence[type[Statistic]]) -> Ask:
    kind = dice.pick(kinds)
    asked = Ask(kind.made_up(dice), unit=dice.pick(("row", "row", "person")) if kind.takes_per else "row")
    if asked.statistic.spends_delta and (asked.statistic.delta_in_rho or dice.chance(50)):
        asked = asked.at(delta=DELTA)
    if dice.chance(25) and kind not in (CapShare, IncompleteShare):
        asked = asked.at(dice.pick(EPSILONS), delta=asked.delta)
    if isinstance(schema.columns.get("who"), Integer) and isinstance(asked.statistic, OfColumn) and numeric(kind):
        asked = attrs.evolve(asked, statistic=attrs.evolve(asked.statistic, column="who"))
    if asked.unit == "row" and asked.statistic.takes_weight and dice.chance(30):
        asked = asked.weight("w")
    if dice.chance(60) or kind in (CapShare, IncompleteShare, HypothesisTest):
        return asked
    listed = (name for name, column in schema.columns.items() if isinstance(column, Category))
    column = dice.pick(tuple(name for name in listed if name != schema.person.column))
    declared = schema.columns[column]
    assert isinstance(declared, Category)
    among = dice.some(declared.among, 3) if dice.chance(30) else None
    return attrs.evolve(asked, groups=keys_of(schema, column, among, dice.pick((None, None, 1, 2))))


def numeric(kind: type[Statistic]) -> bool:
    """True if a statistic is of numbers alone."""
    return kind not in (Proportion, Histogram)


DELTA: Final = Fraction(1, 10**6)
# What is left out has replays of its own: propose-test-release, lines and densities (audit/exact_ptr, audit/models).
KINDS: Final = tuple(kind for kind in all_statistics() if kind not in (DensityOf, Regression, Scale))
