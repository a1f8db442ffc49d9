"""From a question about a linear model to a step: columns, units, bounds, n, method. No row is read.

n is that of the rows, every one of which counts, a value or not: public under substitution, declared under add/remove,
or else bought for 1/20 of epsilon. A row that lacks a value says nothing, and is where it would be if it had one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, Protocol

import attrs

from reticent.data.query import Records
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Integer
from reticent.entropy import Entropy, Replayed
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.outcome import NO_REPLY, NoReply, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.statistics import public_facts
from reticent.statistics.column_step import GroupPlan, GroupResult, PlannedStep
from reticent.statistics.context import NEVER, USUAL, ExpectedAccuracy, Setting, StepWork, of_tables, tables_words
from reticent.statistics.public_facts import kept
from reticent.statistics.regression import squares_step
from reticent.statistics.regression.adassp import AdaSSP
from reticent.statistics.regression.plans import (
    Bounds,
    Method,
    PlanChoice,
    RegressionOptions,
    made_up_rows,
    plan,
    units_of,
)
from reticent.statistics.regression.regress import Regression, robust_regression
from reticent.statistics.regression.rows import LARGEST_X, Integers
from reticent.statistics.robust.robust_step import usable
from reticent.statistics.unbounded.column_counts import ColumnTerms

CENSUS: Final = Fraction(1, 20)  # of epsilon, where the number of rows is bought
ANY_N: Final = 1 << 30  # enough rows for whatever is asked
TABLES: Final = 3  # made up for what a plan shows
MORE_TABLES: Final = 9  # where these do not agree on a reply
DEFAULT_UNIT: Final = Fraction(1, 1 << 20)
BY_TEST: Final = ("R_S", "R_H")
UNCHARGED: Final = " Nothing was charged."
BLOCKED: Final = (*BY_TEST, "block_medians", "tukey")
LARGEST_SHOWN: Final = (20_000, 80_000)  # rows of one; the larger where the smaller would decline


class RegressionMaker(Protocol):
    """Chooses and makes the method for a number of rows, or refuses."""

    def __call__(self, n: int, method: Method, epsilon: Fraction) -> PlanChoice: ...


@dataclass(frozen=True, slots=True)
class FixedSizeRegression:
    """A regression for a known number of rows."""

    work: ClassVar[StepWork] = StepWork(pairs=True)

    chosen: PlanChoice
    make: RegressionMaker
    epsilon: Fraction

    @property
    def guarantee(self) -> Guarantee:
        return self.chosen.guarantee

    def draw(self, data: Integers, entropy: Entropy) -> GroupResult:
        return _told(self.chosen, data, entropy)

    def expected(self, people: int) -> ExpectedAccuracy:
        return _shown(self.make, self.chosen.method, self.epsilon, self.chosen.design.size)


@dataclass(frozen=True, slots=True)
class CountedRegression:
    """A regression that buys the number of rows first; its method is settled beforehand."""

    work: ClassVar[StepWork] = StepWork(pairs=True)

    census: Geometric
    make: RegressionMaker
    method: Method
    epsilon: Fraction

    @property
    def _public(self) -> Guarantee:
        """Guarantee of the plan; it is the same for every number of rows."""
        return self.make(ANY_N, self.method, self.epsilon).guarantee

    @property
    def guarantee(self) -> Guarantee:
        return compose.in_sequence([self.census.guarantee, self._public], label="regression")

    def draw(self, data: Integers, entropy: Entropy) -> GroupResult:
        (noisy,) = gate.draw(self.census, (len(data),), entropy)
        try:
            chosen = self.make(max(noisy, 1), self.method, self.epsilon)
        except (QuestionError, PublicParameterError):  # refused by the noisy number alone, so it may show
            return GroupResult((NO_REPLY,) * _names(self))
        compose.check_charged(chosen.guarantee, self._public)
        return _told(chosen, data, entropy)

    def expected(self, people: int) -> ExpectedAccuracy:
        return _shown(self.make, self.method, self.epsilon, people)


def _names(bought: CountedRegression) -> int:
    return len(bought.make(ANY_N, bought.method, bought.epsilon).design.names)


def _told(chosen: PlanChoice, data: Integers, entropy: Entropy) -> GroupResult:
    match chosen.draw(data, entropy):
        case Reply(found):
            return GroupResult(tuple(Reply(estimate) for estimate in found.estimates), (found.words,))
        case NoReply():
            return GroupResult((NO_REPLY,) * len(chosen.design.names))


def _shown(make: RegressionMaker, method: Method, epsilon: Fraction, n: int) -> ExpectedAccuracy:
    """Expected half-widths for n rows, simulated on made-up tables of n rows or extrapolated from smaller ones."""
    for size in dict.fromkeys(min(n, most) for most in LARGEST_SHOWN):
        try:
            chosen = make(size, method, epsilon)
        except (QuestionError, PublicParameterError):
            continue
        found = _expected(chosen)
        if found.noise is None or found.sampling is None:
            return found
        more = size / n  # noise falls with n, sampling with its root
        return replace(found, noise=found.noise * more, sampling=found.sampling * math.sqrt(more))
    try:
        make(n, method, epsilon)
    except (QuestionError, PublicParameterError):
        return ExpectedAccuracy(None, None, "no reply: too few people for this ε and δ", NEVER)
    return ExpectedAccuracy(None, None, "of so many rows no widths are made up")


@lru_cache(maxsize=64)
def _expected(chosen: PlanChoice) -> ExpectedAccuracy:
    """The first slope's half-widths on made-up normal tables; bounded columns have 1/8 of their range as a spread."""
    found: list[tuple[float, float]] = []
    made, place, units = 0, 1 if chosen.design.intercept else 0, chosen.design.units
    pairs = chosen.plan.bounds if isinstance(chosen.plan, AdaSSP) else ()
    # y has the variance of all columns and of the errors together
    wide = tuple(float((high - low) / (8 * unit)) for (low, high), unit in zip(pairs, units, strict=False))
    wide = (wide[0] / math.sqrt(len(units)), *wide[1:]) if wide else ()
    scale = float(units[0] / units[1]) * (wide[0] / wide[1] if wide else 1.0)
    for key in range(MORE_TABLES):
        if key >= TABLES and len(found) in (0, key):
            break
        made += 1
        outcome = chosen.draw(made_up_rows(chosen.design, "normal", key, steps=wide), Replayed(f"expected {key}"))
        if isinstance(outcome, Reply):
            estimate = outcome.value.estimates[place]
            found.append((estimate.noise / scale, estimate.sampling / scale))
    replies = ((USUAL, of_tables(len(found), made)),)
    if not found:
        return ExpectedAccuracy(None, None, "no reply on made-up normal columns", replies)
    noise, sampling = (statistics.median(widths) for widths in zip(*found, strict=True))
    note = f"of a slope, for columns and errors of standard deviation 1; {tables_words(len(found), made)}"
    return ExpectedAccuracy(noise, sampling, note, replies, unit="sd")


def regress(asked: Regression, setting: Setting, epsilon: Fraction) -> PlannedStep[Integers]:
    """The coefficients of a linear model.

    Parameters
    ----------
    asked : Regression
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.

    Returns
    -------
    PlannedStep[Integers]

    Raises
    ------
    QuestionError
        Groups beside the question, or a method that cannot answer with the public facts and the loss there are.
    """
    if setting.keys is not None:
        raise QuestionError(f"{asked.name} is not asked by group. Nothing was charged.")
    if isinstance(setting.schema.column(asked.y), Category):
        raise QuestionError(
            f"{public_facts.name_of(asked.name, setting)}: {asked.y} is a category, and a line has numbers on the "
            "left. A category there is for a classifier: LogisticRegression of reticent.learning. Or ask for its "
            f"shares by groups, such as proportion({asked.y}, value=…) by cut({asked.on[0]}, …). Nothing was charged."
        )
    bounded, method, title = (
        squares_step.is_bounded(asked, setting),
        asked.method,
        public_facts.name_of(asked.name, setting),
    )
    chosen_for_it = method == "auto"
    if method == "robust":
        method = robust_regression(len(asked.on), intercept=asked.intercept, delta=setting.delta is not None)
        asked = attrs.evolve(asked, method=method)
    coded = any(isinstance(setting.schema.column(name), Category) for name in asked.on)  # no other method takes one
    if method == "least_squares" or (method == "auto" and (bounded or coded)):
        has_use_for(asked, setting, squared=True)
        return squares_step.least_squares(asked, setting, epsilon)
    has_use_for(asked, setting, squared=False)
    names = (asked.y, *asked.on)
    bounds = tuple(_bounds(name, setting) for name in names)
    units = tuple(_unit(name, asked, setting, pair) for name, pair in zip(names, bounds, strict=True))
    for name, unit in zip(names, units_of(names, units, bounds), strict=True):
        usable(unit, name)
    near, delta = setting.neighbours, setting.delta or Fraction(0)
    public = setting.units if setting.size_public and setting.schema.person.column is None else None

    def make(n: int, method: Method, epsilon: Fraction) -> PlanChoice:
        try:
            return plan(
                method,
                columns=(asked.y, asked.on),
                terms=ColumnTerms(near, None if public is None else n),
                epsilon=epsilon,
                delta=delta,
                n=n,
                units=units,
                bounds=bounds,
                mode=asked.ptr.mode,
                intercept=asked.intercept,
                blank="marked",
                options=RegressionOptions(blocks=asked.blocks),
            )
        except QuestionError as refusal:
            raise (_of_blocks(title, asked, refusal) if method in BY_TEST else refusal) from None

    found: GroupPlan[Integers]
    declared = setting.units if setting.schema.person.column is None else None
    if asked.ptr.mode == "paper" and declared is None:
        raise QuestionError(
            f"{asked.name}: mode paper has thresholds made from a public number of rows. Substitution with one row "
            "each has one, add_remove where [person] people is declared too. Nothing was charged."
        )
    if public is not None or declared is not None:
        chosen = make(public or declared or 1, method, epsilon)
        found = FixedSizeRegression(chosen, make, epsilon)
    else:
        share = epsilon * (1 - CENSUS)
        chosen = make(ANY_N, method, share)
        census = Geometric(L1(Fraction(near.rows), near), epsilon * CENSUS)
        found = CountedRegression(census, make, chosen.method, share)
    inner = tuple((("coefficient", name),) for name in chosen.design.names)
    return PlannedStep(
        title,
        Records(names, chosen.design.units),
        records,
        found,
        setting,
        near.rows,
        public_facts.labels(None, inner),
        (*_caveats(chosen, bounds, setting), *((chosen.why,) if chosen_for_it else ())),
        f"{chosen.estimand}: {asked.formula} in the population{kept('row', setting.schema.person)}",
    )


def has_use_for(asked: Regression, setting: Setting, *, squared: bool) -> None:
    """Refuse options that a method would not look at.

    Parameters
    ----------
    asked : Regression
    setting : Setting
        Public circumstances, a delta among them.
    squared : bool
        True for least squares.

    Raises
    ------
    QuestionError
        With the options.
    """
    spends = squared or asked.method in (*BY_TEST, "adassp")
    unused = [
        *(["mode"] if asked.ptr.mode == "paper" and asked.method not in BY_TEST else []),
        *(["delta"] if setting.delta is not None and not spends else []),
        *(["blocks"] if asked.blocks is not None and asked.method not in BLOCKED else []),
        *(["unit"] if asked.ptr.unit is not None and squared else []),
        *(["reference"] if asked.reference and not squared else []),
    ]
    if unused:
        raise QuestionError(
            f"{' and '.join(unused)} would change nothing in {asked.name}: R_S and R_H have a mode and a δ, least "
            "squares a δ and a reference, R_S, R_H, block_medians and tukey a number of blocks, columns without bounds "
            "a unit. Nothing was charged."
        )


def _of_blocks(title: str, asked: Regression, refusal: QuestionError) -> QuestionError:
    """Refusal of R_S or R_H: it names the question, its values, and a method that needs no delta."""
    other = robust_regression(len(asked.on), intercept=asked.intercept, delta=False)
    return QuestionError(
        f"{title}: {str(refusal).removesuffix(UNCHARGED)} These values are coefficients of blocks "
        f"of rows. method={other} needs no δ and fewer rows.{UNCHARGED}"
    )


def records(result: QueryResult) -> Sequence[Integers]:
    """The rows of the whole table."""
    assert result.records is not None
    return (result.records,)


def _bounds(name: str, setting: Setting) -> Bounds | None:
    column = setting.schema.column(name)
    if isinstance(column, Category):
        raise QuestionError(
            f"{name} is a category, and a robust line needs numbers. method=least_squares takes categories on the "
            "right, once every number has low and high in the study file. Nothing was charged."
        )
    if column.low is None or column.high is None:
        return None
    return Fraction(column.low), Fraction(column.high)


def _unit(name: str, asked: Regression, setting: Setting, bounds: Bounds | None) -> Fraction | None:
    """A step of the column: the resolution declared, 1 for whole numbers, made of the bounds, or the unit asked for.

    y, and the column of a Theil-Sen slope, may have arbitrarily fine steps. The exact arithmetic of the others holds
    2^15 steps of a column on the right, so the step must fit that range.
    """
    column = setting.schema.column(name)
    if bounds is not None:
        return None
    if asked.ptr.unit is not None:
        return asked.ptr.unit
    if isinstance(column, Integer):
        return Fraction(1)
    if isinstance(column, Category):
        return None
    pairwise = asked.method == "theil_sen" or (asked.method == "auto" and len(asked.on) == 1 and asked.intercept)
    return column.resolution or (DEFAULT_UNIT if name == asked.y or pairwise else None)


def _caveats(chosen: PlanChoice, bounds: Sequence[Bounds | None], setting: Setting) -> tuple[str, ...]:
    """Caveats on clipped values: to bounds if the method needs them, else to the range of its exact arithmetic."""
    design = chosen.design
    names = (design.y, *design.xs)
    if chosen.method == "adassp":
        found = [
            text
            for name, pair in zip(names, bounds, strict=True)
            for text in public_facts.caveats_of(name, pair, setting, "row")
        ]
    else:
        found = list(public_facts.caveats_of(design.y, None, setting, "row"))
    if chosen.method == "theil_sen":
        found.append(
            f"the interval of the slope supposes that {design.y} spreads nearly alike at every {design.xs[0]}: "
            "where one row in ten spreads three times as far, 95 % intervals hold some 88 %"
        )
    if chosen.method not in ("adassp", "theil_sen"):
        for name, unit in zip(design.xs, design.units[1:], strict=True):
            farthest = show(LARGEST_X * unit)
            found.append(f"values of {name} beyond {farthest} in size count as that; a coarser unit reaches farther")
    return tuple(dict.fromkeys(found))
