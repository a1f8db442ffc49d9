"""Polynomial noise on integers, scaled to a smooth bound of the local sensitivity: no delta, and a private scale.

Statement. Let f be an integer and S > 0 a bound of it with |f(D) - f(D')| <= S(D) and S(D') <= e^b S(D) between all
neighbours, in both orders. Let Z have density (d / 2) (1 + |z|)^-(d + 1), and let s > 0 satisfy

    (d + 1) ln(1 + s) <= eps,        b + (d + 1) ln(1 + s e^-b) <= eps,        d b <= eps.

Then f + (S / s) Z, rounded to the nearest integer and moved into public [low, high], is eps-differentially private.

Source. Nissim, Raskhodnikova and Smith 2007, Definitions 2.1 and 2.5 (smooth sensitivity and noise for it); the noise
has the shape of PolyPlace (Hladik and Tetek 2025). The three conditions are derived here.

Proof. Write a = S / s, and a', f' for a neighbour, t = ln(a' / a) in [-b, b], y = |x - f|, c = |f - f'|, which is at
most min(S, S'). The density at x is (d / 2a) (1 + y / a)^-(d + 1), so the log ratio of D to D' there is at most
    -d t + (d + 1) ln((a' + y + c) / (a + y)).
For t >= 0 use c <= S = s a: the fraction falls with y, and at y = 0 it is e^t + s. The sum is
    t + (d + 1) ln(1 + s e^-t),
convex in t, so at most its value at 0 or at b: the first two conditions. For t = -u <= 0 use c <= S' = s a e^-u: the
fraction lies between e^-u (1 + s), at y = 0, and 1, so the sum is at most (d + 1) ln(1 + s) - u or d u: the first and
the third. Rounding and moving into [low, high] read the output only. What is drawn is the law of the result itself:
P(|K| >= k) = (2a / (2a + 2k - 1))^d for the rounded noise K and k >= 1, a rational number because a is, so [low, high]
is halved by coins of rational probability. No float and no real number stands between f and what is released.

Deviations. The general theory charges the shift and the change of scale apart, here d b + (d + 1) s. Both cannot be
worst at one output, and the three conditions are tight on a fine grid. S is a private number: nothing but the output
may depend on it, so the noise of a release has no public scale, and ``reach`` is for public bounds only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact.coins import bernoulli
from reticent.exact.rounding import exp_down, exp_up, round_down
from reticent.mechanisms.gate import Axioms, Specimen
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.guarantee import Guarantee, Theorem, axiom
from reticent.privacy.loss import PureDP
from reticent.privacy.numbers import integers, positive, show, stored

THEOREM: Final = Theorem(
    "smooth",
    "an integer plus polynomial noise in proportion to a smooth bound of its local sensitivity",
    "Nissim, Raskhodnikova and Smith 2007, Definitions 2.1 and 2.5; conditions derived beside the code",
)
PLACES: Final = 64
UNIT: Final = 1 << PLACES  # bounds are whole numbers of 1 / UNIT steps, so that they need no rounding
LIGHTEST: Final = 32  # the largest power of the tail


@dataclass(frozen=True, slots=True)
class SmoothNoise:
    """Protects an integer within public [``low``, ``high``] by a smooth bound of its local sensitivity.

    Attributes
    ----------
    neighbours : Adjacency
        Those between whom the bound is smooth.
    epsilon : Fraction
        Loss, > 0.
    beta : Fraction
        Between neighbours the bound changes by at most a factor e^(beta epsilon); above 0, at most 1 / ``tail``.
    tail : int
        d from 1 to 32: P(|noise| > x) falls as x^-d. Moments below d are finite.
    """

    neighbours: Adjacency
    epsilon: Fraction
    beta: Fraction
    tail: int
    low: int
    high: int

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if isinstance(self.tail, bool) or not isinstance(self.tail, int) or not 1 <= self.tail <= LIGHTEST:
            raise PublicParameterError(f"tail must be an integer from 1 to {LIGHTEST}, got {self.tail}")
        if positive(self.beta, "beta") * self.tail > 1 or self.beta == 1:
            raise PublicParameterError(f"beta must be below 1 and at most 1 / tail, got {show(self.beta)}")
        low, high = integers((self.low, self.high), "the ends")
        if low >= high:
            raise PublicParameterError("the lower end must be below the upper one")
        if self.spread <= 0:
            raise PublicParameterError("epsilon is too small for any noise")

    @property
    def rate(self) -> Fraction:
        """b: the logarithm of the bound changes by at most so much between neighbours."""
        return self.beta * self.epsilon

    @property
    def spread(self) -> Fraction:
        """s: the noise has the scale bound / s. The largest decimal of 12 digits that the conditions allow."""
        return _spread(self.epsilon, self.rate, self.tail)

    @property
    def guarantee(self) -> Guarantee:
        return axiom(
            PureDP(self.epsilon),
            self.neighbours,
            THEOREM,
            beta=show(self.beta),
            epsilon=show(self.epsilon),
            spread=show(self.spread),
            tail=str(self.tail),
        )

    def sample(self, exact: Sequence[int], entropy: Entropy) -> tuple[int]:
        """The noisy integer, for (answer, bound): the answer in steps, its smooth bound in 1 / UNIT of a step, >= 1."""
        answer, bound = integers(exact, "the answer and its bound")
        if bound < 1:
            raise PublicParameterError("a smooth bound is above 0")
        scale = Fraction(bound, UNIT) / self.spread
        low, high = self.low, self.high
        before, after = (0, 1), (1, 1)  # P(result < low), P(result <= high), result moved into the ends: over and under
        while low < high:
            middle = (low + high) // 2
            at = below(scale, self.tail, middle + 1 - answer)
            if bernoulli(Fraction(_less(at, before) * after[1], _less(after, before) * at[1]), entropy):
                high, after = middle, at
            else:
                low, before = middle + 1, at
        return (low,)

    def reach(self, bound: Fraction, share: float) -> float:
        """Half-width in steps that the noise for a public ``bound`` exceeds with probability at most ``share``.

        No guarantee depends on it.
        """
        return float(bound / self.spread) * (math.exp(-math.log(share) / self.tail) - 1)


@lru_cache(maxsize=64)
def _spread(epsilon: Fraction, rate: Fraction, tail: int) -> Fraction:
    """At or below the largest s with (d + 1) ln(1 + s) <= eps and b + (d + 1) ln(1 + s e^-b) <= eps."""
    alone = exp_down(epsilon / (tail + 1)) - 1
    grown = exp_down((epsilon + tail * rate) / (tail + 1)) - exp_up(rate)
    return round_down(max(min(alone, grown), Fraction(0)))


Ratio: TypeAlias = tuple[int, int]  # over and under, not in lowest terms: finding those would be most of the work


def below(scale: Fraction, tail: int, k: int) -> Ratio:
    """P(K < k) for the noise of ``scale`` steps, rounded to the nearest integer.

    Parameters
    ----------
    scale : Fraction
        In steps.
    tail : int
        Power of the tail of the noise.
    k : int

    Returns
    -------
    Ratio
    """
    twice = 2 * scale.numerator
    beyond, whole = twice**tail, 2 * (twice + abs(2 * k - 1) * scale.denominator) ** tail
    return (whole - beyond, whole) if k > 0 else (beyond, whole)


def _less(one: Ratio, other: Ratio) -> int:
    """The numerator of their difference over the product of their denominators."""
    return one[0] * other[1] - other[0] * one[1]


def again(parameters: dict[str, str], neighbours: Adjacency) -> Guarantee:
    """A stored leaf, stated again; refused where its spread is not the one that epsilon allows."""
    made = SmoothNoise(
        neighbours, stored(parameters, "epsilon"), stored(parameters, "beta"), int(parameters["tail"]), 0, 1
    )
    if made.spread != stored(parameters, "spread"):
        raise PublicParameterError("the spread is not the one of this epsilon")
    return made.guarantee


def mass(made: SmoothNoise, exact: Sequence[int], output: int) -> float:
    """P(output), by floats.

    Parameters
    ----------
    made : SmoothNoise
    exact : sequence of int
    output : int

    Returns
    -------
    float
    """
    answer, scale = exact[0], exact[1] / UNIT / float(made.spread)

    def beyond(k: int) -> float:  # P(K >= k), k >= 1
        return 0.5 * float((1 + (k - 0.5) / scale) ** -made.tail)

    def up_to(x: int) -> float:  # P(answer + K <= x)
        k = x - answer
        return beyond(-k) if k < 0 else 1 - beyond(k + 1)

    if not made.low <= output <= made.high:
        return 0.0
    return (1.0 if output == made.high else up_to(output)) - (0.0 if output == made.low else up_to(output - 1))


def _specimen(epsilon: Fraction, tail: int, beta: Fraction) -> Specimen[Sequence[int], tuple[int]]:
    """A bound of 12 steps, which grows as much as it may while the answer moves by 12."""
    made = SmoothNoise(Adjacency("substitute"), epsilon, beta, tail, -50, 60)
    grown = (12 * UNIT * exp_down(made.rate)).__floor__()
    return Specimen(
        f"smooth, epsilon {show(epsilon)}, tail {tail}",
        made,
        (5, 12 * UNIT),
        (17, grown),
        lambda exact, output: mass(made, exact, output[0]),
    )


AXIOMS: Final[Axioms] = ((THEOREM, again),)
SPECIMENS: Final = (
    _specimen(Fraction(1), 3, Fraction(1, 4)),
    _specimen(Fraction(2), 1, Fraction(1, 2)),
)
