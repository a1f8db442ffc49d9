"""Bounded numbers in the local model: a random place, most often in a window that moves with the true number.

Statement. A number t in [0, N] is first rounded to one of the integers beside it, up with probability t - floor(t).
Then say a place j in 0 .. N + L - 1: each of the L places t, ..., t + L - 1 with probability r / (r L + N), each of the
N others with 1 / (r L + N). This is ln r-differentially private in the local model, r a rational at or below
e^epsilon, and value(j) = ((r L + N) j - c) / ((r - 1) L) has the expectation t exactly, with
c = (N + L) (N + L - 1) / 2 + (r - 1) L (L - 1) / 2.

N = L = 1 is the two-point mechanism of Duchi, Jordan and Wainwright; for large N and L = N e^{-epsilon/2} the law tends
to the piecewise mechanism of Wang and others.

Source. Duchi, Jordan and Wainwright 2018, section 3.2; Wang, Xiao, Yang and others 2019 (Collecting and analyzing
multidimensional data with local differential privacy), Algorithm 2. The discrete window is derived here.

Proof. Given the rounded number, every place has one of two probabilities, whose ratio is r. A number that is no integer
gives a mixture of two such laws. The ratio of two mixtures is at most the largest ratio of their parts. Expectation:
the sum over j of j P(j) is ((N + L) (N + L - 1) / 2 + (r - 1) (L t + L (L - 1) / 2)) / (r L + N), affine in the rounded
t with slope (r - 1) L / (r L + N), since the window has the same length everywhere; rounding has the expectation t.

Deviations. The piecewise mechanism has a density; ours has N + L public places and rational probabilities, and is
unbiased without any remainder. r replaces e^epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli, uniform
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.local_coins import LOCAL, coins, even, loss_of, places, ratio_below, whole
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.numbers import read, show

THEOREM: Final = Theorem(
    "local_mean",
    "a place in a window that moves with the number, r times as likely as one outside: ln r, unbiased",
    "Duchi, Jordan and Wainwright 2018, section 3.2; Wang and others 2019, Algorithm 2; derived",
)
MOST: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class LocalMean:
    """Numbers in [0, ``cells``], a window of ``width`` places; both 1 .. 32,768."""

    cells: int
    width: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        whole(self.cells, "cells", 1, MOST)
        whole(self.width, "width", 1, MOST)
        ratio_below(self.epsilon)

    @property
    def ratio(self) -> Fraction:
        return ratio_below(self.epsilon)

    @property
    def places(self) -> int:
        """Number of places."""
        return self.cells + self.width

    @property
    def hit(self) -> Fraction:
        """P(a place in the window)."""
        return self.ratio * self.width / (self.ratio * self.width + self.cells)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            loss_of(self.ratio),
            LOCAL,
            THEOREM,
            cells=str(self.cells),
            width=str(self.width),
            epsilon=show(self.epsilon),
        )

    def value(self, heard: int) -> Fraction:
        """The unbiased value of a place."""
        ratio, cells, width = self.ratio, self.cells, self.width
        offset = Fraction(self.places * (self.places - 1), 2) + (ratio - 1) * width * (width - 1) / 2
        return ((ratio * width + cells) * heard - offset) / ((ratio - 1) * width)

    def mass(self, truth: int | Fraction, heard: int) -> Fraction:
        """P(``heard`` | ``truth``), exactly."""
        low, up = _split(truth, self.cells)
        return up * self._mass(low + 1, heard) + (1 - up) * self._mass(low, heard) if up else self._mass(low, heard)

    def _mass(self, start: int, heard: int) -> Fraction:
        if not 0 <= heard < self.places:
            return Fraction(0)
        inside = start <= heard < start + self.width
        return (self.ratio if inside else 1) / (self.ratio * self.width + self.cells)

    def sample(self, exact: int | Fraction, entropy: Entropy) -> int:
        """The place heard."""
        low, up = _split(exact, self.cells)
        start = low + bernoulli(up, entropy)
        if bernoulli(self.hit, entropy):
            return start + uniform(self.width, entropy)
        other = uniform(self.cells, entropy)
        return other if other < start else other + self.width

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """One place for each truth that is an integer in 0 .. ``cells`` already, array of shape (n,)."""
        start = places(exact, self.cells + 1)
        inside = coins(self.hit, len(start), entropy)
        within, other = even(self.width, len(start), entropy), even(self.cells, len(start), entropy)
        return np.where(inside, start + within, np.where(other < start, other, other + self.width))


def _split(truth: int | Fraction, cells: int) -> tuple[int, Fraction]:
    if isinstance(truth, bool) or not isinstance(truth, int | Fraction) or not 0 <= truth <= cells:
        raise PublicParameterError(f"a truth is an int or a Fraction in 0..{cells}: nothing was sent")
    low = truth.__floor__()
    return low, Fraction(truth - low)


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    epsilon = read(parameters["epsilon"], "epsilon")
    return LocalMean(int(parameters["cells"]), int(parameters["width"]), epsilon).guarantee


def _specimens() -> tuple[Specimen[int | Fraction, int], ...]:
    two, window = LocalMean(1, 1, Fraction(1)), LocalMean(2, 2, Fraction(1))
    return (
        Specimen("a number by two points", two, 0, 1, lambda truth, heard: float(two.mass(truth, heard))),
        Specimen("a number by a window", window, 0, 2, lambda truth, heard: float(window.mass(truth, heard))),
    )


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = _specimens()
