"""Hadamard response: a number whose sign in the row of the true answer is more often + than -.

Statement. Let K be the least power of 2 above k, and let answer v own row v + 1 of the Hadamard matrix of order K,
H(i, y) = (-1)^{bits common to i and y}. Say a y uniform among those with + in the row of the true answer with
probability r / (r + 1), else one uniform among those with -. This is ln r-differentially private in the local model;
r is a rational at or below e^epsilon.

Source. Acharya, Sun and Zhang 2019 (Hadamard response), section 4 (the high privacy regime).

Proof. A row other than row 0 has K / 2 of each sign, so every y has probability 2 r / (K (r + 1)) or 2 / (K (r + 1))
whatever the truth. Two different rows agree in exactly half of the places, so P(+ in row w | v true) = 1/2, w != v.

Deviations. r replaces e^epsilon. The source's blocks for epsilon above about 1 are not used: subset selection is.
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
from reticent.mechanisms.local_coins import LOCAL, coins, even, loss_of, place, places, ratio_below, whole
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.numbers import read, show

THEOREM: Final = Theorem(
    "hadamard_response",
    "a number with + in the Hadamard row of the true answer r times as likely as one with -: ln r",
    "Acharya, Sun and Zhang 2019, section 4",
)
MOST: Final = (1 << 22) - 1


@dataclass(frozen=True, slots=True)
class Hadamard:
    """Says an integer below ``order`` for one of ``size`` answers, 2 .. 2^22 - 1."""

    size: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        whole(self.size, "size", 2, MOST)
        ratio_below(self.epsilon)

    @property
    def order(self) -> int:
        return 1 << self.size.bit_length()

    @property
    def ratio(self) -> Fraction:
        return ratio_below(self.epsilon)

    @property
    def hit(self) -> Fraction:
        """P(+ in the row of an answer | it is true)."""
        return self.ratio / (self.ratio + 1)

    @property
    def miss(self) -> Fraction:
        """P(+ in the row of an answer | another is true)."""
        return Fraction(1, 2)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(loss_of(self.ratio), LOCAL, THEOREM, size=str(self.size), epsilon=show(self.epsilon))

    def mass(self, truth: int, heard: int) -> Fraction:
        """P(``heard`` | ``truth``), exactly."""
        if not 0 <= heard < self.order:
            return Fraction(0)
        minus = ((truth + 1) & heard).bit_count() & 1
        return (1 - self.hit if minus else self.hit) * Fraction(2, self.order)

    def sample(self, exact: int, entropy: Entropy) -> int:
        """The number heard: a uniform one, moved to the other half by its lowest bit of the row where it must be."""
        row = place(exact, self.size) + 1
        minus = not bernoulli(self.hit, entropy)
        heard = uniform(self.order, entropy)
        return heard ^ (row & -row) if (row & heard).bit_count() & 1 != minus else heard

    def sample_many(self, exact: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """One number for each truth, array of shape (n,)."""
        row = places(exact, self.size) + 1
        minus = ~coins(self.hit, len(row), entropy)
        heard = even(self.order, len(row), entropy)
        wrong = (np.bitwise_count(row & heard) & 1).astype(np.bool_) != minus
        return np.where(wrong, heard ^ (row & -row), heard)


def again(parameters: dict[str, str], _: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    return Hadamard(int(parameters["size"]), read(parameters["epsilon"], "epsilon")).guarantee


def _specimen() -> Specimen[int, int]:
    made = Hadamard(3, Fraction(1))
    return Specimen("Hadamard row of order 4", made, 0, 2, lambda truth, heard: float(made.mass(truth, heard)))


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
