"""Laws in place of coins: what each sampler draws from, as frozen data, for those who compute with the laws.

    Uniform(bound)               0 .. bound - 1, each with probability 1 / bound
    Bernoulli(p)                 1 with probability p, else 0
    BernoulliExp(x)              1 with probability exp(-x), else 0
    DiscreteLaplace(scale)       an integer k, P proportional to exp(-abs(k) / scale)
    DiscreteGaussian(variance)   an integer k, P proportional to exp(-k**2 / (2 variance))
    Categorical(x, c)            an index i, P proportional to c_i exp(-x_i)
    PermuteAndFlip(x)            an index: in random order, the first whose coin of probability exp(-(x_i - min x)) is 1

``sampling`` hands the law to an ``Oracle``, and the coins of every other entropy to the real sampler. It is the only
module that tells the two apart. An oracle may answer what it likes, so nothing that charges a ledger takes one: a
release asks for ``SystemEntropy``. That the samplers have these laws is proved in ``docs/proofs/sampling.md`` and
checked by ``tests.assurance.coins``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PublicParameterError, Refusal
from reticent.exact.coins import positive, rational, whole

MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Uniform:
    """0 .. ``bound`` - 1, ``bound`` >= 1."""

    bound: int

    def __post_init__(self) -> None:
        if isinstance(self.bound, bool) or not isinstance(self.bound, int) or self.bound < 1:
            raise PublicParameterError("the bound of a uniform draw must be an int >= 1")


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """1 with probability ``p`` in [0, 1]."""

    p: Fraction

    def __post_init__(self) -> None:
        if not 0 <= rational(self.p, "p") <= 1:
            raise PublicParameterError(f"p must be in [0, 1], got {self.p}")


@dataclass(frozen=True, slots=True)
class BernoulliExp:
    """1 with probability exp(-``x``), ``x`` >= 0."""

    x: Fraction

    def __post_init__(self) -> None:
        if rational(self.x, "x") < 0:
            raise PublicParameterError("x must be >= 0")


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """All integers k, P proportional to exp(-abs(k) / ``scale``), ``scale`` > 0."""

    scale: Fraction

    def __post_init__(self) -> None:
        positive(self.scale, "scale")


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """All integers k, P proportional to exp(-k**2 / (2 ``variance``)), ``variance`` > 0."""

    variance: Fraction

    def __post_init__(self) -> None:
        positive(self.variance, "variance")


@dataclass(frozen=True, slots=True)
class Categorical:
    """Indices i, P proportional to ``counts[i]`` exp(-``exponents[i]``); some count is above 0."""

    exponents: tuple[Fraction, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.exponents) != len(self.counts):
            raise PublicParameterError("exponents and counts must have one length")
        if not all(type(count) is int and count >= 0 for count in self.counts) or not any(self.counts):
            raise PublicParameterError("counts must be ints >= 0, at least one of them > 0")
        for exponent in self.exponents:
            rational(exponent, "an exponent")


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Indices: in random order, the first whose coin of probability exp(-(``exponents[i]`` - least)) is 1."""

    exponents: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.exponents:
            raise PublicParameterError("there must be at least one candidate")
        for exponent in self.exponents:
            rational(exponent, "an exponent")


Law: TypeAlias = Uniform | Bernoulli | BernoulliExp | DiscreteLaplace | DiscreteGaussian | Categorical | PermuteAndFlip


@final
@dataclass(frozen=True, slots=True)
class Oracle:
    """An ``Entropy`` by type, asked for laws and not for coins: each draw is whatever ``answer`` says.

    Parameters
    ----------
    answer : callable
        From the law of one draw to its value. Draws of an array come in order, one call each.
    """

    answer: Callable[[Law], int]

    def one(self, law: Law) -> int:
        """One draw, of any size."""
        return self.answer(law)

    def array(self, law: Law, size: int) -> NDArray[np.int64]:
        """``size`` draws; what does not fit 64 bits saturates, as in the samplers."""
        return np.array([min(max(self.answer(law), -MOST), MOST) for _ in range(whole(size, "size"))], np.int64)

    def bits(self, count: int) -> NoReturn:
        """Refused: an oracle has no coins."""
        raise Refusal("an oracle knows laws, not coins: draw through reticent.exact.sampling")

    def words(self, count: int) -> NoReturn:
        """Refused: an oracle has no coins."""
        raise Refusal("an oracle knows laws, not coins: draw through reticent.exact.sampling")
