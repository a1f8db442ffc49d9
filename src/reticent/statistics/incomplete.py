"""Share of incomplete rows: how many cells of a column are missing, cannot be read, or are not listed.

    columns_read(asked)                 columns of a statistic
    odd_columns(asked, keys, schema)    those of them that can hold odd cells
    IncompleteStep                      the share of rows with an odd cell in some columns, by geometric noise
    words(beside, schema)               the caveat beside an answer

A row is incomplete where a cell of these columns is odd, whatever public value stands in for it. Incomplete rows and
the others are protected together: adding or removing a person moves the pair by at most the rows kept of one person,
replacing one by twice that. Where every person has one row and their number is public, the first alone is drawn, and a
replaced person moves it by 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, assert_never

from reticent.data.query import Incomplete, Keys, Query, Rows
from reticent.data.schema import Key, Schema
from reticent.data.table import Result
from reticent.entropy import Entropy
from reticent.mechanisms import Geometric
from reticent.outcome import NO_REPLY, Estimate, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import show
from reticent.privacy.sensitivity import L1
from reticent.statistics.answer import Answer, Cell, IncompleteRows
from reticent.statistics.asked import (
    CapShare,
    Count,
    Histogram,
    IncompleteShare,
    Iqr,
    Location,
    Mean,
    People,
    Proportion,
    Quantiles,
    Regression,
    Scale,
    Statistic,
    Sum,
    TrimmedMean,
    Variance,
)
from reticent.statistics.counts import guarantee_of, noisy
from reticent.statistics.density import DensityOf
from reticent.statistics.estimand import odd_cells, whole_cells
from reticent.statistics.hypotheses.asked import HypothesisTest
from reticent.statistics.intervals import FEW, NONE, half_width, too_few
from reticent.statistics.logarithms import LogMean
from reticent.statistics.setting import Expected, Setting

WIDEST: Final = 0.1  # a share that would be known less well than this is not bought


def columns_read(asked: Statistic) -> tuple[str, ...]:
    """The columns whose odd cells can change what is estimated.

    None for a statistic that counts odd cells itself: the share of incomplete rows, a density with missing values.
    """
    match asked:
        case Count() | People() | CapShare() | IncompleteShare():
            return ()
        case Sum() | Mean() | Variance() | Proportion() | Histogram() | Quantiles() | Iqr():
            return (asked.column,)
        case Scale() | TrimmedMean() | Location() | LogMean():
            return (asked.column,)
        case Regression(y=y, on=on):
            return (y, *on)
        case DensityOf(columns=columns, missing=missing):
            return () if missing else columns
        case HypothesisTest(column=column, on=other):
            return (column,) if other is None else (column, other)
        case _:
            assert_never(asked)


def odd_columns(asked: Statistic, keys: Keys | None, schema: Schema) -> tuple[str, ...]:
    """The columns of a question, its groups included, that can hold odd cells: all but the complete ones."""
    read = (*columns_read(asked), *(() if keys is None else (keys.column,)))
    return tuple(name for name in dict.fromkeys(read) if not schema.column(name).complete)


def among(columns: tuple[str, ...], schema: Schema) -> str:
    """The part of an estimand that says which rows count: ``, among rows with a readable cost``."""
    dropped = [name for name in columns if schema.column(name).stand_in is None]
    taken = [f"an unreadable {name} counting as {_key(value)}" for name, value in _stand_ins(columns, schema)]
    readable = f"among rows with {whole_cells(dropped, schema)}" if dropped else ""
    return "".join(f", {part}" for part in (readable, *taken) if part)


def _stand_ins(columns: tuple[str, ...], schema: Schema) -> list[tuple[str, Key | Fraction]]:
    found = [(name, schema.column(name).stand_in) for name in columns]
    return [(name, value) for name, value in found if value is not None]


def _key(value: Key | Fraction) -> str:
    return show(value) if isinstance(value, Fraction) else str(value)


def incomplete_step(columns: tuple[str, ...], setting: Setting, epsilon: Fraction) -> IncompleteStep:
    """The step that tells the share of incomplete rows for ``epsilon``."""
    for name in columns:
        setting.schema.column(name)
    person, neighbours = setting.schema.person, setting.neighbours
    public = setting.units if setting.size_public and person.rows == 1 else None
    bound = 1 if public is not None else person.rows * (2 if neighbours.kind == "substitute" else 1)
    return IncompleteStep(columns, Geometric(L1(Fraction(bound), neighbours), epsilon), setting, public)


@dataclass(frozen=True, slots=True)
class IncompleteStep:
    """The share of rows with an odd cell in ``columns``; ``units`` is the number of rows where it is public."""

    columns: tuple[str, ...]
    mechanism: Geometric
    setting: Setting
    units: int | None
    estimand: str = ""

    @property
    def name(self) -> str:
        return IncompleteShare(self.columns).name

    @property
    def queries(self) -> tuple[Query, ...]:
        return (Incomplete(self.columns), Rows()) if self.units is None else (Incomplete(self.columns),)

    @property
    def guarantee(self) -> Guarantee:
        return guarantee_of(self.mechanism, self.setting, self.name)

    def answer(self, results: Sequence[Result], entropy: Entropy) -> Answer:
        ((odd,),) = results[0].vectors
        if self.units is None:
            ((rows,),) = results[1].vectors
            ((odd, rest),) = noisy([(odd, rows - odd)], self.mechanism, entropy)
            outcome = share_of(odd, odd + rest, self._scale, self._scale)
        else:
            ((odd,),) = noisy([(odd,)], self.mechanism, entropy)
            outcome = share_of(odd, self.units, self._scale, 0.0)
        return Answer(self.name, (Cell((), outcome),))

    @property
    def _scale(self) -> float:
        return float(self.mechanism.scale)

    def expected(self, people: int) -> Expected:
        """For one row each: with more rows the share is known better."""
        if people < 1 or (self.units is None and too_few(people, [self._scale, self._scale])):
            return Expected(None, None, FEW)
        return Expected(half_width(NONE, [self._scale]) / people, None)


def share_of(odd: float, rows: float, of_odd: float, of_rest: float) -> Outcome[Estimate]:
    """The share of noisy ``odd`` in ``rows``, with the scales of the noise of odd rows and of the rest (0: public)."""
    if rows < 1 or (of_rest and too_few(rows, [of_odd, of_rest])):
        return NO_REPLY
    share = min(max(odd / rows, 0.0), 1.0)
    scales = [of_odd * (1.0 - share), of_rest * share] if of_rest else [of_odd]
    radius = half_width(NONE, scales) / rows
    return Reply(Estimate(share, max(share - radius, 0.0), min(share + radius, 1.0), radius, 0.0))


def told_by(asked: Statistic, keys: Keys | None, schema: Schema, units: int | None) -> bool:
    """Whether the answer draws a noisy number of values beside a public number of rows, which tells the share free."""
    match asked:
        case Proportion(column=column) | Variance(column=column) | Mean(column=column, method="auto" | "bounded"):
            return _counted(column, Setting(schema, units, keys))
        case _:
            return False


def share_by_count(setting: Setting, column: str, present: float, scales: Sequence[float]) -> IncompleteRows | None:
    """The share of incomplete rows by a noisy number of values, post-processing; None where it does not tell it.

    Parameters
    ----------
    present : float
        The noisy number of rows with a value.
    scales : sequence of float
        Of its independent noises.
    """
    if not _counted(column, setting):
        return None
    if not setting.units:
        return IncompleteRows((column,), NO_REPLY)
    share, radius = 1.0 - present / setting.units, half_width(NONE, list(scales)) / setting.units
    value, low, high = (min(max(x, 0.0), 1.0) for x in (share, share - radius, share + radius))
    return IncompleteRows((column,), Reply(Estimate(value, low, high, radius, 0.0)))


def _counted(column: str, setting: Setting) -> bool:
    """Whether rows are as many as public units, and those without a value of a declared column are left out."""
    alone = setting.size_public and setting.keys is None and setting.schema.person.rows == 1
    declared = setting.schema.columns.get(column)  # none in a step within another, whose own share is told
    return alone and declared is not None and declared.stand_in is None


def words(beside: IncompleteRows, schema: Schema) -> str:
    """The caveat beside an answer, such as ``1.2 % of rows have a missing or unreadable cost: they are left out``."""
    columns = beside.columns
    which, rest = odd_cells(columns, schema), _instead(columns, schema)
    match beside.outcome:
        case None:
            return f"how many rows have {which} is not told, as it would be known to no better than ± 10 %: {rest}"
        case Reply(estimate):
            return f"{_percent(estimate)} of rows have {which}: {rest}"
        case _:
            return f"how many rows have {which} could not be told: {rest}"


def _instead(columns: tuple[str, ...], schema: Schema) -> str:
    if all(schema.column(name).stand_in is None for name in columns):
        return "they are left out"
    if any(schema.column(name).stand_in is None for name in columns):
        taken = "; ".join(f"for {name} {_key(value)} stands in" for name, value in _stand_ins(columns, schema))
        return f"they are left out, but {taken}"
    return "; ".join(f"{_key(value)} stands in for {name}" for name, value in _stand_ins(columns, schema))


def _percent(estimate: Estimate) -> str:
    """``1.2 % ± 0.4 %``, to the digits that the half-width is worth; ``at most 0.4 %`` where none may be there."""
    radius = 100 * estimate.noise
    digits = 0 if radius >= 0.95 else min(max(1, -math.floor(math.log10(radius))), 6) if radius > 0 else 1
    if estimate.low <= 0.0:
        step = 10.0**-digits
        return f"at most {math.ceil(100 * estimate.high / step - 1e-9) * step:.{digits}f} %"
    return f"{100 * estimate.value:.{digits}f} % ± {radius:.{digits}f} %"
