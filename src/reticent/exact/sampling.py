"""Every exact sampler, by name. Nothing here trusts a float; proofs and limits are in ``docs/proofs/sampling.md``.

uniform, bernoulli, bernoulli_exp            coins                     (``coins.py``)
discrete_laplace, discrete_gaussian          arrays of noise           (``laplace.py``, ``gaussian.py``)
one_discrete_laplace, one_discrete_gaussian  one value, any size       (the same)
categorical, categorical_scores              a choice among many       (``categorical.py``)
permute_and_flip                             its more accurate sister  (the same)

An ``Oracle`` receives the law and draws as it likes (``oracle.py``). The coins of any other entropy go to the sampler,
whose docstring has the parameters, the refusals and the source. Mechanisms draw through this module only.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.entropy import Entropy
from reticent.errors import PublicParameterError
from reticent.exact import categorical as choice
from reticent.exact import coins, gaussian, laplace
from reticent.exact.oracle import (
    Bernoulli,
    BernoulliExp,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    Oracle,
    PermuteAndFlip,
    Uniform,
)


def uniform(bound: int, entropy: Entropy) -> int:
    """An integer uniform on [0, ``bound``): :func:`reticent.exact.coins.uniform`."""
    if type(entropy) is Oracle:
        return entropy.one(Uniform(bound))
    return coins.uniform(bound, entropy)


def bernoulli(p: int | Fraction, entropy: Entropy) -> bool:
    """True with probability ``p``: :func:`reticent.exact.coins.bernoulli`."""
    if type(entropy) is Oracle:
        return bool(entropy.one(Bernoulli(coins.rational(p, "p"))))
    return coins.bernoulli(p, entropy)


def bernoulli_exp(x: int | Fraction, entropy: Entropy) -> bool:
    """True with probability exp(-``x``): :func:`reticent.exact.coins.bernoulli_exp`."""
    if type(entropy) is Oracle:
        return bool(entropy.one(BernoulliExp(coins.rational(x, "x"))))
    return coins.bernoulli_exp(x, entropy)


def discrete_laplace(scale: int | Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """``size`` integers, P(k) proportional to exp(-abs(k) / scale): :func:`reticent.exact.laplace.discrete_laplace`."""
    if type(entropy) is Oracle:
        return entropy.array(DiscreteLaplace(coins.positive(scale, "scale")), size)
    return laplace.discrete_laplace(scale, size, entropy)


def one_discrete_laplace(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer of the same law, of any size: :func:`reticent.exact.laplace.one_discrete_laplace`."""
    if type(entropy) is Oracle:
        return entropy.one(DiscreteLaplace(coins.positive(scale, "scale")))
    return laplace.one_discrete_laplace(scale, entropy)


def discrete_gaussian(variance: int | Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """``size`` integers, P(k) proportional to exp(-k**2 / (2 variance)): :mod:`reticent.exact.gaussian`."""
    if type(entropy) is Oracle:
        return entropy.array(DiscreteGaussian(coins.positive(variance, "variance")), size)
    return gaussian.discrete_gaussian(variance, size, entropy)


def one_discrete_gaussian(variance: int | Fraction, entropy: Entropy) -> int:
    """One integer of the same law, of any size: :func:`reticent.exact.gaussian.one_discrete_gaussian`."""
    if type(entropy) is Oracle:
        return entropy.one(DiscreteGaussian(coins.positive(variance, "variance")))
    return gaussian.one_discrete_gaussian(variance, entropy)


def categorical(log_weights: Sequence[int | Fraction], multiplicity: Sequence[int], entropy: Entropy) -> int:
    """An index, P proportional to multiplicity exp(-log weight): :func:`reticent.exact.categorical.categorical`."""
    if type(entropy) is Oracle:
        exponents = tuple(coins.rational(x, "a log weight") for x in log_weights)
        return entropy.one(Categorical(exponents, tuple(multiplicity)))
    return choice.categorical(log_weights, multiplicity, entropy)


def categorical_scores(
    scores: NDArray[np.int64],
    multiplicities: Sequence[int] | NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.object_],
    rate: int | Fraction,
    entropy: Entropy,
) -> int:
    """An index, P proportional to multiplicity exp(-rate score): :mod:`reticent.exact.categorical`."""
    if type(entropy) is Oracle:
        counts = multiplicities.tolist() if isinstance(multiplicities, np.ndarray) else multiplicities
        return entropy.one(Categorical(_exponents(scores, rate), tuple(counts)))
    return choice.categorical_scores(scores, multiplicities, rate, entropy)


def permute_and_flip(scores: Sequence[int] | NDArray[np.int64], rate: int | Fraction, entropy: Entropy) -> int:
    """An index chosen by permute-and-flip: :func:`reticent.exact.categorical.permute_and_flip`."""
    if type(entropy) is Oracle:
        return entropy.one(PermuteAndFlip(_exponents(scores, rate)))
    return choice.permute_and_flip(scores, rate, entropy)


def _exponents(scores: Sequence[int] | NDArray[np.int64], rate: int | Fraction) -> tuple[Fraction, ...]:
    pace = coins.positive(rate, "rate")
    listed: list[int] = scores.tolist() if isinstance(scores, np.ndarray) else list(scores)
    if not all(type(score) is int for score in listed):
        raise PublicParameterError("scores must be ints; a float is refused")
    return tuple(pace * score for score in listed)


__all__ = [
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "categorical_scores",
    "discrete_gaussian",
    "discrete_laplace",
    "one_discrete_gaussian",
    "one_discrete_laplace",
    "permute_and_flip",
    "uniform",
]
