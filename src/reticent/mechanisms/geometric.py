"""Geometric mechanism: integers plus two-sided geometric (discrete Laplace) noise.

Statement. For f with integer values and L1 sensitivity D, f + Z with independent P(Z = k) proportional to
exp(-|k| eps / D) in every coordinate is eps-differentially private.

Source. Ghosh, Roughgarden and Sundararajan 2009; 004 Definition 2.6 and Theorem 2.7 with alpha = e^{eps/D}.

Proof. For integer vectors y and neighbours with answers f, f':
P(f + Z = y) / P(f' + Z = y) = prod_i exp((|y_i - f'_i| - |y_i - f_i|) eps / D) <= exp(||f - f'||_1 eps / D) <= e^eps.
The sampler is exact (docs/proofs/sampling.md), so this is the law of the program. One integer moved by D is the worst
case of all vectors (docs/proofs/pairs.md), which is the dominating pair.

Deviations. 004 Theorem 2.8 states (lambda, delta)-usefulness by a formula that is false if its bound is no integer.
``radius`` gives the exact least integer instead, P(|Z| > z) = 2 a^{z+1} / (1 + a) with a = e^{-eps/D}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.laplace import LARGEST, discrete_laplace, one_discrete_laplace
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import integers, positive, show, stored
from reticent.privacy.pairs import GeometricShift
from reticent.privacy.sensitivity import L1

THEOREM: Final = Theorem(
    "geometric",
    "integers plus two-sided geometric noise of scale sensitivity / epsilon",
    "Ghosh, Roughgarden and Sundararajan 2009; 004 Theorem 2.7",
)


@dataclass(frozen=True, slots=True)
class Geometric:
    """Protects a vector of integers whose joint L1 sensitivity is ``sensitivity`` (an integer) at ``epsilon`` > 0."""

    sensitivity: L1
    epsilon: Fraction

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.sensitivity.bound.denominator != 1:
            raise PublicParameterError(f"the sensitivity of integers is an integer, got {show(self.sensitivity.bound)}")

    @property
    def scale(self) -> Fraction:
        """Noise scale in units of the answer; the standard deviation is about sqrt(2) times it."""
        return self.sensitivity.bound / self.epsilon

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            PureDP(self.epsilon),
            self.sensitivity.adjacency,
            THEOREM,
            pair=GeometricShift(self.scale, int(self.sensitivity.bound)),
            scale=show(self.scale),
            sensitivity=show(self.sensitivity.bound),
        )

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
        values, scale = integers(exact, "the answers"), self.scale
        if len(values) == 1 or scale > LARGEST:  # beyond it a value may not fit 64 bits
            return tuple(value + one_discrete_laplace(scale, entropy) for value in values)
        noise = discrete_laplace(scale, len(values), entropy)
        return tuple(value + int(drawn) for value, drawn in zip(values, noise, strict=True))

    def radius(self, beta: float, coordinates: int = 1) -> int:
        """Least z with P(some of ``coordinates`` noises exceeds z in size) <= ``beta``; a statement of accuracy."""
        each = -math.expm1(math.log1p(-beta) / coordinates)
        return laplace_radius(float(self.scale), each)


def laplace_radius(scale: float, beta: float) -> int:
    """Least integer z with P(|Z| > z) <= beta for two-sided geometric noise of this scale."""
    ratio = math.exp(-1 / scale)
    if 2 * ratio / (1 + ratio) <= beta:
        return 0
    return math.ceil(scale * (math.log(2 / (1 + ratio)) - math.log(beta)) - 1 - 1e-12)


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again."""
    bound = stored(parameters, "sensitivity")
    return Geometric(L1(bound, neighbours), bound / stored(parameters, "scale")).guarantee


def mass(scale: float, centre: int, output: int) -> float:
    """P(centre + Z = output).

    Parameters
    ----------
    scale : float
        In integers.
    centre, output : int

    Returns
    -------
    float
    """
    ratio = math.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(output - centre)


def _specimen(epsilon: Fraction, sensitivity: int) -> Specimen[Sequence[int], tuple[int, ...]]:
    made = Geometric(L1(Fraction(sensitivity), Adjacency("add_remove")), epsilon)
    return Specimen(
        f"geometric, epsilon {show(epsilon)}, sensitivity {sensitivity}",
        made,
        (17,),
        (17 + sensitivity,),
        lambda exact, output: mass(float(made.scale), exact[0], output[0]),
    )


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (_specimen(Fraction(1, 2), 1), _specimen(Fraction(1), 3))
