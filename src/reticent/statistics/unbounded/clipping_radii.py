"""Cheap location and spread of a column: a median, and quantiles of the distance from it on a ladder of public radii.

A quantile on the cells of the public prior must outweigh 2^27 of them. A distance from a released centre needs a
resolution of a quarter of a binade only. There are some 370 such radii from 2^-31 to 2^62, so a fourth of the values
suffices. The rung of a value depends on that value only, so a distance is drawn like any quantile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.data.candidates import FINE, Cells, Segment, coarser
from reticent.data.order_statistics import RankWindows
from reticent.data.query_result import Counts
from reticent.data.value_scans import HeldScans, ValueScans
from reticent.entropy import Entropy
from reticent.mechanisms.exponential import Exponential
from reticent.privacy.numbers import positive
from reticent.privacy.sensitivity import Linf
from reticent.statistics.quantiles.group_size import UNHELD, GroupSize
from reticent.statistics.quantiles.quantile_draws import FAR
from reticent.statistics.rank_blocks import with_all
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

        def drawn(held: Counts) -> int:
            return pick(runs(among, placed(cells, among, held)), self.level(HALF), self.mechanism, entropy)

        return float(among.value(with_all(data, drawn)))

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


def scans_of(cells: Cells, data: Counts) -> ValueScans:
    """The scans of a column: in its engine while that has it, else in memory."""
    if data.scans is not None:
        return data.scans
    every = data.every()
    return HeldScans(cells, every.cells, every.counts)


def climbed(scans: ValueScans, centre: float) -> Runs:
    """Values by the first rung that reaches their distance; beyond the last one they count there."""
    sums = scans.by_distance(centre, LADDER)
    sums[-2] += sums[-1]
    found = np.flatnonzero(sums[:-1])
    return runs(RUNGS, Counts(found.astype(np.int64), sums[found]))


def median_windows(choice: Choice, crowd: int) -> RankWindows:
    """Ranks that a median looks at; other values are asked for about it. ``crowd`` is 0 where none is counted."""
    return RankWindows((HALF,), math.ceil(min(FAR / choice.rate(HALF), UNHELD)) + 2, 0.0, crowd, scanned=True)
