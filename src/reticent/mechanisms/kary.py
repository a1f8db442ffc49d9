"""k-ary randomized response: the true answer with the largest probability, every other one with the same smaller one.

Statement. Of k answers say the true one with probability r / (r + k - 1) and each other one with 1 / (r + k - 1).
This is ln r-differentially private in the local model; r is a rational at or below e^epsilon.

Source. Kairouz, Oh and Viswanath 2016 (Extremal mechanisms for local differential privacy), equation (9); for k = 2
Warner 1965.

Proof. Given two truths, the probability of an answer is r / (r + k - 1) or 1 / (r + k - 1), so no ratio exceeds r. The
answer equal to one of the truths attains it.

Deviations. r replaces e^epsilon, so that every probability is rational; the loss stated is that of r.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.exact.coins import bernoulli, uniform
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.mechanisms.local_coins import LOCAL, Peak, drawn, loss_of, place, places, ratio_below, whole
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.numbers import read, show

THEOREM: Final = Theorem(
    "kary_response",
    "of k answers the true one r times as likely as each other one: ln r",
    "Kairouz, Oh and Viswanath 2016; Warner 1965",
)
MOST: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class KAry:
    """Says the true one of ``size`` answers, 2 .. 65,536 of them, e^``epsilon`` times as often as another."""

    size: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        whole(self.size, "size", 2, MOST)
        ratio_below(self.epsilon)

    @property
    def ratio(self) -> Fraction:
        return ratio_below(self.epsilon)

    @property
    def hit(self) -> Fraction:
        """P(an answer is heard | it is true)."""
        return self.ratio / (self.ratio + self.size - 1)

    @property
    def miss(self) -> Fraction:
        """P(an answer is heard | another is true)."""
        return 1 / (self.ratio + self.size - 1)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(loss_of(self.ratio), LOCAL, THEOREM, size=str(self.size), epsilon=show(self.epsilon))

    def mass(self, truth: int, heard: int) -> Fraction:
        """P(``heard`` | ``truth``), exactly."""
        if not 0 <= heard < self.size:
            return Fraction(0)
        return self.hit if heard == truth else self.miss

    def sample(self, exact: int, entropy: Entropy) -> int:
        """The number of the answer heard."""
        place(exact, self.size)
        if bernoulli(self.hit, entropy):
            return exact
        return (exact + 1 + uniform(self.size - 1, entropy)) % self.size

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """One answer for each truth, array of shape (n,)."""
        shift = drawn(Peak(self.size, self.hit), len(places(exact, self.size)), entropy)
        shift += exact
        shift[shift >= self.size] -= self.size
        return shift


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    return KAry(int(parameters["size"]), read(parameters["epsilon"], "epsilon")).guarantee


def _specimen() -> Specimen[int, int]:
    made = KAry(4, Fraction(1))
    return Specimen("one of four answers", made, 0, 2, lambda truth, heard: float(made.mass(truth, heard)))


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
