"""Theil and Sen's regression on one column, without bounds: a private median of the slopes of random pairs of rows.

    slope       rows are dealt into disjoint pairs, ``rounds`` times, by coins that do not look at them; a private
                median of the slopes of all pairs (``middle``)
    intercept   a private median of y - slope x, and of x, which tells how far an error of the slope turns it

One row is in one pair of each round, at most. Pairs with equal x have no slope and are not counted. If the number of
rows is private, a row's coin tells its cell, of size / 2, and its place among the rows of the cell. The first two of
a cell are its pair, so that both adjacencies have one estimand. Some .59 of the cells have a pair.

With one round the median of n / 2 slopes has 2.2 times the error of least squares on normal data. With r rounds there
are r times as many slopes, and a row changes r of them. So privacy costs the same, and the error falls towards the 1.05
of all pairs. Sampling error: the signs of two rounds have correlation 2/9, or up to 1/3 where many x are equal. This
holds for every law of the errors that is the same at every x and has no ties. Where errors spread more at some x it is
up to .35 on public tables, .26 in the median. So a quarter more is taken.

Source: Theil 1950, Sen 1968; Alabi, McMillan, Sarathy, Smith and Vadhan 2022, DPTheilSen. Deviations: no bounds, by the
public prior of ``data.candidates``; exact sampling; both adjacencies; intervals. Proof: docs/proofs/regression.md,
section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from reticent.data.candidates import Cells
from reticent.entropy import Entropy
from reticent.errors import PublicParameterError, QuestionError
from reticent.mechanisms.exponential import Exponential
from reticent.outcome import NO_REPLY, Estimate, NoReply, Outcome, Reply
from reticent.privacy import compose
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import Linf
from reticent.statistics.rank_blocks import draw
from reticent.statistics.ranks import cell_share, runs, sensitivity
from reticent.statistics.regression.coefficients import Coefficients, Floats, RegressionDesign
from reticent.statistics.regression.rows import Integers
from reticent.statistics.regression.tukey_point import HALF, Middle
from reticent.statistics.unbounded.column_counts import against_prior

ROUNDS: Final = 16
SPREAD: Final = 1.25  # errors that spread differently at different x make pairs agree more
ALIKE: Final = SPREAD * 2.0 / 9.0
MOST_ALIKE: Final = SPREAD / 3.0  # where many rows have equal x, as in a column of two values
PAIRED: Final = 1.0 - 3.0 * math.exp(-2.0)  # of the cells that rows choose by coins, two for each: they hold a pair
ORDERS: Final = 1 << 16  # places in the order of a cell's rows
PEAK: Final = 0.29  # slopes of pairs: .318 for a normal column, .269 for one of two values
SLOPE: Final = Fraction(7, 10)  # of epsilon where there is an intercept
TURN: Final = Fraction(1, 5)  # of the rest, for the median of x


@dataclass(frozen=True)
class TheilSen:
    """Slope, and intercept where the design has one, for ``epsilon``; candidates are ``cells``.

    Guarantee
    ---------
    epsilon-differential privacy for the neighbours of the design: medians of records and of rows, in sequence.

    Accuracy
    --------
    95 % intervals; the slope's from ranks, the intercept's from the slope's and from those of the residuals.
    """

    design: RegressionDesign
    cells: Cells
    epsilon: Fraction
    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if len(self.design.xs) != 1:
            raise PublicParameterError("Theil-Sen is for one column; take block medians for more")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 1 <= self.rounds <= 64:
            raise PublicParameterError(f"rounds must be an integer between 1 and 64, got {self.rounds}")
        if not self.middle.hopeful or (self.design.intercept and not self._settled):
            raise QuestionError(
                f"Theil-Sen at this ε would be a guess: {self.design.size:,} rows cannot outweigh the public prior. "
                "A larger ε, or more rows, would do. Nothing was charged."
            )

    @property
    def _settled(self) -> bool:
        """True if the public number of rows suffices for an intercept."""
        ranks = self.design.size / 2.0
        return self.left.hopeful and self.left.rate(self.turn) * ranks >= against_prior(cell_share(self.cells))

    @property
    def cellular(self) -> bool:
        """True if each row chooses its cell by its own coin, since the number of rows is private."""
        return self.design.terms.values is None

    @property
    def cells_of_rows(self) -> int:
        """Cells that the rows of one round are dealt into."""
        return max(1, self.design.size // 2)

    @property
    def pairs(self) -> int:
        """Pairs of one round: on average, where rows choose their cells."""
        return max(1, int(self.cells_of_rows * (PAIRED if self.cellular else 1.0)))

    @cached_property
    def middle(self) -> Middle:
        share = SLOPE if self.design.intercept else Fraction(1)
        share_of_rows = PAIRED if self.cellular else 1.0  # rows that are in a pair: two rounds share so many fewer
        return Middle(
            self.cells,
            self.design.terms.neighbours,
            self.rounds * self.design.dealt,
            2 * self.rounds * self.design.dealt,
            self.rounds * self.pairs,
            1,
            self.epsilon * share,
            rounds=self.rounds,
            alike=ALIKE * share_of_rows,
            crowded=self.design.terms.rows,
            peak=PEAK,
            most_alike=MOST_ALIKE * share_of_rows,
        )

    @cached_property
    def left(self) -> Middle:
        """Median of y - slope x, with one record for each row."""
        terms, rest = self.design.terms, self.epsilon * (1 - SLOPE)
        rows = terms.rows
        moved = rows * sensitivity(HALF, terms.neighbours.kind)
        epsilon = rest * (1 - TURN)
        return Middle(self.cells, terms.neighbours, rows, moved, self.design.size, 1, epsilon, crowded=rows)

    @cached_property
    def turn(self) -> Exponential:
        """Mechanism of the median of x."""
        terms = self.design.terms
        moved = terms.rows * sensitivity(HALF, terms.neighbours.kind)
        return Exponential(Linf(Fraction(moved), terms.neighbours), self.epsilon * (1 - SLOPE) * TURN)

    @property
    def guarantee(self) -> Guarantee:
        parts = [self.middle.guarantee]
        if self.design.intercept:
            parts += [self.left.guarantee, self.turn.guarantee]
        return compose.in_sequence(parts, label="Theil-Sen")

    def draw(self, table: Integers, entropy: Entropy) -> Outcome[Coefficients]:
        """The slope and the intercept, or no reply where too few pairs have a slope."""
        kept, there = self.design.held(table)
        (scale,) = self.design.scales[-1:]
        slopes = [pair_slopes(kept[there], self._dealt(len(kept), entropy)[there]) * scale for _ in range(self.rounds)]
        found = self.middle.draw([np.concatenate(slopes)], entropy)
        match found:
            case NoReply():
                return NO_REPLY
            case Reply((slope,)):
                pass
        name = self.design.xs[0]
        about = "about " if self.cellular else ""
        words = f"median slope of {self.rounds} x {about}{self.pairs:,} random pairs of rows"
        if not self.design.intercept:
            return Reply(Coefficients((name,), (slope,), words))
        y, x = (kept[there, place] * float(unit) for place, unit in enumerate(self.design.units))
        intercept = self._intercept(y, x, slope, entropy)
        if isinstance(intercept, NoReply):
            return NO_REPLY
        return Reply(Coefficients(self.design.names, (intercept.value, slope), f"{words}; median of what is left"))

    def _dealt(self, n: int, entropy: Entropy) -> Integers:
        """The cell of each of n rows, times ``ORDERS``, and its place in the order of the cell's rows."""
        if self.cellular:
            return self.design.labels(n, self.cells_of_rows * ORDERS, entropy)
        return self.design.labels(n, self.cells_of_rows, entropy) * ORDERS

    def _intercept(self, y: Floats, x: Floats, slope: Estimate, entropy: Entropy) -> Outcome[Estimate]:
        """From the released slope, whose error turns the line around the middle of x."""
        outcome = self.left.draw([y - slope.value * x], entropy)
        middle = draw(runs(self.cells, self.left.counted(x)), HALF, 0, self.turn, entropy)
        arm = abs(float(self.cells.value(middle)))
        match outcome:
            case NoReply():
                return NO_REPLY
            case Reply((found,)):
                turned = arm * max(slope.high - slope.value, slope.value - slope.low)
                return Reply(
                    Estimate(
                        found.value,
                        found.value - math.hypot(found.value - found.low, turned),
                        found.value + math.hypot(found.high - found.value, turned),
                        math.hypot(found.noise, arm * slope.noise),
                        math.hypot(found.sampling, arm * slope.sampling),
                    )
                )
            case _:
                raise AssertionError("one column has one estimate")


def pair_slopes(rows: Integers, dealt: Integers) -> Floats:
    """Slopes of the first two rows of each cell, where their x differ, in steps.

    Differences of rows are exact: a slope is a function of the rows of its own cell and of their order, and equal x are
    told from different ones without rounding.

    Parameters
    ----------
    rows : array of int
        y and x of each row that has both, in steps, shape (n, 2).
    dealt : array of int
        Cell of each row and its place there, shape (n,): the cell times ``ORDERS``, and the place.

    Returns
    -------
    array of float
        Slopes, shape (pairs with different x,).
    """
    order = np.argsort(dealt, kind="stable")
    cells = dealt[order] // ORDERS
    begins = np.concatenate([[True], cells[1:] != cells[:-1]])[: len(cells)]
    paired = np.flatnonzero(begins[:-1] & ~begins[1:])
    y, x = (rows[order[paired + 1]] - rows[order[paired]]).T
    return np.asarray(y[x != 0].astype(np.float64) / x[x != 0].astype(np.float64))
