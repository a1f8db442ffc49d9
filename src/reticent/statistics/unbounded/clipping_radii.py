"""Cheap location and spread of a column: a median, and quantiles of the distance from it on a ladder of public radii.

A quantile on the cells of the public prior must outweigh 2^27 of them. A distance from a released centre needs a
resolution of a quarter of a binade only. There are some 370 such radii from 2^-31 to 2^62, so a fourth of the values
suffices. The rung of a value depends on that value only, so a distance is drawn like any quantile.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.data.candidates import FINE, Cells, Segment, coarser
from reticent.data.query_result import Counts
from reticent.entropy import Entropy
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import Linf
from reticent.statistics.quantiles.group_size import GroupSize
from reticent.statistics.ranks import Runs, cell_share, placed, runs
from reticent.statistics.unbounded.column_counts import ColumnTerms, against_prior
from reticent.statistics.unbounded.scaled_level import UNIT, LevelFraction, level_of, pick

HALF: Final = Fraction(1, 2)
LADDER: Final = np.exp2(np.arange(-31 * 4, 62 * 4 + 1) / 4.0)  # a quarter of a binade apart
RUNGS: Final = Cells((Segment(0, len(LADDER), 1),), Fraction(1), True)
FINEST: Final = UNIT  # the smallest share of values outside is one of so many
SURE: Final = 1000.0  # odds against a rung that is further off than ``slack``


@dataclass(frozen=True, slots=True)
class Choice:
    """One quantile at ``epsilon``, of values or of distances."""

    terms: ColumnTerms
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")

    @property
    def mechanism(self) -> Exponential:
        """The same for every level."""
        return Exponential(Linf(Fraction(self.terms.rows * UNIT), self.terms.neighbours), self.epsilon)

    def level(self, share: Fraction) -> LevelFraction:
        return level_of(share, self.terms.neighbours.kind)

    def rate(self, share: Fraction) -> float:
        """Exponential rate of the rank error at a level, per rank."""
        return float(self.mechanism.rate * self.level(share).b)

    @property
    def slack(self) -> float:
        """Ranks that a rung can be off, wherever its level is."""
        return against_prior(1.0 / len(LADDER), SURE) / self.rate(Fraction(FINEST - 1, FINEST))

    def outweighs(self, cells: Cells, size: GroupSize) -> bool:
        """Tell if the data outweigh the prior of a median on these cells, but for one run in a thousand."""
        return self.rate(HALF) * size.surely / 2.0 >= against_prior(cell_share(coarser(cells, FINE)))

    def centre(self, cells: Cells, data: Counts, entropy: Entropy) -> float:
        """A median, on cells so few that the values of one of them outweigh all others.

        Parameters
        ----------
        cells : Cells
            Candidates of the column.
        data : Counts
            Counts by cell.
        entropy : Entropy
            Source of the noise.

        Returns
        -------
        float
            Median, in units of the column.
        """
        among = coarser(cells, FINE)
        found = runs(among, placed(cells, among, data))
        return float(among.value(pick(found, self.level(HALF), self.mechanism, entropy)))

    def rung(self, steps: Runs, outside: float, entropy: Entropy) -> int:
        """The rung that leaves about this share of the values outside.

        Parameters
        ----------
        steps : Runs
            Counts of the distances by rung, in order.
        outside : float
            Share of the values to leave outside, in (0, 1).
        entropy : Entropy
            Source of the noise.

        Returns
        -------
        int
            Number of the rung.
        """
        level = Fraction(1 - outside).limit_denominator(FINEST)
        level = min(max(level, Fraction(1, FINEST)), Fraction(FINEST - 1, FINEST))
        return pick(steps, self.level(level), self.mechanism, entropy)


def guess_share(terms: ColumnTerms) -> Fraction:
    """Share of epsilon for an initial median; larger under substitution, where its score moves twice as far."""
    return Fraction(4, 25) if terms.replaced else Fraction(3, 25)


def distances(cells: Cells, data: Counts, centre: float) -> NDArray[np.float64]:
    """Signed distances of the cells' values from a centre, of shape (cells,), in the unit of the column.

    Parameters
    ----------
    cells : Cells
    data : Counts
        Values by candidate.
    centre : float
        In the unit of the column.

    Returns
    -------
    array of shape (cells,), float
    """
    held = np.clip(data.cells, cells.lowest, cells.highest)
    return cells.values(held) - centre


def climbed(away: NDArray[np.float64], counts: NDArray[np.int64]) -> Runs:
    """Values by the first rung that reaches them; beyond the last one they count there."""
    held = np.minimum(np.searchsorted(LADDER, np.abs(away)), len(LADDER) - 1)
    sums = np.zeros(len(LADDER), dtype=np.int64)
    np.add.at(sums, held, counts)
    found = np.flatnonzero(sums)
    return runs(RUNGS, Counts(found.astype(np.int64), sums[found]))
