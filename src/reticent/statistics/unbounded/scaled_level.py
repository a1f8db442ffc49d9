"""Levels as whole numbers, so that one row moves every score of a column by the same amount, whatever the level.

The sensitivity of the score at level a / b is max(a, b - a) for a row added or removed and b for one replaced
(docs/proofs/quantiles.md). Levels of this package follow from numbers already released. With that bound fixed at UNIT,
the mechanism is known before any row is read. So is the proof that a certificate states.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from reticent.entropy import Entropy
from reticent.mechanisms import gate
from reticent.mechanisms.exponential import Candidates, Exponential
from reticent.privacy.adjacency import Kind
from reticent.statistics.rank_blocks import Drawn, draw_at

UNIT: Final = 10**6  # what one row moves a score by; levels are exact to about so many parts


@dataclass(frozen=True, slots=True)
class LevelFraction:
    """The level a / b, both whole numbers, 0 < a < b; not reduced."""

    a: int
    b: int


def level_of(share: Fraction, kind: Kind) -> LevelFraction:
    """The level next to ``share`` whose score a row moves by ``UNIT``: added or removed, or replaced."""
    if kind == "substitute":
        return LevelFraction(min(max(round(share * UNIT), 1), UNIT - 1), UNIT)
    if share <= Fraction(1, 2):
        low = min(max(round(UNIT * share / (1 - share)), 1), UNIT)
        return LevelFraction(low, low + UNIT)
    high = min(max(round(UNIT * (1 - share) / share), 1), UNIT)
    return LevelFraction(UNIT, UNIT + high)


def pick(found: Drawn, level: LevelFraction, mechanism: Exponential, entropy: Entropy) -> int:
    """The cell of one quantile.

    Parameters
    ----------
    found : Runs or RankBlocks
        Counts by run of cells.
    level : LevelFraction
        Level of the quantile, as a fraction.
    mechanism : Exponential
        Exponential mechanism of the draw.
    entropy : Entropy
        Source of the noise.

    Returns
    -------
    int
        Number of the cell.
    """
    return draw_at(found, (level.a, level.b, 0), mechanism, entropy)


def nothing(mechanism: Exponential, entropy: Entropy) -> None:
    """A draw among one candidate, where none is left to choose from: how many draws there are is public."""
    gate.choose(mechanism, Candidates(np.zeros(1, np.int64), np.ones(1, np.int64)), np.array([0, 1]), entropy)
