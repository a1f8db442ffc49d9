"""Medians of the coefficients of blocks: any number of columns, without bounds, by the exponential mechanism.

    blocks    rows into public blocks, ``rounds`` times, by coins that do not look at them; each block's least-squares
              coefficients, exactly (``blocks``)
    medians   a private median of every coefficient, and its interval (``middle``)

R_S of 003 with another inner median: no test, no delta, and the noise of one median is 2 ranks / epsilon instead of a
width. Blocks that determine no coefficients are not counted. One round of large blocks has 1.25 times the error of
least squares on normal data, by the median's efficiency. Further rounds cost no privacy and bring that ratio towards 1.

Source: 003 section 7.1; Smith 2011 for the exponential mechanism of a quantile. Deviations: rounds; intervals. Sampling
error of several rounds: blocks that share a row agree by 2 / pi of a row's worth, as jointly normal coefficients do.
Proof: docs/proofs/regression.md, section 10.
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
from reticent.outcome import NO_REPLY, NoReply, Outcome, Reply
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.numbers import positive
from reticent.statistics.regression.blocks import solved
from reticent.statistics.regression.coefficients import PLACES, Coefficients, Floats, RegressionDesign
from reticent.statistics.regression.rows import Integers
from reticent.statistics.regression.tukey_point import Law, Middle

ROUNDS: Final = 4
ALIKE: Final = 2.0 / math.pi
SIZES: Final = (40, 30, 20, 14, 10, 8, 6, 5, 4, 3, 2, 1)  # rows of a block for each coefficient


@dataclass(frozen=True)
class BlockMedians:
    """Coefficients by private medians over ``count`` blocks in each of ``rounds`` rounds, for ``epsilon``.

    Guarantee
    ---------
    epsilon-differential privacy for the neighbours of the design.

    Accuracy
    --------
    95 % intervals for the median of the law of a block's coefficients, which are the coefficients themselves where
    errors are symmetric.
    """

    design: RegressionDesign
    cells: Cells
    epsilon: Fraction
    count: int
    rounds: int = ROUNDS
    law: Law = "each"
    places: int = PLACES

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 1 <= self.rounds <= 64:
            raise PublicParameterError(f"rounds must be an integer between 1 and 64, got {self.rounds}")
        if self.count * len(self.design.names) > self.design.size:
            raise PublicParameterError("a block has at least as many rows as there are coefficients")
        if not self.middle.hopeful:
            raise QuestionError(
                f"block medians at this ε would be a guess: {self.count:,} blocks cannot outweigh the public prior. "
                "A larger ε, fewer columns or more rows would do. Nothing was charged."
            )

    @cached_property
    def middle(self) -> Middle:
        return medians_of(self.design, self.cells, self.epsilon, self.count, self.rounds, self.law)

    @property
    def guarantee(self) -> Guarantee:
        return self.middle.guarantee

    def records(self, table: Integers, entropy: Entropy) -> list[Floats]:
        """For each coefficient those of all blocks that determine them, in units of the columns."""
        data = self.design.exact(table, self.places)
        found = [
            solved(data, self.design.labels(len(data), self.count, entropy), self.count) for _ in range(self.rounds)
        ]
        kept = np.concatenate([steps[~singular] for steps, singular in found])
        return [kept[:, d] * scale for d, scale in enumerate(per_step(self.design, self.places))]

    def draw(self, table: Integers, entropy: Entropy) -> Outcome[Coefficients]:
        found = self.middle.draw(self.records(table, entropy), entropy)
        match found:
            case NoReply():
                return NO_REPLY
            case Reply(estimates):
                what = "medians" if self.law == "each" else "a deep point"
                words = f"{what} of the least-squares coefficients of {self.rounds} x {self.count:,} random blocks"
                return Reply(Coefficients(self.design.names, estimates, words))


def medians_of(design: RegressionDesign, cells: Cells, epsilon: Fraction, count: int, rounds: int, law: Law) -> Middle:
    """The medians of so many rounds of so many blocks.

    Parameters
    ----------
    design : RegressionDesign
        Names, units and public size of the regression.
    cells : Cells
        Candidates of a coefficient.
    epsilon : Fraction
        Loss of all medians.
    count : int
        Blocks of a round.
    rounds : int
        Number of rounds.
    law : Law
        Law of the draw.

    Returns
    -------
    Middle
        Mechanism of one coefficient.
    """
    changed = rounds * design.dealt
    return Middle(
        cells,
        design.terms.neighbours,
        changed,
        2 * changed,
        rounds * count,
        len(design.names),
        epsilon,
        law,
        rounds=rounds,
        alike=ALIKE,
        crowded=design.terms.rows,
    )


def per_step(design: RegressionDesign, places: int) -> list[float]:
    """Size of one grid step of each coefficient, in units of the columns; length p."""
    return [math.ldexp(scale, -places) for scale in design.scales]


def block_medians(
    design: RegressionDesign, cells: Cells, epsilon: Fraction, *, rounds: int = ROUNDS, law: Law = "each"
) -> BlockMedians:
    """Block medians with the largest blocks that outweigh the prior even if a quarter of them says nothing.

    Parameters
    ----------
    design : RegressionDesign
    cells : Cells
        Candidates of a coefficient, with their weights.
    epsilon : Fraction
        Price of the medians.
    rounds : int
        Number of times that rows are dealt out.
    law : "each" or "joint"

    Returns
    -------
    BlockMedians

    Raises
    ------
    QuestionError
        Before rows are read: where no number of blocks would do.
    """
    columns = len(design.names)
    most = max(1, design.size // columns)
    for each in SIZES:
        count = max(1, min(design.size // (each * columns), most))
        made = medians_of(design, cells, epsilon, count, rounds, law)
        if made.feasible(made.mostly):
            return BlockMedians(design, cells, epsilon, count, rounds, law)
    return BlockMedians(design, cells, epsilon, most, rounds, law)
