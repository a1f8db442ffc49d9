"""Permute-and-flip: a candidate of least score, never worse than the exponential mechanism.

Statement. Take candidates in uniformly random order and accept c with probability
exp(-eps (u(D, c) - min u) / (2 D1)); the first accepted is the answer. For integer scores (small is good) of
sensitivity D1 this is eps-differentially private.

Source. McKenna and Sheldon 2020, Theorem 1 (regular mechanism) and Proposition 3 (never worse in expectation).

Proof. With t_c = exp(-eps u_c / (2 D1)) the law is the average over orders of t_c / max t times a product of (1 - t_i /
max t). It is the report-noisy-max of independent exponential noise (Ding et al. 2021), of scale 2 D1 / eps on scores:
moving every score by at most D1 moves the threshold of every noisy score by at most 2 D1 against the candidate's own.
The exponential law is memoryless, which gives the factor e^{eps}.

Deviations. None. The minimum has probability one of being accepted when reached, so it always ends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.categorical import permute_and_flip
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import positive, show, stored
from reticent.privacy.sensitivity import Linf

THEOREM: Final = Theorem(
    "permute_and_flip",
    "candidates in random order, each accepted with probability exp(-epsilon (score - least) / (2 sensitivity))",
    "McKenna and Sheldon 2020, Theorem 1",
)


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Chooses among candidates whose integer scores have ``sensitivity`` (an integer) at ``epsilon`` > 0."""

    sensitivity: Linf
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.sensitivity.bound.denominator != 1:
            raise PublicParameterError("the sensitivity of an integer score is an integer")

    @property
    def rate(self) -> Fraction:
        return self.epsilon / (2 * self.sensitivity.bound)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            PureDP(self.epsilon),
            self.sensitivity.adjacency,
            THEOREM,
            rate=show(self.rate),
            sensitivity=show(self.sensitivity.bound),
        )

    def sample(self, exact: Sequence[int], entropy: Entropy) -> int:
        """The index of the candidate chosen."""
        return permute_and_flip(exact, self.rate, entropy)


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    bound = stored(parameters, "sensitivity")
    return PermuteAndFlip(Linf(bound, neighbours), 2 * stored(parameters, "rate") * bound).guarantee


def law(scores: Sequence[int], rate: float) -> list[float]:
    """The probability of every candidate, by summing over all orders; for few candidates."""
    accept = [math.exp(-rate * (score - min(scores))) for score in scores]
    chance = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        still = 1.0
        for candidate in order:
            chance[candidate] += still * accept[candidate] / len(orders)
            still *= 1 - accept[candidate]
    return chance


def _specimen() -> Specimen[Sequence[int], int]:
    made = PermuteAndFlip(Linf(Fraction(1), Adjacency("substitute")), Fraction(1))
    return Specimen(
        "permute-and-flip, four candidates",
        made,
        (1, 0, 0, 1),
        (0, 1, 1, 2),
        lambda exact, output: law(exact, float(made.rate))[output],
    )


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(),)
