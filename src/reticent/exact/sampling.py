"""Every exact sampler and its law, by name. Nothing here trusts a float; ``docs/proofs/sampling.md`` has the proofs.

uniform, bernoulli, bernoulli_exp            coins                     (``coins.py``)
discrete_laplace, discrete_gaussian          arrays of noise           (``laplace.py``, ``gaussian.py``)
one_discrete_laplace, one_discrete_gaussian  one value, any size       (the same)
categorical, categorical_scores              a choice among many       (``categorical.py``)
permute_and_flip                             its more accurate sister  (the same)

Our mechanisms import the one sampler they draw by. A mechanism written elsewhere imports its sampler from here.
"""

from __future__ import annotations

from typing import TypeAlias

from reticent.exact.categorical import (
    Categorical,
    PermuteAndFlipDraw,
    categorical,
    categorical_scores,
    permute_and_flip,
)
from reticent.exact.coins import Bernoulli, BernoulliExp, Oracle, Uniform, bernoulli, bernoulli_exp, uniform
from reticent.exact.gaussian import DiscreteGaussian, discrete_gaussian, one_discrete_gaussian
from reticent.exact.laplace import DiscreteLaplace, discrete_laplace, one_discrete_laplace

Law: TypeAlias = (
    Uniform | Bernoulli | BernoulliExp | DiscreteLaplace | DiscreteGaussian | Categorical | PermuteAndFlipDraw
)

__all__ = [
    "Bernoulli",
    "BernoulliExp",
    "Categorical",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Law",
    "Oracle",
    "PermuteAndFlipDraw",
    "Uniform",
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
