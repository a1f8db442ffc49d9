"""From a question about a linear model of bounded columns to its least squares. No row is read.

Which rows lack a value is private unless every column has a public stand-in, so the rows that count are told by the
sums. What a plan shows is what made-up rows show, drawn by the plan itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from reticent.data.design import SampleDesign
from reticent.data.expression_tree import key_text
from reticent.data.format import slope_unit
from reticent.data.order_statistics import ABSENT
from reticent.data.query import WEIGHT_ONE, Records, Weighing
from reticent.data.query_result import QueryResult
from reticent.data.schema import Category, Integer, Key
from reticent.entropy import Entropy
from reticent.errors import QuestionError
from reticent.outcome import NO_REPLY, Estimate, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.statistics import public_facts
from reticent.statistics.answer import NO_INTERVAL
from reticent.statistics.column_step import GroupResult, PlannedStep
from reticent.statistics.context import (
    ALWAYS,
    LIKELY,
    NEVER,
    ExpectedAccuracy,
    NumberWidths,
    Replies,
    Setting,
    of_tables,
    tables_words,
    values_of,
)
from reticent.statistics.price import Price
from reticent.statistics.public_facts import kept
from reticent.statistics.quantiles.shapes import ALIKE_WEIGHTS, WeightShape, of_weights
from reticent.statistics.regression.assumed_columns import (
    MIDDLE,
    RELATED,
    TABLES,
    AssumedWidths,
    RelatedWidths,
    further,
    of_shape,
    rows_of_keys,
    shown,
    usual,
)
from reticent.statistics.regression.coefficients import INTERCEPT
from reticent.statistics.regression.engine import Engine, engine
from reticent.statistics.regression.frame import MOST_KEYS, Block, CategoryKeys, Frame
from reticent.statistics.regression.prediction import PlainSquares
from reticent.statistics.regression.regress import Regression
from reticent.statistics.regression.squares import LeastSquares
from reticent.statistics.scaling import Integers, refuse_too_many
from reticent.statistics.shares import ASSUMED

FINE: Final = 20  # a unit is about 2^-FINE of a column's range
NONE: Final = (
    "by public numbers noise would hide the intervals of usual columns: coefficients are told for prediction, without "
    "intervals"
)
RULE: Final = (
    "where noise and the ridge move a coefficient by less than half of the largest plausible one. That one "
    "moves y across its range as the column crosses its own; columns are taken for independent, with a deviation of "
    f"{MIDDLE} of their range"
)
KEYS: Final = (
    ". Of a rare key it is told in half of tables with {:,} rows of it, in nine of ten with {:,}. Where the reference "
    "is rare, it takes {:,} and {:,} rows of that"
)
MOST_FEATURES: Final = 60


@dataclass(frozen=True, slots=True)
class Squares:
    """Least squares as a plan: records of y and the columns on ``units``, a category as the place of its key.

    Of weighted rows the weight is the last column, a whole number from 0 to WEIGHT_ONE. ``coefficients`` are their
    names and units, and ``weights`` the shapes of weights by the number of rows, for a plan.
    """

    plan: Engine
    units: tuple[Fraction, ...]
    coefficients: tuple[tuple[str, str], ...] = ()
    weights: Callable[[float], tuple[WeightShape, ...]] | None = None

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    def draw(self, data: Integers, entropy: Entropy) -> GroupResult:
        values = np.empty((len(data), len(self.units)))
        for place, unit in enumerate(self.units):
            values[:, place] = (data[:, place] + (0.0 if unit == 1 else 0.5)) * float(unit)
        values[data[:, 0] == ABSENT] = np.nan
        if isinstance(self.plan, LeastSquares) and self.plan.weighted:
            weights = np.clip(data[:, -1], 0, WEIGHT_ONE)
            weighed = self.plan.draw(values[:, 1:], values[:, 0], entropy, weights)
            return GroupResult(tuple(NO_REPLY if told is None else Reply(told) for told in weighed.estimates))
        found = self.plan.draw(values[:, 1:], values[:, 0], entropy)
        if isinstance(self.plan, PlainSquares):
            told = self.plan.tells(self.plan.people or round(found.n))
            bare = [Estimate(value, value, value, 0.0, 0.0) for value in found.values.tolist()]
            replies = tuple(Reply(one) if clear else NO_REPLY for one, clear in zip(bare, told, strict=True))
            return GroupResult(replies, (NONE,) if any(told) else ())
        return GroupResult(tuple(NO_REPLY if told is None else Reply(told) for told in found.estimates))

    @property
    def _farther(self) -> str:
        """Words of a plan on how columns of a shape are related, and on what makes their slopes far less certain."""
        several = len(self.plan.frame.numbers) > 1
        related = f", any two of them correlated at {RELATED}" if several else ""
        stronger = " or a correlation of 0.9" if several else ""
        return f"{related}. Half of that deviation{stronger} has about 4 times the noise, closer bounds less"

    def expected(self, people: int) -> ExpectedAccuracy:
        """Half-widths of each coefficient and the chance of a reply, simulated on made-up rows of public shapes.

        Those of the first slope stand for the answer.
        """
        if replace(self.plan, people=people).hopeless:
            return ExpectedAccuracy(None, None, "no reply: too few people for a slope at this ε", NEVER)
        if isinstance(self.plan, PlainSquares):
            clear = sum(self.plan.tells(people))
            if not clear:
                return ExpectedAccuracy(None, None, "no reply: noise would hide every slope", NEVER)
            told = f"{NONE}; {clear} of {len(self.plan.frame.features)} are told, {RULE}"
            return ExpectedAccuracy(None, None, told, ALWAYS)
        even, weights, *ends = (ALIKE_WEIGHTS,) * 2 if self.weights is None else self.weights(float(people))
        shapes = shown(self.plan, people, weights)
        assert shapes is not None
        assert not isinstance(self.plan, PlainSquares)
        more = further(self.plan, people, weights)
        if ends and more:  # the narrowest columns with the narrowest weights, the widest with the widest
            of_ends = (
                (further(self.plan, people, ends[0])[0], ends[0]),
                (further(self.plan, people, ends[-1])[1], ends[-1]),
            )
            more += tuple(replace(one, name=f"{one.name}, weights {weight.name}") for one, weight in of_ends)
        replies: Replies = (
            *((f"a deviation of {name}", of_tables(shape.some, TABLES)) for name, shape in shapes.items()),
            *((one.name, one.chance) for one in more),
        )
        note = _told_words(shapes)
        note += f"; {tables_words(TABLES, TABLES)}" if any(one.some == TABLES for one in shapes.values()) else ""
        if self.weights is not None:
            note += f"; weights {weights.words}"
        elif (rare := rows_of_keys(self.plan, people)) is not None:
            note += KEYS.format(*rare)
        each = [
            *(
                replace(of_shape(self.plan, people, name, weights), name=f"a deviation of {name}", each=one.each)
                for name, one in shapes.items()
            ),
            *more,
        ]
        others = [(one.name, *one.widths) for one in each if one.widths is not None]
        seldom = {one.name for one in more if (one.chances[one.first] or 0.0) < LIKELY}
        middle = usual(self.plan, people, even)
        typical, apart = f"a deviation of {MIDDLE}", tuple[str, ...]()
        noise, sampling = middle.widths or shapes[MIDDLE].widths or (None, None)
        if shapes[MIDDLE].widths is None:  # widths of another shape would fall as epsilon does: they stand apart
            told_of = [shape for shape in others if shape[0] not in seldom]
            if not told_of and middle.widths is None:
                return ExpectedAccuracy(None, None, note, replies)
            noise, sampling, apart = None, None, tuple(name for name, *_ in told_of[:1])
        which = apart[0] if apart else typical
        told_each = tuple(_number(at, *named, which, each) for at, named in enumerate(self.coefficients))
        note = f"of the first slope, for columns of this shape: {which}{self._farther}; {note}"
        found = noise, sampling, note, replies, tuple(others)
        return ExpectedAccuracy(*found, numbers=told_each, typical=typical, apart=apart)


def _number(at: int, name: str, unit: str, which: str, shapes: Sequence[RelatedWidths]) -> NumberWidths:
    """Half-widths and replies of one coefficient for columns of shape ``which``, and for each of ``shapes``."""
    told = {one.name: widths for one in shapes if (widths := one.each[at]) is not None}
    noise, sampling = told.get(which, (None, None))
    others = tuple((shape, noisy, sampled) for shape, (noisy, sampled) in told.items())
    replies = tuple((one.name, chance) for one in shapes if (chance := one.chances[at]) is not None)
    return NumberWidths(name, noise, sampling, unit, others, replies)


def _told_words(shapes: Mapping[str, AssumedWidths]) -> str:
    """In how many made-up tables every coefficient is told, by the deviation of the columns."""
    if all(shape.told == TABLES for shape in shapes.values()):
        return (
            f"every coefficient is told with a deviation of {public_facts.listed([*shapes], 'or')} of a column's range"
        )
    told = ", ".join(f"{shape.told} with a deviation of {name} of a column's range" for name, shape in shapes.items())
    return f"of {TABLES} made-up tables every coefficient is told in {told}"


def is_bounded(asked: Regression, setting: Setting) -> bool:
    """Tell if least squares is available: y and every number on the right have public bounds."""
    columns = [setting.schema.column(name) for name in (asked.y, *asked.on)]
    return not isinstance(columns[0], Category) and all(
        isinstance(column, Category) or (column.low is not None and column.high is not None) for column in columns
    )


def least_squares(
    asked: Regression,
    setting: Setting,
    epsilon: Fraction,
    weight: Weighing | None = None,
    sample: SampleDesign | None = None,
) -> PlannedStep[Integers]:
    """Least squares of ``asked`` for ``epsilon``, and for the delta of ``setting`` where the question names one.

    Parameters
    ----------
    asked : Regression
        The question.
    setting : Setting
        Public circumstances: schema, number of persons, groups and delta.
    epsilon : Fraction
        Price of the question.
    weight : Weighing, optional
        The weights of rows.
    sample : SampleDesign, optional
        The design of weighted rows.

    Returns
    -------
    PlannedStep[Integers]

    Raises
    ------
    QuestionError
        More coefficients than are told, or too few rows for any slope at this loss.
    """
    blocks, labels = _blocks(asked, setting)
    frame = Frame(blocks, _bounds(asked.y, asked, setting), asked.intercept)
    if len(frame.features) > MOST_FEATURES:
        raise QuestionError(f"{asked.name}: at most {MOST_FEATURES} coefficients are told. Nothing was charged.")
    near, names = setting.neighbours, (asked.y, *asked.on)
    delta = setting.delta or Fraction(0)
    people = setting.units if setting.schema.person.column is None else None
    refuse_too_many(people)
    complete = people is not None and not public_facts.may_be_incomplete(setting.schema.column(name) for name in names)
    price = Price(epsilon, delta, near, currency=setting.currency)
    if weight is not None and sample is not None:
        plan: Engine = LeastSquares(frame, price, people, times=sample.factor)
    else:
        person = setting.schema.person.as_declared
        supposed = values_of(setting.units or person.people or ASSUMED, person.rows, person)
        plan = engine(frame, price, people, complete=complete, supposed=supposed)
    if plan.hopeless:
        raise QuestionError(
            f"{asked.name}: {people:,} rows are too few for a slope at this ε. A larger ε, more rows or fewer columns "
            "would do. Nothing was charged."
        )
    if isinstance(plan, PlainSquares) and people is not None and not any(plan.tells(people)):
        raise QuestionError(
            f"{asked.name}: noise would hide every slope of {people:,} rows at this ε. A larger ε, more rows or fewer "
            "columns would do; LinearRegression predicts all the same. Nothing was charged."
        )
    units = tuple(_unit(name, setting) for name in names)
    coded = tuple(name for name in names if isinstance(setting.schema.column(name), Category))
    weighed = "" if weight is None else f", rows weighted by {weight.column}"
    return PlannedStep(
        public_facts.name_of(asked.name, setting),
        Records(names, units, coded)
        if weight is None
        else Records((*names, weight.column), (*units, weight.highest / WEIGHT_ONE), coded),
        records,
        Squares(
            plan,
            units,
            tuple((label, _coefficient_unit(label, asked, setting)) for label in labels),
            None if weight is None else partial(of_weights, weight, setting.schema),
        ),
        setting,
        near.rows,
        public_facts.labels(None, tuple(((_heading(plan), label),) for label in labels)),
        _caveats(asked, setting),
        f"least-squares coefficients of {asked.formula} in the population{weighed}, every number cut to its bounds"
        f"{plan.errors}"
        f"{kept('row', setting.schema.person)}",
    )


def _heading(plan: Engine) -> str:
    return NO_INTERVAL if isinstance(plan, PlainSquares) else "coefficient"


def records(result: QueryResult) -> Sequence[Integers]:
    """The rows of the whole table."""
    assert result.records is not None
    return (result.records,)


def _blocks(asked: Regression, setting: Setting) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """The columns on the right, and the names of their coefficients, the intercept's first."""
    blocks: list[Block] = []
    labels = [INTERCEPT] if asked.intercept else []
    left = list(asked.reference)
    for name in asked.on:
        column = setting.schema.column(name)
        if not isinstance(column, Category):
            blocks.append(_bounds(name, asked, setting))
            labels.append(name)
            continue
        if not 2 <= len(column.among) <= MOST_KEYS:
            raise QuestionError(f"{name} has 2 to {MOST_KEYS} keys in a linear model. Nothing was charged.")
        named = [key for key in left if str(key) in map(str, column.among)]
        if len(named) > 1:
            raise QuestionError(f"reference names {len(named)} keys of {name}. Nothing was charged.")
        left = [key for key in left if key not in named]
        keys = CategoryKeys(len(column.among), _place(column.among, named[0]) if named else 0)
        blocks.append(keys)
        labels += [f"{name}={key_text(column.among[place])}" for place in keys.others]
    if left:
        raise QuestionError(f"reference: {left[0]} is no key of a category in {asked.formula}. Nothing was charged.")
    if not asked.intercept and any(isinstance(block, CategoryKeys) for block in blocks):
        raise QuestionError(f"{asked.name}: coefficients of a category are told from its reference, so leave 0 out.")
    return tuple(blocks), tuple(labels)


def _bounds(name: str, asked: Regression, setting: Setting) -> tuple[Fraction, Fraction]:
    """The bounds of a column, or the refusal that names a question without bounds: a robust line of numbers."""
    numbers = [one for one in asked.on if not isinstance(setting.schema.column(one), Category)]
    line = (
        f"a robust line of {asked.y} on {numbers[0]} needs none: regress({asked.y} ~ {numbers[0]})" if numbers else ""
    )
    instead = line or f"ask median({asked.y}) by {asked.on[0]}"
    return setting.schema.bounded(name, asked.name, instead=f"{instead}. It")


def _coefficient_unit(label: str, asked: Regression, setting: Setting) -> str:
    """Unit of a coefficient in words: that of y, of a slope over that of its column."""
    y, x = asked.y, label
    if label in asked.on:
        return slope_unit(y, _declared_unit(y, setting), x, _declared_unit(x, setting))
    return _declared_unit(y, setting) or y


def _declared_unit(name: str, setting: Setting) -> str:
    column = setting.schema.column(name)
    return "" if isinstance(column, Category) else column.unit


def _place(among: Sequence[Key], key: Key) -> int:
    return [str(one) for one in among].index(str(key))


def _unit(name: str, setting: Setting) -> Fraction:
    """Size of one step of a column: 1 for whole numbers and keys, else a millionth of its range or finer."""
    column = setting.schema.column(name)
    if isinstance(column, Integer | Category):
        return Fraction(1)
    low, high = setting.schema.bounded(name, "a linear model")
    width = (high - low) / 2**FINE
    power = width.numerator.bit_length() - width.denominator.bit_length()
    return Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)


def _caveats(asked: Regression, setting: Setting) -> tuple[str, ...]:
    found: list[str] = []
    for name in (asked.y, *asked.on):
        column = setting.schema.column(name)
        bounds = None if isinstance(column, Category) else _bounds(name, asked, setting)
        found += public_facts.caveats_of(name, bounds, setting, "row")
    return tuple(dict.fromkeys(found))


__all__ = ["Squares", "is_bounded", "least_squares"]
