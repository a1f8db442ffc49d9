"""Exponential mechanism: a candidate of least score, exactly, among publicly weighted candidates.

Statement. Let integer scores u(D, c) >= 0 (small is good) change by at most D1 between neighbours at every candidate.
Drawing c with probability proportional to m_c exp(-eps u(D, c) / (2 D1)), with public weights m_c, is
eps-differentially private.

Source. McSherry and Talwar 2007; 002 section 6.1.

Proof. Numerators of neighbours differ by a factor of at most e^{eps/2}, and so does the normaliser, a sum of them.
Adding a constant to every score changes nothing, so the least score may be subtracted before drawing.
The choice is made by exact arithmetic (docs/proofs/sampling.md), so this is the law of the program.

By spread. Let the changes d(c) = u(D, c) - u(D', c) of neighbours lie within R of each other. Drawing c with
probability proportional to m_c exp(-eps u(D, c) / R) is eps-differentially private: with t = eps / R the log-ratio at c
is -t d(c) - ln sum_b p'(b) e^{-t d(b)}, p' the law on D', and the second term lies between t min d and t max d. In both
cases all log-ratios of a pair of neighbours lie within eps of each other, which is the pair ``Range``.

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
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import positive, show, stored
from reticent.privacy.pairs import Range
from reticent.privacy.sensitivity import Linf, Spread

THEOREM: Final = Theorem(
    "exponential",
    "a candidate with probability proportional to weight x exp(-epsilon score / (2 sensitivity))",
    "McSherry and Talwar 2007; 002 section 6.1",
)
BY_SPREAD: Final = Theorem(
    "exponential_by_spread",
    "a candidate with probability proportional to weight x exp(-epsilon score / spread of the changes of scores)",
    "McSherry and Talwar 2007; Dong, Durfee and Rogers 2020, Definition 1.1 (bounded range)",
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

    sensitivity: Linf | Spread
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.sensitivity.bound.denominator != 1:
            raise PublicParameterError("the sensitivity of an integer score is an integer")

    @property
    def rate(self) -> Fraction:
        """Rate at which the log-probability falls per unit of score."""
        return self.epsilon / (self.sensitivity.bound * (2 if isinstance(self.sensitivity, Linf) else 1))

    @property
    def guarantee(self) -> Guarantee:
        by_change = isinstance(self.sensitivity, Linf)
        return axiom(
            PureDP(self.epsilon),
            self.sensitivity.adjacency,
            THEOREM if by_change else BY_SPREAD,
            pair=Range(self.epsilon),
            rate=show(self.rate),
            **{"sensitivity" if by_change else "spread": show(self.sensitivity.bound)},
        )

    def sample(self, exact: Candidates, entropy: Entropy) -> int:
        """The index of the run drawn."""
        return categorical_scores(exact.scores, exact.weights, self.rate, entropy)


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    bound = stored(parameters, "sensitivity")
    return Exponential(Linf(bound, neighbours), 2 * stored(parameters, "rate") * bound).guarantee


def again_by_spread(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf about the spread of changes, stated again."""
    bound = stored(parameters, "spread")
    return Exponential(Spread(bound, neighbours), stored(parameters, "rate") * bound).guarantee


def _candidates(scores: Sequence[int]) -> Candidates:
    return Candidates(np.array(scores, dtype=np.int64), np.array([1, 20, 15, 5], dtype=np.int64))


def _specimen(
    name: str, sensitivity: Linf | Spread, here: Sequence[int], there: Sequence[int]
) -> Specimen[Candidates, int]:
    made = Exponential(sensitivity, Fraction(1))

    def mass(exact: Candidates, output: int) -> float:
        rate = float(made.rate)
        weights = [int(w) * math.exp(-rate * int(s)) for s, w in zip(exact.scores, exact.weights, strict=True)]
        return weights[output] / sum(weights)

    return Specimen(name, made, _candidates(here), _candidates(there), mass)


ROW: Final = Adjacency("substitute")
AXIOMS: Final[Axioms] = ((THEOREM, again), (BY_SPREAD, again_by_spread))
SPECIMENS: Final = (
    _specimen("exponential, four candidates", Linf(Fraction(1), ROW), [1, 0, 0, 1], [0, 1, 1, 2]),
    _specimen("exponential by spread, four candidates", Spread(Fraction(1), ROW), [0, 0, 0, 1], [0, 0, 0, 0]),
)
