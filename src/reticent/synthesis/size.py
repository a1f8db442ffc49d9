"""Number of records as a plan knows it: a public number, or one it buys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.mechanisms import gate
from reticent.mechanisms.geometric import Geometric
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee
from reticent.privacy.sensitivity import L1

SHARE: Final = Fraction(1, 20)  # of epsilon, for a number of records


@dataclass(frozen=True, slots=True)
class DistributionAccuracy:
    """Accuracy that a plan shows before rows are read.

    It gives half-widths at 95 % of a distribution function, for an assumed shape.
    """

    noise: float | None
    sampling: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RecordCount:
    """``known``: public (substitution, or declared). ``bought``: the mechanism that hides it. Neither: not needed."""

    known: int | None = None
    bought: Geometric | None = None

    def __post_init__(self) -> None:
        if self.known is not None and (isinstance(self.known, bool) or self.known < 0):
            raise PublicParameterError(f"the number of records must be >= 0, got {self.known}")

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        return () if self.bought is None else (self.bought.guarantee,)

    def draw(self, count: int, entropy: Entropy) -> int | None:
        """The number as released, at least 1; the public one comes first. None where there is neither."""
        if self.bought is not None:
            (noisy,) = gate.draw(self.bought, (count,), entropy)
            return max(noisy, 1)
        return None if self.known is None else max(self.known, 1)


def buy(neighbours: Adjacency, epsilon: Fraction) -> RecordCount:
    """A noisy number of records: one person moves it by at most ``neighbours.rows``."""
    return RecordCount(bought=Geometric(L1(Fraction(neighbours.rows), neighbours), epsilon))


def deviation(mechanism: Geometric) -> float:
    """The standard deviation of the noise of one count."""
    ratio = math.exp(-1.0 / float(mechanism.scale))
    return math.sqrt(2.0 * ratio) / (1.0 - ratio)


def pooled(size: RecordCount, drawn: int | None, counts: Sequence[float], each: Geometric) -> tuple[float, float]:
    """The number of records that all noisy counts of a partition and a bought number tell, and its deviation.

    A public number is taken as it is. A bought one is a count for a twentieth of epsilon, and the sum of few good
    counts knows better: the two are weighed by their variances.

    Parameters
    ----------
    size : RecordCount
        Source of the number of records.
    drawn : int or None
        Bought number of records.
    counts : sequence of float
        Noisy counts of the partition.
    each : Geometric
        Noise of one count.

    Returns
    -------
    pair of float
        In records.
    """
    total, own = float(sum(counts)), deviation(each) * math.sqrt(len(counts))
    if drawn is None:
        return max(total, 1.0), own
    if size.bought is None:
        return float(drawn), 0.0
    other = deviation(size.bought)
    weight = other**2 / (own**2 + other**2)
    return max(weight * total + (1.0 - weight) * drawn, 1.0), own * other / math.hypot(own, other)


def swapped(neighbours: Adjacency) -> int:
    """Sensitivity of the counts of a partition together to one person: twice the rows if records are replaced.

    002 takes 2 for all neighbours (note E11): under add/remove that is twice the noise that is needed, and half of
    it under replacement spends twice the epsilon.
    """
    return neighbours.rows * (2 if neighbours.kind == "substitute" else 1)


def root(value: Fraction) -> int:
    """The integer part of a square root."""
    return math.isqrt(int(value))
