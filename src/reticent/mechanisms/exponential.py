"""Exponential mechanism: a candidate of least score, exactly, among publicly weighted candidates.

Statement. Let integer scores u(D, c) >= 0 (small is good) change by at most D1 between neighbours at every candidate.
Drawing c with probability proportional to m_c exp(-eps u(D, c) / (2 D1)), with public weights m_c, is
eps-differentially private.

Source. McSherry and Talwar 2007; 002 section 6.1.

Proof. Numerators of neighbours differ by a factor of at most e^{eps/2}, and so does the normaliser, a sum of them.
Adding a constant to every score changes nothing, so the least score may be subtracted before drawing.
The choice is made by exact arithmetic (docs/proofs/sampling.md), so this is the law of the program.

Deviations. None. Candidates with equal scores are drawn as one cell and split uniformly, the same law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.categorical import categorical_scores
from reticent.mechanisms.specimen import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import positive, show, stored
from reticent.privacy.pairs import Range
from reticent.privacy.sensitivity import Linf

THEOREM: Final = Theorem(
    "exponential",
    "a candidate with probability proportional to weight x exp(-epsilon score / (2 sensitivity))",
    "McSherry and Talwar 2007; 002 section 6.1",
)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scores and public weights of candidates, or of runs of candidates that share a score.

    ``weights[i]`` is the public weight of run i (number of candidates times the weight of each), an integer >= 0.
    """

    scores: NDArray[np.int64]
    weights: NDArray[np.object_] | NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.weights) or not len(self.scores):
            raise PublicParameterError("candidates need one weight per score, and at least one of them")


@dataclass(frozen=True, slots=True)
class Exponential:
    """Chooses among candidates whose integer scores have ``sensitivity`` (an integer) at ``epsilon`` > 0."""

    sensitivity: Linf
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.sensitivity.bound.denominator != 1:
            raise PublicParameterError("the sensitivity of an integer score is an integer")

    @property
    def rate(self) -> Fraction:
        """Rate at which the log-probability falls per unit of score."""
        return self.epsilon / (2 * self.sensitivity.bound)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            PureDP(self.epsilon),
            self.sensitivity.adjacency,
            THEOREM,
            pair=Range(self.epsilon),
            rate=show(self.rate),
            sensitivity=show(self.sensitivity.bound),
        )

    def sample(self, exact: Candidates, entropy: Entropy) -> int:
        """The index of the run drawn."""
        return categorical_scores(exact.scores, exact.weights, self.rate, entropy)


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    bound = stored(parameters, "sensitivity")
    return Exponential(Linf(bound, neighbours), 2 * stored(parameters, "rate") * bound).guarantee


def _candidates(scores: Sequence[int]) -> Candidates:
    return Candidates(np.array(scores, dtype=np.int64), np.array([1, 20, 15, 5], dtype=np.int64))


def _specimen() -> Specimen[Candidates, int]:
    made = Exponential(Linf(Fraction(1), Adjacency("substitute")), Fraction(1))

    def mass(exact: Candidates, output: int) -> float:
        rate = float(made.rate)
        weights = [int(w) * math.exp(-rate * int(s)) for s, w in zip(exact.scores, exact.weights, strict=True)]
        return weights[output] / sum(weights)

    return Specimen("exponential, four candidates", made, _candidates([1, 0, 0, 1]), _candidates([0, 1, 1, 2]), mass)


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
