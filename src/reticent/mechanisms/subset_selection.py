"""Subset selection: a random set of d of the k answers, the true one in it with the larger probability.

Statement. With probability d r / (d r + k - d) say a uniform set of d answers that has the true one, else a uniform
set of d answers that has not. This is ln r-differentially private in the local model; r is a rational at or below
e^epsilon.

Source. Ye and Barg 2018 (Optimal schemes for discrete distribution estimation), equation (10); Wang, Huang, Wang and
others 2016.

Proof. C(k - 1, d - 1) sets have the true answer, each with probability d r / (d r + k - d) / C(k - 1, d - 1), and
C(k - 1, d) = C(k - 1, d - 1) (k - d) / d have not, each with (k - d) / (d r + k - d) / C(k - 1, d). The first is r
times the second, and a set has one of the two under every truth.

Deviations. r replaces e^epsilon. d is chosen for the least total variance at equal frequencies, where the source
takes the nearest of two integers to k / (e^epsilon + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.exact import random_subset
from reticent.exact.coins import bernoulli
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.local_coins import LOCAL, coins, loss_of, orders, place, places, ratio_below, whole
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.numbers import read, show

THEOREM: Final = Theorem(
    "subset_selection",
    "a random set of d answers, sets with the true one r times as likely as the others: ln r",
    "Ye and Barg 2018, equation (10)",
)
MOST: Final = 4096
ROWS: Final = 1 << 22  # keys at a time


@dataclass(frozen=True, slots=True)
class Subset:
    """Says ``chosen`` of ``size`` answers, 1 <= ``chosen`` < ``size`` <= 4,096; bit v of the integer is answer v."""

    size: int
    chosen: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        whole(self.size, "size", 2, MOST)
        whole(self.chosen, "chosen", 1, self.size - 1)
        ratio_below(self.epsilon)

    @property
    def ratio(self) -> Fraction:
        return ratio_below(self.epsilon)

    @property
    def hit(self) -> Fraction:
        """P(an answer is in the set | it is true)."""
        return self.chosen * self.ratio / (self.chosen * self.ratio + self.size - self.chosen)

    @property
    def miss(self) -> Fraction:
        """P(an answer is in the set | another is true)."""
        return (self.chosen - self.hit) / (self.size - 1)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            loss_of(self.ratio),
            LOCAL,
            THEOREM,
            size=str(self.size),
            chosen=str(self.chosen),
            epsilon=show(self.epsilon),
        )

    def mass(self, truth: int, heard: int) -> Fraction:
        """P(``heard`` | ``truth``), exactly."""
        if not 0 <= heard < 1 << self.size or heard.bit_count() != self.chosen:
            return Fraction(0)
        if heard >> truth & 1:
            return self.hit / comb(self.size - 1, self.chosen - 1)
        return (1 - self.hit) / comb(self.size - 1, self.chosen)

    def sample(self, exact: int, entropy: Entropy) -> int:
        """The set heard, as the integer of its bits."""
        place(exact, self.size)
        has = bernoulli(self.hit, entropy)
        heard = has << exact
        for other, taken in enumerate(random_subset.subset(self.size - 1, self.chosen - has, entropy)):
            heard |= taken << (other + (other >= exact))
        return heard

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.uint8]:
        """The set heard for each truth, array of 0 and 1 of shape (n, size)."""
        rows, others = len(places(exact, self.size)), self.size - 1
        bits = np.zeros((rows, self.size), np.uint8)
        has = coins(self.hit, rows, entropy)
        step = max(1, ROWS // others)
        for start in range(0, rows, step):
            mine = slice(start, min(rows, start + step))
            taken = orders(mine.stop - start, others, entropy) < (self.chosen - has[mine])[:, None]
            left = np.arange(self.size)[None, :] != exact[mine, None]
            bits[mine][left] = taken.ravel()
        bits[np.arange(rows), exact] = has
        return bits


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    epsilon = read(parameters["epsilon"], "epsilon")
    return Subset(int(parameters["size"]), int(parameters["chosen"]), epsilon).guarantee


def _specimen() -> Specimen[int, int]:
    made = Subset(4, 2, Fraction(1))
    return Specimen("two of four answers", made, 0, 2, lambda truth, heard: float(made.mass(truth, heard)))


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
